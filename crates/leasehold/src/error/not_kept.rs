//! Why nobody knows that work is done.

use crate::outcome::ReleaseOutcome;
use leasehold_core::Resource;
use std::{error::Error, fmt};

/// Work is done, but too few nodes know: it may be done again in the same period.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotKept {
    /// What was locked.
    pub resource: Resource,
    /// What became of the lock instead.
    pub release: ReleaseOutcome,
}

impl fmt::Display for NotKept {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resource = self.resource.quoted();
        write!(
            out,
            "keep the lock {resource} until the period ends: it may be done again before, since "
        )?;
        match &self.release {
            ReleaseOutcome::Unknown { faults } if faults.is_empty() => {
                out.write_str("no node has answered")
            }
            ReleaseOutcome::Unknown { faults } => {
                write!(
                    out,
                    "too few nodes have answered: {}",
                    super::Faults(faults)
                )
            }
            other => other.fmt(out),
        }
    }
}

impl Error for NotKept {}

leasehold_core::debug_by_sentence!(struct NotKept { resource, release });
