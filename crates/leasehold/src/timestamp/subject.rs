//! One lock on one node, with all that an attempt has to know.

use super::{
    error::{TimestampAcquireError, TimestampExtendError},
    options::Checked,
    terms::Clocks,
};
use crate::link::{NodeName, redis::stamp::Silence};
use leasehold_core::{Instant, Resource};

/// What is locked, where and how.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) resource: Resource,
    pub(super) node: NodeName,
    pub(super) options: Checked,
    pub(super) clocks: Clocks,
}

impl Subject {
    pub(super) fn not_acquired(&self, silence: Silence) -> TimestampAcquireError {
        let (resource, node) = (self.resource.clone(), self.node.clone());
        match silence {
            Silence::Untouched(reason) => TimestampAcquireError::Unreachable {
                resource,
                node,
                reason,
            },
            Silence::Unclear(reason) => TimestampAcquireError::Unclear {
                resource,
                node,
                reason,
            },
        }
    }

    /// It was granted, and has no validity left.
    pub(super) fn too_late(&self, started: Instant) -> TimestampAcquireError {
        TimestampAcquireError::TooLate {
            resource: self.resource.clone(),
            elapsed: self.clocks.now().saturating_since(started),
            timeout: self.options.timeout.as_duration(),
        }
    }

    pub(super) fn not_extended(&self, silence: Silence) -> TimestampExtendError {
        let (resource, node) = (self.resource.clone(), self.node.clone());
        match silence {
            Silence::Untouched(reason) => TimestampExtendError::Unreachable {
                resource,
                node,
                reason,
            },
            Silence::Unclear(reason) => TimestampExtendError::Unclear {
                resource,
                node,
                reason,
            },
        }
    }
}
