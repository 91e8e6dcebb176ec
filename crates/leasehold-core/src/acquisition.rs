//! Attempt after attempt until a quorum grants, or a reason to stop.

use crate::{
    claim::Claim,
    failure::{AcquireFailure, Cause, Ended},
    lease::Lease,
    node_set::NodeId,
    outbox::Outbox,
    owner::{Owner, Seed},
    plan::{Plan, Wish},
    quorum::{Decision, Quorum},
    request::{AttemptId, OperationId, Tag, Vote},
    resource::Resource,
    round::Round,
    time::Instant,
};
use alloc::sync::Arc;

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
    last_try: bool,
    /// When an attempt last failed of something else than silence, or we began.
    reached: Instant,
    last_owner: Option<Owner>,
    /// What the last attempt failed of that had the time it needed.
    last_cause: Option<Cause>,
    state: State,
}

#[derive(Clone, Debug, Hash)]
#[expect(
    clippy::large_enum_variant,
    reason = "an acquisition votes most of the time; a box would cost an allocation per attempt"
)]
enum State {
    Voting(Claim, Round),
    Resting(Instant),
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

/// A lease, and what is needed to keep it.
#[derive(Debug)]
pub(crate) struct Won {
    pub(crate) lease: Lease,
    pub(crate) claim: Claim,
    pub(crate) plan: Arc<Plan>,
    pub(crate) seed: Seed,
    /// Before the first request of the attempt left.
    pub(crate) begun: Instant,
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
            last_try: false,
            reached: now,
            last_owner: None,
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
    ) -> Turn {
        let State::Voting(claim, round) = &mut self.state else {
            return Turn::default();
        };
        if tag.attempt != claim.id() {
            return Turn::default();
        }
        claim.settle(now, node, tag.step, &vote);
        round.handle(node, tag.step, vote);
        self.decide(now)
    }

    /// Looks at the clock.
    pub(crate) fn handle_timeout(&mut self, now: Instant, outbox: &mut Outbox) -> Turn {
        match &mut self.state {
            State::Voting(_, round) => {
                round.handle_timeout(now);
                self.decide(now)
            }
            State::Resting(until) if now >= *until => self.attempt(now, outbox),
            State::Resting(_) => Turn::default(),
        }
    }

    /// Gives up because the caller does not want the resource any more.
    pub(crate) fn cancel(self, now: Instant) -> (AcquireFailure, Option<Claim>) {
        let (tried, begun) = (self.tried, self.begun);
        let claim = match self.state {
            State::Voting(claim, _) => Some(claim),
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
            State::Resting(until) => *until,
        }
    }

    fn attempt(&mut self, now: Instant, outbox: &mut Outbox) -> Turn {
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
        let id = AttemptId {
            operation: self.operation,
            number,
        };
        let terms = self.plan.terms;
        let claim = Claim::new(id, self.resource.clone(), owner, terms, self.quorum, now)
            .taking_over(self.from.clone());
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

    fn decide(&mut self, now: Instant) -> Turn {
        let State::Voting(_, round) = &self.state else {
            return Turn::default();
        };
        let decision = round.decision();
        if decision == Decision::Pending {
            return Turn::default();
        }
        let State::Voting(claim, round) = core::mem::replace(&mut self.state, State::Resting(now))
        else {
            unreachable!("the state was looked at above");
        };
        // Step 3: a quorum, and in time.
        let must_end = self.plan.upkeep.ends_at(round.started());
        let valid_until = self.plan.terms.valid_until(round.started()).min(must_end);
        let in_full =
            round.closes().saturating_since(round.started()) == claim.terms().node_limit();
        let cause = match decision {
            Decision::Won if now < valid_until => return self.won(claim, &round, valid_until),
            Decision::Won => Cause::TooLate {
                elapsed: now.saturating_since(round.started()),
            },
            Decision::Pending | Decision::Lost => Cause::of_lost(self.quorum, round),
        };
        // The silence of nodes that were not given their time says nothing about them.
        let cause = match self.last_cause.take() {
            Some(before) if cause.is_unreachable() && !in_full => before,
            _ => cause,
        };
        if !cause.is_unreachable() {
            self.reached = now;
        }
        self.last_cause = Some(cause.clone());
        // Step 5: what was lost is taken back on every node, whatever happens next.
        let mut turn = self.after_a_lost_attempt(now, cause);
        turn.abandoned = Some(claim);
        turn
    }

    fn won(&self, claim: Claim, round: &Round, valid_until: Instant) -> Turn {
        assert!(
            round.tally().granted().len() >= self.quorum.needed(),
            "a lease stands on a quorum of grants"
        );
        let (resource, owner) = (claim.resource().clone(), claim.owner().clone());
        let lease = Lease {
            resource,
            owner,
            valid_until,
        };
        let won = Won {
            lease,
            claim,
            plan: Arc::clone(&self.plan),
            seed: self.seed,
            begun: round.started(),
        };
        Turn {
            abandoned: None,
            outcome: Some(Outcome::Won(won)),
        }
    }

    fn after_a_lost_attempt(&mut self, now: Instant, cause: Cause) -> Turn {
        let unreachable = now.saturating_since(self.reached);
        let retry = &self.plan.retry;
        if self.last_try || self.deadline.is_some_and(|deadline| now >= deadline) {
            return self.end(now, cause, Ended::Patience);
        }
        if !retry.allows_more(self.tried) {
            return self.end(now, cause, Ended::Tries);
        }
        if cause.is_unreachable() && retry.gives_up_unreachable(unreachable) {
            return self.end(now, cause, Ended::Unreachable);
        }
        let pause = retry.pause(self.tried, self.seed.jitter(self.tried));
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
