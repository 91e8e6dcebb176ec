//! What happens to a lease between acquire and release.
//!
//! The renewal extends the lease, when the holder asks and by itself; it repairs nodes that lost the key;
//! it tells when the lease is in danger, safe again, or lost. Lost is the end: what comes later changes
//! nothing any more, and the keys are left to their TTL until the holder lets go.

mod effects;
mod news;
mod trouble;
mod watching;

use crate::{
    attempt::Attempt,
    confirmed_nodes::ConfirmedNodes,
    extension::Extension,
    failure::ExtendFailure,
    lease,
    lock_config::LockConfig,
    loss::{LeaseChange, Loss, Trouble},
    node_set::{NodeId, NodeSet},
    outbox::Outbox,
    owner::Seed,
    quorum::{Decision, Quorum},
    repair::Repair,
    request::{AttemptId, Fault, OperationId, Reply, Vote},
    resource::Resource,
    round::Round,
    time::Instant,
    timing::{Timing, Ttl},
    won::Won,
};
use alloc::{boxed::Box, sync::Arc, vec, vec::Vec};
use core::{mem, time::Duration};
use watching::Watching;

pub(crate) use effects::{Effects, EndedLease};

/// A lease in somebody's hands.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Renewal {
    attempt: Box<Attempt>,
    /// Until when it may be relied upon.
    valid_until: Instant,
    /// From when on it is in danger.
    danger_at: Instant,
    quorum: Quorum,
    config: Arc<LockConfig>,
    seed: Seed,
    /// Before the first request of the acquisition left.
    begun: Instant,
    /// The timing that a quorum has last confirmed, if it is not the config's.
    timing: Option<Box<Timing>>,
    /// The keys that the lease stands on.
    confirmed: ConfirmedNodes,
    /// By how much the clock of a node was last set forward, if the lease is the shorter for it.
    stepped: Option<(NodeId, Duration)>,
    state: LeaseState,
    extension: Option<Box<Extension>>,
    /// Who asked for another TTL while an extension was under way.
    queued: Vec<(OperationId, Timing)>,
    /// When to extend by itself.
    next: Option<Instant>,
    /// How often the lease was extended.
    extensions: u32,
    /// When the last extension began.
    extended: Option<Instant>,
    /// When to extend because somebody may have touched the keys since then.
    touched: Option<Instant>,
    trouble: Option<Box<Trouble>>,
    /// When the holder last reported progress.
    heard: Instant,
    /// Whether an extension was left out because the holder reported none.
    stalled: bool,
    repair: Repair,
    watching: Watching,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LeaseState {
    Held,
    InDanger,
    Lost,
}

impl Renewal {
    /// A lease that was just won. Of changes to keys these nodes are `telling`.
    pub(crate) fn new(now: Instant, won: Won, quorum: Quorum, telling: NodeSet) -> Self {
        let Won {
            mut attempt,
            token: _,
            config,
            seed,
            confirmed,
            steps,
            begun,
            valid_until,
        } = won;
        let until = attempt.timing().valid_until(begun);
        let servers = attempt.round.take_servers();
        attempt.round.reopen(Attempt::ACQUIRE_STEP, begun, begun);
        let confirmed = ConfirmedNodes::new(Attempt::ACQUIRE_STEP, confirmed, until, steps);
        // Argument S7: a late grant by another address of one of these servers is no further key.
        let confirmed = confirmed.of(servers);
        let mut renewal = Self {
            heard: begun,
            timing: None,
            confirmed,
            stepped: None,
            valid_until,
            danger_at: config.policy.in_danger_at(&config.timing, valid_until),
            attempt,
            quorum,
            config,
            seed,
            begun,
            state: LeaseState::Held,
            extension: None,
            queued: Vec::new(),
            next: None,
            extensions: 0,
            extended: None,
            touched: None,
            trouble: None,
            stalled: false,
            repair: Repair::default(),
            watching: Watching::NONE,
        };
        renewal.plan_next(now, begun);
        renewal.watch_later(now, telling);
        renewal
    }

    /// Asks every node to let the key live on, for `ttl` if that is given. A caller who comes while an
    /// extension is under way shares its result, unless another TTL is wanted.
    pub(crate) fn extend(
        &mut self,
        now: Instant,
        caller: OperationId,
        ttl: Option<Ttl>,
        effects: &mut Effects,
        outbox: &mut Outbox,
    ) {
        self.look_at_the_end(now, effects);
        self.heard = now;
        // From the options' own time limit, which a shorter TTL before may have cut.
        let timing = ttl.map_or(Ok(*self.timing()), |ttl| self.config.timing.with_ttl(ttl));
        let refused = if self.state == LeaseState::Lost {
            Some(ExtendFailure::Lost)
        } else if self.is_at_a_limit() {
            Some(ExtendFailure::Limit)
        } else {
            None
        };
        match (refused, timing) {
            (Some(failure), _) => effects.extended.push((caller, Err(failure))),
            (None, Err(wrong)) => {
                effects
                    .extended
                    .push((caller, Err(ExtendFailure::Timing(wrong))));
            }
            (None, Ok(timing)) => match &mut self.extension {
                None => self.begin(now, timing, vec![caller], outbox),
                Some(extension) => {
                    extension.hurry(now);
                    if extension.timing == timing {
                        extension.callers.push(caller);
                    } else {
                        self.queued.push((caller, timing));
                    }
                }
            },
        }
    }

    /// The holder reports progress.
    pub(crate) fn heartbeat(&mut self, now: Instant) {
        self.heard = now;
        if self.stalled {
            self.stalled = false;
            self.next = Some(now);
        }
    }

    /// Takes a node's answer.
    #[inline]
    pub(crate) fn handle_reply(
        &mut self,
        reply: &Reply<'_>,
        effects: &mut Effects,
        outbox: &mut Outbox,
    ) {
        let (now, node, tag, vote) = (reply.now, reply.node, reply.tag, reply.vote);
        self.attempt.settle(now, node, tag.step, vote);
        if matches!(vote, Vote::Refused(_)) {
            if let Some((tag, leave)) = self.attempt.leaving(vote) {
                outbox.send(NodeSet::of(node), tag, leave);
            }
            self.repair.handle_reply(node, tag.step, vote);
        }
        self.learn_watched(now, tag.step, vote);
        // Argument S7: a node that has not set the key itself shows what another address of the same server has set.
        let is_another = vote.is_granted() && self.attempt.strangers().contains(node);
        if is_another {
            let vote = &Vote::Unknown(Fault::same_node());
            self.count(&Reply { vote, ..*reply });
        } else {
            self.count(reply);
        }
        if self.extension.is_some() {
            self.decide(now, effects, outbox);
        }
        let valid = self.is_valid(now);
        self.repair.send(now, valid, &mut self.attempt, outbox);
    }

    #[inline]
    fn count(&mut self, reply: &Reply<'_>) {
        let (node, server, step) = (reply.node, reply.server, reply.tag.step);
        if reply.vote.is_granted() {
            self.confirmed.confirm(node, step, server);
        }
        // The round counts the answers to its own request only.
        if let Some(extension) = &mut self.extension {
            let round = &mut extension.round;
            round.handle_from(node, step, reply.vote, server);
        }
    }

    /// Whether it may be relied upon at `now`.
    fn is_valid(&self, now: Instant) -> bool {
        lease::is_valid(self.valid_until, now)
    }

    /// What is leased.
    pub(crate) const fn attempt_id(&self) -> AttemptId {
        self.attempt.id()
    }

    pub(crate) const fn resource(&self) -> &Resource {
        self.attempt.resource()
    }

    /// Looks at the clock. Of changes to keys these nodes are `telling`.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Instant,
        telling: NodeSet,
        effects: &mut Effects,
        outbox: &mut Outbox,
    ) {
        self.look_at_the_end(now, effects);
        self.look_at_silence(now, effects);
        self.decide(now, effects, outbox);
        let is_due = self.next.is_some_and(|next| now >= next);
        if is_due && self.extension.is_none() && self.state != LeaseState::Lost {
            self.next = None;
            self.renew(now, outbox);
        }
        self.watch(now, telling, outbox);
    }

    /// The end of the lease.
    pub(crate) fn end(mut self, now: Instant, effects: &mut Effects) -> EndedLease {
        let in_time = self.state != LeaseState::Lost && self.is_valid(now);
        // Otherwise nobody waits for one.
        if self.extension.is_some() {
            self.fail_callers(&ExtendFailure::Released, effects);
        }
        let policy = &self.config.policy;
        let keep = policy.keep(self.begun, now);
        let keep = keep
            .map(|keep| now.saturating_add(keep))
            .filter(|_| in_time);
        // After an unclean end the keys stay for the delay, so that what the holder had begun can end.
        let is_left = !in_time && !self.attempt.timing().delay().is_zero();
        EndedLease {
            attempt: Some(self.attempt).filter(|_| !is_left),
            keep,
            in_time,
        }
    }

    /// When to look at the clock again.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let warn_at = match self.state {
            LeaseState::Held => self.danger_at,
            LeaseState::InDanger => self.valid_until,
            LeaseState::Lost => return None,
        };
        let next = match &self.extension {
            Some(extension) => Some(extension.round.closes()),
            None => self.next,
        };
        let watch_at = self.watching.at();
        next.into_iter().chain([warn_at]).chain(watch_at).min()
    }

    /// Extends by itself, unless it must not.
    fn renew(&mut self, now: Instant, outbox: &mut Outbox) {
        let silent = now.saturating_since(self.heard);
        if self.is_at_a_limit() {
            return;
        }
        let patience = self.config.policy.heartbeat;
        if patience.is_some_and(|patience| silent >= patience) {
            self.stalled = true;
            return;
        }
        self.begin(now, *self.timing(), Vec::new(), outbox);
    }

    fn begin(
        &mut self,
        now: Instant,
        timing: Timing,
        callers: Vec<OperationId>,
        outbox: &mut Outbox,
    ) {
        let step = self.attempt.next_step();
        let valid_until = self.valid_until;
        let limit = if callers.is_empty() {
            self.config.policy.patience(&timing, now, valid_until)
        } else {
            timing.node_limit()
        };
        // What comes after the lease's end does not count, so there is no use in waiting for it.
        let closes = now.saturating_add(limit).min(valid_until);
        let round = Round::new(self.quorum, step, now, closes);
        self.attempt.extended_at(now, step, timing);
        outbox.send(
            self.quorum.nodes(),
            self.attempt.tag(step),
            self.attempt.extend(),
        );
        self.repair = Repair::of(step);
        self.watching.need_not();
        (self.extended, self.touched) = (Some(now), None);
        self.extension = Some(Box::new(Extension::new(round, timing, callers)));
    }

    fn decide(&mut self, now: Instant, effects: &mut Effects, outbox: &mut Outbox) {
        // Argument S6: past the old end the lease is lost for good, even if every key is still there,
        // since somebody may have been told so.
        self.look_at_the_end(now, effects);
        let decided = |extension: &mut Box<Extension>| extension.is_decided(now);
        let Some(mut extension) = self.extension.take_if(decided) else {
            return;
        };
        let result = if extension.round.decision() == Decision::Won {
            Ok(self.won(now, &mut extension, effects))
        } else {
            let (started, step) = (extension.round.started(), extension.round.step());
            let failure = ExtendFailure::of_lost(self.quorum, extension.round);
            self.failed(now, (started, step), &failure, effects);
            Err(failure)
        };
        for caller in extension.callers {
            effects.extended.push((caller, result.clone()));
        }
        // The extension that was just won may have been the last one.
        if self.is_at_a_limit() {
            self.fail_callers(&ExtendFailure::Limit, effects);
        }
        if self.state != LeaseState::Lost
            && let Some((_, timing)) = self.queued.first().copied()
        {
            // A caller that comes later and wants yet another TTL waits for the next one.
            let acquire = |queued: &mut (OperationId, Timing)| queued.1 == timing;
            let callers = self
                .queued
                .extract_if(.., acquire)
                .map(|(caller, _)| caller);
            let callers = callers.collect();
            self.begin(now, timing, callers, outbox);
        }
    }

    fn won(&mut self, now: Instant, extension: &mut Extension, effects: &mut Effects) -> Instant {
        let steps = mem::take(&mut extension.steps);
        let Extension { round, timing, .. } = extension;
        assert!(
            round.tally().granted().len() >= self.quorum.needed(),
            "an extended lease stands on a quorum of distinct nodes"
        );
        // Argument S7: validity counts from before this round's first request, for the TTL that this
        // round set. What was confirmed before stays confirmed.
        let keys_until = timing.valid_until(round.started());
        let until = keys_until.min(self.config.policy.ends_at(self.begun));
        if until >= self.valid_until {
            self.valid_until = until;
            let granted = round.tally().granted();
            let confirmed = ConfirmedNodes::new(round.step(), granted, keys_until, steps);
            self.confirmed = confirmed.of(round.servers().clone());
            self.stepped = None;
        }
        if timing != self.timing() {
            self.timing = Some(Box::new(*timing));
        }
        self.plan_warning();
        self.extensions = self.extensions.saturating_add(1);
        self.trouble = None;
        self.stalled = false;
        self.repair.confirmed();
        self.state = LeaseState::Held;
        self.plan_next(now, round.started());
        let valid_until = self.valid_until;
        effects.changes.push(LeaseChange::Confirmed { valid_until });
        valid_until
    }

    /// Tells that the lease is in danger or lost, if it is.
    fn look_at_the_end(&mut self, now: Instant, effects: &mut Effects) {
        if self.state == LeaseState::Lost {
            return;
        }
        if !self.is_valid(now) {
            let loss = self.why_over();
            self.lose(loss, effects);
        } else if self.state == LeaseState::Held && now >= self.danger_at {
            self.state = LeaseState::InDanger;
            self.warn(effects);
        }
    }

    fn lose(&mut self, loss: Loss, effects: &mut Effects) {
        self.state = LeaseState::Lost;
        self.next = None;
        self.repair = Repair::default();
        self.fail_callers(&ExtendFailure::Lost, effects);
        effects.changes.push(LeaseChange::Lost(loss));
    }

    fn why_over(&self) -> Loss {
        let policy = &self.config.policy;
        if self.valid_until == policy.ends_at(self.begun) {
            let held = policy.most_hold.unwrap_or_default();
            Loss::HoldLimit { held }
        } else if let Some((node, step)) = self.stepped {
            Loss::ClockStepped { node, step }
        } else if self.is_at_a_limit() {
            let extensions = self.extensions;
            Loss::ExtensionLimit { extensions }
        } else if self.stalled {
            Loss::NoProgress { heard: self.heard }
        } else {
            let trouble = self.trouble.as_deref().cloned();
            Loss::TimedOut { trouble }
        }
    }

    fn fail_callers(&mut self, failure: &ExtendFailure, effects: &mut Effects) {
        let callers = self.extension.take().map(|extension| extension.callers);
        let queued = self.queued.drain(..).map(|(caller, _)| caller);
        for caller in callers.into_iter().flatten().chain(queued) {
            effects.extended.push((caller, Err(failure.clone())));
        }
    }

    fn plan_next(&mut self, now: Instant, started: Instant) {
        let random = self.seed.jitter(JITTER.wrapping_add(self.extensions));
        let next = self
            .config
            .policy
            .next_renewal(self.timing(), started, random);
        // It may have taken longer than that.
        let next = next.map(|next| next.max(now));
        // What was touched while an extension was under way may have been touched behind its request.
        self.next = next.map(|next| self.touched.map_or(next, |soon| next.min(soon)));
    }

    fn timing(&self) -> &Timing {
        self.timing.as_deref().unwrap_or(&self.config.timing)
    }

    /// Its end or its TTL is another: says from when on it is in danger.
    fn plan_warning(&mut self) {
        let policy = &self.config.policy;
        self.danger_at = policy.in_danger_at(self.timing(), self.valid_until);
    }

    fn is_at_a_limit(&self) -> bool {
        let policy = &self.config.policy;
        policy
            .most_extensions
            .is_some_and(|most| self.extensions >= most)
            || self.valid_until >= policy.ends_at(self.begun)
    }
}

/// Where the throws for extensions begin, with those for what follows on failures before them; those for pauses between
/// tries begin at 0.
const JITTER: u32 = 1 << 31;
