//! The holder is told of a loss in time, and of no other.
//!
//! In time means: whenever a client has done what there was to do, none of its leases is over that it was
//! not told to be lost. A lease is lost before its end only if it was lost indeed: too few nodes carry
//! its key. The rooms below say how soon a loss is told where keys are taken away by force, and that extensions go on.

use super::{Holder, Property, Violation};
use crate::{setting::Setting, time::Moment};
use gone::Gone;
use leasehold_core::{Danger, Instant, Lease, Loss as Cause, Owner};
use std::time::Duration;
use tries::Tries;

pub(crate) mod gone;
pub(crate) mod tries;

#[derive(Debug)]
pub(crate) struct Loss {
    needed: usize,
    /// The leases that nobody has let go of, and nobody was told to be lost.
    held: Vec<(Holder, Instant)>,
    pub(crate) gone: Gone,
    pub(crate) tries: Tries,
}

impl Loss {
    pub(crate) fn new(setting: &Setting) -> Self {
        Self {
            needed: setting.needed(),
            held: Vec::new(),
            gone: Gone::new(setting),
            tries: Tries::new(setting),
        }
    }

    pub(crate) fn acquired(&mut self, now: Moment, holder: Holder, lease: &Lease) {
        self.held.push((holder, lease.valid_until));
        self.tries.acquired(holder);
        self.gone.follow(now, holder, lease);
    }

    /// The keys of this owner are taken away. `lease` tells what a holder has.
    pub(crate) fn taken_away<'a>(
        &mut self,
        now: Moment,
        owner: &Owner,
        lease: impl Fn(Holder) -> Option<&'a Lease>,
    ) {
        self.gone.give_up(owner);
        for (holder, _) in &self.held {
            if let Some(lease) = lease(*holder) {
                self.gone.follow(now, *holder, lease);
            }
        }
    }

    /// The leases that nobody has let go of.
    pub(crate) fn leases(&self) -> impl Iterator<Item = Holder> {
        self.held.iter().map(|(holder, _)| *holder)
    }

    /// A quorum has confirmed the lease.
    pub(crate) fn confirmed(&mut self, holder: Holder, valid_until: Instant) {
        for (other, until) in &mut self.held {
            if *other == holder {
                *until = valid_until;
            }
        }
    }

    /// The holder has let go.
    pub(crate) fn ended(&mut self, holder: Holder) {
        self.held.retain(|(other, _)| *other != holder);
        self.gone.ended(holder);
        self.tries.ended(holder);
    }

    pub(crate) fn died(&mut self, client: usize) {
        self.held.retain(|(holder, _)| holder.client != client);
        self.gone.died(client);
        self.tries.died(client);
    }

    /// The holder is told of a danger: the lease must be valid still.
    pub(crate) fn warned(
        &self,
        client: usize,
        now: Instant,
        danger: &Danger,
    ) -> Result<(), Violation> {
        if now < danger.valid_until {
            return Ok(());
        }
        Err(violation(format!(
            "c{client} is warned of {:?} at {now:?}",
            danger.valid_until
        )))
    }

    /// The holder is told of the loss. `carriers` is how many nodes may carry the key, if that is certain.
    pub(crate) fn lost(
        &mut self,
        holder: Holder,
        now: Instant,
        cause: &Cause,
        valid_until: Option<Instant>,
        carriers: Option<usize>,
    ) -> Result<(), Violation> {
        self.ended(holder);
        let is_over = valid_until.is_none_or(|until| now >= until);
        let is_gone = carriers.is_none_or(|carriers| carriers < self.needed);
        if is_over || (matches!(cause, Cause::Gone(_)) && is_gone) {
            return Ok(());
        }
        Err(violation(format!(
            "c{} is told at {now:?} that its lease until {valid_until:?} is lost, by {cause:?}; \
             {carriers:?} nodes may carry the key",
            holder.client
        )))
    }

    /// The client has done what there was to do.
    pub(crate) fn nothing_untold(&mut self, client: usize, now: Instant) -> Result<(), Violation> {
        let untold =
            |(holder, until): &&(Holder, Instant)| holder.client == client && now >= *until;
        match self.held.iter().find(untold) {
            None => self.tries.all_go_on(client, now),
            Some((holder, until)) => Err(violation(format!(
                "c{client} was not told that its lease {} ended at {until:?}, it is {now:?}",
                holder.operation.number()
            ))),
        }
    }
}

/// A lease was cut because a node's clock was set forward, by `step` at least: it must have been set so, by
/// `stepped` all in all.
pub(crate) fn cut(client: usize, step: Duration, stepped: Duration) -> Result<(), Violation> {
    if step <= stepped {
        return Ok(());
    }
    Err(violation(format!(
        "c{client} sees a step of {step:?}, and the clock was set forward by {stepped:?}"
    )))
}

fn violation(what: String) -> Violation {
    Violation {
        property: Property::Loss,
        what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check::lone, rng::Rng};
    use leasehold_core::OperationId;

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    fn lease(valid_until: Instant) -> Lease {
        let mut lease = lone::lease();
        lease.valid_until = valid_until;
        lease
    }

    #[test]
    fn a_loss_that_is_told_too_late_or_too_early_is_found() {
        let mut loss = Loss::new(&Setting::draw(&mut Rng::new(1)));
        let operation = OperationId::new(3);
        let holder = Holder {
            client: 0,
            operation,
        };
        loss.acquired(Moment::START, holder, &lease(at(100)));
        assert_eq!(loss.nothing_untold(0, at(99)), Ok(()));
        assert_eq!(loss.nothing_untold(1, at(100)), Ok(()));
        assert!(loss.nothing_untold(0, at(100)).is_err());
        loss.confirmed(holder, at(200));
        assert_eq!(loss.nothing_untold(0, at(199)), Ok(()));
        let timed_out = Cause::TimedOut { trouble: None };
        let mut told = |now| loss.lost(holder, at(now), &timed_out, Some(at(200)), None);
        assert!(told(199).is_err());
        assert_eq!(told(200), Ok(()));
        assert_eq!(loss.nothing_untold(0, at(900)), Ok(()));
    }

    #[test]
    fn a_step_that_was_not_taken_is_found() {
        let [one, two] = [1, 2].map(Duration::from_millis);
        assert_eq!(cut(0, one, one), Ok(()));
        assert!(cut(0, two, one).is_err());
    }
}
