//! The options of one lock.

use crate::error::ConfigError;
use leasehold_core::{Drift, OwnerSource, Pause, Plan, Retry, Terms, Ttl};
use std::{num::NonZeroU32, ops::RangeInclusive, time::Duration};

/// How a lock behaves. Every option has a default that the Redlock page or the field gives.
///
/// | option | default |
/// |---|---|
/// | [`ttl`](Self::ttl) | 10 s |
/// | [`drift`](Self::drift) | 1 % of the TTL and 2 ms |
/// | [`node_limit`](Self::node_limit) | 5 % of the TTL, at least 20 ms, at most 500 ms |
/// | [`tries`](Self::tries) | 32 |
/// | [`pause`](Self::pause) | 50 to 250 ms, random |
/// | [`owner_source`](Self::owner_source) | 160 random bits as 40 hexadecimal digits |
///
/// There is no option to return before slow nodes have answered: every vote is decided as soon as its
/// result cannot change, whatever the others do.
///
/// # Examples
/// ```
/// use leasehold::{LockManager, LockOptions};
/// use std::time::Duration;
///
/// let manager = LockManager::builder().memory(3).build()?;
/// let options = LockOptions::new().ttl(Duration::from_secs(30)).tries(5);
/// let mutex = manager.mutex_with("reports/daily", options)?;
/// assert_eq!(mutex.resource().as_str(), "reports/daily");
/// # Ok::<(), leasehold::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct LockOptions {
    ttl: Duration,
    drift: Drift,
    node_limit: Option<Duration>,
    tries: Option<u32>,
    pause: Pause,
    unreachable_for: Option<Duration>,
    owners: OwnerSource,
}

impl Default for LockOptions {
    fn default() -> Self {
        Self {
            ttl: Ttl::DEFAULT.as_duration(),
            drift: Drift::DEFAULT,
            node_limit: None,
            tries: Some(32),
            pause: Pause::default(),
            unreachable_for: None,
            owners: OwnerSource::default(),
        }
    }
}

impl LockOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long the nodes keep the lock if nobody extends it: 10 ms to 30 days.
    ///
    /// If the holder dies, others wait this long. What the holder may rely on is less, by the
    /// [`drift`](Self::drift) and by the time that the vote took.
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// What is taken off the TTL because clocks do not run alike.
    ///
    /// # Source
    /// Redlock, "is the algorithm asynchronous?"; assumption A1.
    pub fn drift(self, drift: Drift) -> Self {
        Self { drift, ..self }
    }

    /// How long one node may take to answer before its vote counts as unknown. Slow nodes cost this
    /// only if the others cannot decide.
    pub fn node_limit(self, limit: Duration) -> Self {
        Self {
            node_limit: Some(limit),
            ..self
        }
    }

    /// How many attempts [`acquire`](crate::Mutex::acquire) makes, at least 1.
    pub fn tries(self, tries: u32) -> Self {
        Self {
            tries: Some(tries),
            ..self
        }
    }

    /// [`acquire`](crate::Mutex::acquire) tries for ever.
    pub fn tries_unlimited(self) -> Self {
        Self {
            tries: None,
            ..self
        }
    }

    /// How long to rest between attempts: a random time in this range. The randomness keeps clients that
    /// lost to each other from meeting again.
    pub fn pause(self, range: RangeInclusive<Duration>) -> Self {
        let (least, most) = range.into_inner();
        Self {
            pause: Pause::Between { least, most },
            ..self
        }
    }

    /// How long to rest between attempts, by a function of how many there were. Make it random. A pause
    /// below a millisecond counts as one.
    ///
    /// The function runs on the manager's thread: it must not wait. If it panics, the default pause is
    /// taken.
    pub fn pause_function(
        self,
        function: impl Fn(u32) -> Duration + Send + Sync + 'static,
    ) -> Self {
        Self {
            pause: guarded(function),
            ..self
        }
    }

    /// Gives up, whatever tries or time are left, once too few nodes have answered for this long. Zero
    /// means at the first attempt that no quorum answers: fail fast. Off by default.
    pub fn give_up_unreachable_after(self, patience: Duration) -> Self {
        Self {
            unreachable_for: Some(patience),
            ..self
        }
    }

    /// How owners are made of an attempt's random bytes. All of them must go into the owner; a source that
    /// drops some is refused before anything is sent.
    ///
    /// The function runs on the manager's thread, for every attempt: it must not wait.
    pub fn owner_source(self, owners: OwnerSource) -> Self {
        // A panic gives no owner, which ends the operation and nothing else.
        let owners = OwnerSource::new(move |random| {
            let asked = std::panic::AssertUnwindSafe(|| owners.owner(random));
            let owner = std::panic::catch_unwind(asked).ok().flatten();
            owner
                .map(|owner| owner.as_bytes().to_vec())
                .unwrap_or_default()
        });
        Self { owners, ..self }
    }

    /// Checks the options against each other.
    pub(crate) fn plan(&self) -> Result<Plan, ConfigError> {
        let terms = Terms::new(Ttl::new(self.ttl)?, self.drift, self.node_limit)?;
        if let Pause::Between { least, most } = self.pause
            && least > most
        {
            return Err(ConfigError::Pause { least, most });
        }
        if !self.owners.keeps_randomness() {
            return Err(ConfigError::OwnerSource);
        }
        let tries = match self.tries {
            None => None,
            Some(tries) => Some(NonZeroU32::new(tries).ok_or(ConfigError::NoTries)?),
        };
        let mut retry = Retry::default()
            .with_tries(tries)
            .with_pause(self.pause.clone());
        if let Some(patience) = self.unreachable_for {
            retry = retry.give_up_unreachable_after(patience);
        }
        Ok(Plan {
            terms,
            retry,
            owners: self.owners.clone(),
        })
    }
}

/// A function of the user's must not take the manager's thread, and all its leases, with it.
fn guarded(function: impl Fn(u32) -> Duration + Send + Sync + 'static) -> Pause {
    Pause::function(move |tried| {
        let asked = std::panic::AssertUnwindSafe(|| function(tried));
        std::panic::catch_unwind(asked).unwrap_or(Duration::from_millis(250))
    })
}
