//! Contention within one process: sixteen tasks that want one key.

use crate::{
    Fallible,
    bare::Bare,
    commands::{self, Listening},
    contest,
    effort::{Effort, rotated},
    ledger::Ledger,
    subject::{self, BARE, BARE_FENCED, LIMIT, LIMIT_FENCED, Subject},
};
use std::{sync::Arc, time::Duration};

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(2)?;
    let subjects = [subject::rivals(effort), &[Subject::InProcess]].concat();
    for nodes in [1, 5] {
        let servers = runtime.block_on(subject::servers(nodes))?;
        let mut bares = vec![(BARE, Bare::connect(&servers)?)];
        let mut runners = Vec::new();
        for (subject, manager) in runtime.block_on(subject::managers(&subjects, &servers.urls()))? {
            let manager = Arc::new(manager);
            let listening = Listening::begin(&servers)?;
            let key = format!("warm-up:{}", subject.name());
            let warm_up = contest::all(&manager, &key, TASKS, WARM_UP);
            runtime.block_on(warm_up)?;
            if subject == Subject::Fenced {
                let fenced = runtime.block_on(Bare::fenced(&servers, &manager))?;
                bares.push((BARE_FENCED, fenced));
            }
            runners.push((subject, manager, listening.end()));
        }
        let setting = super::nodes(nodes);
        for round in 0..effort.rounds {
            for (name, bare) in &mut bares {
                let story = bare.contend(&format!("one:{name}:{round}"), effort.contention)?;
                let handoffs = story.waits.len() as f64 / effort.contention.as_secs_f64();
                ledger.add(&setting, name, RATE, handoffs);
                let held = story.held.as_secs_f64() * 1e3 / story.waits.len() as f64;
                ledger.add(&setting, name, HELD, held);
            }
            for (subject, manager, origins) in rotated(round, &runners) {
                let before = commands::calls(&servers)?;
                let key = format!("one:{}:{round}", subject.name());
                let stories = contest::all(manager, &key, TASKS, effort.contention);
                let stories = runtime.block_on(stories)?;
                let sent = origins.sent(&before, &commands::calls(&servers)?, nodes)?;
                let place = (&*setting, subject.name());
                contest::note(ledger, place, &stories, effort.contention, sent);
            }
            note_limits(ledger, &setting);
        }
    }
    Ok(())
}

/// Writes down what could be had in the round that was measured last.
fn note_limits(ledger: &mut Ledger, setting: &str) {
    let last = |ledger: &Ledger, who, what| ledger.values(setting, who, what).last().copied();
    for (name, bare) in [(LIMIT, BARE), (LIMIT_FENCED, BARE_FENCED)] {
        let [bare, mutex] = [bare, MUTEX].map(|who| last(ledger, who, RATE));
        if let (Some(bare), Some(mutex), Some(held)) = (bare, mutex, last(ledger, MUTEX, HELD)) {
            ledger.add(setting, name, RATE, limit(bare, mutex, held));
        }
    }
}

/// How many hand-offs a second there are at most: each takes what the bare hand-over takes, in which nobody is woken, and
/// what it takes beyond the hold to wake the next task, where no node is asked.
fn limit(bare: f64, mutex: f64, held_ms: f64) -> f64 {
    let waking = (mutex.recip() - held_ms / 1e3).max(0.0);
    (bare.recip() + waking).recip()
}

const RATE: &str = "hand-offs/s";
const HELD: &str = "held ms";
const MUTEX: &str = Subject::InProcess.name();
const TASKS: usize = 16;
const WARM_UP: Duration = Duration::from_millis(400);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_what_the_bare_wire_and_the_runtime_leave_together() {
        // 1 ms held, 0.25 ms on the way, and 0.25 ms until the next task is awake.
        assert!((limit(800.0, 800.0, 1.0) - 1e3 / 1.5).abs() < 1e-6);
        let none = limit(800.0, 800.0, 1.3);
        assert!((none - 800.0).abs() < 1e-6, "no runtime gains time");
    }

    #[test]
    fn every_round_has_its_limit() {
        let mut ledger = Ledger::default();
        for bare in [800.0, 400.0] {
            ledger.add("1 node", BARE, RATE, bare);
            ledger.add("1 node", MUTEX, RATE, 800.0);
            ledger.add("1 node", MUTEX, HELD, 1.25);
            note_limits(&mut ledger, "1 node");
        }
        let limits = ledger.values("1 node", LIMIT, RATE).iter();
        assert_eq!(
            limits.map(|it| it.round()).collect::<Vec<_>>(),
            [800.0, 400.0]
        );
        assert!(ledger.values("1 node", LIMIT_FENCED, RATE).is_empty());
    }
}
