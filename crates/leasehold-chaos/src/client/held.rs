//! What a client can have: names for itself, a share of one, or a permit.

use crate::checker::{permit_place, read_place};
use crate::{client::RESOURCES, moment::Moment, scenario::Kind};
use leasehold::{
    AcquireError, ConfigError, LeaseGuard, LockManager, Mode, Mutex, Owner, PermitGuard, ReadGuard,
    RwLock, Semaphore, WriteGuard,
};
use std::time::Duration;

/// What a client can want.
pub(super) enum Wish<M: Mode> {
    Names(Mutex<M>),
    Read(RwLock),
    Write(RwLock),
    Permit(Semaphore),
}

/// What a client has.
pub(super) enum Held<M: Mode> {
    Names(LeaseGuard<M>),
    Read(ReadGuard),
    Write(WriteGuard),
    Permit(PermitGuard),
}

/// Does this with the guard, whatever it is of.
macro_rules! of_any {
    ($held:expr, $guard:ident => $what:expr) => {
        match $held {
            Held::Names($guard) => $what,
            Held::Read($guard) => $what,
            Held::Write($guard) => $what,
            Held::Permit($guard) => $what,
        }
    };
}

impl<M: Mode> Wish<M> {
    /// All that such a client wants, one as often as another.
    pub(super) fn all(kind: Kind, manager: &LockManager<M>) -> Result<Vec<Self>, ConfigError> {
        let mut wishes = Vec::new();
        for name in RESOURCES {
            match kind {
                Kind::Readers => {
                    let lock = manager.rwlock(name)?;
                    wishes.extend([
                        Self::Read(lock.clone()),
                        Self::Read(lock.clone()),
                        Self::Write(lock),
                    ]);
                }
                // Few enough in all that clients wait for them.
                Kind::Permits if !wishes.is_empty() => {}
                Kind::Permits => wishes.push(Self::Permit(manager.semaphore(name, PERMITS)?)),
                _ => wishes.push(Self::Names(manager.mutex(name)?)),
            }
        }
        if kind == Kind::Several {
            let [a, b, c] = RESOURCES;
            for two in [[a, b], [b, c], [c, a]] {
                wishes.push(Self::Names(manager.mutex_all(two)?));
            }
        }
        Ok(wishes)
    }

    pub(super) async fn acquire_within(&self, patience: Duration) -> Result<Held<M>, AcquireError> {
        Ok(match self {
            Self::Names(mutex) => Held::Names(mutex.acquire_within(patience).await?),
            Self::Read(lock) => Held::Read(lock.read_within(patience).await?),
            Self::Write(lock) => Held::Write(lock.write_within(patience).await?),
            Self::Permit(semaphore) => Held::Permit(semaphore.acquire_within(patience).await?),
        })
    }
}

impl<M: Mode> Held<M> {
    pub(super) fn valid_until(&self) -> Moment {
        of_any!(self, guard => guard.valid_until()).into()
    }

    pub(super) fn is_valid(&self) -> bool {
        of_any!(self, guard => guard.is_valid())
    }

    pub(super) fn remaining(&self) -> Duration {
        of_any!(self, guard => guard.remaining())
    }

    pub(super) fn owner(&self) -> &Owner {
        of_any!(self, guard => guard.owner())
    }

    pub(super) fn token(&self) -> Option<u64> {
        match self {
            Self::Names(guard) => guard.token(),
            Self::Read(_) => None,
            Self::Write(guard) => guard.token(),
            Self::Permit(guard) => guard.token(),
        }
        .map(leasehold::FencingToken::get)
    }

    /// Says whether it was extended.
    pub(super) async fn extend(&self) -> bool {
        of_any!(self, guard => guard.extend().await.is_ok())
    }

    pub(super) async fn release(self) {
        of_any!(self, guard => drop(guard.release().await));
    }

    /// What it has, as journals call it.
    pub(super) fn places(&self) -> Vec<String> {
        match self {
            Self::Names(guard) => guard.resource().names().map(str::to_owned).collect(),
            Self::Read(guard) => vec![read_place(guard.resource().as_str())],
            Self::Write(guard) => vec![guard.resource().as_str().to_owned()],
            Self::Permit(guard) => vec![permit_place(guard.resource().as_str(), guard.slot())],
        }
    }

    /// Whether it only looks at what the lock is for.
    pub(super) const fn reads(&self) -> bool {
        matches!(self, Self::Read(_))
    }
}

/// Fewer than there are clients.
const PERMITS: usize = 2;
