//! Strikes on a master whose place real sentinels give to a replica. What the replica has not heard of is lost.

use crate::{
    group::{DOWN_AFTER, Group},
    moment::Moment,
    nemesis::Nemesis,
};
use leasehold_servers::Mode;
use std::time::Duration;

/// How a master goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Killed, and found to be gone.
    Killed,
    /// Stopped, found to be silent, and goes on when another has its place.
    Hung,
    /// Replaced on purpose, while it answers.
    Ordered,
}

impl Nemesis<'_> {
    /// Both replicas lag, and one of them takes the master's place.
    pub(crate) fn depose(&mut self) -> Option<Moment> {
        let way = self
            .draw
            .pick(&[Way::Killed, Way::Hung, Way::Ordered, Way::Ordered]);
        let lag = self.draw.share(self.site.scenario.ttl, 20..100);
        let group = self.site.group();
        let master = group.master().filter(|master| group.is_in_step(*master))?;
        let replicas: Vec<_> = (0..3).filter(|number| *number != master).collect();
        self.deposed(
            master,
            way,
            lag,
            &replicas,
            &format!("replicas that lag by {lag:?}"),
        )
    }

    /// One replica lags for long, and takes the master's place by its priority. The other has heard everything.
    pub(crate) fn depose_for_the_late(&mut self) -> Option<Moment> {
        let lag = self.draw.share(self.site.scenario.ttl, 60..160);
        let group = self.site.group();
        let master = group.master().filter(|master| group.is_in_step(*master))?;
        let late = (master + 1 + self.draw.below(2)) % 3;
        self.carried_out(group.prefer(late))?;
        // The sentinels ask once in ten seconds, and once a second while the master is away or about to be replaced.
        let what = format!("server {late} lags by {lag:?} and is preferred");
        self.deposed(master, Way::Ordered, lag, &[late], &what)
    }

    fn deposed(
        &mut self,
        master: usize,
        way: Way,
        lag: Duration,
        late: &[usize],
        what: &str,
    ) -> Option<Moment> {
        let group = self.site.group();
        let server = &group.servers()[master];
        self.carried_out(group.cut(master, late))?;
        if !self.site.bell.rest(lag) {
            return None;
        }
        let began = self.tell(&format!("master {master} goes ({way:?}); {what}"));
        self.carried_out(match way {
            Way::Killed => server.kill(),
            Way::Hung => server.pause(),
            // Whoever is not ready says so, and nothing has happened.
            Way::Ordered => group.sentinels[1]
                .command(&["SENTINEL", "FAILOVER", crate::group::NAME])
                .map(drop),
        })?;
        let successor = self.await_successor(group, master);
        if way == Way::Hung {
            let time = self.draw.time(&(Duration::ZERO..Duration::from_secs(1)));
            // Healed in any case: the caller sees that it is over.
            let _ = self.site.bell.rest(time);
            self.carried_out(server.resume())?;
        }
        match successor {
            Some(successor) => self.tell(&format!("server {successor} is the master now")),
            None => self.tell("no other server became the master"),
        };
        // Its clients leave it before it is gone, or find it gone.
        let _ = self.site.bell.rest(self.site.scenario.ttl);
        self.take_in(group, master, successor.unwrap_or(master));
        successor.map(|_| began)
    }

    /// Most sentinels do not reach the master any more, and some clients reach no sentinel but the one that does.
    pub(crate) fn isolate_sentinel(&mut self) -> Option<Moment> {
        let group = self.site.group();
        let master = group.master().filter(|master| group.is_in_step(*master))?;
        self.carried_out(group.set_up_first(master))?;
        // Clients are to have heard it.
        if !self.site.bell.rest(DOWN_AFTER * 3) {
            return None;
        }
        let began = self.tell(&format!(
            "master {master} and a sentinel are alone with some clients"
        ));
        let routes = &self.site.places()[0][1..];
        for route in routes {
            route.set(Mode::Refuse);
        }
        let hidden = self.carried_out(group.hide(master));
        let successor = hidden.and_then(|()| self.await_successor(group, master));
        // The successor votes when its quarantine is over.
        let stays = self.draw.share(self.site.scenario.ttl, 180..260);
        // Healed in any case: the caller sees that it is over.
        let _ = self.site.bell.rest(stays);
        self.take_in(group, master, successor.unwrap_or(master));
        for route in routes {
            route.set(Mode::Pass);
        }
        self.tell("all sentinels are heard again");
        successor.map(|_| began)
    }

    /// Waits until the sentinels name another master.
    fn await_successor(&self, group: &Group, master: usize) -> Option<usize> {
        for _ in 0..PATIENCE.as_millis() / LOOK.as_millis() {
            if let Some(successor) = group.master().filter(|named| *named != master) {
                return Some(successor);
            }
            if !self.site.bell.rest(LOOK) {
                return None;
            }
        }
        None
    }

    /// The old master comes back without its data, and all follow the new one.
    fn take_in(&self, group: &Group, old: usize, new: usize) {
        let back = group.servers()[old].restart_empty();
        let back = back.map_err(|error| error.to_string());
        let mended = back.and_then(|()| {
            let mended = group.mend(new).and_then(|()| group.follow(new));
            mended.map_err(|error| error.to_string())
        });
        if let Err(why) = mended {
            self.site.chronicle.fail(format!("server {old}: {why}"));
        }
    }

    /// None, and told, if it could not be done: then there was no strike.
    fn carried_out<T>(&self, done: std::io::Result<T>) -> Option<T> {
        let told = |why: &std::io::Error| {
            self.tell(&format!("not carried out: {why}"));
        };
        done.inspect_err(told).ok()
    }
}

/// How long sentinels have to replace a master.
const PATIENCE: Duration = Duration::from_secs(12);
const LOOK: Duration = Duration::from_millis(50);
