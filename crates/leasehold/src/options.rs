//! The options of one lock.

mod checked;
mod lock_config;

pub(crate) use checked::CheckedOptions;

use leasehold_core::{AutoRenewal, Drift, OwnerSource, Pause, RenewalPolicy, Timing, Ttl};
use std::{ops::RangeInclusive, time::Duration};

/// How a lock behaves.
///
/// | option | default |
/// |---|---|
/// | [`ttl`](Self::ttl) | 10 s |
/// | [`drift`](Self::drift) | 1 % of the TTL and 2 ms |
/// | [`node_limit`](Self::node_limit) | 5 % of the TTL, at least 20 ms, at most 500 ms |
/// | [`tries`](Self::tries) | 32 |
/// | [`pause`](Self::pause) | 50 to 250 ms, random |
/// | [`owner_source`](Self::owner_source) | 160 random bits as 40 hexadecimal digits, host, process and time; see [`Holder`](crate::Holder) |
/// | [`label`](Self::label) | none, but host and process; nothing at all: [`no_label`](Self::no_label) |
/// | [`renew_every`](Self::renew_every) | a third of the TTL; off: [`no_renewal`](Self::no_renewal) |
/// | [`max_hold`](Self::max_hold) | 24 h, or the TTL or `min_hold` if that is longer; off: [`max_hold_unlimited`](Self::max_hold_unlimited) |
/// | [`max_extensions`](Self::max_extensions) | no limit |
/// | [`progress_within`](Self::progress_within) | not asked for |
/// | [`warn_before`](Self::warn_before) | a third of the TTL |
/// | [`margin`](Self::margin) | 5 ms, at most a quarter of the validity; none where `node_limit` leaves no room |
/// | [`step_margin`](Self::step_margin) | none |
/// | [`min_hold`](Self::min_hold) | none |
/// | [`lock_delay`](Self::lock_delay) | none |
/// | [`no_local_queue`](Self::no_local_queue) | callers of one manager wait for each other |
/// | [`ask_all_at_once`](Self::ask_all_at_once) | where others want the lock too, one node is asked first |
/// | [`fair`](Self::fair) | nobody queues on the nodes |
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
    /// None: those that tell host and process.
    owners: Option<OwnerSource>,
    policy: RenewalPolicy,
    max_hold: MaxHold,
    margin: Option<Duration>,
    lock_delay: Duration,
    step_margin: Duration,
    queues: bool,
    asks_one_first: bool,
    is_fair: bool,
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
            owners: None,
            policy: RenewalPolicy {
                renewal: AutoRenewal::Thirds,
                ..RenewalPolicy::default()
            },
            max_hold: MaxHold::Default,
            margin: None,
            lock_delay: Duration::ZERO,
            step_margin: Duration::ZERO,
            queues: true,
            asks_one_first: true,
            is_fair: false,
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

    /// The TTL.
    #[cfg(feature = "config")]
    pub(crate) const fn lifetime(&self) -> Duration {
        self.ttl
    }

    /// What is taken off the TTL because clocks do not run alike.
    ///
    /// # Source
    /// Redlock, "is the algorithm asynchronous?"; assumption [A1](crate::safety#a1).
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

    /// The [limit](Self::node_limit) that a lock of this TTL has unless told otherwise. Of a TTL below some 50 ms it is less: half
    /// of what can be held.
    ///
    /// # Examples
    /// ```
    /// use leasehold::LockOptions;
    /// use std::time::Duration;
    ///
    /// let limit = LockOptions::usual_node_limit(Duration::from_secs(2));
    /// assert_eq!(limit, Duration::from_millis(100));
    /// ```
    #[must_use]
    pub fn usual_node_limit(ttl: Duration) -> Duration {
        Timing::usual_node_limit(ttl)
    }

    /// How often [`acquire`](crate::Mutex::acquire) tries, at least once.
    ///
    /// A try is an attempt, and the [`pause`](Self::pause) after it. A caller who is told that the lock may be free
    /// asks at once, which is no try; and one who would be told is not tried for. So the tries and pauses say how long
    /// to wait, about 5 seconds unless configured (20 where too many nodes hang), and not how many requests are sent.
    pub fn tries(self, tries: u32) -> Self {
        Self {
            tries: Some(tries),
            ..self
        }
    }

    /// Callers of one manager who want the same lock all ask the nodes for it, instead of waiting for each other, first
    /// come, first served. One after the other is much cheaper, and they get it in their order.
    pub fn no_local_queue(self) -> Self {
        Self {
            queues: false,
            ..self
        }
    }

    /// All nodes are always asked at once. Otherwise a caller who was told that the lock may be free first asks one
    /// node, the same for all who want this lock, and the others when that one has granted it, or has not answered in
    /// 50 ms, or what time there is; until it answers again, another node takes its part. So those who come too late cost one request each, and
    /// votes are rarely split.
    pub fn ask_all_at_once(self) -> Self {
        Self {
            asks_one_first: false,
            ..self
        }
    }

    /// Those who wait for this lock are served in the order in which they came, across processes. Off by default.
    ///
    /// A caller that is refused draws a ticket, the same on all nodes, and stands in the nodes' queues with it; nodes refuse
    /// every caller that is not next, also one that never waited; [`Held`](crate::AcquireError::Held) then tells how many come first.
    /// A manager stands there once at a time, for the first of its callers, so managers have their turns one after the
    /// other, however many callers each has; with [`no_local_queue`](Self::no_local_queue) each caller stands there
    /// itself. A caller that gives up loses its place, also one whose tries or patience are used up: the next call
    /// begins at the end.
    ///
    /// It is the order as well as nodes agree on it, and no guarantee: a caller that draws its ticket while another does may
    /// overtake it, and so may anybody overtake a waiter that too few nodes hear. Exclusion does not depend on it.
    ///
    /// Who waits shows itself to the nodes once a second. If it dies or is cut off, its place is kept for three seconds,
    /// and if it was the next, all wait for so long. A node keeps 128 places for a lock; more wait without one.
    ///
    /// Only those wait in order who ask for it: programs of other libraries, managers without this option and
    /// [`adopt`](crate::LockManager::adopt) take what is free. A lock that is free costs no request more. One that is
    /// not costs the winner one more to some nodes.
    ///
    /// A manager of plain locks refuses it ([`Unfair`](crate::ConfigError::Unfair)): its nodes keep no queue.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::{LockManager, LockOptions};
    ///
    /// let manager = LockManager::builder().memory(3).build()?;
    /// let mutex = manager.mutex_with("ticket office", LockOptions::new().fair())?;
    /// let guard = mutex.acquire().await?;
    /// assert!(mutex.try_acquire().await.unwrap_err().is_contention());
    /// assert!(guard.release().await.is_released());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    ///
    /// # Source
    /// Tickets by the rule of fencing tokens; argument [S10](crate::safety#s10).
    pub fn fair(self) -> Self {
        Self {
            is_fair: true,
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
        Self {
            owners: Some(owners),
            ..self
        }
    }

    /// How often the lease is extended by itself: every third of the TTL, give or take a tenth, unless
    /// chosen here. At most half of the validity counts, so that one failure costs nothing.
    ///
    /// The manager's thread does it, for as long as the guard lives. An extension that fails is tried again
    /// until the lease ends. Nodes that are slow to answer are waited for as long: to ask them again would make them
    /// slower, where many leases are extended at once.
    pub fn renew_every(mut self, every: Duration) -> Self {
        self.policy.renewal = AutoRenewal::Every(every);
        self
    }

    /// The lease is not extended by itself: it ends a TTL after it was acquired, unless the holder calls
    /// [`extend`](crate::LeaseGuard::extend).
    pub fn no_renewal(mut self) -> Self {
        self.policy.renewal = AutoRenewal::Off;
        self
    }

    /// For how long the lock is held at most. Then the lease is lost, and the guard says so. It keeps a
    /// holder that hangs from keeping everybody else out for ever.
    ///
    /// # Source
    /// Redlock, "making the algorithm more reliable": the number of extensions must be limited.
    pub fn max_hold(mut self, most: Duration) -> Self {
        self.max_hold = MaxHold::Most(most);
        self
    }

    /// The lock is held until it is released, or lost. A holder that hangs, but whose process lives, keeps
    /// everybody else out; consider [`progress_within`](Self::progress_within).
    pub fn max_hold_unlimited(mut self) -> Self {
        self.max_hold = MaxHold::Unlimited;
        self
    }

    /// How many extensions there are at most, by themselves and by the holder together.
    ///
    /// # Source
    /// Redlock, "making the algorithm more reliable".
    pub fn max_extensions(mut self, most: u32) -> Self {
        self.policy.most_extensions = Some(most);
        self
    }

    /// The lease is extended by itself only if the holder has called
    /// [`heartbeat`](crate::LeaseGuard::heartbeat) within this time: so one that hangs loses it.
    pub fn progress_within(mut self, patience: Duration) -> Self {
        self.policy.heartbeat = Some(patience);
        self
    }

    /// How much of its validity a lease has left when it is told to be
    /// [in danger](crate::LeaseState::InDanger), unless it is extended before.
    pub fn warn_before(mut self, left: Duration) -> Self {
        self.policy.danger = Some(left);
        self
    }

    /// What is taken off the validity, beside the drift, so that a loss is told that much before the keys
    /// can be gone. Take more if what you do upon a loss takes time.
    pub fn margin(self, margin: Duration) -> Self {
        Self {
            margin: Some(margin),
            ..self
        }
    }

    /// By how much the wall clock of a node may be set forward without costing the lease anything: the keys live for
    /// so much longer than the TTL. A larger step is noticed with the node's next answer; if too few other nodes
    /// stand for the lease, it ends so much sooner.
    ///
    /// # Source
    /// Assumption [A2](crate::safety#a2).
    pub fn step_margin(self, step_margin: Duration) -> Self {
        Self {
            step_margin,
            ..self
        }
    }

    /// For how long the resource stays locked at least, from the start of the attempt that won it. A release
    /// that comes earlier lets the keys live for the rest, so a short job does not run twice because clocks
    /// differ. Not after a loss, and not if the holder dies: then the TTL counts; and nodes that forget do not remember it. If the caller of `acquire`
    /// goes away in the very moment of the win, the resource stays locked as well.
    pub fn min_hold(mut self, least: Duration) -> Self {
        self.policy.least_hold = Some(least);
        self
    }

    /// For how long the resource stays locked after a lease whose time ran out, so that what its holder had
    /// begun can end. Keys that were deleted or forgotten cannot stay. A lease that is released in time frees the resource at once. The price: if the holder dies,
    /// others wait for TTL and delay.
    pub fn lock_delay(self, delay: Duration) -> Self {
        Self {
            lock_delay: delay,
            ..self
        }
    }

    /// Puts `label`, the first 214 bytes of it, behind the random part of the owner, with a dot between: anyone who looks at the nodes, or
    /// is refused, sees who has the lock. It stands in place of host and process, which are told by default, and
    /// replaces an [`owner_source`](Self::owner_source); for a label beside host and process see
    /// [`Holder::owner_source`](crate::Holder::owner_source).
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::{LockManager, LockOptions};
    ///
    /// let manager = LockManager::builder().memory(3).build()?;
    /// let options = LockOptions::new().label("nightly report on db1");
    /// let guard = manager.mutex_with("report", options)?.acquire().await?;
    /// assert_eq!(guard.owner().label(), Some("nightly report on db1"));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn label(self, label: &str) -> Self {
        Self {
            owners: Some(OwnerSource::labelled(label)),
            ..self
        }
    }

    /// The owner is the 40 random digits and nothing else: nobody who looks at the nodes, or is refused, sees where the
    /// holder runs. For nodes that are shared with people who must not know the names of hosts. Replaces a
    /// [`label`](Self::label) and an [`owner_source`](Self::owner_source).
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::{LockManager, LockOptions};
    ///
    /// let defaults = LockOptions::new().no_label();
    /// let manager = LockManager::builder().memory(3).defaults(defaults).build()?;
    /// let guard = manager.mutex("report")?.acquire().await?;
    /// assert_eq!(guard.owner().label(), None);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn no_label(self) -> Self {
        Self {
            owners: Some(OwnerSource::default()),
            ..self
        }
    }
}

/// For how long a lock is held at most.
#[derive(Clone, Copy, Debug)]
enum MaxHold {
    Default,
    Most(Duration),
    Unlimited,
}

/// A function of the user's must not take the manager's thread, and all its leases, with it.
fn guarded(function: impl Fn(u32) -> Duration + Send + Sync + 'static) -> Pause {
    Pause::function(move |tried| {
        let asked = std::panic::AssertUnwindSafe(|| function(tried));
        std::panic::catch_unwind(asked).unwrap_or(Duration::from_millis(250))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ConfigError;

    const HOUR: Duration = Duration::from_secs(60 * 60);

    fn most_hold(options: &LockOptions) -> Option<Duration> {
        options
            .lock_config()
            .expect("they go together")
            .policy
            .most_hold
    }

    #[test]
    fn the_limit_that_nobody_set_is_a_day_and_cuts_nothing() {
        let options = LockOptions::new();
        assert_eq!(most_hold(&options), Some(24 * HOUR));
        assert_eq!(most_hold(&options.clone().ttl(48 * HOUR)), Some(48 * HOUR));
        assert_eq!(
            most_hold(&options.clone().min_hold(36 * HOUR)),
            Some(36 * HOUR)
        );
        assert_eq!(most_hold(&options.clone().max_hold(HOUR)), Some(HOUR));
        assert_eq!(most_hold(&options.clone().max_hold_unlimited()), None);
        let wrong = options.max_hold(HOUR).min_hold(2 * HOUR).lock_config();
        assert!(matches!(wrong, Err(ConfigError::Holds { .. })));
    }

    #[test]
    fn no_time_at_all_is_refused_by_name() {
        let none = Duration::ZERO;
        for (options, name) in [
            (LockOptions::new().renew_every(none), "renew_every"),
            (LockOptions::new().max_hold(none), "max_hold"),
            (LockOptions::new().progress_within(none), "progress_within"),
        ] {
            let wrong = options.lock_config().expect_err("it is no time");
            assert!(matches!(wrong, ConfigError::NoTime { option } if option == name));
        }
    }
}
