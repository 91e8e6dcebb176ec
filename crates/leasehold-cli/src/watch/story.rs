//! What the user was told of the lease, and what there is to tell of its end.

use crate::{departure, duration::Shown, held_lease::HeldLease, hold_policy::HoldPolicy, output};
use leasehold::{Danger, Instant, LeaseLost, LeaseState, LossCause};
use rustix::process::Signal;
use std::time::Duration;
use tokio::time;

/// The story of one lease so far.
#[derive(Debug)]
pub(crate) struct Story {
    /// What is said of each new end of the lease, if anything is.
    verbose: bool,
    max_hold: Option<Duration>,
    policy: HoldPolicy,
    /// When the command began.
    begun: time::Instant,
    told: LeaseState,
    trouble: Option<Trouble>,
    valid_until: Instant,
    ending: Ending,
}

/// What becomes of what runs under the lease when that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By this signal, as soon as no more than this is left of the lease.
    CommandEnded(Signal, Duration),
    CommandRanOn,
    /// No command runs under it.
    NoCommand,
}

impl Ending {
    /// As the rest of a line.
    const fn words(self) -> &'static str {
        match self {
            Self::CommandEnded(..) => "the command was ended",
            Self::CommandRanOn => "the command ran on without it, as --on-loss warn says",
            Self::NoCommand => "stop whatever relies on it",
        }
    }

    /// What comes while so much of the lease is left and extensions fail, as the rest of a line.
    fn prospect(self, left: Duration) -> String {
        let Self::CommandEnded(signal, before) = self else {
            return format!("trying again for {}", Shown(left));
        };
        let left = left.saturating_sub(before);
        if left.is_zero() {
            return "the command is ended now".to_owned();
        }
        let (left, signal) = (
            Shown(left),
            match signal == Signal::KILL {
                true => "SIGKILL",
                false => "SIGTERM",
            },
        );
        format!("trying again; if that fails, the command gets {signal} in {left}")
    }
}

/// Extensions have failed since the first of them began then, the last for this reason.
#[derive(Debug)]
struct Trouble {
    since: time::Instant,
    why: String,
}

impl Story {
    /// A story that begins now.
    pub(crate) fn new(
        guard: &HeldLease,
        policy: HoldPolicy,
        max_hold: Option<Duration>,
        verbose: bool,
        ending: Ending,
    ) -> Self {
        Self {
            verbose,
            max_hold,
            policy,
            begun: time::Instant::now(),
            told: LeaseState::Held,
            trouble: None,
            valid_until: guard.valid_until(),
            ending,
        }
    }

    /// Whether the lease is known to be lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.told.is_lost()
    }

    /// Whether the keys are known to be gone, so that no time is left to count.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(&self.told, LeaseState::Lost(lost) if matches!(lost.cause, LossCause::Gone { .. }))
    }

    /// Looks at the lease and tells what is new. True if it was lost just now.
    pub(crate) fn note(&mut self, guard: &HeldLease) -> bool {
        self.note_extension(guard);
        let state = guard.state();
        if state == self.told {
            return false;
        }
        match &state {
            LeaseState::Held if self.trouble.take().is_some() => {
                output::talk("the lock is extended again");
            }
            LeaseState::InDanger(Danger {
                trouble: Some(trouble),
                remaining,
                ..
            }) => {
                let why = trouble.last.to_string();
                if self.trouble.is_none() {
                    let prospect = self.ending.prospect(guard.remaining());
                    output::talk(format_args!("cannot {why}; {prospect}"));
                }
                // It was told when so much more was left.
                let ago = remaining.saturating_sub(guard.remaining());
                let since = time::Instant::now() - trouble.lasting - ago;
                self.trouble = Some(Trouble { since, why });
            }
            _ => {}
        }
        self.told = state;
        self.is_lost()
    }

    fn note_extension(&mut self, guard: &HeldLease) {
        let valid_until = guard.valid_until();
        if self.verbose && valid_until > self.valid_until {
            let left = Shown(guard.remaining());
            let resource = guard.resource().quoted();
            output::talk(format_args!("extended {resource}: valid for {left}"));
        }
        self.valid_until = valid_until;
    }

    /// Why the keys are gone, as the rest of a line, if a node was replaced meanwhile.
    fn departure(&self) -> String {
        let departure = departure::since(self.begun).filter(|_| self.is_gone());
        departure.map_or_else(String::new, |words| format!("; {words}"))
    }

    /// Why the lease is lost, where no command ran under it.
    pub(crate) fn why_held(&self, guard: &HeldLease) -> String {
        let resource = guard.resource().quoted();
        let why = match (&self.told, self.limit()) {
            (LeaseState::Lost(lost), Some(most)) if is_in_time(&lost.cause) => {
                let most = Shown(most);
                format!(
                    "the lock {resource} may be held for {most} (--max-hold), and that time is over"
                )
            }
            (LeaseState::Lost(lost), _) => format!("{lost}{}", self.departure()),
            _ => format!("lost the lock {resource}"),
        };
        format!("{why}; {}", self.ending.words())
    }

    /// Why the lease is lost, and what became of what ran under it.
    pub(crate) fn why(&self, guard: &HeldLease) -> String {
        self.why_with(guard, self.ending.words())
    }

    /// Why the lease is lost, where what ran under it does not die of SIGKILL.
    pub(crate) fn why_unkillable(&self, guard: &HeldLease) -> String {
        self.why_with(guard, "the command was killed, and is still there")
    }

    /// Why the lease is lost, where nothing ran under it yet.
    pub(crate) fn why_not_begun(&self, guard: &HeldLease) -> String {
        let resource = guard.resource().quoted();
        let cause = match &self.told {
            LeaseState::Lost(lost) if self.is_gone() => {
                format!("{}{}", lost.cause, self.departure())
            }
            _ => "too little of the lease is left (was this machine suspended, or leasehold stopped?)".to_owned(),
        };
        format!(
            "lost the lock {resource} before the command began: {cause}; the command was not started"
        )
    }

    fn why_with(&self, guard: &HeldLease, ending: &str) -> String {
        let resource = guard.resource().quoted();
        let lost = format!("lost the lock {resource} while the command ran");
        // What was wrong with extensions before is not why the nodes have no key any more.
        if let LeaseState::Lost(LeaseLost { cause, .. }) = &self.told
            && self.is_gone()
        {
            return format!("{lost}: {cause}{}; {ending}", self.departure());
        }
        if let Some(Trouble { since, why }) = &self.trouble {
            let since = Shown(since.elapsed());
            let named = format!("extend the lock {resource}: ");
            let why = why.strip_prefix(&named).unwrap_or(why);
            return format!("{lost}: it could not be extended for {since}: {why}; {ending}");
        }
        match self.limit() {
            Some(most) if self.ending == Ending::CommandRanOn => format!(
                "the lock {resource} may be held for {} (--max-hold), and is not held any more; {ending}",
                Shown(most)
            ),
            Some(most) => format!(
                "the lock {resource} may be held for {} (--max-hold), and the command has to be gone before that: \
                 it ran for {}; {ending}",
                Shown(most),
                Shown(self.begun.elapsed())
            ),
            None => format!(
                "{lost}: the lease ended before it could be extended \
                 (was this machine suspended, or leasehold stopped?); {ending}"
            ),
        }
    }

    /// The longest time for which the lock may be held, if it is nearly over.
    fn limit(&self) -> Option<Duration> {
        // The time to leave begins before the limit is reached, and the hold began before the command. A
        // suspended machine's time does not count here.
        let held = self.begun.elapsed() + 2 * self.policy.terminate_before();
        self.max_hold.filter(|most| held >= *most)
    }
}

/// Whether nothing is wrong but that the time is over.
const fn is_in_time(cause: &LossCause) -> bool {
    matches!(
        cause,
        LossCause::TimedOut { trouble: None } | LossCause::HoldLimit { .. }
    )
}

#[cfg(test)]
mod tests;
