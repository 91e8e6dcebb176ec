//! What a node says of itself.

use super::Operator;
use crate::{
    configuration::{Configuration, RestartGuard},
    link::redis::admin_client::Look,
};
use leasehold_core::{Abstention, AbstentionCause};
use std::{fmt, time::Duration};

/// What a node says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survey {
    /// The process that runs there and the history of its data: `run_id/master_replid`.
    pub identity: String,
    /// Which server it is: `Valkey 8.1.3`.
    pub version: String,
    /// `master` or `slave`, in its own words.
    pub role: String,
    /// Why no locks can be kept on it, if so, as a fragment for people.
    pub unsuitable: Option<String>,
    /// Whether it writes its changes to its disk.
    pub log: Log,
    /// For how long it does not vote and why; none if it votes.
    pub abstains: Option<Abstention>,
    /// For which configuration it votes.
    pub membership: Membership,
    /// The largest of its counters: no fencing token of its locks was larger. 0 before the first.
    pub largest_counter: u64,
}

/// Whether a server writes its changes to its disk, as `trust-aof` needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Log {
    /// It keeps an append-only file.
    Kept {
        /// `appendfsync`; none if we may not ask.
        fsync: Option<String>,
    },
    /// It keeps none.
    None,
    /// It does not tell.
    Unknown,
}

/// For which configuration a node votes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Membership {
    /// For none yet: for that of the first client that comes.
    Nobodys,
    /// For ours.
    Ours,
    /// For another.
    Others {
        /// Which one.
        configuration: String,
    },
    /// For none: a change of configuration was begun and is not finished.
    Unfinished {
        /// In its own words.
        change: String,
    },
}

/// What the fingerprint of a node begins with while a change is not finished.
pub(super) const MARK: &str = "pending:";

impl Operator {
    /// The configuration that nodes must have for us to count their votes, as they write it down; empty where locks are
    /// [plain](crate::Plain). What differs from it in [`Membership::Others`] is what others agree on.
    #[must_use]
    pub fn configuration(&self) -> &str {
        self.operated.configuration.text()
    }
}

impl Survey {
    pub(super) fn of(look: Look, configuration: &Configuration) -> Self {
        let membership = membership(&look, configuration);
        let (cause, left) = wait(&look, configuration);
        let log = match look.has_log {
            Some(true) => Log::Kept { fsync: look.fsync },
            Some(false) => Log::None,
            None => Log::Unknown,
        };
        Self {
            identity: look.identity,
            version: look.version,
            role: look.role,
            unsuitable: look.unsuitable,
            log,
            abstains: (!left.is_zero()).then_some(Abstention { cause, left }),
            membership,
            largest_counter: look.counter,
        }
    }
}

/// Why the node does not vote for clients of this configuration, if it is of theirs, and for how long.
pub(super) fn wait(look: &Look, configuration: &Configuration) -> (AbstentionCause, Duration) {
    let is_known = look.vouched.as_ref() == Some(&look.identity);
    match (configuration.guard(), is_known, &look.vouched) {
        (RestartGuard::Off, ..) => (look.cause, Duration::ZERO),
        (_, true, _) => (look.cause, look.left),
        // It begins when the first client comes.
        (_, false, None) => (AbstentionCause::Empty, configuration.quarantine()),
        (_, false, Some(_)) => (AbstentionCause::Changed, configuration.quarantine()),
    }
}

fn membership(look: &Look, configuration: &Configuration) -> Membership {
    let text = look.text.clone().unwrap_or_default();
    match &look.fingerprint {
        None => Membership::Nobodys,
        Some(ours) if *ours == configuration.fingerprint() => Membership::Ours,
        Some(mark) if mark.starts_with(MARK) => Membership::Unfinished { change: text },
        Some(fingerprint) if text.is_empty() => Membership::Others {
            configuration: fingerprint.clone(),
        },
        Some(_) => Membership::Others {
            configuration: text,
        },
    }
}

impl fmt::Display for Survey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As all messages call it.
        let role = match &*self.role {
            "slave" => "replica",
            role => role,
        };
        write!(out, "{}, {role}", self.version)?;
        match &self.log {
            Log::Kept { fsync: Some(fsync) } => write!(out, ", appendfsync {fsync}")?,
            Log::Kept { fsync: None } => out.write_str(", append-only file")?,
            Log::None => out.write_str(", no append-only file")?,
            Log::Unknown => {}
        }
        if let Some(why) = &self.unsuitable {
            write!(out, "; {why}")?;
        }
        match &self.membership {
            Membership::Nobodys => out.write_str("; of no configuration yet")?,
            Membership::Ours => {}
            Membership::Others { configuration } => {
                write!(out, "; used with another configuration: {configuration}")?;
            }
            Membership::Unfinished { change } => write!(out, "; {change}")?,
        }
        let is_ours = matches!(self.membership, Membership::Nobodys | Membership::Ours);
        match &self.abstains {
            Some(abstention) => write!(out, "; {abstention}"),
            None if self.unsuitable.is_none() && is_ours => out.write_str("; votes"),
            None => Ok(()),
        }
    }
}
