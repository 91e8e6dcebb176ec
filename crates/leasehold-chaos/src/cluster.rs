//! Strikes on nodes that are Redis Clusters: slots move while their keys are held, and replicas that lag take the places
//! of masters.

use crate::{client::RESOURCES, moment::Moment, nemesis::Nemesis, pair::End, site::Site};
use leasehold_servers::{RedisCluster, ServerBinary, StartError};
use std::{io, thread, time::Duration};

/// Three masters, each with a replica, that keep a third of the slots each.
pub(crate) fn start(binary: &ServerBinary, count: usize) -> Result<Vec<RedisCluster>, String> {
    let start = || RedisCluster::start_with(MASTERS, 1, |builder| builder.binary(binary));
    let told = |error: StartError| error.to_string();
    thread::scope(|scope| {
        let starting: Vec<_> = (0..count).map(|_| scope.spawn(start)).collect();
        let started = starting.into_iter().map(|thread| match thread.join() {
            Ok(started) => started.map_err(told),
            Err(_) => Err("the thread that starts a cluster panicked".to_owned()),
        });
        started.collect()
    })
}

/// The addresses that a client is told of each cluster.
pub(crate) const MASTERS: usize = 3;

impl Nemesis<'_> {
    /// The slot of a name that clients want moves, at once or so slowly that leases begin and end meanwhile.
    pub(crate) fn move_slots(&mut self) -> Option<Moment> {
        let name = self.draw.pick(&RESOURCES);
        let nodes = self.nodes();
        let victims = self.draw.some(1..=nodes, nodes);
        let ttl = self.site.scenario.ttl;
        let times = [
            Duration::ZERO,
            self.draw.share(ttl, 0..60),
            self.draw.share(ttl, 60..150),
        ];
        let [before, after] = [self.draw.pick(&times), self.draw.pick(&times)];
        let further = 1 + self.draw.below(MASTERS - 1);
        let began = self.tell(&format!(
            "clusters {victims:?}: the slot of {name} moves; its keys after {before:?}, its end {after:?} later"
        ));
        let moved = self.each(&victims, |node| {
            let cluster = self.site.cluster(node);
            let moved = move_slot(self.site, cluster, (name, further), [before, after]);
            moved.map_err(|error| error.to_string())
        });
        self.tell(&format!("clusters {victims:?}: {moved} slots have moved"));
        (moved > 0).then_some(began)
    }

    /// Replicas that lag take the places of masters of one cluster, or of most.
    pub(crate) fn take_over(&mut self) -> Option<Moment> {
        let nodes = self.nodes();
        let victims = self.draw.some(1..=nodes, nodes);
        let name = self.draw.pick(&RESOURCES);
        let lag = self.draw.share(self.site.scenario.ttl, 20..100);
        let end = self.draw.pick(&[End::Killed, End::Demoted]);
        let began = self.tell(&format!(
            "clusters {victims:?}: the master of {name} is {end:?}; a replica that lags by {lag:?} has its place"
        ));
        let done = self.each(&victims, |node| {
            let cluster = self.site.cluster(node);
            fail_over(self.site, cluster, name, (end, lag)).map_err(|error| error.to_string())
        });
        self.tell(&format!("clusters {victims:?}: done with {done}"));
        (done > 0).then_some(began)
    }
}

/// False if the end came first.
fn move_slot(
    site: &Site,
    cluster: &RedisCluster,
    (name, further): (&str, usize),
    [before, after]: [Duration; 2],
) -> io::Result<bool> {
    let slot = cluster.slot(name)?;
    let from = cluster.owner(slot)?;
    let masters = cluster.masters()?;
    let place = masters.iter().position(|master| *master == from);
    let to = masters[(place.unwrap_or(0) + further) % masters.len()];
    cluster.begin_move(slot, from, to)?;
    if !site.bell.rest(before) {
        return Ok(false);
    }
    cluster.move_keys(slot, from, to)?;
    if !site.bell.rest(after) {
        return Ok(false);
    }
    cluster.end_move(slot, from, to)?;
    Ok(true)
}

/// False if the end came first.
fn fail_over(
    site: &Site,
    cluster: &RedisCluster,
    name: &str,
    (end, lag): (End, Duration),
) -> Result<bool, StartError> {
    let master = cluster.owner(cluster.slot(name)?)?;
    let replica = cluster.partner(master);
    // What has moved there must have come to the replica as well: nobody asks for that.
    if !await_step(site, cluster, (replica, master))? {
        return Ok(false);
    }
    cluster.cut_off(replica)?;
    if !site.bell.rest(lag) {
        return Ok(false);
    }
    if end == End::Killed {
        cluster[master].kill()?;
    }
    cluster.take_over(replica)?;
    cluster.mend(replica)?;
    if end == End::Killed {
        // The others tell it that it is a replica now, before it takes anything to be its own.
        cluster[master].restart()?;
    }
    // Until it is a replica, and knows all, nothing else may happen to this cluster.
    Ok(await_step(site, cluster, (master, replica))?)
}

/// Waits until a replica has heard all of its master. False if the end came first.
fn await_step(
    site: &Site,
    cluster: &RedisCluster,
    (replica, master): (usize, usize),
) -> io::Result<bool> {
    while !cluster.is_in_step(replica, master)? {
        if !site.bell.rest(LOOK) {
            return Ok(false);
        }
    }
    Ok(true)
}

const LOOK: Duration = Duration::from_millis(20);
