//! Why a timestamp lock was not acquired or extended.

use crate::{error::Span, link::NodeName};
use leasehold_core::Resource;
use std::{error::Error, fmt, time::Duration};

/// Why a timestamp lock was not acquired.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimestampAcquireError {
    /// Somebody else holds it. Trying again later helps.
    Held(TimestampHeld),
    /// The key is there, but is no time in whole Unix seconds: another type, another text, milliseconds, or a number
    /// from before 2001. It was left as it is; trying again does not help. Choose another name, or delete the key if
    /// nobody needs it.
    NotATimestamp {
        /// What was to be locked.
        resource: Resource,
        /// The node.
        node: NodeName,
        /// What the key holds, as a fragment for people.
        found: String,
    },
    /// The node could not be asked, or refused as a whole. Nothing was changed.
    Unreachable {
        /// What was to be locked.
        resource: Resource,
        /// The node.
        node: NodeName,
        /// Why, as a fragment for people, without the password.
        reason: String,
    },
    /// The request left and its answer did not come. The lock may be taken, by nobody, until its timeout has passed.
    Unclear {
        /// What was to be locked.
        resource: Resource,
        /// The node.
        node: NodeName,
        /// Why, as a fragment for people.
        reason: String,
    },
    /// The node granted it so late that nothing was left of the timeout. A longer timeout helps.
    TooLate {
        /// What was to be locked.
        resource: Resource,
        /// How long it took until the lock could have been handed out.
        elapsed: Duration,
        /// The timeout.
        timeout: Duration,
    },
    /// This machine's wall clock shows a time before 2001, so it is not set, and nothing was asked. Trying again does not
    /// help; setting the clock does.
    ClockNotSet {
        /// What was to be locked.
        resource: Resource,
        /// What it shows, in Unix seconds.
        now: u64,
    },
    /// The caller's patience ran out first.
    TimedOut {
        /// What was to be locked.
        resource: Resource,
        /// How often it was tried.
        attempts: u32,
        /// How long the caller waited.
        waited: Duration,
        /// What the last attempt failed of.
        last: Box<Self>,
    },
    /// The lock's thread has ended, which is a bug.
    ShutDown {
        /// What was to be locked.
        resource: Resource,
    },
}

/// The facts about a timestamp lock that is held by somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimestampHeld {
    /// What was to be locked.
    pub resource: Resource,
    /// The node.
    pub node: NodeName,
    /// The last Unix second in which it is held, as its key says.
    pub until: u64,
    /// How long it takes at most until it can be taken over, if nobody releases or moves it, by our clock.
    pub remaining: Duration,
}

impl TimestampAcquireError {
    /// What was to be locked.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        match self {
            Self::Held(held) => &held.resource,
            Self::NotATimestamp { resource, .. }
            | Self::Unreachable { resource, .. }
            | Self::Unclear { resource, .. }
            | Self::TooLate { resource, .. }
            | Self::ClockNotSet { resource, .. }
            | Self::TimedOut { resource, .. }
            | Self::ShutDown { resource } => resource,
        }
    }

    /// Whether somebody else's lock was the reason, at last.
    #[must_use]
    pub fn is_contention(&self) -> bool {
        self.remaining().is_some()
    }

    /// How long it takes at most until the lock can be taken over, if somebody else's was the reason, at last.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        match self {
            Self::Held(held) => Some(held.remaining),
            Self::TimedOut { last, .. } => last.remaining(),
            _ => None,
        }
    }

    /// Whether another attempt may end otherwise.
    pub(super) const fn may_pass(&self) -> bool {
        !matches!(
            self,
            Self::NotATimestamp { .. } | Self::ClockNotSet { .. } | Self::ShutDown { .. }
        )
    }

    fn write_reason(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(held) => write!(
                out,
                "held elsewhere until {} on {}, free in {} at the latest",
                held.until,
                held.node,
                Span(held.remaining)
            ),
            Self::NotATimestamp { node, found, .. } => write!(
                out,
                "its key on {node} holds {found}, which is no time in whole Unix seconds, and was left as it is; choose \
                 another name, or delete the key if nobody needs it"
            ),
            Self::Unreachable { node, reason, .. } => {
                write!(out, "the node could not be asked: {node}: {reason}")
            }
            Self::Unclear { node, reason, .. } => write!(
                out,
                "the node's answer was lost, and the lock may be taken until its timeout has passed: {node}: {reason}"
            ),
            Self::TooLate {
                elapsed, timeout, ..
            } => write!(
                out,
                "it was granted after {}, which leaves nothing of a timeout of {}",
                Span(*elapsed),
                Span(*timeout)
            ),
            Self::ClockNotSet { now, .. } => write!(
                out,
                "the wall clock of this machine shows {now} Unix seconds, which is before 2001; set it"
            ),
            Self::TimedOut {
                attempts,
                waited,
                last,
                ..
            } => {
                let plural = if *attempts == 1 { "" } else { "s" };
                let waited = Span(*waited);
                write!(
                    out,
                    "gave up after {attempts} attempt{plural} in {waited}: "
                )?;
                last.write_reason(out)
            }
            Self::ShutDown { .. } => out.write_str("its thread has ended"),
        }
    }
}

impl fmt::Display for TimestampAcquireError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "timestamp lock {:?}: ", self.resource().as_str())?;
        self.write_reason(out)
    }
}

impl Error for TimestampAcquireError {}

leasehold_core::debug_by_sentence!(TimestampAcquireError {
    Held(inner),
    NotATimestamp { resource, node, found },
    Unreachable { resource, node, reason },
    Unclear { resource, node, reason },
    TooLate { resource, elapsed, timeout },
    ClockNotSet { resource, now },
    TimedOut { resource, attempts, waited, last },
    ShutDown { resource },
});

/// Why the lease of a timestamp lock was not extended.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimestampExtendError {
    /// The lease is over and does not come back.
    Lost {
        /// What was held.
        resource: Resource,
        /// Why.
        cause: TimestampLossCause,
    },
    /// The node could not be asked, or refused as a whole. The lease is as valid as it was.
    Unreachable {
        /// What is held.
        resource: Resource,
        /// The node.
        node: NodeName,
        /// Why, as a fragment for people, without the password.
        reason: String,
    },
    /// The request left and its answer did not come. The lease is as valid as it was; its key may say a later end.
    Unclear {
        /// What is held.
        resource: Resource,
        /// The node.
        node: NodeName,
        /// Why, as a fragment for people.
        reason: String,
    },
    /// This machine's wall clock was set back while the lock was held, so it has no later end to write. The lease is as
    /// valid as it was. All who use the lock trust each other's clocks: find out which one is wrong.
    ClockSetBack {
        /// What is held.
        resource: Resource,
    },
    /// The lock's thread has ended, which is a bug. The lease is as valid as it was.
    ShutDown {
        /// What is held.
        resource: Resource,
    },
}

/// What ended the lease of a timestamp lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimestampLossCause {
    /// Its time was up.
    TimedOut,
    /// Its key is gone: somebody deleted it, or the node has lost it.
    Gone,
    /// Its key carries another value: somebody took the lock over, or a program that lost the race for it has moved its
    /// end. The value does not tell which, so the lease ends.
    Overwritten {
        /// What the key carries.
        found: String,
    },
}

impl fmt::Display for TimestampLossCause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => out.write_str("its time was up"),
            Self::Gone => out.write_str("its key is gone"),
            Self::Overwritten { found } => write!(
                out,
                "its key carries {found:?}: taken over, or moved by a program that lost the race for it"
            ),
        }
    }
}

impl fmt::Display for TimestampExtendError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resource = match self {
            Self::Lost { resource, .. }
            | Self::Unreachable { resource, .. }
            | Self::Unclear { resource, .. }
            | Self::ClockSetBack { resource }
            | Self::ShutDown { resource } => resource,
        };
        write!(out, "extend the timestamp lock {:?}: ", resource.as_str())?;
        match self {
            Self::Lost { cause, .. } => write!(out, "it is lost: {cause}"),
            Self::Unreachable { node, reason, .. } => {
                write!(out, "the node could not be asked: {node}: {reason}")
            }
            Self::Unclear { node, reason, .. } => {
                write!(out, "the node's answer was lost: {node}: {reason}")
            }
            Self::ClockSetBack { .. } => out.write_str(
                "the wall clock of this machine was set back, so there is no later end to write",
            ),
            Self::ShutDown { .. } => out.write_str("its thread has ended"),
        }
    }
}

impl Error for TimestampExtendError {}

leasehold_core::debug_by_sentence!(TimestampExtendError {
    Lost { resource, cause },
    Unreachable { resource, node, reason },
    Unclear { resource, node, reason },
    ClockSetBack { resource },
    ShutDown { resource },
});
