//! One task, nobody else: what a lock costs.

use crate::{
    Fallible,
    bare::{Bare, Cycles, Stop},
    effort::{Effort, rotated},
    ledger::Ledger,
    moment::Moment,
    subject::{self, BARE, BARE_FENCED, Locker, PLACES, Subject},
};
use std::cell::RefCell;

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    [1, 5]
        .into_iter()
        .try_for_each(|nodes| compare(effort, nodes, ledger))
}

fn compare(effort: &Effort, nodes: usize, ledger: &mut Ledger) -> Fallible<()> {
    // Everything of a client that has no thread of its own stays on one thread: the best case for it.
    let runtime = super::runtime(1)?;
    let servers = runtime.block_on(subject::servers(nodes))?;
    let bare = RefCell::new(Bare::connect(&servers)?);
    let managers = runtime.block_on(subject::managers(&PLACES, &servers.urls()))?;
    let is_fenced = |manager: &&(_, Locker)| manager.0 == Subject::Fenced;
    let fenced = managers.iter().find(is_fenced).map(|(_, manager)| manager);
    let fenced = fenced.ok_or("nobody is fenced")?;
    let bare_fenced = RefCell::new(runtime.block_on(Bare::fenced(&servers, fenced))?);
    let mut runners = vec![
        Runner::Bare(BARE, &bare),
        Runner::Bare(BARE_FENCED, &bare_fenced),
    ];
    runners.extend(managers.iter().map(Runner::Manager));
    // The first round warms up.
    for round in 0..=effort.rounds {
        for runner in rotated(round, &runners) {
            let (name, cycles) = match runner {
                Runner::Bare(name, bare) => {
                    let run = bare.borrow_mut().run(1, Stop::Cycles(effort.cycles));
                    (*name, run?)
                }
                Runner::Manager((subject, manager)) => {
                    let cycles = runtime.block_on(cycles(manager, effort.cycles))?;
                    (subject.name(), cycles)
                }
            };
            if round > 0 {
                note(ledger, &super::nodes(nodes), name, cycles);
            }
        }
    }
    Ok(())
}

/// Who locks.
enum Runner<'a> {
    Bare(&'static str, &'a RefCell<Bare>),
    Manager(&'a (Subject, Locker)),
}

pub(super) fn note(ledger: &mut Ledger, setting: &str, subject: &str, mut cycles: Cycles) {
    for (figure, sample) in [
        ("acquire", &mut cycles.acquires),
        ("cycle", &mut cycles.cycles),
    ] {
        for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
            let figure = format!("{figure} {name} µs");
            ledger.add(setting, subject, &figure, sample.percentile(share));
        }
    }
}

/// Locks and unlocks new keys, one after the other.
pub(crate) async fn cycles(manager: &Locker, count: usize) -> Fallible<Cycles> {
    cycles_of(manager, count, |number| format!("lone:{number}")).await
}

/// The same with names of one's own.
pub(super) async fn cycles_of(
    manager: &Locker,
    count: usize,
    name: impl Fn(usize) -> String,
) -> Fallible<Cycles> {
    let mut cycles = Cycles::default();
    for number in 0..count {
        let name = name(number);
        let started = Moment::now();
        let held = manager.acquire(&name).await?;
        cycles.acquires.push(started.elapsed());
        held.release().await;
        cycles.cycles.push(started.elapsed());
    }
    Ok(cycles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_measured_on_a_real_server() {
        leasehold_servers::require_server();
        let effort = Effort {
            rounds: 1,
            cycles: 5,
            ..Effort::QUICK
        };
        let mut ledger = Ledger::default();
        compare(&effort, 1, &mut ledger).unwrap();
        let subjects: Vec<&str> = ledger.rows().iter().map(|row| row.1.as_str()).collect();
        let (ours, others) = subjects.split_at(4);
        assert_eq!(
            ours,
            ["plain", "plain, own thread", "fenced", "fenced, own thread"]
        );
        assert_eq!(others, ["bare", "bare, fenced votes", "rslock"]);
        for subject in subjects {
            let spread = ledger.spread("1 node", subject, "cycle p50 µs");
            assert!(spread.unwrap().median > 0.0);
        }
    }
}
