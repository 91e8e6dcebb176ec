//! What an acquisition does with a vote that is won: it settles the token, and looks at the clock once more.

use super::{Acquisition, Span, Standing, State, Turn};
use crate::{
    agreement::Agreement,
    claim::Claim,
    failure::Cause,
    fence::{FencingToken, Settling},
    node_set::NodeSet,
    outbox::Outbox,
    quorum::Decision,
    time::Instant,
};
use alloc::boxed::Box;

impl Acquisition {
    /// A quorum has granted: what is left is the token, if there is to be one.
    pub(super) fn agree(
        &mut self,
        now: Instant,
        mut claim: Box<Claim>,
        outbox: &mut Outbox,
    ) -> Turn {
        let begun = claim.round.started();
        let must_end = self.plan.upkeep.ends_at(begun);
        let valid_until = self.plan.terms.valid_until(begun).min(must_end);
        let span = Span { begun, valid_until };
        if !self.plan.is_fenced {
            let granted = claim.round.tally().granted();
            return self.won(now, claim, None, granted, span);
        }
        let Some(settling) = Settling::new(self.quorum, claim.round.counters()) else {
            let round = claim.round.take();
            return self.lost(now, claim, round);
        };
        if let Some(token) = settling.settled() {
            return self.won(now, claim, Some(token), settling.standing(), span);
        }
        let closes = now
            .saturating_add(self.plan.terms.node_limit())
            .min(valid_until)
            .min(self.tries.deadline());
        let agreement = Agreement::begin(now, closes, self.quorum, settling, &mut claim, outbox);
        self.look_at_agreement(now, claim, Box::new(agreement), span)
    }

    pub(super) fn look_at_agreement(
        &mut self,
        now: Instant,
        mut claim: Box<Claim>,
        agreement: Box<Agreement>,
        span: Span,
    ) -> Turn {
        match (agreement.token(), agreement.decision()) {
            (Some(token), _) => {
                let standing = agreement.standing();
                claim.round.was_won_by(agreement.into_servers());
                self.won(now, claim, Some(token), standing, span)
            }
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
        claim: Box<Claim>,
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
            return self.fail(now, Some(claim), Cause::TooLate { elapsed });
        }
        let standing = Standing {
            nodes: standing,
            token,
            span,
        };
        self.state = State::Won(claim.proposing(token), standing);
        Turn {
            abandoned: None,
            has_ended: true,
        }
    }
}
