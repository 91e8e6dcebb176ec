//! Attempt after attempt until a quorum grants, or a reason to stop.

mod contention;
mod losing;
mod probe;
mod queueing;
mod slots;
mod waiting;
mod winning;

use crate::{
    agreement::Agreement,
    attempt::Attempt,
    failure::{AcquireFailure, Cause, Ended},
    fence::FencingToken,
    local_queue::{ContentionLevel, SlotsHere},
    lock_config::{AcquireRequest, LockConfig},
    node_set::{NodeId, NodeSet},
    nodes::Nodes,
    outbox::Outbox,
    owner::{Owner, Seed},
    quorum::{Decision, Quorum},
    request::{AttemptId, Fault, OperationId, Reply, Vote},
    resource::Resource,
    steps::Steps,
    time::Instant,
    tries::{Pace, Tries},
    won::Won,
};
use alloc::{boxed::Box, sync::Arc};
use contention::Contention;
use core::time::Duration;
use probe::{PROBE_TIME, skip_others};
use queueing::Queueing;
use slots::SlotSearch;
use waiting::{Ask, Rest};
use winning::{Span, WonVote};

/// One acquire request on its way.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Acquisition {
    operation: OperationId,
    resource: Resource,
    from: Option<Owner>,
    config: Arc<LockConfig>,
    quorum: Quorum,
    seed: Seed,
    tries: Tries,
    last_owner: Option<Owner>,
    /// By how much the clocks of the nodes that granted were set forward since.
    steps: Steps,
    /// Why the last attempt failed that is evidence: its nodes had time to answer, or did answer.
    last_cause: Option<Cause>,
    /// Whether others of this engine come first.
    is_behind: bool,
    /// Whether others of this engine came first, now or before.
    was_behind: bool,
    /// When all nodes were asked last; none until then.
    asked_all: Option<Instant>,
    /// Others who want it as well.
    contention: Contention,
    /// Who has told of a change after it refused.
    changed: NodeSet,
    /// Whose key stood in the way when it was free all the same, and has not changed since.
    stood: NodeSet,
    /// The nodes that tell of changes, as of the last attempt.
    telling: NodeSet,
    /// Where it stands among those who want the same, if the lock is fair.
    queueing: Option<Queueing>,
    /// What it knows of the slots, if it is for a permit.
    search: Option<Box<SlotSearch>>,
    phase: Phase,
}

#[derive(Clone, Debug, Hash)]
enum Phase {
    /// One node is asked before the others.
    Probing(Box<Attempt>, NodeId),
    Voting(Box<Attempt>),
    /// The vote is won; when it began, and until when a lease would be valid.
    Agreeing(Box<Attempt>, Box<Agreement>, Span),
    Resting(Rest),
    Won(Box<Attempt>, WonVote),
    Failed(Box<AcquireFailure>),
}

/// How an acquisition ended.
#[derive(Debug)]
pub(crate) enum End {
    Won(Won),
    Failed(Box<AcquireFailure>),
}

/// What the engine knows that its acquisitions need.
#[derive(Debug)]
pub(crate) struct Around<'a> {
    /// What the wall clock shows at the clock's origin.
    pub(crate) epoch: Duration,
    pub(crate) nodes: &'a mut Nodes,
    /// Of the permits that it wants, if it wants one.
    pub(crate) slots: SlotsHere,
}

impl Around<'_> {
    /// What the counters shall be at least.
    fn proposal(&self, now: Instant) -> FencingToken {
        let wall = self.epoch.saturating_add(now.since_origin());
        FencingToken::of_time(wall)
    }
}

/// What the engine must do after it moved an acquisition.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// A lost attempt whose keys must be taken back.
    pub(crate) abandoned: Option<Box<Attempt>>,
    /// Whether this is the end.
    pub(crate) has_ended: bool,
}

impl Acquisition {
    /// A request whose first attempt begins at the next look at the clock.
    #[inline]
    pub(crate) fn new(
        now: Instant,
        operation: OperationId,
        acquire: AcquireRequest,
        quorum: Quorum,
        seed: Seed,
    ) -> Self {
        // A caller that takes over what it was given waits for nobody.
        let is_fair = acquire.config.is_fair && acquire.from.is_none();
        Self {
            operation,
            queueing: is_fair.then(|| Queueing::new(&seed, acquire.resource.wanted())),
            search: acquire
                .resource
                .permits()
                .map(|of| Box::new(SlotSearch::new(of, seed.jitter(slots::START)))),
            resource: acquire.resource,
            from: acquire.from,
            config: acquire.config,
            quorum,
            seed,
            tries: Tries::new(now, acquire.patience),
            last_owner: None,
            steps: Steps::default(),
            last_cause: None,
            is_behind: false,
            was_behind: false,
            asked_all: None,
            contention: Contention::default(),
            changed: NodeSet::EMPTY,
            stood: NodeSet::EMPTY,
            telling: NodeSet::EMPTY,
            phase: Phase::Resting(Rest::NEW),
        }
    }

    /// What is wanted.
    pub(crate) const fn resource(&self) -> &Resource {
        &self.resource
    }

    /// Who wants it.
    pub(crate) const fn operation(&self) -> OperationId {
        self.operation
    }

    /// Whether the nodes are asked under this attempt now.
    pub(crate) fn asks_as(&self, id: AttemptId) -> bool {
        match &self.phase {
            Phase::Voting(attempt) | Phase::Probing(attempt, _) | Phase::Agreeing(attempt, ..) => {
                attempt.id() == id
            }
            Phase::Resting(_) | Phase::Won(..) | Phase::Failed(_) => false,
        }
    }

    /// How it ended, if it has; once. It is large, and stays where it is.
    pub(crate) fn take_end(&mut self) -> Option<End> {
        match core::mem::replace(&mut self.phase, Phase::Resting(Rest::NEW)) {
            Phase::Won(attempt, confirmed) => Some(End::Won(Won {
                attempt,
                token: confirmed.token,
                config: Arc::clone(&self.config),
                seed: self.seed,
                confirmed: confirmed.nodes,
                steps: core::mem::take(&mut self.steps),
                begun: confirmed.span.begun,
                valid_until: confirmed.span.valid_until,
            })),
            Phase::Failed(failure) => Some(End::Failed(failure)),
            _ => None,
        }
    }

    /// How we fared with others who want the resource.
    pub(crate) const fn contention_level(&self) -> ContentionLevel {
        self.contention.level()
    }

    /// Takes a node's answer.
    #[inline]
    pub(crate) fn handle_reply(&mut self, reply: &Reply<'_>, outbox: &mut Outbox) -> Progress {
        let (now, node, tag, vote) = (reply.now, reply.node, reply.tag, reply.vote);
        let (Phase::Voting(attempt) | Phase::Probing(attempt, _) | Phase::Agreeing(attempt, ..)) =
            &mut self.phase
        else {
            self.hear_of_blockers(reply);
            return Progress::default();
        };
        if tag.attempt != attempt.id() {
            return Progress::default();
        }
        attempt.settle(now, node, tag.step, vote);
        let is_first_fenced = self.config.is_fenced && tag.step == Attempt::ACQUIRE_STEP;
        let lacks_counter = is_first_fenced && matches!(vote, Vote::Granted { counter: None });
        if lacks_counter {
            let vote = &winning::without_counter();
            self.count(&Reply { vote, ..*reply }, outbox);
        } else {
            self.count(reply, outbox);
        }
        self.decide(now, outbox)
    }

    #[inline]
    fn count(&mut self, reply: &Reply<'_>, outbox: &mut Outbox) {
        let (node, server, step) = (reply.node, reply.server, reply.tag.step);
        match &mut self.phase {
            Phase::Voting(attempt) | Phase::Probing(attempt, _) => {
                attempt.round.handle_from(node, step, reply.vote, server);
            }
            Phase::Agreeing(attempt, agreement, _) => {
                let vote = reply.vote.clone();
                agreement.handle_reply((node, server), step, vote, attempt, outbox);
            }
            Phase::Resting(_) | Phase::Won(..) | Phase::Failed(_) => {}
        }
    }

    /// A node's clock was set forward by `step`: what it has granted ends before its time.
    pub(crate) fn handle_step(
        &mut self,
        now: Instant,
        node: NodeId,
        step: Duration,
        outbox: &mut Outbox,
    ) -> Progress {
        let granted = match &self.phase {
            Phase::Voting(attempt) | Phase::Probing(attempt, _) => attempt.round.tally().granted(),
            Phase::Agreeing(_, agreement, _) => agreement.keys(),
            Phase::Resting(_) | Phase::Won(..) | Phase::Failed(_) => NodeSet::EMPTY,
        };
        if !granted.contains(node) {
            return Progress::default();
        }
        let all = self.steps.add(node, step);
        if self.config.timing.cut_by(all).is_zero() {
            return Progress::default();
        }
        self.doubt(node, Fault::stepped(all));
        self.decide(now, outbox)
    }

    /// Another server is this node from now on.
    pub(crate) fn handle_replacement(
        &mut self,
        now: Instant,
        node: NodeId,
        outbox: &mut Outbox,
    ) -> Progress {
        self.doubt(node, Fault::replaced());
        self.decide(now, outbox)
    }

    /// A grant of this node cannot be relied upon any more, for this reason.
    fn doubt(&mut self, node: NodeId, why: Fault) {
        match &mut self.phase {
            Phase::Voting(attempt) | Phase::Probing(attempt, _) => attempt.round.doubt(node, why),
            Phase::Agreeing(_, agreement, _) => {
                if agreement.keys().contains(node) {
                    agreement.doubt(node, why);
                }
            }
            Phase::Resting(_) | Phase::Won(..) | Phase::Failed(_) => {}
        }
    }

    /// Looks at the clock.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        outbox: &mut Outbox,
    ) -> Progress {
        match &mut self.phase {
            Phase::Probing(attempt, asked) => {
                if now >= attempt.round.closes() {
                    // A caller that had no time to wait says nothing about the node.
                    if now >= attempt.round.started().saturating_add(PROBE_TIME) {
                        around.nodes.missed(*asked);
                    }
                    self.ask_the_others(now, outbox);
                }
            }
            Phase::Voting(attempt) => attempt.round.handle_timeout(now),
            Phase::Agreeing(_, agreement, _) => agreement.handle_timeout(now),
            Phase::Resting(_) => return self.rest(now, around, outbox),
            Phase::Won(..) | Phase::Failed(_) => {}
        }
        self.decide(now, outbox)
    }

    /// Gives up because the caller does not want the resource any more.
    pub(crate) fn cancel(self, now: Instant) -> (AcquireFailure, Option<Box<Attempt>>) {
        let attempt = match self.phase {
            Phase::Voting(attempt) | Phase::Agreeing(attempt, ..) => Some(attempt),
            Phase::Probing(mut attempt, asked) => {
                skip_others(now, &mut attempt, asked, self.quorum);
                Some(attempt)
            }
            Phase::Resting(_) | Phase::Won(..) | Phase::Failed(_) => None,
        };
        let failure = AcquireFailure {
            cause: Cause::Cancelled,
            ended: Ended::Cancelled,
            attempts: self.tries.attempts(),
            waited: self.tries.waited(now),
        };
        (failure, attempt.map(|attempt| attempt.queueing(None)))
    }

    /// When to look at the clock again.
    pub(crate) fn wake_at(&self) -> Instant {
        match &self.phase {
            Phase::Probing(attempt, _) | Phase::Voting(attempt) => attempt.round.closes(),
            Phase::Agreeing(_, agreement, _) => agreement.closes(),
            Phase::Resting(rest) => {
                let due = match self.is_behind {
                    true => self
                        .tries
                        .next_behind_others(Pace::of(&self.config, &self.seed)),
                    false => self.tries.next(),
                };
                rest.wake_at(self.is_behind)
                    .min(due)
                    .min(self.shows_itself_at())
            }
            Phase::Won(..) | Phase::Failed(_) => Instant::NEVER,
        }
    }

    fn begin_attempt(
        &mut self,
        now: Instant,
        how: Ask,
        around: &mut Around<'_>,
        outbox: &mut Outbox,
    ) -> Progress {
        // There is no time left in which a vote could be won, and nodes that are given none are not silent.
        if now >= self.tries.deadline() {
            let cause = self.last_cause.take().unwrap_or(Cause::IN_LINE);
            return self.end(now, cause, Ended::Patience);
        }
        let first = self.first(now, how, around.nodes);
        let number = match self.moves_on() {
            true => self.tries.go_on(),
            false => self.tries.begin(now),
        };
        let Some(owner) = self.fresh_owner(now, number, around.slots) else {
            return self.end(now, Cause::OwnerRepeated, Ended::Misuse);
        };
        self.steps = Steps::default();
        self.changed = NodeSet::EMPTY;
        self.telling = around.nodes.telling();
        let id = AttemptId {
            operation: self.operation,
            number,
        };
        let timing = self.config.timing;
        // A ticket is drawn by it too, where nobody wants a token.
        let proposes = self.config.is_fenced || self.queueing.is_some();
        let proposal = proposes.then(|| around.proposal(now));
        let mut attempt = Attempt::new(id, self.resource.clone(), owner, timing, self.quorum, now)
            .taking_over(self.from.clone())
            .queueing(self.queueing.as_ref().map(Queueing::place))
            .proposing(proposal);
        // Step 1: `now` was read before the first request leaves; validity counts from it.
        let tag = attempt.tag(Attempt::ACQUIRE_STEP);
        let closes = first.map_or_else(
            || self.closes(now),
            |_| self.closes(now).min(now.saturating_add(PROBE_TIME)),
        );
        attempt.round.put_off(closes);
        match first {
            Some(node) => {
                outbox.send(NodeSet::of(node), tag, attempt.first());
                self.phase = Phase::Probing(attempt, node);
            }
            None => {
                // Step 2: all nodes at once.
                outbox.send(self.quorum.nodes(), tag, attempt.first());
                self.asked_all = Some(now);
                self.phase = Phase::Voting(attempt);
            }
        }
        Progress::default()
    }

    /// The owner of attempt `number`; none if the source gave none, or the last one again.
    fn fresh_owner(&mut self, now: Instant, number: u32, slots: SlotsHere) -> Option<Owner> {
        // Argument S8: a fresh owner per attempt, so a late release of this attempt cannot delete the
        // next one's key.
        let random = self.seed.sign(number);
        let owner = self.config.owners.owner(&random)?;
        let owner = self.signed(now, owner, &random, slots)?;
        let is_fresh = self.last_owner.replace(owner.clone()).as_ref() != Some(&owner);
        is_fresh.then_some(owner)
    }

    /// Until when nodes that are asked now may take.
    fn closes(&self, now: Instant) -> Instant {
        let limit = self.config.timing.node_limit();
        now.saturating_add(limit).min(self.tries.deadline())
    }

    #[inline]
    fn decide(&mut self, now: Instant, outbox: &mut Outbox) -> Progress {
        match &self.phase {
            Phase::Voting(attempt) if attempt.round.decision() == Decision::Pending => {
                Progress::default()
            }
            _ => self.move_on(now, outbox),
        }
    }

    #[inline(never)]
    fn move_on(&mut self, now: Instant, outbox: &mut Outbox) -> Progress {
        if let Phase::Probing(attempt, first) = &self.phase {
            let tally = attempt.round.tally();
            if !tally.answered().contains(*first) {
                return Progress::default();
            }
            if !tally.refused().contains(*first) {
                self.ask_the_others(now, outbox);
            }
        }
        let is_won = match &self.phase {
            Phase::Voting(attempt) => match attempt.round.decision() {
                Decision::Won => true,
                Decision::Lost if !attempt.round.may_disagree() => false,
                Decision::Lost | Decision::Pending => return Progress::default(),
            },
            _ => false,
        };
        match core::mem::replace(&mut self.phase, Phase::Resting(Rest::NEW)) {
            Phase::Probing(mut attempt, _) => self.turned_away(now, attempt.round.take()),
            Phase::Voting(attempt) if is_won => self.agree(now, attempt, outbox),
            Phase::Voting(mut attempt) => {
                let round = attempt.round.take();
                self.lost(now, attempt, round)
            }
            Phase::Agreeing(attempt, agreement, span) => {
                self.look_at_agreement(now, attempt, agreement, span)
            }
            other @ (Phase::Resting(_) | Phase::Won(..) | Phase::Failed(_)) => {
                self.phase = other;
                Progress::default()
            }
        }
    }
}
