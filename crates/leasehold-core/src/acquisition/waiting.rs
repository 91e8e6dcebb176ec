//! What an acquisition does while it asks nobody: it waits for its turn, for a word from the nodes, for the time when
//! keys end, and behind all of them for the end of a pause (argument S10).

use super::{Acquisition, Around, Phase, Progress, contention::LONGEST_WINDOW};
use crate::{
    blockers::Blockers,
    node_set::NodeId,
    outbox::Outbox,
    owner::Owner,
    request::{AttemptId, Reply, Request, Tag, Vote},
    retry::between,
    round::Round,
    time::Instant,
    tries::Pace,
};
use core::time::Duration;

/// What an acquisition waits for that asks nobody.
#[derive(Clone, Debug, Hash)]
pub(super) struct Rest {
    /// Who stands in the way, if that is known.
    pub(super) blockers: Option<Blockers>,
    /// When to ask because somebody called, and whom.
    pub(super) called: Option<(Instant, Ask)>,
    /// The question of who stands in the way.
    pub(super) inquiry: Option<AttemptId>,
    /// Where a key seems to be left behind by a holder that is gone, and when it ends.
    pub(super) leftover: Option<(NodeId, Instant)>,
}

/// Whom to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ask {
    All,
    /// One node first, on which all who want the resource meet.
    OneFirst,
}

impl Acquisition {
    /// Others want it as well.
    pub(crate) fn have_rivals(&mut self) {
        self.contention.is_certain();
    }

    /// Others of this engine come first.
    pub(crate) fn stand_behind(&mut self) {
        self.is_behind = true;
        self.was_behind = true;
    }

    /// Its turn has come, at once or after others have come first for so long.
    pub(crate) fn have_turn(&mut self, now: Instant, others_first: Option<Duration>) {
        self.is_behind = false;
        let pause = others_first.map_or(Duration::ZERO, |room| {
            room.saturating_add(self.jitter(LONGEST_WINDOW))
        });
        let at = self.tries.put_off(now.saturating_add(pause));
        // Where there is contention, one of the others may have come before, and then the others need not be asked.
        let how = if others_first.is_some() || self.contention.is_known() {
            Ask::OneFirst
        } else {
            Ask::All
        };
        if let Phase::Resting(rest) = &mut self.phase {
            rest.called = Some((at, how));
        }
    }

    /// The key may have changed on a node.
    pub(crate) fn handle_hint(&mut self, now: Instant, node: NodeId) {
        self.stood.remove(node);
        self.slots_changed(node);
        match &mut self.phase {
            Phase::Resting(rest) => {
                rest.leftover = rest.leftover.filter(|(left, _)| *left != node);
                if let Some(blockers) = &mut rest.blockers {
                    blockers.clear(node);
                }
                self.look_at_blockers(now);
            }
            Phase::Probing(attempt, _) | Phase::Voting(attempt) => {
                if attempt.round.tally().refused().contains(node) {
                    self.changed.insert(node);
                }
            }
            Phase::Agreeing(..) | Phase::Won(..) | Phase::Failed(_) => {}
        }
    }

    /// Nobody is asked: looks whether it is time to.
    pub(super) fn rest(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        outbox: &mut Outbox,
    ) -> Progress {
        let shows_itself_at = self.shows_itself_at();
        let Phase::Resting(rest) = &mut self.phase else {
            return Progress::default();
        };
        if let Some((at, how)) = rest.called {
            if now >= at {
                // Who goes on to another slot was called by nobody.
                if !self.moves_on() {
                    self.contention.call();
                }
                return self.begin_attempt(now, how, around, outbox);
            }
        } else if !self.is_behind && rest.blockers.as_ref().is_some_and(|it| it.is_free(now)) {
            // Keys end by the clock without a word, so the one on which all would meet says nothing of the others.
            return self.begin_attempt(now, Ask::All, around, outbox);
        }
        if now >= shows_itself_at {
            return self.begin_attempt(now, Ask::All, around, outbox);
        }
        if now < self.tries.next() {
            return Progress::default();
        }
        // A waiter that is told of changes need not ask without reason, but does so now and then: not all changes are told.
        // One that knows a single node's word does not know whether that decides, and asks all of them once.
        let telling = around.nodes.telling();
        let is_told = rest.blockers.as_ref().is_some_and(|blockers| {
            let blocked = blockers.blocked();
            !blocked.is_empty() && blocked.without(telling).is_empty()
        }) && self
            .asked_all
            .is_some_and(|asked| now < asked.saturating_add(LONGEST_SILENCE));
        let may_wait = self.is_behind || is_told;
        let pace = Pace::of(&self.config, &self.seed);
        if may_wait && self.tries.skip(now, pace) {
            // Who holds it for so long may hold it to the end.
            self.inquire(outbox);
            return Progress::default();
        }
        self.begin_attempt(now, Ask::All, around, outbox)
    }

    /// Takes an answer, if it is one to the question of who stands in the way.
    #[inline(never)]
    pub(super) fn hear_of_blockers(&mut self, reply: &Reply<'_>) {
        if let Phase::Resting(rest) = &mut self.phase
            && rest.inquiry == Some(reply.tag.attempt)
        {
            let (vote, own) = (reply.vote.clone(), self.last_owner.as_ref());
            rest.learn(reply.now, reply.node, vote, own);
            self.look_at_blockers(reply.now);
        }
    }

    /// What is known after these answers about who stands in the way, if no more than `spare` may.
    pub(super) fn look_round(&self, now: Instant, round: &Round, spare: usize) -> Rest {
        let mut blockers = Blockers::new(spare);
        for (node, refusal) in round.refusals() {
            blockers.block(now, *node, self.stays(refusal));
        }
        // Where the votes were split, or too few answered, no single change will do.
        // A caller that takes over what it was given gains nothing if that has gone.
        let known = !blockers.is_free(now) && self.from.is_none();
        for node in self.changed.iter() {
            blockers.clear(node);
        }
        Rest {
            blockers: known.then_some(blockers),
            ..Rest::NEW
        }
    }

    /// Waits for what stands in the way, unless it is all over.
    pub(super) fn wait(&mut self, now: Instant, rest: Rest, progress: &Progress) {
        if progress.has_ended {
            return;
        }
        self.phase = Phase::Resting(rest);
        self.look_at_blockers(now);
    }

    /// Asks those who refused without a word who it is and for how long. A node that tells of changes tells of
    /// those to come from then on.
    pub(super) fn inquire(&mut self, outbox: &mut Outbox) {
        let Phase::Resting(Rest {
            blockers: Some(blockers),
            inquiry: inquiry @ None,
            ..
        }) = &mut self.phase
        else {
            return;
        };
        let silent = blockers.unlimited().intersection(self.telling);
        if self.config.is_fenced || silent.is_empty() {
            return;
        }
        let attempt = AttemptId {
            operation: self.operation,
            number: INQUIRY | self.tries.attempts(),
        };
        *inquiry = Some(attempt);
        let resource = self.resource.clone();
        outbox.send(
            silent,
            Tag { attempt, step: 0 },
            Request::Inspect { resource },
        );
    }

    /// Looks whether the way is free now, and when to ask if it is.
    pub(super) fn look_at_blockers(&mut self, now: Instant) {
        let jitter = match self.gives_way() {
            None => self.jitter(self.contention.window()),
            Some(Duration::ZERO) => Duration::ZERO,
            Some(way) => way.saturating_add(self.jitter(LONGEST_WINDOW)),
        };
        let Phase::Resting(rest) = &mut self.phase else {
            return;
        };
        let is_free = rest
            .blockers
            .as_ref()
            .is_some_and(|blockers| blockers.is_free(now));
        if is_free && !self.is_behind && rest.called.is_none() {
            rest.called = Some((now.saturating_add(jitter), Ask::OneFirst));
        }
    }

    pub(super) fn jitter(&self, most: Duration) -> Duration {
        let throw = self.seed.jitter(CALLS.wrapping_add(self.tries.attempts()));
        between(Duration::ZERO, most, throw)
    }
}

impl Rest {
    pub(super) const NEW: Self = Self {
        blockers: None,
        called: None,
        inquiry: None,
        leftover: None,
    };

    pub(super) fn wake_at(&self, is_behind: bool) -> Instant {
        match (self.called, &self.blockers) {
            (Some((at, _)), _) => at,
            (None, Some(blockers)) if !is_behind => blockers.free_at(),
            _ => Instant::NEVER,
        }
    }

    /// A node says what its key is.
    pub(super) fn learn(&mut self, now: Instant, node: NodeId, vote: Vote, ours: Option<&Owner>) {
        let Some(blockers) = &mut self.blockers else {
            return;
        };
        match vote {
            Vote::Granted { .. } => blockers.clear(node),
            Vote::Refused(refusal) if ours.is_some() && refusal.holder.as_ref() == ours => {
                blockers.clear(node);
            }
            Vote::Refused(refusal) => blockers.block(now, node, refusal.remaining),
            Vote::Unknown(_) => {}
        }
    }
}

/// For how long a waiter that is told of changes asks nobody.
const LONGEST_SILENCE: Duration = Duration::from_secs(1);

/// Where the throws for calls begin; those for pauses between tries begin at 0.
const CALLS: u32 = 3 << 30;

/// Where the numbers of questions begin; those of attempts begin at 0.
const INQUIRY: u32 = 1 << 31;
