//! A name under which something else stands than a lock.
//!
//! A hash or a list does not end as a lock does: a user who waited for it would wait for ever, and most likely has mistaken the
//! name. So the wait looks once, beside its attempts, what it is that refuses them. A text may be any library's lock, and is
//! waited for.

use super::Wait;
use crate::{failure::Failure, lock_view};
use leasehold::Key;
use std::{future::pending, time::Duration};
use tokio::time::sleep;

impl Wait<'_> {
    /// Ends when it is seen that no lock stands there, and never otherwise.
    pub(super) async fn meet_other_data(&self) -> Failure {
        sleep(FIRST_LOOK).await;
        for name in self.lock.resource().names() {
            if let Ok(seen) = self.manager.inspect(name).await
                && seen
                    .nodes()
                    .iter()
                    .any(|node| matches!(node.key, Key::Foreign { .. }))
                && let Some(failure) = self.other_data_at(name).await
            {
                return failure;
            }
        }
        pending().await
    }

    /// Looks what stands there. The end of the wait, if it is no lock.
    pub(super) async fn other_data(&self) -> Option<Failure> {
        for name in self.lock.resource().names() {
            if let Some(failure) = self.other_data_at(name).await {
                return Some(failure);
            }
        }
        None
    }

    async fn other_data_at(&self, name: &str) -> Option<Failure> {
        let operator = self.nodes.operator(&self.lock.place.agreement).ok()?;
        let seen = operator.look(name).await.ok()?;
        Some(lock_view::no_lock(name, seen.other_type()?))
    }
}

/// An attempt that is not refused is over long before.
const FIRST_LOOK: Duration = Duration::from_millis(100);
