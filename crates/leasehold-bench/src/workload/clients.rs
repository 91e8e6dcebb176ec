//! Many leases in one hand, and many clients that want nothing: what both cost the nodes.

use super::{held, votes};
use crate::{
    Fallible,
    commands::calls,
    effort::{Effort, rotated},
    ledger::Ledger,
    moment::{Moment, processor_time},
    subject::{self, Locker, Subject},
};
use leasehold_servers::ServerSet;
use std::{sync::Arc, time::Duration};
use tokio::runtime::Runtime;

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(1)?;
    for &subject in rotated(0, &[Subject::Plain, Subject::Fenced]) {
        // Servers of its own for each: what they have had before is in their memory for a while.
        for measure in [leases, idle] {
            let servers = runtime.block_on(subject::servers(NODES))?;
            measure(&runtime, &servers, subject, effort, ledger)?;
        }
    }
    Ok(())
}

/// One manager holds so many, and extends them.
fn leases(
    runtime: &Runtime,
    servers: &ServerSet,
    subject: Subject,
    effort: &Effort,
    ledger: &mut Ledger,
) -> Fallible<()> {
    let manager = async { subject.manager_for(&servers.urls(), TTL) };
    let manager = Arc::new(runtime.block_on(manager)?);
    let before = memory(servers)?;
    let held = runtime.block_on(held::take(&manager, "many", effort.many_leases))?;
    let grown = memory(servers)? - before;
    let used = || votes::processor_time(servers.iter()).unwrap_or_default();
    let (started, client, nodes) = (Moment::now(), processor_time(), used());
    // Each lease is extended every third of that.
    runtime.block_on(async { tokio::time::sleep(TTL).await });
    let time = started.elapsed().as_secs_f64();
    let share = |spent: Duration| spent.as_secs_f64() / time * 100.0;
    let (client, nodes) = (share(processor_time() - client), share(used() - nodes));
    let lost = held::lost(&held);
    runtime.block_on(held::give_back(held));
    let setting = format!("{NODES} nodes, {} leases", effort.many_leases);
    let mut add = |figure, value| ledger.add(&setting, subject.name(), figure, value);
    add("lost", lost as f64);
    add("client, % of a core", client);
    add("node, % of a core", nodes / NODES as f64);
    add("node bytes/lease", grown / effort.many_leases as f64);
    Ok(())
}

/// So many managers have locked once, and wait for nothing.
fn idle(
    runtime: &Runtime,
    servers: &ServerSet,
    subject: Subject,
    effort: &Effort,
    ledger: &mut Ledger,
) -> Fallible<()> {
    let managers = |count| -> Fallible<Vec<Locker>> {
        let managers = runtime.block_on(async {
            let mut managers = Vec::new();
            for _ in 0..count {
                let manager = subject.manager(&servers.urls())?;
                manager.acquire("idle").await?.release().await;
                managers.push(manager);
            }
            // Servers give the room back that commands took.
            tokio::time::sleep(effort.hold).await;
            Fallible::Ok(managers)
        })?;
        Ok(managers)
    };
    // What the first one takes, as for scripts, is not each one's.
    let first = managers(1)?;
    let (connections, before) = (connected(servers)?, memory(servers)?);
    let others = managers(effort.clients)?;
    let (clients, nodes) = (effort.clients as f64, NODES as f64);
    let grown = memory(servers)? - before;
    let opened = connected(servers)? - connections;
    let sent = || -> Fallible<f64> {
        let calls = calls(servers)?;
        let ours = calls.iter().filter(|(name, _)| *name != "info");
        Ok(ours.map(|(_, count)| *count as f64).sum())
    };
    let before = sent()?;
    let started = Moment::now();
    runtime.block_on(async { tokio::time::sleep(effort.hold).await });
    let commands = (sent()? - before) / started.elapsed().as_secs_f64();
    runtime.block_on(async { drop((first, others)) });
    let setting = format!("{NODES} nodes, {} idle clients", effort.clients);
    let mut add = |figure, value| ledger.add(&setting, subject.name(), figure, value);
    add("connections to a node/client", opened / clients / nodes);
    add("node bytes/client", grown / clients / nodes);
    let asked = commands / clients / nodes;
    add("commands/s to a node/client", asked);
    add(
        "GB of a node for a million, calculated",
        grown / clients / nodes * MILLION / 1e9,
    );
    add(
        "commands/s to a node from a million, calculated",
        asked * MILLION,
    );
    Ok(())
}

/// What all nodes say that they use.
fn memory(servers: &ServerSet) -> Fallible<f64> {
    told(servers, "memory", "used_memory:")
}

/// How many clients all nodes have.
fn connected(servers: &ServerSet) -> Fallible<f64> {
    told(servers, "clients", "connected_clients:")
}

fn told(servers: &ServerSet, section: &str, word: &str) -> Fallible<f64> {
    let mut sum = 0.0;
    for server in servers.iter() {
        let reply = server.command(&["INFO", section])?;
        let mut lines = reply.text().unwrap_or_default().lines();
        let number = lines.find_map(|line| line.trim().strip_prefix(word));
        let number = number.ok_or_else(|| format!("a server does not tell {word}"))?;
        sum += number.parse::<f64>()?;
    }
    Ok(sum)
}

const NODES: usize = 3;
const MILLION: f64 = 1e6;
const TTL: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_that_want_nothing_have_connections_all_the_same() {
        leasehold_servers::require_server();
        let effort = Effort {
            clients: 5,
            hold: Duration::from_millis(50),
            ..Effort::QUICK
        };
        let runtime = crate::workload::runtime(1).unwrap();
        let servers = runtime.block_on(subject::servers(NODES)).unwrap();
        let mut ledger = Ledger::default();
        idle(&runtime, &servers, Subject::Plain, &effort, &mut ledger).unwrap();
        let told = |figure| {
            let spread = ledger.spread("3 nodes, 5 idle clients", "plain", figure);
            spread.unwrap().median
        };
        assert!(told("connections to a node/client") >= 1.0);
        assert!(told("node bytes/client") > 1_000.0);
    }
}
