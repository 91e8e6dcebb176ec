//! One task, nobody else: what a lock costs.

use crate::{
    Fallible,
    bare::{Bare, Cycles, Stop},
    effort::{Effort, rotated},
    ledger::Ledger,
    moment::Moment,
    sample::Sample,
    subject::{self, BARE, BARE_FENCED, Locker, PLACES, Subject},
};
use std::{cell::RefCell, collections::BTreeMap};

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
        let mut turns: BTreeMap<&str, Vec<Cycles>> = BTreeMap::new();
        for turn in 0..TURNS {
            for runner in rotated(round + turn, &runners) {
                let count = (effort.cycles / TURNS).max(1);
                let (name, cycles) = match runner {
                    Runner::Bare(name, bare) => {
                        let run = bare.borrow_mut().run(1, Stop::Cycles(count));
                        (*name, run?)
                    }
                    Runner::Manager((subject, manager)) => {
                        (subject.name(), runtime.block_on(cycles(manager, count))?)
                    }
                };
                turns.entry(name).or_default().push(cycles);
            }
        }
        if round > 0 {
            for (name, turns) in turns {
                note(ledger, &super::nodes(nodes), name, turns);
            }
        }
    }
    Ok(())
}

/// How many turns each has in a round. The same lock takes twice as long when the kernel has put the node on another core
/// than its client, and the kernel leaves it there for a while: with one turn, what is compared would be where they were.
const TURNS: usize = 10;

/// Who locks.
enum Runner<'a> {
    Bare(&'static str, &'a RefCell<Bare>),
    Manager(&'a (Subject, Locker)),
}

/// Notes the mean of what is the median of each turn, and what one in a hundred of all exceeds.
pub(super) fn note(
    ledger: &mut Ledger,
    setting: &str,
    subject: &str,
    turns: impl IntoIterator<Item = Cycles>,
) {
    let (acquires, cycles): (Vec<Sample>, Vec<Sample>) = { turns.into_iter() }
        .map(|turn| (turn.acquires, turn.cycles))
        .unzip();
    for (what, mut turns) in [("acquire", acquires), ("cycle", cycles)] {
        let medians: f64 = turns.iter_mut().map(|turn| turn.percentile(0.5)).sum();
        let median = medians / turns.len() as f64;
        ledger.add(setting, subject, &format!("{what} p50 µs"), median);
        let mut all: Sample = turns.iter().flat_map(Sample::iter).collect();
        let late = all.percentile(0.99);
        ledger.add(setting, subject, &format!("{what} p99 µs"), late);
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
