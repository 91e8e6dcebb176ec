//! What an acquisition does with a vote that is won: it settles the token, and looks at the clock once more.

use super::{Acquisition, Phase, Progress};
use crate::{
    agreement::Agreement,
    attempt::Attempt,
    failure::Cause,
    fence::{FencingToken, Settling},
    node_set::NodeSet,
    outbox::Outbox,
    quorum::Decision,
    request::{Fault, FaultKind, Vote},
    time::Instant,
};
use alloc::boxed::Box;

/// What a lease stands on that was just won.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct WonVote {
    pub(super) nodes: NodeSet,
    pub(super) token: Option<FencingToken>,
    pub(super) span: Span,
}

/// When a vote that was won had begun, and until when its lease is valid.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Span {
    pub(super) begun: Instant,
    pub(super) valid_until: Instant,
}

impl Acquisition {
    /// A quorum has granted: what is left is the token, if there is to be one.
    pub(super) fn agree(
        &mut self,
        now: Instant,
        mut attempt: Box<Attempt>,
        outbox: &mut Outbox,
    ) -> Progress {
        let begun = attempt.round.started();
        let must_end = self.config.policy.ends_at(begun);
        let valid_until = self.config.timing.valid_until(begun).min(must_end);
        let span = Span { begun, valid_until };
        if !self.config.is_fenced {
            let granted = attempt.round.tally().granted();
            return self.won(now, attempt, None, granted, span);
        }
        let Some(settling) = Settling::new(self.quorum, attempt.round.counters()) else {
            let round = attempt.round.take();
            return self.lost(now, attempt, round);
        };
        if let Some(token) = settling.settled() {
            return self.won(now, attempt, Some(token), settling.confirmed(), span);
        }
        let closes = now
            .saturating_add(self.config.timing.node_limit())
            .min(valid_until)
            .min(self.tries.deadline());
        let agreement = Agreement::begin(now, closes, self.quorum, settling, &mut attempt, outbox);
        self.look_at_agreement(now, attempt, Box::new(agreement), span)
    }

    pub(super) fn look_at_agreement(
        &mut self,
        now: Instant,
        mut attempt: Box<Attempt>,
        agreement: Box<Agreement>,
        span: Span,
    ) -> Progress {
        match (agreement.token(), agreement.decision()) {
            (Some(token), _) => {
                let confirmed = agreement.confirmed();
                attempt.round.was_won_by(agreement.into_servers());
                self.won(now, attempt, Some(token), confirmed, span)
            }
            (None, Decision::Lost) => self.lost(now, attempt, agreement.into_round()),
            (None, Decision::Pending | Decision::Won) => {
                self.phase = Phase::Agreeing(attempt, agreement, span);
                Progress::default()
            }
        }
    }

    /// Step 3: a quorum, and in time. The clock is looked at after every answer that was waited for.
    fn won(
        &mut self,
        now: Instant,
        attempt: Box<Attempt>,
        token: Option<FencingToken>,
        confirmed: NodeSet,
        span: Span,
    ) -> Progress {
        assert!(
            confirmed.len() >= self.quorum.needed(),
            "a lease stands on a quorum of grants"
        );
        let Span { begun, valid_until } = span;
        if now >= valid_until {
            let elapsed = now.saturating_since(begun);
            return self.fail(now, Some(attempt), Cause::TooLate { elapsed });
        }
        let confirmed = WonVote {
            nodes: confirmed,
            token,
            span,
        };
        self.phase = Phase::Won(attempt.proposing(token), confirmed);
        Progress {
            abandoned: None,
            has_ended: true,
        }
    }
}

/// What a first vote counts for that grants without telling a counter: without one there is no token, so such a grant is
/// as good as none where a token is wanted.
pub(super) fn without_counter() -> Vote {
    let detail = "granted without telling its counter";
    Vote::Unknown(Fault::new(FaultKind::Rejected, detail))
}
