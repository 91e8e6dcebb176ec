//! What a command holds: a name for itself, or a part of it, which is a share or a permit.

use leasehold::{
    AcquireError, FencingToken, Instant, LeaseGuard, LeaseLost, LeaseState, Mutex, OnceGuard,
    OncePer, Owner, Permit, PermitGuard, Plain, ReadGuard, ReleaseOutcome, Resource, RwLock,
    Semaphore,
};
use std::time::Duration;

/// A lease of a command.
#[derive(Debug)]
pub(crate) enum HeldLease {
    /// Nobody else has the name.
    Whole(LeaseGuard),
    /// The same without a fencing token.
    Plain(LeaseGuard<Plain>),
    /// Nor has anybody in the rest of the period, if the work is done.
    Once(OnceGuard),
    /// Others may read, too.
    Share(ReadGuard),
    /// Others have the other slots.
    Permit(PermitGuard),
}

/// A lock that is to be had.
#[derive(Debug)]
pub(crate) enum WantedLock {
    Whole(Mutex),
    Plain(Mutex<Plain>),
    Once(OncePer),
    Share(RwLock),
    Permit(Semaphore),
}

impl WantedLock {
    /// Waits as long as the options say.
    pub(crate) async fn acquire(&self) -> Result<HeldLease, AcquireError> {
        match self {
            Self::Whole(mutex) => mutex.acquire().await.map(HeldLease::Whole),
            Self::Plain(mutex) => mutex.acquire().await.map(HeldLease::Plain),
            Self::Once(once) => once.begin().await.map(HeldLease::Once),
            Self::Share(lock) => lock.read().await.map(HeldLease::Share),
            Self::Permit(permits) => permits.acquire().await.map(HeldLease::Permit),
        }
    }

    /// Tries once.
    pub(crate) async fn try_acquire(&self) -> Result<HeldLease, AcquireError> {
        match self {
            Self::Whole(mutex) => mutex.try_acquire().await.map(HeldLease::Whole),
            Self::Plain(mutex) => mutex.try_acquire().await.map(HeldLease::Plain),
            Self::Once(once) => once.try_begin().await.map(HeldLease::Once),
            Self::Share(lock) => lock.try_read().await.map(HeldLease::Share),
            Self::Permit(permits) => permits.try_acquire().await.map(HeldLease::Permit),
        }
    }

    /// Waits for so long at most.
    pub(crate) async fn acquire_within(
        &self,
        patience: Duration,
    ) -> Result<HeldLease, AcquireError> {
        match self {
            Self::Whole(mutex) => mutex.acquire_within(patience).await.map(HeldLease::Whole),
            Self::Plain(mutex) => mutex.acquire_within(patience).await.map(HeldLease::Plain),
            Self::Once(once) => once.begin_within(patience).await.map(HeldLease::Once),
            Self::Share(lock) => lock.read_within(patience).await.map(HeldLease::Share),
            Self::Permit(permits) => {
                let permit = permits.acquire_within(patience).await;
                permit.map(HeldLease::Permit)
            }
        }
    }
}

impl HeldLease {
    pub(crate) fn resource(&self) -> &Resource {
        match self {
            Self::Whole(guard) => guard.resource(),
            Self::Plain(guard) => guard.resource(),
            Self::Once(guard) => guard.resource(),
            Self::Share(guard) => guard.resource(),
            Self::Permit(guard) => guard.resource(),
        }
    }

    pub(crate) fn owner(&self) -> &Owner {
        match self {
            Self::Whole(guard) => guard.owner(),
            Self::Plain(guard) => guard.owner(),
            Self::Once(guard) => guard.owner(),
            Self::Share(guard) => guard.owner(),
            Self::Permit(guard) => guard.owner(),
        }
    }

    /// The fencing token; those who read have none, nor have plain locks.
    pub(crate) fn token(&self) -> Option<FencingToken> {
        match self {
            Self::Whole(guard) => Some(guard.fencing_token()),
            Self::Once(guard) => Some(guard.fencing_token()),
            Self::Share(_) | Self::Plain(_) => None,
            Self::Permit(guard) => Some(guard.fencing_token()),
        }
    }

    /// Which of how many permits it is.
    pub(crate) fn permit(&self) -> Option<Permit> {
        match self {
            Self::Permit(guard) => guard.owner().permit(),
            _ => None,
        }
    }

    pub(crate) fn valid_until(&self) -> Instant {
        match self {
            Self::Whole(guard) => guard.valid_until(),
            Self::Plain(guard) => guard.valid_until(),
            Self::Once(guard) => guard.valid_until(),
            Self::Share(guard) => guard.valid_until(),
            Self::Permit(guard) => guard.valid_until(),
        }
    }

    pub(crate) fn remaining(&self) -> Duration {
        match self {
            Self::Whole(guard) => guard.remaining(),
            Self::Plain(guard) => guard.remaining(),
            Self::Once(guard) => guard.remaining(),
            Self::Share(guard) => guard.remaining(),
            Self::Permit(guard) => guard.remaining(),
        }
    }

    pub(crate) fn is_valid(&self) -> bool {
        !self.remaining().is_zero()
    }

    pub(crate) fn state(&self) -> LeaseState {
        match self {
            Self::Whole(guard) => guard.state(),
            Self::Plain(guard) => guard.state(),
            Self::Once(guard) => guard.state(),
            Self::Share(guard) => guard.state(),
            Self::Permit(guard) => guard.state(),
        }
    }

    pub(crate) async fn changed(&self) -> LeaseState {
        match self {
            Self::Whole(guard) => guard.changed().await,
            Self::Plain(guard) => guard.changed().await,
            Self::Once(guard) => guard.changed().await,
            Self::Share(guard) => guard.changed().await,
            Self::Permit(guard) => guard.changed().await,
        }
    }

    pub(crate) async fn release(self) -> ReleaseOutcome {
        match self {
            Self::Whole(guard) => guard.release().await,
            Self::Plain(guard) => guard.release().await,
            Self::Once(guard) => guard.into_guard().release().await,
            Self::Share(guard) => guard.release().await,
            Self::Permit(guard) => guard.release().await,
        }
    }

    pub(crate) async fn detach(self) -> Result<Owner, LeaseLost> {
        match self {
            Self::Whole(guard) => guard.detach().await,
            Self::Plain(_) => {
                unreachable!("nobody could extend it: no verb that detaches has plain locks")
            }
            Self::Once(guard) => guard.into_guard().detach().await,
            Self::Share(guard) => guard.detach().await,
            Self::Permit(guard) => guard.detach().await,
        }
    }
}
