//! Contention within one process: sixteen tasks that want one key.

use crate::{
    Fallible,
    bare::Bare,
    commands::{self, Listening},
    contest,
    effort::{Effort, rotated},
    ledger::Ledger,
    subject::{self, BARE, Subject},
};
use std::{sync::Arc, time::Duration};

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(2)?;
    let subjects = [subject::rivals(effort), &[Subject::InProcess]].concat();
    for nodes in [1, 5] {
        let servers = runtime.block_on(subject::servers(nodes))?;
        let mut bare = Bare::connect(&servers)?;
        let mut runners = Vec::new();
        for (subject, manager) in runtime.block_on(subject::managers(&subjects, &servers.urls()))? {
            let manager = Arc::new(manager);
            let listening = Listening::begin(&servers)?;
            let warm_up = contest::all(&manager, "warm-up", TASKS, WARM_UP);
            runtime.block_on(warm_up)?;
            runners.push((subject, manager, listening.end()));
        }
        let setting = super::nodes(nodes);
        for round in 0..effort.rounds {
            let story = bare.contend(&format!("one:{BARE}:{round}"), effort.contention)?;
            let handoffs = story.waits.len() as f64 / effort.contention.as_secs_f64();
            ledger.add(&setting, BARE, "hand-offs/s", handoffs);
            let held = story.held.as_secs_f64() * 1e3 / story.waits.len() as f64;
            ledger.add(&setting, BARE, "held ms", held);
            for (subject, manager, origins) in rotated(round, &runners) {
                let before = commands::calls(&servers)?;
                let key = format!("one:{}:{round}", subject.name());
                let stories = contest::all(manager, &key, TASKS, effort.contention);
                let stories = runtime.block_on(stories)?;
                let sent = origins.sent(&before, &commands::calls(&servers)?, nodes);
                let place = (&*setting, subject.name());
                contest::note(ledger, place, &stories, effort.contention, sent);
            }
        }
    }
    Ok(())
}

const TASKS: usize = 16;
const WARM_UP: Duration = Duration::from_millis(400);
