//! Attempt after attempt until a quorum grants, or a reason to stop.

use crate::{
    agreement::Agreement,
    claim::Claim,
    failure::{AcquireFailure, Cause, Ended},
    fence::FencingToken,
    lease::Lease,
    node_set::{NodeId, NodeSet},
    outbox::Outbox,
    owner::{Owner, Seed},
    plan::{Plan, Wish},
    quorum::{Decision, Quorum},
    request::{AttemptId, Fault, FaultKind, OperationId, Tag, Vote},
    resource::Resource,
    round::Round,
    steps::Steps,
    time::Instant,
    won::Won,
};
use alloc::sync::Arc;
use core::time::Duration;

/// One wish on its way.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Acquisition {
    operation: OperationId,
    resource: Resource,
    from: Option<Owner>,
    plan: Arc<Plan>,
    quorum: Quorum,
    seed: Seed,
    begun: Instant,
    deadline: Option<Instant>,
    tried: u32,
    /// How many of the tries nodes abstained from: these do not count.
    abstained: u32,
    /// Until when they do not count: nodes that restart again and again are not waited for for ever.
    abstention_ends: Option<Instant>,
    last_try: bool,
    /// When an attempt last failed of something else than silence, or we began.
    reached: Instant,
    last_owner: Option<Owner>,
    /// By how much the clocks of the nodes that granted were set forward since.
    steps: Steps,
    /// What the last attempt failed of that had the time it needed.
    last_cause: Option<Cause>,
    state: State,
}

#[derive(Clone, Debug, Hash)]
enum State {
    Voting(Claim, Round),
    /// The vote is won; when it began, and until when a lease would be valid.
    Agreeing(Claim, Agreement, Span),
    Resting(Instant),
}

/// When a vote that was won had begun, and until when its lease is valid.
#[derive(Clone, Copy, Debug, Hash)]
struct Span {
    begun: Instant,
    valid_until: Instant,
}

/// What the engine must do after it moved an acquisition.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// A lost attempt whose keys must be taken back.
    pub(crate) abandoned: Option<Claim>,
    /// The end, if this is it.
    pub(crate) outcome: Option<Outcome>,
}

/// How an acquisition ended.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it lives for one call; a box would cost an allocation per lease"
)]
pub(crate) enum Outcome {
    Won(Won),
    Failed(AcquireFailure),
}

impl Acquisition {
    /// A wish whose first attempt begins at the next look at the clock.
    pub(crate) fn new(
        now: Instant,
        operation: OperationId,
        wish: Wish,
        quorum: Quorum,
        seed: Seed,
    ) -> Self {
        Self {
            operation,
            resource: wish.resource,
            from: wish.from,
            plan: wish.plan,
            quorum,
            seed,
            begun: now,
            deadline: wish.patience.map(|patience| now.saturating_add(patience)),
            tried: 0,
            abstained: 0,
            abstention_ends: None,
            last_try: false,
            reached: now,
            last_owner: None,
            steps: Steps::default(),
            last_cause: None,
            state: State::Resting(now),
        }
    }

    /// Takes a node's answer.
    pub(crate) fn handle_reply(
        &mut self,
        now: Instant,
        node: NodeId,
        tag: Tag,
        vote: Vote,
        outbox: &mut Outbox,
    ) -> Turn {
        let is_first = tag.step == Claim::ACQUIRE_STEP;
        let is_fenced = self.plan.is_fenced && is_first;
        match &mut self.state {
            State::Voting(claim, round) if tag.attempt == claim.id() => {
                claim.settle(now, node, tag.step, &vote);
                round.handle(node, tag.step, counted(vote, is_fenced));
            }
            State::Agreeing(claim, agreement, _) if tag.attempt == claim.id() => {
                claim.settle(now, node, tag.step, &vote);
                let vote = counted(vote, is_fenced);
                agreement.handle_reply(node, tag.step, vote, claim, outbox);
            }
            State::Voting(..) | State::Agreeing(..) | State::Resting(_) => return Turn::default(),
        }
        self.decide(now, outbox)
    }

    /// A node's clock was set forward by `step`: what it has granted ends before its time.
    pub(crate) fn handle_step(
        &mut self,
        now: Instant,
        node: NodeId,
        step: Duration,
        outbox: &mut Outbox,
    ) -> Turn {
        let granted = match &self.state {
            State::Voting(_, round) => round.tally().granted(),
            State::Agreeing(_, agreement, _) => agreement.keys(),
            State::Resting(_) => NodeSet::EMPTY,
        };
        if !granted.contains(node) {
            return Turn::default();
        }
        let all = self.steps.add(node, step);
        if self.plan.terms.cut_by(all).is_zero() {
            return Turn::default();
        }
        let stepped = Fault::stepped(all);
        match &mut self.state {
            State::Voting(_, round) => round.doubt(node, stepped),
            State::Agreeing(_, agreement, _) => agreement.doubt(node, stepped),
            State::Resting(_) => {}
        }
        self.decide(now, outbox)
    }

    /// Looks at the clock. `epoch` is what the wall clock shows at the clock's origin.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Instant,
        epoch: Duration,
        outbox: &mut Outbox,
    ) -> Turn {
        match &mut self.state {
            State::Voting(_, round) => round.handle_timeout(now),
            State::Agreeing(_, agreement, _) => agreement.handle_timeout(now),
            State::Resting(until) if now >= *until => return self.attempt(now, epoch, outbox),
            State::Resting(_) => return Turn::default(),
        }
        self.decide(now, outbox)
    }

    /// Gives up because the caller does not want the resource any more.
    pub(crate) fn cancel(self, now: Instant) -> (AcquireFailure, Option<Claim>) {
        let (tried, begun) = (self.tried, self.begun);
        let claim = match self.state {
            State::Voting(claim, _) | State::Agreeing(claim, ..) => Some(claim),
            State::Resting(_) => None,
        };
        let waited = now.saturating_since(begun);
        let ended = Ended::Cancelled;
        (
            AcquireFailure {
                cause: Cause::Cancelled,
                ended,
                attempts: tried,
                waited,
            },
            claim,
        )
    }

    /// When to look at the clock again.
    pub(crate) const fn wake_at(&self) -> Instant {
        match &self.state {
            State::Voting(_, round) => round.closes(),
            State::Agreeing(_, agreement, _) => agreement.closes(),
            State::Resting(until) => *until,
        }
    }

    fn attempt(&mut self, now: Instant, epoch: Duration, outbox: &mut Outbox) -> Turn {
        // Woken too late: there is no time left in which a vote could be won.
        if self.deadline.is_some_and(|deadline| now >= deadline)
            && let Some(cause) = self.last_cause.take()
        {
            return self.end(now, cause, Ended::Patience);
        }
        let number = self.tried;
        self.tried = self.tried.saturating_add(1);
        // Argument S8: a fresh owner per attempt, so a late release of this attempt cannot delete the
        // next one's key.
        let owner = self.plan.owners.owner(&self.seed.sign(number));
        let Some(owner) = owner.filter(|owner| self.last_owner.as_ref() != Some(owner)) else {
            return self.end(now, Cause::OwnerRepeated, Ended::Misuse);
        };
        self.last_owner = Some(owner.clone());
        self.steps = Steps::default();
        let id = AttemptId {
            operation: self.operation,
            number,
        };
        let terms = self.plan.terms;
        let proposal = self.plan.is_fenced.then(|| {
            let wall = epoch.saturating_add(now.since_origin());
            FencingToken::of_time(wall)
        });
        let claim = Claim::new(id, self.resource.clone(), owner, terms, self.quorum, now)
            .taking_over(self.from.clone())
            .proposing(proposal);
        // Step 1: `now` was read before the first request leaves; validity counts from it.
        let closes = now.saturating_add(terms.node_limit());
        let closes = self
            .deadline
            .map_or(closes, |deadline| closes.min(deadline));
        let round = Round::new(self.quorum, Claim::ACQUIRE_STEP, now, closes);
        // Step 2: all nodes at once.
        outbox.send(
            self.quorum.nodes(),
            claim.tag(Claim::ACQUIRE_STEP),
            claim.first(),
        );
        self.state = State::Voting(claim, round);
        Turn::default()
    }

    fn decide(&mut self, now: Instant, outbox: &mut Outbox) -> Turn {
        match core::mem::replace(&mut self.state, State::Resting(now)) {
            State::Voting(claim, round) => match round.decision() {
                Decision::Pending => {
                    self.state = State::Voting(claim, round);
                    Turn::default()
                }
                Decision::Won => self.agree(now, claim, round, outbox),
                Decision::Lost => self.lost(now, claim, round),
            },
            State::Agreeing(claim, agreement, span) => {
                self.look_at_agreement(now, claim, agreement, span)
            }
            resting @ State::Resting(_) => {
                self.state = resting;
                Turn::default()
            }
        }
    }

    /// A quorum has granted: what is left is the token, if there is to be one.
    fn agree(&mut self, now: Instant, mut claim: Claim, round: Round, outbox: &mut Outbox) -> Turn {
        let begun = round.started();
        let must_end = self.plan.upkeep.ends_at(begun);
        let valid_until = self.plan.terms.valid_until(begun).min(must_end);
        let span = Span { begun, valid_until };
        let granted = round.tally().granted();
        if !self.plan.is_fenced {
            return self.won(now, claim, None, granted, span);
        }
        let closes = now
            .saturating_add(self.plan.terms.node_limit())
            .min(valid_until)
            .min(self.deadline.unwrap_or(Instant::NEVER));
        match Agreement::begin(now, closes, self.quorum, &round, &mut claim, outbox) {
            Some(agreement) => self.look_at_agreement(now, claim, agreement, span),
            None => self.lost(now, claim, round),
        }
    }

    fn look_at_agreement(
        &mut self,
        now: Instant,
        claim: Claim,
        agreement: Agreement,
        span: Span,
    ) -> Turn {
        match (agreement.token(), agreement.decision()) {
            (Some(token), _) => self.won(now, claim, Some(token), agreement.standing(), span),
            (None, Decision::Lost) => self.lost(now, claim, agreement.into_round()),
            (None, Decision::Pending | Decision::Won) => {
                self.state = State::Agreeing(claim, agreement, span);
                Turn::default()
            }
        }
    }

    /// Step 3: a quorum, and in time. The clock is looked at after every answer that was waited for.
    fn won(
        &mut self,
        now: Instant,
        claim: Claim,
        token: Option<FencingToken>,
        standing: NodeSet,
        span: Span,
    ) -> Turn {
        assert!(
            standing.len() >= self.quorum.needed(),
            "a lease stands on a quorum of grants"
        );
        let Span { begun, valid_until } = span;
        if now >= valid_until {
            let elapsed = now.saturating_since(begun);
            return self.fail(now, claim, Cause::TooLate { elapsed });
        }
        let (resource, owner) = (claim.resource().clone(), claim.owner().clone());
        let lease = Lease {
            resource,
            owner,
            token,
            valid_until,
        };
        let won = Won {
            lease,
            claim: claim.proposing(token),
            plan: Arc::clone(&self.plan),
            seed: self.seed,
            standing,
            steps: core::mem::take(&mut self.steps),
            begun,
        };
        Turn {
            abandoned: None,
            outcome: Some(Outcome::Won(won)),
        }
    }

    fn lost(&mut self, now: Instant, claim: Claim, round: Round) -> Turn {
        let in_full =
            round.closes().saturating_since(round.started()) == claim.terms().node_limit();
        let cause = Cause::of_lost(self.quorum, round);
        // The silence of nodes that were not given their time says nothing about them.
        let cause = match self.last_cause.take() {
            Some(before) if cause.is_unreachable() && !in_full => before,
            _ => cause,
        };
        self.fail(now, claim, cause)
    }

    /// Step 5: what was lost is taken back on every node, whatever happens next.
    fn fail(&mut self, now: Instant, claim: Claim, cause: Cause) -> Turn {
        if !cause.is_unreachable() {
            self.reached = now;
        }
        self.last_cause = Some(cause.clone());
        let mut turn = self.after_a_lost_attempt(now, cause);
        turn.abandoned = Some(claim);
        turn
    }

    fn after_a_lost_attempt(&mut self, now: Instant, cause: Cause) -> Turn {
        let unreachable = now.saturating_since(self.reached);
        let retry = &self.plan.retry;
        if matches!(cause, Cause::Disagreement { .. }) {
            return self.end(now, cause, Ended::Misuse);
        }
        if let Cause::Abstained { left, .. } = cause {
            let ends = now.saturating_add(left.saturating_mul(2));
            if now < *self.abstention_ends.get_or_insert(ends) {
                self.abstained = self.abstained.saturating_add(1);
            }
        }
        if self.last_try || self.deadline.is_some_and(|deadline| now >= deadline) {
            return self.end(now, cause, Ended::Patience);
        }
        let counted = self.tried.saturating_sub(self.abstained);
        if retry.tries_once() || !retry.allows_more(counted) {
            return self.end(now, cause, Ended::Tries);
        }
        if cause.is_unreachable() && retry.gives_up_unreachable(unreachable) {
            return self.end(now, cause, Ended::Unreachable);
        }
        let pause = retry.pause(self.tried, self.seed.jitter(self.tried));
        let pause = match cause {
            Cause::Abstained { left, .. } => pause.max(left.min(LONGEST_ABSTENTION)),
            _ => pause,
        };
        let mut until = now.saturating_add(pause);
        if let Some(deadline) = self.deadline
            && until >= deadline
        {
            self.last_try = true;
            until = self.last_try_at(now, deadline);
        }
        // Even without a pause the next attempt waits for the next look at the clock: the release of
        // this one goes out first, or its keys would refuse the next attempt.
        self.state = State::Resting(until);
        Turn::default()
    }

    /// When to begin the last try, if a pause does not fit before the deadline: with as much time left as a
    /// node may take, or, if there is less, with half of it.
    #[expect(clippy::arithmetic_side_effects, reason = "the divisor is not zero")]
    fn last_try_at(&self, now: Instant, deadline: Instant) -> Instant {
        let in_full = deadline.saturating_sub(self.plan.terms.node_limit());
        let half = deadline.saturating_since(now) / 2;
        if in_full > now {
            in_full
        } else {
            now.saturating_add(half)
        }
    }

    fn end(&self, now: Instant, cause: Cause, ended: Ended) -> Turn {
        let waited = now.saturating_since(self.begun);
        let failure = AcquireFailure {
            cause,
            ended,
            attempts: self.tried,
            waited,
        };
        Turn {
            abandoned: None,
            outcome: Some(Outcome::Failed(failure)),
        }
    }
}

/// A first vote as it counts: without a counter there is no token, so a grant that tells none is as good as
/// none where a token is wanted.
fn counted(vote: Vote, is_fenced: bool) -> Vote {
    match vote {
        Vote::Granted { counter: None } if is_fenced => Vote::Unknown(Fault::new(
            FaultKind::Rejected,
            "granted without telling its counter",
        )),
        vote => vote,
    }
}

/// How long an attempt that nodes abstained from rests at most before the next: somebody may admit the nodes.
const LONGEST_ABSTENTION: Duration = Duration::from_secs(1);
