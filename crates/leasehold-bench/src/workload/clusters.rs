//! Clusters as nodes: what a lock costs where each node spreads its names over several masters.

use super::{instructions, latency, throughput, votes};
use crate::{
    Fallible,
    effort::{Effort, rotated},
    ledger::Ledger,
    moment::{Moment, processor_time},
    subject::{Locker, Subject, TTL},
    valgrind,
};
use leasehold_servers::{RedisCluster, Server, ServerSet, skip};
use std::{sync::Arc, time::Duration};
use tokio::runtime::Runtime;

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let (lone, wide) = (super::runtime(1)?, super::runtime(2)?);
    let sites = Site::start(effort)?;
    let on = |runtime: &Runtime| -> Fallible<Vec<_>> {
        let managers = sites.iter().map(|site| {
            let manager = async { Subject::Plain.manager_for(&site.urls(), TTL) };
            Fallible::Ok((site, Arc::new(runtime.block_on(manager)?)))
        });
        managers.collect()
    };
    let (alone, crowded) = (on(&lone)?, on(&wide)?);
    // The first round warms up, and meets all masters.
    for round in 0..=effort.rounds {
        for (site, manager) in rotated(round, &alone) {
            let one = latency::cycles_of(manager, effort.cycles, |_| "one".to_owned());
            let one = lone.block_on(one)?;
            let new = lone.block_on(latency::cycles(manager, effort.cycles))?;
            if round > 0 {
                latency::note(ledger, ONE_NAME, site.name, [one]);
                latency::note(ledger, ONE_TASK, site.name, [new]);
            }
        }
        for (site, manager) in rotated(round, &crowded) {
            let load = Load::of(&wide, site, manager, effort.throughput)?;
            if round > 0 {
                load.note(ledger, site);
            }
        }
    }
    count(effort, &sites, ledger)
}

/// What many tasks did on a site, and what that took.
struct Load {
    cycles: usize,
    time: Duration,
    client: Duration,
    servers: Option<Duration>,
}

impl Load {
    fn of(
        runtime: &Runtime,
        site: &Site,
        manager: &Arc<Locker>,
        window: Duration,
    ) -> Fallible<Self> {
        let servers = || votes::processor_time(site.servers());
        let (started, before, spent) = (Moment::now(), processor_time(), servers());
        let cycles = runtime.block_on(throughput::all(manager, TASKS, window))?;
        let (time, client) = (started.elapsed(), processor_time() - before);
        let servers = servers()
            .zip(spent)
            .map(|(after, before)| after.saturating_sub(before));
        Ok(Self {
            cycles: cycles.len(),
            time,
            client,
            servers,
        })
    }

    fn note(&self, ledger: &mut Ledger, site: &Site) {
        let cycles = self.cycles as f64;
        let mut add = |figure, value| ledger.add(MANY_TASKS, site.name, figure, value);
        add("cycles/s", cycles / self.time.as_secs_f64());
        add(CLIENT, self.client.as_secs_f64() * 1e6 / cycles);
        if let Some(spent) = self.servers {
            let spent = spent.as_secs_f64() * 1e6 / cycles / NODES as f64;
            add("CPU µs/cycle of a node", spent);
            add("cycles/s, calculated", site.masters as f64 * 1e6 / spent);
        }
    }
}

fn count(effort: &Effort, sites: &[Site], ledger: &mut Ledger) -> Fallible<()> {
    if !valgrind::is_there() {
        skip("there is no valgrind, so a client's instructions are not counted");
        return Ok(());
    }
    for (setting, tasks) in [(ONE_TASK, 1), (MANY_TASKS, TASKS)] {
        for round in 0..effort.counts.min(COUNTS) {
            for site in rotated(round, sites) {
                let count =
                    instructions::per_cycle(&site.urls().join(","), Subject::Plain.name(), tasks)?;
                let mut add = |figure, value| ledger.add(setting, site.name, figure, value);
                add(INSTRUCTIONS, count.instructions);
                add("system calls/cycle", count.calls);
            }
        }
    }
    Ok(())
}

/// Three nodes.
struct Site {
    name: &'static str,
    /// Of each of them.
    masters: usize,
    nodes: Nodes,
}

enum Nodes {
    Servers(ServerSet),
    Clusters(Vec<RedisCluster>),
}

impl Site {
    fn start(effort: &Effort) -> Fallible<Vec<Self>> {
        let mut sites = vec![Self {
            name: SERVERS,
            masters: 1,
            nodes: Nodes::Servers(ServerSet::start(NODES)?),
        }];
        for (name, masters) in CLUSTERS {
            if !effort.is_quick || [ONE, THREE].contains(&name) {
                let clusters = (0..NODES).map(|_| RedisCluster::start(masters, 0));
                let nodes = Nodes::Clusters(clusters.collect::<Result<_, _>>()?);
                sites.push(Self {
                    name,
                    masters,
                    nodes,
                });
            }
        }
        Ok(sites)
    }

    /// Each by one server: it tells of the others.
    fn urls(&self) -> Vec<String> {
        match &self.nodes {
            Nodes::Servers(servers) => servers.urls(),
            Nodes::Clusters(clusters) => {
                let firsts = clusters.iter().filter_map(|cluster| cluster.first());
                let urls = firsts.map(|it| format!("redis+cluster://127.0.0.1:{}", it.port()));
                urls.collect()
            }
        }
    }

    fn servers(&self) -> Vec<&Server> {
        match &self.nodes {
            Nodes::Servers(servers) => servers.iter().collect(),
            Nodes::Clusters(clusters) => clusters.iter().flat_map(|cluster| &**cluster).collect(),
        }
    }
}

const NODES: usize = 3;
const TASKS: usize = 64;
/// Counts differ little, and take long.
const COUNTS: usize = 3;
pub(super) const ONE_NAME: &str = "1 task, one name";
pub(super) const ONE_TASK: &str = "1 task, new names";
pub(super) const MANY_TASKS: &str = "64 tasks, new names";
pub(super) const CLIENT: &str = "client CPU µs/cycle";
pub(super) const INSTRUCTIONS: &str = "client instructions/cycle";
pub(super) const SERVERS: &str = "3 servers";
pub(super) const ONE: &str = "3 clusters of 1 master";
pub(super) const THREE: &str = "3 clusters of 3 masters";
pub(super) const FOUR: &str = "3 clusters of 4 masters";
const CLUSTERS: [(&str, usize); 4] = [
    (ONE, 1),
    ("3 clusters of 2 masters", 2),
    (THREE, 3),
    (FOUR, 4),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_measured_beside_servers() {
        leasehold_servers::require_server();
        let effort = Effort {
            rounds: 1,
            cycles: 5,
            counts: 0,
            throughput: Duration::from_millis(20),
            ..Effort::QUICK
        };
        let mut ledger = Ledger::default();
        run(&effort, &mut ledger).unwrap();
        for site in [SERVERS, ONE, THREE] {
            for (setting, figure) in [
                (ONE_NAME, "cycle p50 µs"),
                (ONE_TASK, "cycle p50 µs"),
                (MANY_TASKS, CLIENT),
            ] {
                let spread = ledger.spread(setting, site, figure);
                assert!(spread.unwrap().median > 0.0, "{site}: {figure}");
            }
        }
    }
}
