//! Until when a shell that is to end waits for the nodes.
//!
//! Releases that are under way are worth waiting for as long as their node answers, and no longer: one that hangs would
//! cost the end of every program its time limit, and what it has been sent it carries out when it wakes.

use super::{Shell, ShutdownState};
use crate::{answer::Promise, link::LinkEvent};
use leasehold_core::{Engine, FaultKind, Instant, NodeId, NodeSet, Vote};
use std::time::Duration;

/// Whether each node answers what it is asked.
#[derive(Debug)]
pub(super) struct Answering(Vec<DrainingNode>);

#[derive(Clone, Debug)]
struct DrainingNode {
    /// How many requests it has not answered.
    asked: u64,
    /// When it last answered while it was asked for more, or was first asked after it had answered all.
    silent_since: Instant,
    /// For how long it was silent at most before it answered.
    slowest: Duration,
    is_up: bool,
    /// When its connection was lost, while the link's first try to connect again lasts.
    lost_at: Option<Instant>,
}

impl Answering {
    pub(super) fn new(nodes: usize) -> Self {
        let node = DrainingNode {
            asked: 0,
            silent_since: Instant::ORIGIN,
            slowest: Duration::ZERO,
            is_up: false,
            lost_at: None,
        };
        Self(vec![node; nodes])
    }

    /// Something is asked of a node.
    pub(super) fn ask(&mut self, now: Instant, node: NodeId) {
        let this = &mut self.0[node.index()];
        if this.asked == 0 {
            this.silent_since = now;
        }
        this.asked += 1;
    }

    /// Something was asked since `since`, and the links have all of it only now: a node that was first asked since then
    /// could not have answered before.
    pub(super) fn asked_all(&mut self, since: Instant, now: Instant) {
        let first_asked = |this: &&mut DrainingNode| this.asked > 0 && this.silent_since >= since;
        for this in self.0.iter_mut().filter(first_asked) {
            this.silent_since = now;
        }
    }

    /// Takes what a link has said.
    pub(super) fn hear(&mut self, now: Instant, node: NodeId, event: &LinkEvent) {
        let this = &mut self.0[node.index()];
        match event {
            LinkEvent::Reply(_, vote) => {
                // What comes together is of one reading.
                if this.silent_since != now && is_of_the_node(vote) {
                    let silent = now.saturating_since(this.silent_since);
                    this.slowest = this.slowest.max(silent);
                    this.silent_since = now;
                }
                this.asked = this.asked.saturating_sub(1);
            }
            LinkEvent::Up(_) => (this.is_up, this.lost_at) = (true, None),
            // The first try to connect again begins at once, and what was lost is asked again when it succeeds. A node
            // that was away before, or that cannot be reached again, is not waited for.
            LinkEvent::Down(_) => {
                this.lost_at = std::mem::take(&mut this.is_up).then_some(now);
            }
            LinkEvent::Clock(_) | LinkEvent::Changed(_) | LinkEvent::Replaced(_) => {}
        }
    }

    /// The nodes that have something to answer and are likely to do so soon.
    fn awaited(&self, now: Instant) -> NodeSet {
        let is_awaited = |this: &DrainingNode| {
            let patience = this.slowest.saturating_mul(2).clamp(SHORTEST, LONGEST);
            let is_near = |since: Instant| now < since.saturating_add(patience);
            this.asked > 0 && is_near(this.silent_since) || this.lost_at.is_some_and(is_near)
        };
        let nodes = self.0.iter().enumerate().filter(|(_, it)| is_awaited(it));
        nodes.filter_map(|(index, _)| NodeId::new(index)).collect()
    }
}

/// Whether a vote shows that the node answers, or is what its link says by itself.
const fn is_of_the_node(vote: &Vote) -> bool {
    use FaultKind::{Busy, Disconnected, Down};
    match vote {
        Vote::Granted { .. } | Vote::Refused(_) => true,
        Vote::Unknown(fault) => !matches!(fault.kind(), Busy | Disconnected | Down),
    }
}

impl Shell {
    pub(super) fn shut_down(&mut self, now: Instant, answer: Promise<usize>) {
        let all: Vec<_> = self.pending.keys().copied().collect();
        for id in all {
            self.cancel(now, id);
        }
        self.onlookers.send_away();
        let end = self.drains_until(now);
        match &mut self.ending {
            ShutdownState::ShutDown(waiting, until) => {
                if waiting.is_empty() {
                    *until = end;
                }
                waiting.push(answer);
            }
            ShutdownState::NotYet | ShutdownState::Deserted(_) => {
                self.ending = ShutdownState::ShutDown(vec![answer], end);
            }
        }
    }

    /// Whether the shell's work is over, as of `now`. Those who wait for its end are told when the clean-up is done.
    pub(super) fn is_done(&mut self, now: Instant) -> bool {
        match &mut self.ending {
            ShutdownState::NotYet => false,
            ShutdownState::ShutDown(waiting, until) => {
                if !waiting.is_empty() && is_drained(&self.engine, &self.answering, now, *until) {
                    let left = self.engine.releases();
                    for answer in waiting.drain(..) {
                        answer.give(left);
                    }
                }
                false
            }
            ShutdownState::Deserted(until) => {
                is_drained(&self.engine, &self.answering, now, *until)
            }
        }
    }

    /// Until when a shell that is to end goes on at most: the longer the more it has to give back.
    pub(super) fn drains_until(&self, now: Instant) -> Instant {
        let releases = u32::try_from(self.engine.releases()).unwrap_or(u32::MAX);
        let all = FOR_EACH.saturating_mul(releases).min(MOST);
        now.saturating_add(LEAST).saturating_add(all)
    }
}

/// Whether nothing is left to wait for: every release is confirmed by the nodes that answer.
fn is_drained(engine: &Engine, answering: &Answering, now: Instant, until: Instant) -> bool {
    if now >= until || engine.releases() == 0 {
        return true;
    }
    let awaited = answering.awaited(now);
    awaited.is_empty() || !engine.owes_release(awaited)
}

/// How long a shell that is to end goes on at most if it has next to nothing to give back.
const LEAST: Duration = Duration::from_secs(1);

/// How much longer for each release. Servers confirm ten times as many in that time.
const FOR_EACH: Duration = Duration::from_micros(200);

/// And no longer than that: keys end with their TTL.
const MOST: Duration = Duration::from_secs(29);

/// For how long a node that is asked something is waited for if it has always answered quickly.
const SHORTEST: Duration = Duration::from_millis(250);

/// And if it has been slow.
const LONGEST: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::{AttemptId, Fault, OperationId, Tag};

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    fn nodes<const N: usize>(indices: [usize; N]) -> NodeSet {
        indices.into_iter().map(node).collect()
    }

    fn node(index: usize) -> NodeId {
        NodeId::new(index).expect("a node")
    }

    fn reply(vote: Vote) -> LinkEvent {
        let operation = OperationId::new(0);
        let attempt = AttemptId {
            operation,
            number: 0,
        };
        LinkEvent::Reply(Tag { attempt, step: 1 }, vote)
    }

    fn answer() -> LinkEvent {
        reply(Vote::GRANTED)
    }

    fn fault(kind: FaultKind) -> LinkEvent {
        reply(Vote::Unknown(Fault::new(kind, "a test")))
    }

    fn down() -> LinkEvent {
        LinkEvent::Down("a test".into())
    }

    /// Of one node that was up at first.
    fn up() -> Answering {
        let mut answering = Answering::new(1);
        answering.hear(at(0), node(0), &LinkEvent::Up(None));
        answering
    }

    #[test]
    fn a_node_is_waited_for_as_long_as_it_answers() {
        let mut answering = Answering::new(3);
        for _ in 0..3 {
            answering.ask(at(0), node(0));
        }
        answering.ask(at(0), node(1));
        assert_eq!(answering.awaited(at(249)), nodes([0, 1]));
        answering.hear(at(249), node(0), &answer());
        assert_eq!(answering.awaited(at(250)), nodes([0]), "one hangs");
        answering.hear(at(440), node(0), &answer());
        // It took 249 ms once, so it has twice that.
        assert_eq!(answering.awaited(at(440 + 497)), nodes([0]));
        assert_eq!(answering.awaited(at(440 + 498)), NodeSet::EMPTY);
        answering.hear(at(1_000), node(0), &answer());
        assert_eq!(
            answering.awaited(at(1_000)),
            NodeSet::EMPTY,
            "it owes nothing"
        );
        answering.ask(at(9_000), node(0));
        assert_eq!(
            answering.awaited(at(9_499)),
            nodes([0]),
            "half a second at most"
        );
        assert_eq!(answering.awaited(at(9_500)), NodeSet::EMPTY);
    }

    #[test]
    fn a_node_is_silent_only_since_its_link_has_all_that_is_asked() {
        let mut answering = Answering::new(3);
        answering.ask(at(0), node(1));
        // To give it all took 400 ms. Another node hangs, and owes an answer since long before.
        for _ in 0..3 {
            answering.ask(at(1_000), node(0));
            answering.ask(at(1_000), node(1));
        }
        answering.asked_all(at(1_000), at(1_400));
        assert_eq!(answering.awaited(at(1_649)), nodes([0]));
        assert_eq!(answering.awaited(at(1_650)), NodeSet::EMPTY);
        answering.hear(at(1_610), node(0), &answer());
        assert_eq!(
            answering.awaited(at(1_610 + 419)),
            nodes([0]),
            "it took 210 ms"
        );
        assert_eq!(answering.awaited(at(1_610 + 420)), NodeSet::EMPTY);
    }

    #[test]
    fn a_node_whose_connection_was_just_lost_is_waited_for() {
        let mut answering = up();
        answering.ask(at(10), node(0));
        answering.hear(at(20), node(0), &fault(FaultKind::Disconnected));
        answering.hear(at(20), node(0), &down());
        assert_eq!(answering.awaited(at(269)), nodes([0]), "it dials");
        assert_eq!(
            answering.awaited(at(270)),
            NodeSet::EMPTY,
            "it does not come"
        );
        answering.hear(at(30), node(0), &LinkEvent::Up(None));
        assert_eq!(answering.awaited(at(30)), NodeSet::EMPTY, "it owes nothing");
        answering.ask(at(30), node(0));
        assert_eq!(answering.awaited(at(279)), nodes([0]), "it is asked again");
    }

    #[test]
    fn a_node_that_cannot_be_reached_again_is_not_waited_for() {
        let mut answering = up();
        answering.hear(at(20), node(0), &down());
        assert_eq!(answering.awaited(at(21)), nodes([0]));
        answering.hear(at(22), node(0), &down());
        assert_eq!(answering.awaited(at(22)), NodeSet::EMPTY);
        // Nor one that was never reached.
        let mut answering = Answering::new(1);
        answering.ask(at(0), node(0));
        answering.hear(at(5), node(0), &fault(FaultKind::Down));
        answering.hear(at(5), node(0), &down());
        assert_eq!(answering.awaited(at(5)), NodeSet::EMPTY);
    }

    #[test]
    fn what_a_link_says_by_itself_does_not_show_that_the_node_answers() {
        for kind in [FaultKind::Busy, FaultKind::Down, FaultKind::Disconnected] {
            let mut answering = up();
            // It hangs since the start.
            answering.ask(at(0), node(0));
            answering.ask(at(0), node(0));
            answering.ask(at(400), node(0));
            answering.hear(at(400), node(0), &fault(kind));
            assert_eq!(answering.awaited(at(400)), NodeSet::EMPTY, "{kind:?}");
            answering.hear(at(401), node(0), &fault(kind));
            answering.hear(at(401), node(0), &fault(kind));
            answering.ask(at(500), node(0));
            assert_eq!(answering.awaited(at(749)), nodes([0]), "{kind:?}");
            assert_eq!(answering.awaited(at(750)), NodeSet::EMPTY, "{kind:?}");
        }
        let mut answering = up();
        answering.ask(at(0), node(0));
        answering.ask(at(0), node(0));
        answering.hear(at(90), node(0), &fault(FaultKind::Rejected));
        assert_eq!(
            answering.awaited(at(339)),
            nodes([0]),
            "the node has said no"
        );
    }
}
