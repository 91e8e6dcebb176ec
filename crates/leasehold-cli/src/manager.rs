//! The manager of a verb's locks, which have fencing tokens or are plain.

use crate::{exit_code, failure::Failure};
use leasehold::{Eviction, InspectError, Inspection, LockManager, Plain, clock::Clock};
use std::time::Duration;
use tokio::time::timeout;

/// The manager of one verb.
#[derive(Clone, Debug)]
pub(crate) enum Manager {
    /// Its locks have fencing tokens, and parts. The usual.
    Fenced(LockManager),
    /// As Redlock has them and no more.
    Plain(LockManager<Plain>),
}

impl Manager {
    /// The manager of locks with fencing tokens, for what plain ones do not have.
    pub(crate) fn fenced(&self) -> Result<&LockManager, Failure> {
        match self {
            Self::Fenced(manager) => Ok(manager),
            Self::Plain(_) => Err(Failure::new(exit_code::USAGE, "plain locks have no tokens")),
        }
    }

    pub(crate) fn clock(&self) -> Clock {
        match self {
            Self::Fenced(manager) => manager.clock(),
            Self::Plain(manager) => manager.clock(),
        }
    }

    pub(crate) async fn inspect(&self, name: &str) -> Result<Inspection, InspectError> {
        match self {
            Self::Fenced(manager) => manager.inspect(name).await,
            Self::Plain(manager) => manager.inspect(name).await,
        }
    }

    /// What the nodes have under each of these names, all at once; nothing of those that a node keeps waiting for.
    pub(crate) async fn look_at_all(&self, names: impl Iterator<Item = &str>) -> Vec<Inspection> {
        let looks = names.map(|name| {
            let (manager, name) = (self.clone(), name.to_owned());
            let look = async move { manager.inspect(&name).await.ok() };
            tokio::spawn(timeout(LOOK, look))
        });
        let mut seen = Vec::new();
        for look in looks.collect::<Vec<_>>() {
            seen.extend(look.await.ok().and_then(Result::ok).flatten());
        }
        seen
    }

    pub(crate) async fn evict(&self, before: Inspection) -> Eviction {
        match self {
            Self::Fenced(manager) => manager.evict(before).await,
            Self::Plain(manager) => manager.evict(before).await,
        }
    }

    pub(crate) async fn shutdown(&self) -> Option<usize> {
        match self {
            Self::Fenced(manager) => manager.shutdown().await,
            Self::Plain(manager) => manager.shutdown().await,
        }
    }
}

/// How long somebody who failed waits to be told more of it: a node that hangs must not cost much.
const LOOK: Duration = Duration::from_millis(200);
