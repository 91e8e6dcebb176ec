//! What a vote costs the processor of a node: locks that are acquired and held, none of which is released meanwhile.

use crate::{
    Fallible,
    effort::{Effort, rotated},
    ledger::Ledger,
    moment::rest,
    subject::{self, BARE, Held, Locker, Subject},
};
use leasehold_servers::{Server, ServerSet, skip};
use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    sync::Arc,
    time::Duration,
};
use tokio::task::JoinSet;

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(2)?;
    for nodes in [1, 5] {
        let servers = runtime.block_on(subject::servers(nodes))?;
        if processor_time(servers.iter()).is_none() {
            skip(
                "this system does not tell the processor time of other programs, so that of votes is not measured",
            );
            return Ok(());
        }
        let managers = runtime.block_on(subject::managers(&SUBJECTS, &servers.urls()))?;
        let managers = managers.into_iter();
        let mut runners = vec![None];
        runners.extend(managers.map(|(subject, manager)| Some((subject, Arc::new(manager)))));
        let setting = super::nodes_and_tasks(nodes, TASKS);
        // The first round warms up.
        for round in 0..=effort.rounds {
            for runner in rotated(round, &runners) {
                let name = runner.as_ref().map_or(BARE, |(subject, _)| subject.name());
                let mut spent = Duration::ZERO;
                for part in 0..PARTS {
                    let prefix = format!("{name}:{round}:{part}");
                    let before = processor_time(servers.iter());
                    let mut held = Vec::new();
                    match runner {
                        None => bare(&servers, &prefix)?,
                        Some((_, manager)) => held = runtime.block_on(all(manager, &prefix))?,
                    }
                    // A quorum does not wait for the last node.
                    rest(SETTLED);
                    let after = processor_time(servers.iter());
                    spent += after
                        .zip(before)
                        .map_or(Duration::ZERO, |(after, before)| after - before);
                    runtime.block_on(async {
                        for lock in held {
                            lock.release().await;
                        }
                    });
                }
                if round > 0 {
                    let votes = (PARTS * TASKS * LOCKS * nodes) as f64;
                    let spent = spent.as_secs_f64() * 1e6 / votes;
                    ledger.add(&setting, name, "server CPU µs/vote", spent);
                }
            }
        }
    }
    Ok(())
}

/// So many tasks acquire so many locks each, and keep them.
async fn all(manager: &Arc<Locker>, prefix: &str) -> Fallible<Vec<Held>> {
    let mut working = JoinSet::new();
    for task in 0..TASKS {
        let (manager, prefix) = (Arc::clone(manager), format!("{prefix}:{task}"));
        working.spawn(async move {
            let mut held = Vec::with_capacity(LOCKS);
            for number in 0..LOCKS {
                held.push(manager.acquire(&format!("{prefix}:{number}")).await?);
            }
            Fallible::Ok(held)
        });
    }
    let mut held = Vec::new();
    while let Some(done) = working.join_next().await {
        held.extend(done??);
    }
    Ok(held)
}

/// The same by `SET key owner NX PX ttl`, as many in one write.
fn bare(servers: &ServerSet, prefix: &str) -> Fallible<()> {
    let ports = servers.iter().map(Server::port);
    let wires = ports.map(|port| TcpStream::connect((Ipv4Addr::LOCALHOST, port)));
    let mut wires: Vec<_> = wires.collect::<Result<_, _>>()?;
    for number in 0..LOCKS {
        let sets = (0..TASKS).map(|task| {
            let key = format!("{prefix}:{task}:{number}");
            let words = ["SET", &key, OWNER, "NX", "PX", "30000"];
            let words = words.map(|word| format!("${}\r\n{word}\r\n", word.len()));
            format!("*{}\r\n{}", words.len(), words.concat())
        });
        let sets: String = sets.collect();
        for wire in &mut wires {
            wire.write_all(sets.as_bytes())?;
        }
        for wire in &mut wires {
            let mut answers = [0; TASKS * GRANTED.len()];
            wire.read_exact(&mut answers)?;
            if !answers
                .chunks(GRANTED.len())
                .all(|answer| answer == GRANTED)
            {
                return Err("a key that is new was not set".into());
            }
        }
    }
    Ok(())
}

/// What all of them have used.
pub(super) fn processor_time<'a>(
    servers: impl IntoIterator<Item = &'a Server>,
) -> Option<Duration> {
    let of = |server: &Server| {
        let told = fs::read_to_string(format!("/proc/{}/schedstat", server.pid()?)).ok()?;
        told.split(' ')
            .next()?
            .parse()
            .ok()
            .map(Duration::from_nanos)
    };
    servers.into_iter().map(of).sum()
}

const SUBJECTS: [Subject; 2] = [Subject::Plain, Subject::Fenced];
const TASKS: usize = 64;
/// So few that all are held for less than the 100 ms after which a client looks after its keys.
const LOCKS: usize = 20;
const PARTS: usize = 5;
const SETTLED: Duration = Duration::from_millis(20);
const GRANTED: &[u8] = b"+OK\r\n";
/// As long as ours are.
const OWNER: &str = "0123456789abcdef0123456789abcdef0123456789abcdef";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vote_costs_the_nodes_something() {
        leasehold_servers::require_server();
        let mut ledger = Ledger::default();
        let effort = Effort {
            rounds: 1,
            ..Effort::QUICK
        };
        run(&effort, &mut ledger).unwrap();
        for name in [BARE, "plain", "fenced"] {
            let spread = ledger.spread("5 nodes, 64 tasks", name, "server CPU µs/vote");
            assert!(spread.unwrap().median > 0.1, "{name}");
        }
    }
}
