//! One leader among many candidates.

mod leaders;
mod leadership;
mod sight;
mod state;

pub use leaders::Leaders;
pub use leadership::Leadership;
pub use state::{ElectionState, Leader};
#[cfg(feature = "redis")]
pub(crate) use {leaders::LeaderNews, sight::LeaderSight};

use crate::{
    error::{AcquireError, ConfigError, InspectError, LeaseLost},
    holder::Holder,
    inspection::Inspection,
    manager::LockManager,
    mode::{Fenced, Mode},
    mutex::Mutex,
    options::LockOptions,
    work::{Done, unless_lost},
};
use leasehold_core::Resource;
use std::{ops::ControlFlow, time::Duration};

/// A leader election: at most one of its candidates leads at a time.
///
/// An `Election` is a name with options: making one sends nothing, and cloning it is cheap. Candidates
/// [`campaign`](Self::campaign), and the winner has the [`Leadership`] until it [resigns](Leadership::resign), drops it, or loses
/// it. Everybody may [`observe`](Self::observe) who leads.
///
/// It is the lock of the same name, on the same nodes, so all that is true of a [`Mutex`] is true here. Candidates
/// of `leasehold elect`, and holders of a mutex or of `leasehold run` of that name, are excluded and excluding. Two options
/// differ for a leader: a campaign goes on whatever [`tries`](LockOptions::tries) says, and there is no
/// [`max_hold`](LockOptions::max_hold) where none was chosen, in the options or in the manager's defaults.
///
/// # What a leader may rely on
/// At most one candidate leads at any time, under the assumptions of [`safety`](crate::safety), and a leader is told of the end
/// of its leadership before anybody else can be elected. If it dies, or is cut off from the nodes, the next one is
/// elected within a TTL: 10 s unless [`ttl`](LockOptions::ttl) says otherwise.
///
/// **A leader may be paused** between asking whether it leads and doing something because it does, for longer than its
/// leadership lasts. Nothing that a leader can ask prevents that. So give the [`term`](Leadership::term) with everything that it
/// writes, and let that refuse a smaller term than the largest it has seen: terms are [fencing tokens](crate::fence).
///
/// A leader whose work hangs, but whose process lives, goes on leading. [`progress_within`](LockOptions::progress_within)
/// ends that.
///
/// # Who is elected next
/// Whoever asks first when nobody leads: all candidates are told. With [`fair`](LockOptions::fair), the one that has
/// campaigned for the longest time.
///
/// # Examples
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold::LockManager;
///
/// let manager = LockManager::builder().memory(3).build()?;
/// let election = manager.election("scheduler")?;
/// let leadership = election.campaign().await?;
/// assert!(leadership.is_leader());
/// let term = leadership.term();
/// assert!(leadership.resign().await.is_released());
/// assert!(election.campaign().await?.term() > term);
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Debug)]
pub struct Election<M: Mode = Fenced> {
    mutex: Mutex<M>,
}

impl<M: Mode> Clone for Election<M> {
    fn clone(&self) -> Self {
        let mutex = self.mutex.clone();
        Self { mutex }
    }
}

impl<M: Mode> LockManager<M> {
    /// The election of this name, with the manager's default options. Sends nothing.
    ///
    /// # Errors
    /// [`ConfigError::Resource`] or [`ConfigError::Reserved`] if the name cannot be used.
    pub fn election(&self, name: &str) -> Result<Election<M>, ConfigError> {
        self.election_with(name, self.defaults().clone())
    }

    /// The election of this name, with options of its own. Sends nothing.
    ///
    /// # Errors
    /// A [`ConfigError`] if the name cannot be used or the options do not go together.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// use leasehold::{LockManager, LockOptions};
    ///
    /// let manager = LockManager::builder().memory(3).build()?;
    /// // If the leader dies, the next one is elected within three seconds.
    /// let options = LockOptions::new().ttl(Duration::from_secs(3));
    /// let election = manager.election_with("scheduler", options)?;
    /// assert!(election.try_campaign().await?.remaining() < Duration::from_secs(3));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn election_with(
        &self,
        name: &str,
        options: LockOptions,
    ) -> Result<Election<M>, ConfigError> {
        let mutex = self.mutex_with(name, options.of_leader())?;
        Ok(Election { mutex })
    }
}

impl<M: Mode> Election<M> {
    /// The name.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        self.mutex.resource()
    }

    /// The same election with other options, which `change` makes of those that it has. Sends nothing.
    ///
    /// # Errors
    /// A [`ConfigError`] if the options do not go together.
    pub fn with(
        &self,
        change: impl FnOnce(LockOptions) -> LockOptions,
    ) -> Result<Self, ConfigError> {
        let mutex = self.mutex.with(|options| change(options).of_leader())?;
        Ok(Self { mutex })
    }

    /// The same election for a candidate that tells this text of itself, beside its host and process: the address at which a
    /// leader is reached, say. Those who observe find it in [`Leader::label`], and refused candidates in
    /// [`Holder::of`]. Sends nothing.
    ///
    /// It becomes part of the owner, so it costs no request and cannot be changed while one leads. Replaces
    /// [`label`](LockOptions::label), [`no_label`](LockOptions::no_label) and [`owner_source`](LockOptions::owner_source).
    ///
    /// # Errors
    /// [`ConfigError::Label`] unless it is 1 to 64 ASCII letters, digits, spaces and `._-:/@+`
    /// ([`Holder::is_label`]).
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::{ElectionState, LockManager};
    ///
    /// let manager = LockManager::builder().memory(3).build()?;
    /// let election = manager.election("scheduler")?.labelled("10.0.0.7:8080")?;
    /// let _leadership = election.campaign().await?;
    /// match election.leader().await? {
    ///     ElectionState::Led(leader) => assert_eq!(leader.label().as_deref(), Some("10.0.0.7:8080")),
    ///     other => panic!("{other}"),
    /// }
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn labelled(&self, label: &str) -> Result<Self, ConfigError> {
        if !Holder::is_label(label) {
            return Err(ConfigError::Label(label.to_owned()));
        }
        self.with(|options| options.owner_source(Holder::owner_source(Some(label))))
    }

    /// Waits until this candidate is elected, without a limit: as long as another one leads, while too few nodes answer,
    /// and while nodes that may have forgotten votes do not vote. See [`campaign_within`](Self::campaign_within) and
    /// [`give_up_unreachable_after`](LockOptions::give_up_unreachable_after).
    ///
    /// It does not poll: nodes tell candidates when nobody may lead any more, as with [`Mutex::acquire`].
    ///
    /// # Errors
    /// [`Disagreement`](AcquireError::Disagreement) if others use the nodes with another configuration,
    /// [`ShutDown`](AcquireError::ShutDown), [`Forked`](AcquireError::Forked) and
    /// [`OwnerRepeated`](AcquireError::OwnerRepeated); [`Unreachable`](AcquireError::Unreachable) only where the options say to
    /// give up. The sentences speak of the lock of this name.
    ///
    /// # Cancel safety
    /// Dropping the future ends the campaign, and takes back on every node what it left there, in the background. A
    /// candidate that was elected at that very moment has resigned.
    ///
    /// # Source
    /// As [`Mutex::acquire`].
    pub async fn campaign(&self) -> Result<Leadership<M>, AcquireError> {
        loop {
            match self.mutex.acquire_untiring().await {
                // This task woke when its lease was over already. It took that long, so this is no busy loop.
                Err(AcquireError::TooLate { .. }) => {}
                elected => return elected.map(Leadership::from),
            }
        }
    }

    /// As [`campaign`](Self::campaign), for `patience` at most, which is used up in full. No patience at all means one
    /// attempt, as [`try_campaign`](Self::try_campaign) makes it.
    ///
    /// # Errors
    /// As [`Mutex::acquire_within`]: [`TimedOut`](AcquireError::TimedOut) if `patience` ran out, with who leads, if that is why.
    ///
    /// # Cancel safety
    /// As [`campaign`](Self::campaign).
    pub async fn campaign_within(&self, patience: Duration) -> Result<Leadership<M>, AcquireError> {
        let elected = self.mutex.acquire_within(patience).await;
        elected.map(Leadership::from)
    }

    /// Makes one attempt. Waits for the nodes' answers, for their time limit at most.
    ///
    /// # Errors
    /// As [`Mutex::try_acquire`]: [`Held`](AcquireError::Held) if another one leads.
    ///
    /// # Cancel safety
    /// As [`campaign`](Self::campaign).
    pub async fn try_campaign(&self) -> Result<Leadership<M>, AcquireError> {
        self.mutex.try_acquire().await.map(Leadership::from)
    }

    /// Leads once: [campaigns](Self::campaign), does `work` while it leads, and resigns, whatever becomes of the work. If the
    /// leadership is lost, the work is dropped where it stands, at its last `await`, before anybody else is elected; work
    /// that computes for long without one asks [`is_leader`](Leadership::is_leader).
    ///
    /// # Errors
    /// As [`campaign`](Self::campaign); then nothing of the work was begun.
    ///
    /// # Cancel safety
    /// Dropping the future ends the campaign, or drops the work and resigns in the background.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let election = manager.election("scheduler")?;
    /// let done = election.lead(async |leadership| leadership.term()).await?;
    /// assert!(done.work.is_ok());
    /// assert!(done.release.is_released());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub async fn lead<T>(
        &self,
        work: impl AsyncFnOnce(&Leadership<M>) -> T,
    ) -> Result<Done<T>, AcquireError> {
        let leadership = self.campaign().await?;
        let work = unless_lost(leadership.as_guard(), work(&leadership)).await;
        let release = leadership.resign().await;
        Ok(Done { work, release })
    }

    /// Leads again and again: [leads](Self::lead), and campaigns again when the work is done or the leadership is lost, until
    /// somebody says [`Break`](ControlFlow::Break).
    ///
    /// It ends when
    /// * `work` ends with `Break`: it resigns, and returns what is in it. With
    ///   [`Continue`](ControlFlow::Continue), it resigns and campaigns again;
    /// * `lost`, which is told why the leadership was lost after the work was dropped, returns `Break`;
    /// * a campaign fails in a way that trying again does not help, also when the manager is shut down. While one leads, a
    ///   shutdown ends nothing;
    /// * this future is dropped.
    ///
    /// To spawn the future where tasks must be `Send`, write `async move |leadership| …`, and let it use nothing that is a
    /// reference or has one in it, not even a `&'static str`: compilers of today do not see that it is `Send` then.
    ///
    /// A candidate that has resigned campaigns again at once, and may be elected again: let `work` wait before it ends,
    /// or use [`fair`](LockOptions::fair), to let others lead.
    ///
    /// # Errors
    /// As [`campaign`](Self::campaign).
    ///
    /// # Cancel safety
    /// As [`lead`](Self::lead).
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::ops::ControlFlow;
    ///
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let election = manager.election("scheduler")?;
    /// let mut terms = Vec::new();
    /// let ended = election.lead_repeatedly(
    ///     async |leadership| {
    ///         terms.push(leadership.term());
    ///         match terms.len() {
    ///             3 => ControlFlow::Break("three terms are enough"),
    ///             _ => ControlFlow::Continue(()),
    ///         }
    ///     },
    ///     |lost| {
    ///         eprintln!("{lost}; campaigning again");
    ///         ControlFlow::Continue(())
    ///     },
    /// );
    /// assert_eq!(ended.await?, "three terms are enough");
    /// assert!(terms.is_sorted());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn lead_repeatedly<B, W, L>(
        &self,
        mut work: W,
        mut lost: L,
    ) -> impl Future<Output = Result<B, AcquireError>> + use<B, W, L, M>
    where
        W: AsyncFnMut(&Leadership<M>) -> ControlFlow<B>,
        L: FnMut(LeaseLost) -> ControlFlow<B>,
    {
        let election = self.clone();
        async move {
            loop {
                let done = election.lead(&mut work).await?;
                if let ControlFlow::Break(end) = done.work.unwrap_or_else(&mut lost) {
                    return Ok(end);
                }
            }
        }
    }

    /// Who leads, as far as the nodes say now. Asks all of them once, and waits for their time limit at most.
    ///
    /// **It may be over when it is read**; see [`ElectionState`].
    ///
    /// # Errors
    /// [`InspectError::ShutDown`] if the manager's thread has ended. Too few answers are no error, but
    /// [`Unknown`](ElectionState::Unknown).
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn leader(&self) -> Result<ElectionState, InspectError> {
        let (handle, limit) = (self.mutex.handle(), self.mutex.node_limit());
        let seen = Inspection::by(handle, self.resource(), limit).await;
        Ok(ElectionState::of(&seen.ok_or(InspectError::ShutDown)?))
    }

    /// Tells who leads, now and after every change, over the manager's own connections. Takes nothing, and sends nothing before
    /// [`Leaders::next`] is called.
    ///
    /// Terms are not told here, since nodes do not tell them to managers. `observe` of an
    /// [operator](crate::ManagerBuilder::operator) tells what the term of a leader is at most, over connections of its
    /// own, and needs no manager.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::{ElectionState, LockManager};
    ///
    /// let manager = LockManager::builder().memory(3).build()?;
    /// let election = manager.election("scheduler")?;
    /// let mut leaders = election.observe();
    /// assert_eq!(leaders.next().await, Some(ElectionState::NoLeader));
    /// let leadership = election.campaign().await?;
    /// match leaders.next().await {
    ///     Some(ElectionState::Led(leader)) => assert_eq!(leader.owner, *leadership.owner()),
    ///     other => panic!("{other:?}"),
    /// }
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    #[must_use]
    pub fn observe(&self) -> Leaders {
        let handle = self.mutex.handle().clone();
        Leaders::by(handle, self.resource().clone(), self.mutex.node_limit())
    }
}
