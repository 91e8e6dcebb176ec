//! Clocks of nodes that were set between two looks.

use crate::{
    diagnosis::facts::{NodeFacts, NodeState},
    duration::Shown,
    moment::Moment,
};
use std::{collections::BTreeMap, time::Duration};

/// What the clocks showed beside ours, and which of them were set since.
#[derive(Debug, Default)]
pub(crate) struct ClockSteps {
    seen: BTreeMap<String, Offset>,
    /// By node, the last step of each, for people.
    steps: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug)]
struct Offset {
    /// Positive if the node is ahead.
    micros: i64,
    uncertainty: Duration,
}

impl ClockSteps {
    /// Takes note of a look at `now`, as time since 1970.
    pub(crate) fn note(&mut self, now: Duration, nodes: &[NodeFacts]) {
        for node in nodes.iter().flat_map(NodeFacts::parts) {
            let NodeState::Server(server) = &node.state else {
                continue;
            };
            let Some((is_ahead, by, uncertainty)) = server.clock else {
                continue;
            };
            let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
            let micros = if is_ahead { micros } else { -micros };
            let offset = Offset {
                micros,
                uncertainty,
            };
            if let Some(before) = self.seen.insert(node.name.clone(), offset)
                && let Some(step) = step(before, offset)
            {
                let at = Moment(now);
                self.steps.insert(
                    node.name.clone(),
                    format!("{}: its clock was set {step} before {at}", node.name),
                );
            }
        }
    }

    /// The last step of each node's clock, a line each.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.steps.values().cloned().collect()
    }
}

/// `forward by 3 s`. None where the clocks may have gone on as they were.
fn step(before: Offset, after: Offset) -> Option<String> {
    let micros = after.micros.saturating_sub(before.micros);
    let by = Duration::from_micros(micros.unsigned_abs());
    let noise = before.uncertainty + after.uncertainty + SLEWED;
    let direction = if micros > 0 { "forward" } else { "back" };
    (by > noise).then(|| format!("{direction} by {}", Shown(by)))
}

/// What a time service may slew between two looks, and a look may be interrupted.
const SLEWED: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::facts::ServerFacts;

    fn look(is_ahead: bool, by_ms: u64) -> [NodeFacts; 1] {
        let by = Duration::from_millis(by_ms);
        let server = ServerFacts {
            clock: Some((is_ahead, by, Duration::from_millis(1))),
            ..ServerFacts::default()
        };
        [NodeFacts {
            name: "db1".to_owned(),
            state: NodeState::Server(Box::new(server)),
        }]
    }

    #[test]
    fn a_clock_that_jumps_was_set_and_one_that_wanders_was_not() {
        let mut steps = ClockSteps::default();
        for (is_ahead, by_ms) in [(true, 3000), (true, 3090), (true, 3020)] {
            steps.note(Duration::ZERO, &look(is_ahead, by_ms));
            assert!(steps.lines().is_empty());
        }
        steps.note(Duration::from_secs(1), &look(false, 1000));
        let expected = "db1: its clock was set back by 4 s before 1970-01-01 00:00:01 UTC";
        assert_eq!(steps.lines(), [expected]);
        steps.note(Duration::from_secs(2), &look(true, 500));
        let expected = "db1: its clock was set forward by 1.5 s before 1970-01-01 00:00:02 UTC";
        assert_eq!(steps.lines(), [expected]);
    }
}
