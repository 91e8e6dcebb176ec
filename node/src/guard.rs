//! Guards of all kinds, seen as one.

use leasehold::{
    DetachedLease, ExtendError, FencingToken, Leadership, LeaseGuard, LeaseLost, LeaseState,
    OnceGuard, Owner, PermitGuard, Plain, ReadGuard, ReleaseOutcome, Resource, WriteGuard,
};
use std::{future::Future, pin::Pin, time::Duration};

/// What a lease of JavaScript holds.
pub(crate) enum Guard {
    Mutex(LeaseGuard),
    Plain(LeaseGuard<Plain>),
    Read(ReadGuard),
    Write(WriteGuard),
    Permit(PermitGuard),
    Once(OnceGuard),
    Leader(Leadership),
    PlainLeader(Leadership<Plain>),
    /// It has no guard, and nobody extends it.
    Detached(DetachedLease),
}

/// The guard within, and what it is called with.
macro_rules! of_guard {
    ($guard:expr, $name:ident => $work:expr, else $detached:ident => $other:expr) => {
        match $guard {
            Self::Mutex($name) => $work,
            Self::Plain($name) => $work,
            Self::Read($name) => $work,
            Self::Write($name) => $work,
            Self::Permit($name) => $work,
            Self::Once($name) => $work,
            Self::Leader(leader) => {
                let $name = leader.as_guard();
                $work
            }
            Self::PlainLeader(leader) => {
                let $name = leader.as_guard();
                $work
            }
            Self::Detached($detached) => $other,
        }
    };
}

pub(crate) type Loss = Pin<Box<dyn Future<Output = LeaseLost>>>;

impl Guard {
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Mutex(_) | Self::Plain(_) => "mutex",
            Self::Read(_) => "read",
            Self::Write(_) => "write",
            Self::Permit(_) => "permit",
            Self::Once(_) => "once",
            Self::Leader(_) | Self::PlainLeader(_) => "leadership",
            Self::Detached(_) => "detached",
        }
    }

    pub(crate) fn resource(&self) -> &Resource {
        of_guard!(self, guard => guard.resource(), else detached => detached.resource())
    }

    pub(crate) fn owner(&self) -> &Owner {
        of_guard!(self, guard => guard.owner(), else detached => detached.owner())
    }

    pub(crate) fn token(&self) -> Option<FencingToken> {
        match self {
            Self::Mutex(guard) => guard.token(),
            Self::Write(guard) => guard.token(),
            Self::Permit(guard) => guard.token(),
            Self::Once(guard) => guard.token(),
            Self::Leader(guard) => guard.token(),
            Self::Plain(_) | Self::PlainLeader(_) | Self::Read(_) | Self::Detached(_) => None,
        }
    }

    pub(crate) fn slot(&self) -> Option<usize> {
        match self {
            Self::Permit(guard) => Some(guard.slot()),
            _ => None,
        }
    }

    pub(crate) fn remaining(&self) -> Duration {
        of_guard!(self, guard => guard.remaining(), else _detached => Duration::ZERO)
    }

    pub(crate) fn state(&self) -> Option<LeaseState> {
        of_guard!(self, guard => Some(guard.state()), else _detached => None)
    }

    pub(crate) fn heartbeat(&self) {
        of_guard!(self, guard => guard.heartbeat(), else _detached => {});
    }

    /// The loss, without a hold on the guard.
    pub(crate) fn lost(&self) -> Option<Loss> {
        of_guard!(self, guard => Some(Box::pin(guard.lost())), else _detached => None)
    }

    pub(crate) async fn changed(&self) -> Option<LeaseState> {
        of_guard!(self, guard => Some(guard.changed().await), else _detached => None)
    }

    /// Extends it, and says how long it is valid then.
    pub(crate) async fn extend(&self, ttl: Option<Duration>) -> Result<Duration, ExtendError> {
        of_guard!(self, guard => {
            match ttl {
                None => guard.extend().await?,
                Some(ttl) => guard.extend_to(ttl).await?,
            }
            Ok(guard.remaining())
        }, else detached => detached.extend(ttl.unwrap_or(USUAL_TTL)).await)
    }

    pub(crate) async fn ensure(&self, remaining: Duration) -> Result<(), ExtendError> {
        of_guard!(self, guard => guard.ensure(remaining).await, else detached => {
            detached.extend(remaining).await.map(drop)
        })
    }

    pub(crate) async fn release(self) -> ReleaseOutcome {
        match self {
            Self::Mutex(guard) => guard.release().await,
            Self::Plain(guard) => guard.release().await,
            Self::Read(guard) => guard.release().await,
            Self::Write(guard) => guard.release().await,
            Self::Permit(guard) => guard.release().await,
            Self::Once(guard) => guard.into_guard().release().await,
            Self::Leader(guard) => guard.resign().await,
            Self::PlainLeader(guard) => guard.resign().await,
            Self::Detached(lease) => lease.release().await,
        }
    }

    /// Lets go of it without a release. None if this kind cannot.
    pub(crate) async fn detach(self) -> Option<Result<Owner, LeaseLost>> {
        Some(match self {
            Self::Mutex(guard) => guard.detach().await,
            Self::Read(guard) => guard.detach().await,
            Self::Write(guard) => guard.detach().await,
            Self::Permit(guard) => guard.detach().await,
            Self::Once(guard) => guard.into_guard().detach().await,
            Self::Leader(guard) => guard.into_guard().detach().await,
            Self::Plain(_) | Self::PlainLeader(_) | Self::Detached(_) => return None,
        })
    }

    /// A text from which another process takes the lease over. None if this kind cannot.
    pub(crate) async fn hand_over(self) -> Option<Result<String, LeaseLost>> {
        Some(match self {
            Self::Mutex(guard) => guard.hand_over().await,
            Self::Plain(guard) => guard.hand_over().await,
            Self::Write(guard) => guard.into_guard().hand_over().await,
            Self::Once(guard) => guard.into_guard().hand_over().await,
            Self::Leader(guard) => guard.into_guard().hand_over().await,
            Self::PlainLeader(guard) => guard.into_guard().hand_over().await,
            Self::Read(_) | Self::Permit(_) | Self::Detached(_) => return None,
        })
    }
}

/// For how long a detached lease is extended where nobody says.
const USUAL_TTL: Duration = Duration::from_secs(10);
