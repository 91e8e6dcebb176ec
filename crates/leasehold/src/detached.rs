//! A lease without a guard: between processes, none of which stays.

use crate::{
    error::{ConfigError, ExtendError, LeaseLost, LossCause},
    guard::LeaseGuard,
    handle::Handle,
    manager::LockManager,
    mode::Mode,
    outcome::ReleaseOutcome,
    state::LeaseState,
};
use leasehold_core::{Instant, NodeId, Owner, Resource, Timing, Ttl, Vote};
use std::time::Duration;

/// A lease that nobody extends by itself and nobody watches: it ends with its TTL, unless some process that knows
/// its owner [extends](Self::extend) or [releases](Self::release) it.
///
/// Made by [`LeaseGuard::detach`] in the process that acquired it, and by [`LockManager::detached`] in any other.
/// Making one sends nothing, and dropping it changes nothing. It is the lock of scripts, each of whose lines is a
/// process of its own.
///
/// **Who knows an owner can act for it**: owners are told to those who are refused, so among programs that share a
/// lock this is a matter of trust. And nobody watches the nodes in between: a guard notices a node whose clock was set
/// forward (assumption [A2](crate::safety#a2)), this does not; and an extension is believed by the keys alone. A release that did not reach a
/// node, and a failover that brings the key back on another (assumption [A3](crate::safety#a3)), can together make a quorum of keys that nobody
/// should have: end what extends a lease before you release it. Not beyond its end, but beyond what it could be relied upon,
/// a lease can be extended as long as its keys are there.
///
/// Only with fencing tokens, not with [`Plain`](crate::Plain) locks: where no scripts can be run, an extension by somebody
/// else could shorten a lease.
///
/// # Examples
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::time::Duration;
/// use leasehold::LockManager;
///
/// let manager = LockManager::builder().memory(3).build()?;
/// let owner = manager.mutex("deploy")?.acquire().await?.detach().await?;
/// // … in another process, with a manager of the same nodes
/// let lease = manager.detached("deploy", owner)?;
/// let left = lease.extend(Duration::from_secs(20)).await?;
/// assert!(left > Duration::from_secs(19));
/// assert!(lease.release().await.is_released());
/// assert!(lease.extend(Duration::from_secs(20)).await.is_err());
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Debug)]
pub struct DetachedLease {
    handle: Handle,
    resource: Resource,
    owner: Owner,
    timing: Timing,
}

impl<M: Mode> LeaseGuard<M> {
    /// What [`detach`](LeaseGuard::detach) does.
    pub(crate) async fn into_detached(self) -> Result<Owner, LeaseLost> {
        let (resource, owner) = (self.resource().clone(), self.owner().clone());
        let state = self.state();
        if self.into_held().hand_over().await {
            return Ok(owner);
        }
        Err(match state {
            LeaseState::Lost(lost) => lost,
            LeaseState::Released => LeaseLost {
                resource,
                cause: LossCause::Released,
            },
            // Lost just now, or with the thread.
            LeaseState::Held | LeaseState::InDanger(_) => LeaseLost {
                resource,
                cause: LossCause::TimedOut { trouble: None },
            },
        })
    }
}

impl LeaseGuard {
    /// Gives the lease out of hand and leaves it to its TTL. The owner stays as it is, so any number of processes may
    /// act for it; to hand it to exactly one, see [`hand_over`](Self::hand_over).
    ///
    /// Sends nothing, and waits for the manager's thread only. In the store of one machine a lease ends with the
    /// process that won it, whatever its TTL.
    ///
    /// # Errors
    /// [`LeaseLost`] if there is nothing to give any more.
    ///
    /// # Cancel safety
    /// Dropping the future releases the lock in the background, unless it was nearly done: then the lock ends with its
    /// TTL.
    pub async fn detach(self) -> Result<Owner, LeaseLost> {
        self.into_detached().await
    }
}

impl LockManager {
    /// The lease of this owner, no matter which process acquired it, with the manager's default options. Sends nothing: whether there
    /// is such a lease is known when it is extended or released. The nodes must be the same.
    ///
    /// # Errors
    /// [`ConfigError::Resource`] if the name cannot be used.
    pub fn detached(&self, resource: &str, owner: Owner) -> Result<DetachedLease, ConfigError> {
        let mutex = self.mutex(resource)?;
        Ok(self.detached_on(mutex.resource(), owner))
    }

    /// The same of a lease on [several names](Self::mutex_all), in any order: all that it was acquired on. With some of
    /// them alone it is no lease, but those keys can be extended and released.
    ///
    /// # Errors
    /// [`ConfigError::Resource`] if the names cannot be used.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let guard = manager.mutex_all(["account/7", "account/4"])?.acquire().await?;
    /// let owner = guard.detach().await?;
    /// let lease = manager.detached_all(["account/4", "account/7"], owner)?;
    /// assert!(lease.release().await.is_released());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn detached_all<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
        owner: Owner,
    ) -> Result<DetachedLease, ConfigError> {
        let mutex = self.mutex_all(names)?;
        Ok(self.detached_on(mutex.resource(), owner))
    }

    /// The same of a lease that was [detached](crate::ReadGuard::detach) from a reader of this name.
    ///
    /// Nodes tell no reader how long another's lease lives, so what [`extend`](DetachedLease::extend) tells is what the extension
    /// itself came to, also where the lease lasts longer already.
    ///
    /// # Errors
    /// [`ConfigError::Resource`] if the name cannot be used.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// # let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let owner = manager.rwlock("doc")?.read().await?.detach().await?;
    /// let lease = manager.detached_shared("doc", owner)?;
    /// assert!(lease.extend(Duration::from_secs(20)).await? > Duration::from_secs(19));
    /// assert!(manager.rwlock("doc")?.try_write().await.is_err());
    /// assert!(lease.release().await.is_released());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn detached_shared(&self, name: &str, owner: Owner) -> Result<DetachedLease, ConfigError> {
        let share = self.share(name)?;
        Ok(self.detached_on(&share, owner))
    }

    /// The same of a permit of this name that was [detached](crate::PermitGuard::detach). Its owner tells which one it is.
    ///
    /// As with [readers](Self::detached_shared), what [`extend`](DetachedLease::extend) tells is what the extension itself came to.
    ///
    /// # Errors
    /// [`ConfigError::Resource`] if the name cannot be used, [`ConfigError::NoPermit`] if the owner is of no permit.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// # let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let gpus = manager.semaphore("gpu", 1)?;
    /// let owner = gpus.acquire().await?.detach().await?;
    /// let lease = manager.detached_permit("gpu", owner)?;
    /// assert!(lease.extend(Duration::from_secs(20)).await? > Duration::from_secs(19));
    /// assert!(gpus.try_acquire().await.is_err());
    /// assert!(lease.release().await.is_released());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn detached_permit(&self, name: &str, owner: Owner) -> Result<DetachedLease, ConfigError> {
        let Some(permit) = owner.permit() else {
            return Err(ConfigError::NoPermit { owner });
        };
        let permit = self.permit(name, permit.of())?;
        Ok(self.detached_on(&permit, owner))
    }

    fn detached_on(&self, resource: &Resource, owner: Owner) -> DetachedLease {
        DetachedLease {
            handle: self.handle().clone(),
            resource: resource.clone(),
            owner,
            timing: *self.timing(),
        }
    }
}

impl DetachedLease {
    /// What is held.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        &self.resource
    }

    /// The value that signs the lock's keys.
    #[must_use]
    pub const fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Lets the keys live for `ttl` from now on, and tells for how long the lease may be relied upon. A lease that
    /// lasts longer already is not shortened, and what is told is how long that is. Of several names the nodes do not tell that, so
    /// what is told is `ttl`, less what is taken off each lease.
    ///
    /// Asks all nodes once and waits for a quorum, for the nodes' time limit at most; then asks them how long the keys
    /// live, and waits for 100 ms at most. What fails changes nothing: the lease is as valid as it was. Nodes that lost the key are not given it again.
    ///
    /// # Errors
    /// [`Gone`](ExtendError::Gone) if too many nodes do not carry the owner's key,
    /// [`Unreachable`](ExtendError::Unreachable) if too few answered, [`Lost`](ExtendError::Lost) if they took
    /// longer than the TTL, [`Timing`](ExtendError::Timing) if no lease can have this TTL,
    /// [`ShutDown`](ExtendError::ShutDown) if the manager's thread has ended.
    ///
    /// # Cancel safety
    /// Dropping the future loses the answer; the nodes may have extended the keys all the same.
    ///
    /// # Source
    /// Arguments [S1](crate::safety#s1), [S2](crate::safety#s2) and [S3](crate::safety#s3).
    pub async fn extend(&self, ttl: Duration) -> Result<Duration, ExtendError> {
        let (handle, resource) = (&self.handle, self.resource.clone());
        let timing = Ttl::new(ttl).and_then(|ttl| self.timing.with_ttl(ttl));
        let timing = match timing {
            Ok(timing) => timing,
            Err(wrong) => return Err(ExtendError::Timing { resource, wrong }),
        };
        let (of, owner) = (resource.clone(), self.owner.clone());
        match handle.prolong(of, owner, timing).await {
            None => Err(ExtendError::ShutDown { resource }),
            Some(Err(failure)) => Err(ExtendError::from_core(failure, &resource, &handle.names())),
            Some(Ok(valid_until)) => {
                // Argument S3: of several names a node tells how long the last lives, and the lease ends with the first.
                let valid_until = match resource.is_several() {
                    true => valid_until,
                    false => valid_until.max(self.kept_until(&timing).await),
                };
                // Argument S6: the clock is read last, after every wait.
                let left = valid_until.saturating_since(handle.clock().now());
                if left.is_zero() {
                    let cause = None;
                    return Err(ExtendError::Lost { resource, cause });
                }
                Ok(left)
            }
        }
    }

    /// Until when a quorum keeps the keys at least, as the nodes say now.
    async fn kept_until(&self, timing: &Timing) -> Instant {
        let asked = self.handle.clock().now();
        let votes = self.handle.inspect(self.resource.clone(), LOOK).await;
        let needed = self.handle.quorum().needed();
        kept_until(
            asked,
            &votes.unwrap_or_default(),
            &self.owner,
            needed,
            timing,
        )
    }

    /// Deletes the owner's keys on every node, and tells what became of it. Doing it again is harmless.
    ///
    /// Waits for all nodes, or until a quorum has deleted them, for the nodes' time limit at most. Nodes that did not
    /// answer are asked again in the background while the manager lives; a process that ends at once leaves theirs to
    /// the TTL. [`Released`](ReleaseOutcome::Released) means that keys of the owner were there, and not that they were
    /// there all the time: nobody has watched.
    ///
    /// # Cancel safety
    /// The release goes on in the background when the future is dropped.
    ///
    /// # Source
    /// Arguments [S3](crate::safety#s3) and [S5](crate::safety#s5).
    pub async fn release(&self) -> ReleaseOutcome {
        let handle = &self.handle;
        let (resource, owner) = (self.resource.clone(), self.owner.clone());
        let outcome = handle.evict(resource, owner, self.timing).await;
        ReleaseOutcome::from_core(outcome, || handle.nodes())
    }
}

/// Until when so many nodes keep the keys of this owner at least, as they said after they were `asked`; the origin, if
/// fewer do.
fn kept_until(
    asked: Instant,
    votes: &[(NodeId, Vote)],
    owner: &Owner,
    needed: usize,
    timing: &Timing,
) -> Instant {
    let ours = |(_, vote): &(NodeId, Vote)| match vote {
        Vote::Refused(refusal) if refusal.holder.as_ref() == Some(owner) => refusal.remaining,
        _ => None,
    };
    let mut lives: Vec<_> = votes.iter().filter_map(ours).collect();
    lives.sort_unstable_by(|one, other| other.cmp(one));
    // Argument S7: no more than the quorum that lasts longest keeps, and of that what its weakest member does.
    let Some(weakest) = needed.checked_sub(1).and_then(|last| lives.get(last)) else {
        return Instant::ORIGIN;
    };
    // A key is set for more than the TTL where a margin is.
    let margin = timing
        .key_ttl()
        .as_duration()
        .saturating_sub(timing.ttl().as_duration());
    let rest = Ttl::new(weakest.saturating_sub(margin));
    // Argument S2: nothing was asked before, so the keys live for so long from then on.
    let kept = rest.and_then(|ttl| timing.with_ttl(ttl));
    kept.map_or(Instant::ORIGIN, |timing| timing.valid_until(asked))
}

/// How long the nodes have to say how long the keys live.
const LOOK: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::{Drift, Refusal};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_lease_is_kept_for_as_long_as_a_quorum_of_its_keys() {
        let owner = |name: &[u8]| Owner::from_bytes(name).expect("a few bytes");
        let held = |name: &[u8], seconds: u32| {
            Vote::Refused(Refusal {
                holder: Some(owner(name)),
                remaining: Some(seconds * SECOND),
                queued: None,
                permits: None,
            })
        };
        let votes = [
            held(b"us", 20),
            Vote::GRANTED,
            held(b"other", 25),
            held(b"us", 9),
        ];
        let node = |index| NodeId::new(index).expect("a node");
        let votes: Vec<_> = votes
            .into_iter()
            .enumerate()
            .map(|(at, it)| (node(at), it))
            .collect();
        let timing = Timing::new(Ttl::DEFAULT, Drift::DEFAULT, None).expect("they fit");
        let margin = timing.with_step_margin(SECOND).expect("it fits");
        let asked = Instant::from_origin(100 * SECOND);
        let kept = |needed, timing| {
            let until = kept_until(asked, &votes, &owner(b"us"), needed, timing);
            until.saturating_since(asked).as_millis()
        };
        assert_eq!(kept(1, &timing), 20_000 - 202);
        assert_eq!(kept(2, &timing), 9_000 - 92);
        assert_eq!(kept(2, &margin), 8_000 - 82);
        assert_eq!(kept(3, &timing), 0, "no quorum keeps it");
    }
}
