//! Taking back what an attempt may have set.

use crate::{
    attempt::Attempt,
    failure::most_frequent_holder,
    node_set::{NodeId, NodeSet},
    outbox::Outbox,
    owner::Owner,
    quorum::Quorum,
    request::{AttemptId, Fault, FaultKind, OperationId, Reply, Vote},
    resource::Resource,
    time::Instant,
    timing::Ttl,
};
use alloc::{boxed::Box, vec::Vec};

/// The release of one owner's keys on every node, until all are known to be gone or have outlived their
/// TTL.
///
/// It has two ends. The caller's comes first: as soon as a quorum is known to carry the keys no more, or
/// the nodes' time limit is over, the outcome is told. The other is the nodes': a node that refused to
/// act or was away is asked again, and so is one whose answers say that the release may have come before its acquire.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Releasing {
    attempt: Box<Attempt>,
    quorum: Quorum,
    /// Whom to tell the outcome; nobody, if nobody waits or it was told.
    waiting: Option<OperationId>,
    /// The others who asked for it meanwhile.
    waiting_too: Vec<OperationId>,
    /// Where the key is known to be gone.
    gone: NodeSet,
    /// Where the last release failed.
    failed: NodeSet,
    /// Where the link had no room for the last release.
    held_back: NodeSet,
    /// Where a grant was heard after the release was sent, and before its answer.
    granted_late: NodeSet,
    /// The number of the last release: answers to earlier ones do not count, since an acquire may have landed between
    /// the two.
    latest: u32,
    /// The nodes that were asked after the others, and the number of that release.
    asked_since: Vec<(NodeId, u32)>,
    /// When to ask again.
    again: Option<Instant>,
    /// How often that was put off.
    postponed: u32,
    /// The number of the first release: what comes late of a request before it deletes nothing.
    first: u32,
    /// Whether any node has deleted a key of ours.
    has_deleted: bool,
    is_release: bool,
    /// Whether the lease was valid when its release began.
    was_in_time: bool,
    /// Until when the keys are to stay, instead of being deleted.
    keep: Option<Instant>,
}

/// Who waits for the outcome of a release.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Report {
    pub(crate) to: OperationId,
    /// Whether the lease was valid when its release began.
    pub(crate) in_time: bool,
}

/// What became of a release.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReleaseOutcome {
    /// The keys were ours to the end, and a quorum is known to be free of them.
    Released,
    /// The lease was over before its release began, or no node carried our key any more; no quorum is
    /// another's.
    AlreadyExpired,
    /// A quorum carries the key of one other owner.
    TakenByAnother {
        /// Whose.
        holder: Owner,
    },
    /// Too few nodes answered in time. They are asked again in the background until the TTL has ended.
    Unknown {
        /// How many nodes are known to be free of our key.
        settled: usize,
        /// What is known about the others.
        faults: Vec<(NodeId, Fault)>,
    },
}

impl Releasing {
    /// Asks every node to release.
    pub(crate) fn begin(
        now: Instant,
        mut attempt: Box<Attempt>,
        quorum: Quorum,
        keep: Option<Instant>,
        report: Option<Report>,
        outbox: &mut Outbox,
    ) -> Self {
        let step = attempt.next_step();
        let closes = now.saturating_add(attempt.timing().node_limit());
        attempt.round.reopen(step, now, closes);
        // Step 5: release on every node, even where the answer was no. A refusal may be the echo of
        // our own first write, whose answer was lost.
        outbox.send(
            quorum.nodes(),
            attempt.tag(step),
            attempt.release(left(keep, now)),
        );
        let (gone, failed, granted_late) = (NodeSet::EMPTY, NodeSet::EMPTY, NodeSet::EMPTY);
        Self {
            attempt,
            quorum,
            waiting: report.map(|report| report.to),
            waiting_too: Vec::new(),
            gone,
            failed,
            held_back: NodeSet::EMPTY,
            granted_late,
            latest: step,
            asked_since: Vec::new(),
            again: None,
            postponed: 0,
            first: step,
            has_deleted: false,
            is_release: report.is_some(),
            was_in_time: report.is_some_and(|report| report.in_time),
            keep,
        }
    }

    /// Whose keys are taken back.
    pub(crate) const fn attempt_id(&self) -> AttemptId {
        self.attempt.id()
    }

    /// Whether it was begun by a release, and not because an attempt or a lease came to nothing.
    pub(crate) const fn is_release(&self) -> bool {
        self.is_release
    }

    /// Tells one more of the outcome. If it was told already, every node is asked once more.
    pub(crate) fn repeat(&mut self, now: Instant, to: OperationId, outbox: &mut Outbox) {
        if self.waiting.is_some() {
            return self.waiting_too.push(to);
        }
        self.waiting = Some(to);
        self.ask(now, self.quorum.nodes(), outbox);
        let closes = now.saturating_add(self.attempt.timing().node_limit());
        self.attempt.round.reopen(self.latest, now, closes);
    }

    /// Takes a node's answer to a release, or the late answer to a request that sets keys.
    #[inline]
    pub(crate) fn handle_reply(&mut self, reply: &Reply<'_>, outbox: &mut Outbox) {
        let (now, node, tag, vote) = (reply.now, reply.node, reply.tag, reply.vote);
        if !self.is_release_step(tag.step) {
            return self.hear_earlier(now, node, tag.step, vote, outbox);
        }
        self.has_deleted |= vote.is_granted();
        if self.latest(node) == tag.step {
            match vote {
                // Argument S5: it had granted, and now it has no such key. The release may have come before the key.
                Vote::Refused(_) if self.granted_late.contains(node) => {
                    self.ask(now, NodeSet::of(node), outbox);
                }
                Vote::Granted { .. } | Vote::Refused(_) => {
                    self.gone.insert(node);
                }
                Vote::Unknown(fault) if fault.kind() == FaultKind::Busy => {
                    self.failed.insert(node);
                    // It did not leave, and will when there is room: the node has not been asked yet.
                    if self.attempt.touched().contains(node) {
                        self.held_back.insert(node);
                        return;
                    }
                }
                // Argument S5: nothing else need tell when to ask again. A store that could not write answers as if the
                // connection was lost, and its link stays up. Where the link is down, it costs an answer of the link.
                Vote::Unknown(_) => {
                    self.failed.insert(node);
                    self.ask_later(now);
                }
            }
            // The caller is told the first certain answer, to whichever of our releases it is.
            let step = self.attempt.round.step();
            return self.attempt.round.handle(node, step, vote);
        }
        self.attempt.round.handle(node, tag.step, vote);
    }

    /// Whether request number `step` is a release.
    pub(crate) const fn is_release_step(&self, step: u32) -> bool {
        step >= self.first
    }

    /// What is released.
    pub(crate) const fn resource(&self) -> &Resource {
        self.attempt.resource()
    }

    /// Where the link had no room for the release.
    pub(crate) const fn held_back(&self) -> NodeSet {
        self.held_back
    }

    /// The nodes that have not confirmed that the key is gone.
    pub(crate) const fn owed(&self) -> NodeSet {
        self.attempt.touched().without(self.gone)
    }

    /// The link may have room now.
    pub(crate) fn ask_held_back(&mut self, now: Instant, node: NodeId, outbox: &mut Outbox) {
        self.ask(now, NodeSet::of(node), outbox);
    }

    /// The late answer to what was asked before the release. It deletes nothing.
    #[inline(never)]
    fn hear_earlier(
        &mut self,
        now: Instant,
        node: NodeId,
        step: u32,
        vote: &Vote,
        outbox: &mut Outbox,
    ) {
        let creates = self.attempt.creates(node, step);
        self.attempt.settle(now, node, step, vote);
        if let Some((tag, leave)) = self.attempt.leaving(vote) {
            outbox.send(NodeSet::of(node), tag, leave);
        }
        if creates && vote.is_granted() {
            self.hear_straggler(now, node, outbox);
        }
    }

    /// A grant was heard after the release was sent. On a connection that keeps the order, that release deletes the key,
    /// and nothing need be sent twice; its answer tells.
    fn hear_straggler(&mut self, now: Instant, node: NodeId, outbox: &mut Outbox) {
        // Argument S5: a release that was answered before may have come before the key. One that says that it has deleted
        // a key may have deleted another, if more than one request set it.
        if self.gone.contains(node) || self.attempt.repaired().contains(node) {
            self.ask(now, NodeSet::of(node), outbox);
        } else {
            self.granted_late.insert(node);
        }
    }

    /// The node can be asked again.
    pub(crate) fn handle_up(&mut self, now: Instant, node: NodeId, outbox: &mut Outbox) {
        // Whatever it refused before, it may be ready now.
        self.postponed = 0;
        // What was held back stays in its line, and leaves as the link has room.
        if self.failed.without(self.held_back).contains(node) {
            self.ask(now, NodeSet::of(node), outbox);
        }
    }

    /// Looks at the clock.
    pub(crate) fn handle_timeout(&mut self, now: Instant, outbox: &mut Outbox) {
        if now >= self.attempt.round.closes() {
            // These were not asked, so nothing is to be said about their answers.
            for node in self.held_back.iter() {
                let fault = Fault::new(FaultKind::Busy, NO_ROOM);
                let step = self.attempt.round.step();
                self.attempt.round.handle(node, step, &Vote::Unknown(fault));
            }
        }
        self.attempt.round.handle_timeout(now);
        if self.again.is_some_and(|at| now >= at) {
            self.again = None;
            let nodes = self.failed.intersection(self.attempt.touched());
            let nodes = nodes.without(self.held_back);
            self.ask(now, nodes, outbox);
        }
    }

    /// Whether there is an outcome to tell, or nothing is left to do.
    #[inline]
    pub(crate) fn has_ended(&self, now: Instant) -> bool {
        if self.waiting.is_some() {
            self.is_decided()
        } else {
            self.is_over(now)
        }
    }

    /// The outcome, once there is one, with who waits for it and the others who do, once.
    pub(crate) fn take_outcome(
        &mut self,
    ) -> Option<(OperationId, Vec<OperationId>, ReleaseOutcome)> {
        let first = self.waiting.filter(|_| self.is_decided())?;
        self.waiting = None;
        Some((
            first,
            core::mem::take(&mut self.waiting_too),
            self.outcome(),
        ))
    }

    /// Whether nothing is left to do.
    #[inline]
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let all_gone = self.owed().is_empty();
        // Argument S5: what still waits in the buffer of a hung node begins its TTL when the node wakes.
        // Links answer every request in the end, and only so many wait for a node at once.
        self.waiting.is_none()
            && self.attempt.is_answered()
            && (all_gone || now >= self.attempt.gone_by())
    }

    /// When to look at the clock again; none if only an answer changes anything.
    #[inline]
    pub(crate) fn wake_at(&self, now: Instant) -> Option<Instant> {
        let closes = self.attempt.round.closes();
        // Once the outcome is told, the other answers are on their way in most cases: the time is left as it is.
        let end = if self.waiting.is_some() || self.is_release && now < closes {
            Some(closes)
        } else {
            Some(self.attempt.gone_by()).filter(|at| *at > now)
        };
        match self.again {
            None => end,
            Some(again) => Some(end.map_or(again, |end| end.min(again))),
        }
    }

    #[inline(never)]
    fn ask(&mut self, now: Instant, nodes: NodeSet, outbox: &mut Outbox) {
        let step = self.attempt.next_step();
        self.asked_since.retain(|(node, _)| !nodes.contains(*node));
        if nodes == self.quorum.nodes() {
            self.latest = step;
        } else {
            let asked = nodes.iter().map(|node| (node, step));
            self.asked_since.extend(asked);
        }
        self.gone = self.gone.without(nodes);
        self.failed = self.failed.without(nodes);
        self.granted_late = self.granted_late.without(nodes);
        self.held_back = self.held_back.without(nodes);
        let release = self.attempt.release(left(self.keep, now));
        outbox.send(nodes, self.attempt.tag(step), release);
    }

    /// The number of the last release that was sent to this node.
    fn latest(&self, node: NodeId) -> u32 {
        let mut since = self.asked_since.iter();
        let found = since.find(|(other, _)| *other == node);
        found.map_or(self.latest, |(_, step)| *step)
    }

    /// The first pause is the nodes' time limit, and every further one twice as long.
    #[inline(never)]
    fn ask_later(&mut self, now: Instant) {
        if self.again.is_none() {
            let pause = self
                .attempt
                .timing()
                .node_limit()
                .saturating_mul(1 << self.postponed.min(10));
            self.again = Some(now.saturating_add(pause));
            self.postponed = self.postponed.saturating_add(1);
        }
    }

    /// A quorum of deletions decides at once; anything else is worth the answers of all nodes.
    #[inline]
    fn is_decided(&self) -> bool {
        let tally = self.attempt.round.tally();
        tally.granted().len() >= self.quorum.needed() || tally.answered() == self.quorum.nodes()
    }

    #[inline(never)]
    fn outcome(&self) -> ReleaseOutcome {
        let tally = self.attempt.round.tally();
        let settled = tally.granted().union(tally.refused());
        // Another address of a server says what the server has said already.
        let settled = settled.without(self.attempt.twins()).len();
        if settled < self.quorum.needed() {
            return ReleaseOutcome::Unknown {
                settled,
                faults: self.attempt.round.faults().to_vec(),
            };
        }
        match most_frequent_holder(self.attempt.round.refusals()) {
            Some((holder, nodes)) if nodes >= self.quorum.needed() => {
                ReleaseOutcome::TakenByAnother { holder }
            }
            _ if self.was_in_time && self.has_deleted => ReleaseOutcome::Released,
            _ => ReleaseOutcome::AlreadyExpired,
        }
    }
}

/// Why a node was not asked to release.
const NO_ROOM: &str =
    "too many requests wait for this node already, so the release was not sent yet";

/// For how long a key that is to stay until then must live.
fn left(keep: Option<Instant>, now: Instant) -> Option<Ttl> {
    let left = keep?.saturating_since(now);
    (!left.is_zero()).then(|| Ttl::at_least(left))
}
