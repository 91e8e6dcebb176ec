//! Until when a shell that is to end waits for the nodes.
//!
//! Releases that are under way are worth waiting for as long as their node answers, and no longer: one that hangs would
//! cost the end of every program its time limit, and what it has been sent it carries out when it wakes.

use crate::shell::Shell;
use leasehold_core::{Engine, Instant, NodeId, NodeSet};
use std::time::Duration;

/// Whether each node answers what it is asked.
#[derive(Debug)]
pub(super) struct Answering(Vec<Node>);

#[derive(Clone, Debug)]
struct Node {
    /// How many requests it has not answered.
    asked: u64,
    /// When it last answered while it was asked for more, or was first asked after it had answered all.
    silent_since: Instant,
    /// For how long it was silent at most before it answered.
    slowest: Duration,
}

impl Answering {
    pub(super) fn new(nodes: usize) -> Self {
        let node = Node {
            asked: 0,
            silent_since: Instant::ORIGIN,
            slowest: Duration::ZERO,
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

    /// A node, or its link, has answered a request.
    pub(super) fn answer(&mut self, now: Instant, index: usize) {
        let this = &mut self.0[index];
        let silent = now.saturating_since(this.silent_since);
        this.slowest = this.slowest.max(silent);
        this.silent_since = now;
        this.asked = this.asked.saturating_sub(1);
    }

    /// The nodes that have something to answer and are likely to do so soon.
    fn awaited(&self, now: Instant) -> NodeSet {
        let is_awaited = |this: &Node| {
            let patience = this.slowest.saturating_mul(2).clamp(SHORTEST, LONGEST);
            this.asked > 0 && now < this.silent_since.saturating_add(patience)
        };
        let nodes = self.0.iter().enumerate().filter(|(_, it)| is_awaited(it));
        nodes.filter_map(|(index, _)| NodeId::new(index)).collect()
    }
}

impl Shell {
    /// Until when a shell that is to end goes on at most: the longer the more it has to give back.
    pub(super) fn drains_until(&self, now: Instant) -> Instant {
        let releases = u32::try_from(self.engine.withdrawals()).unwrap_or(u32::MAX);
        let all = FOR_EACH.saturating_mul(releases).min(MOST);
        now.saturating_add(LEAST).saturating_add(all)
    }
}

/// Whether nothing is left to wait for: every release is confirmed by the nodes that answer.
pub(super) fn is_drained(
    engine: &Engine,
    answering: &Answering,
    now: Instant,
    until: Instant,
) -> bool {
    if now >= until || engine.withdrawals() == 0 {
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
const SHORTEST: Duration = Duration::from_millis(100);

/// And if it has been slow.
const LONGEST: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    fn nodes<const N: usize>(indices: [usize; N]) -> NodeSet {
        let node = |index| NodeId::new(index).expect("a node");
        indices.into_iter().map(node).collect()
    }

    #[test]
    fn a_node_is_waited_for_as_long_as_it_answers() {
        let node = |index| NodeId::new(index).expect("a node");
        let mut answering = Answering::new(3);
        for _ in 0..3 {
            answering.ask(at(0), node(0));
        }
        answering.ask(at(0), node(1));
        assert_eq!(answering.awaited(at(99)), nodes([0, 1]));
        answering.answer(at(99), 0);
        assert_eq!(answering.awaited(at(100)), nodes([0]), "one hangs");
        answering.answer(at(290), 0);
        // It took 191 ms once, so it has twice that.
        assert_eq!(answering.awaited(at(290 + 381)), nodes([0]));
        assert_eq!(answering.awaited(at(290 + 382)), NodeSet::EMPTY);
        answering.answer(at(700), 0);
        assert_eq!(
            answering.awaited(at(700)),
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
}
