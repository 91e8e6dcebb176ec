//! What an acquisition does with a vote that is won: it settles the token, and looks at the clock once more.

use super::{Acquisition, End, Span, State, Turn};
use crate::{
    agreement::Agreement, claim::Claim, failure::Cause, fence::FencingToken, lease::Lease,
    node_set::NodeSet, outbox::Outbox, quorum::Decision, round::Round, servers::Servers,
    time::Instant, won::Won,
};
use alloc::{boxed::Box, sync::Arc};

impl Acquisition {
    /// A quorum has granted: what is left is the token, if there is to be one.
    pub(super) fn agree(
        &mut self,
        now: Instant,
        mut claim: Box<Claim>,
        round: Round,
        outbox: &mut Outbox,
    ) -> Turn {
        let begun = round.started();
        let must_end = self.plan.upkeep.ends_at(begun);
        let valid_until = self.plan.terms.valid_until(begun).min(must_end);
        let span = Span { begun, valid_until };
        let granted = round.tally().granted();
        if !self.plan.is_fenced {
            let servers = round.into_servers();
            return self.won(now, claim, None, (granted, servers), span);
        }
        let closes = now
            .saturating_add(self.plan.terms.node_limit())
            .min(valid_until)
            .min(self.tries.deadline());
        match Agreement::begin(now, closes, self.quorum, &round, &mut claim, outbox) {
            Some(agreement) => self.look_at_agreement(now, claim, agreement, span),
            None => self.lost(now, claim, round),
        }
    }

    pub(super) fn look_at_agreement(
        &mut self,
        now: Instant,
        claim: Box<Claim>,
        agreement: Agreement,
        span: Span,
    ) -> Turn {
        match (agreement.token(), agreement.decision()) {
            (Some(token), _) => {
                let standing = (agreement.standing(), agreement.servers().clone());
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
        (standing, servers): (NodeSet, Servers),
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
            servers,
            steps: core::mem::take(&mut self.steps),
            begun,
        };
        self.state = State::Ended(End::Won(won));
        Turn {
            abandoned: None,
            has_ended: true,
        }
    }
}
