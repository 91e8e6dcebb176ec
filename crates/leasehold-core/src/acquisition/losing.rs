//! What an acquisition does with a lost attempt: it takes back what the attempt may have set, and goes on or gives up.

use super::{
    Acquisition, Phase, Progress,
    waiting::{Ask, Rest},
};
use crate::{
    attempt::Attempt,
    failure::{self, AcquireFailure, Cause, Ended},
    round::Round,
    time::Instant,
    tries::Pace,
};
use alloc::boxed::Box;
use core::time::Duration;

impl Acquisition {
    pub(super) fn lost(&mut self, now: Instant, attempt: Box<Attempt>, round: Round) -> Progress {
        let started = round.started();
        let announces = self.learn_place(&round);
        if let Some(theirs) = self.other_permits(&round).cloned() {
            return Progress {
                abandoned: Some(attempt.queueing(None)),
                ..self.end(now, Cause::OtherPermits(theirs), Ended::Misuse)
            };
        }
        if self.has_another_slot(now, &round, round.tally().unknown().len()) {
            self.go_on(now, round, Ask::All);
            return Progress {
                abandoned: Some(attempt.queueing(None)),
                ..Progress::default()
            };
        }
        // Nodes that were asked after the first had less time than the vote.
        let asked = self.asked_all.unwrap_or(started).max(started);
        let given = round.closes().saturating_since(asked);
        let mut rest = self.look_round(now, &round, self.quorum.spare());
        if announces {
            rest.called = Some((now, Ask::All));
        }
        let some = !round.tally().granted().is_empty();
        let nobody_has_it = some && self.is_next_to_nobody(&round);
        let is_done = self.is_done(&round);
        let cause = Cause::of_lost(self.quorum, round);
        let cause = if cause.is_silence(self.quorum) {
            self.instead_of_silence(given).unwrap_or(cause)
        } else {
            cause
        };
        if matches!(cause, Cause::Held(_)) {
            self.contention.hold(now.saturating_since(started), some);
            if some && self.asked_all > Some(started) {
                self.contention.bypass();
            }
            if nobody_has_it && rest.called.is_none() {
                let soon = now.saturating_add(self.jitter(self.contention.window()));
                rest.called = Some((soon, Ask::All));
            }
        }
        let progress = if is_done && matches!(cause, Cause::Held(_)) {
            Progress {
                abandoned: Some(attempt.queueing(None)),
                ..self.end(now, cause, Ended::Done)
            }
        } else {
            self.fail(now, Some(attempt), cause)
        };
        self.wait(now, rest, &progress);
        progress
    }

    /// Asks for another slot at once. That others have taken the first is no contention.
    pub(super) fn go_on(&mut self, now: Instant, round: Round, how: Ask) {
        self.last_cause = Some(Cause::of_lost(self.quorum, round));
        self.tries.goes_on(now);
        self.phase = Phase::Resting(Rest {
            called: Some((now, how)),
            ..Rest::NEW
        });
    }

    /// Whether the caller need not wait, since the work that this is for is done.
    pub(super) fn is_done(&self, round: &Round) -> bool {
        let until = self.config.retry.done_until();
        until.is_some_and(|until| failure::is_done(round.refusals(), until))
    }

    /// The reason to tell instead of the silence of nodes that were `given` so much time, if that is no evidence: what an
    /// attempt before found, or that the caller's time was spent behind others of this engine.
    fn instead_of_silence(&mut self, given: Duration) -> Option<Cause> {
        if given >= self.config.timing.node_limit() {
            return None;
        }
        let patience = self.tries.patience();
        let most = given.saturating_mul(2) >= patience;
        let in_line = (self.was_behind && !most).then_some(Cause::IN_LINE);
        self.last_cause.take().or(in_line)
    }

    /// Step 5: what was lost is taken back on every node, whatever happens next.
    pub(super) fn fail(
        &mut self,
        now: Instant,
        attempt: Option<Box<Attempt>>,
        cause: Cause,
    ) -> Progress {
        self.last_cause = Some(cause.clone());
        self.leave_slot();
        let pace = Pace::of(&self.config, &self.seed);
        let ended = self.tries.failed(now, &cause, pace);
        let mut progress =
            ended.map_or_else(Progress::default, |ended| self.end(now, cause, ended));
        // A caller that goes on waiting keeps its places.
        progress.abandoned = attempt.map(|attempt| attempt.queueing(None));
        progress
    }

    pub(super) fn end(&mut self, now: Instant, cause: Cause, ended: Ended) -> Progress {
        let failure = AcquireFailure {
            cause,
            ended,
            attempts: self.tries.attempts(),
            waited: self.tries.waited(now),
        };
        self.phase = Phase::Failed(Box::new(failure));
        Progress {
            abandoned: None,
            has_ended: true,
        }
    }
}
