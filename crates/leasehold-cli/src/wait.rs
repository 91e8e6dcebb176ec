//! The wait for the lock.

mod barrier;
mod in_line;
mod other_data;
mod spent;

use crate::{
    args::lock::{LockArguments, OnceFlags, PartFlags, WaitFlags},
    difference::{self, Difference},
    duration::Shown,
    exit::Exit,
    exit_code,
    failure::Failure,
    giving_back,
    held_lease::{HeldLease, WantedLock},
    hint,
    judgement::Judgement,
    lock::Patience,
    manager::Manager,
    nesting::{self, Nesting},
    nodes::{Nodes, misused},
    output,
    signals::Signals,
};
use leasehold::{AcquireError, ConfigError, Election, Leadership, LockOptions, Mutex};
use std::time::Duration;
use tokio::select;

/// The wait of one run.
#[derive(Debug)]
pub(crate) struct Wait<'a> {
    manager: &'a Manager,
    nodes: &'a Nodes,
    lock: &'a LockArguments,
    options: LockOptions,
    patience: Patience,
    /// Whether others may have it too.
    is_shared: bool,
    /// Of how many permits it is to be one.
    permits: Option<usize>,
    /// Whether the work is done once in each period.
    once: Option<OnceFlags>,
    /// The code to exit with if the lock is held elsewhere, unless it is the usual one.
    conflict: Option<u8>,
}

impl<'a> Wait<'a> {
    /// The wait for a lock with these options. Without a word about it, that of a candidate.
    pub(crate) fn new(
        manager: &'a Manager,
        nodes: &'a Nodes,
        lock: &'a LockArguments,
        options: LockOptions,
        wait: Option<&WaitFlags>,
    ) -> Self {
        Self {
            manager,
            nodes,
            lock,
            options,
            patience: wait.map_or(Patience::Candidate, Patience::of),
            is_shared: false,
            permits: None,
            once: None,
            conflict: wait.and_then(|wait| wait.conflict_exit_code),
        }
    }

    /// The same for a lock of which others may have a part, too.
    pub(crate) fn of_part(self, part: &PartFlags) -> Self {
        Self {
            is_shared: part.shared,
            permits: part.permits,
            ..self
        }
    }

    /// The same for work that is done once in each period.
    pub(crate) fn once(self, once: OnceFlags) -> Self {
        let once = Some(once);
        Self { once, ..self }
    }

    /// Waits for the lock. The error is the end by the signal that broke the wait off, or a failure; then nothing of the
    /// wait is left on the nodes.
    pub(crate) async fn acquire_or_end(
        &self,
        signals: &mut Signals,
    ) -> Result<HeldLease, Result<Exit, Failure>> {
        let end = signals.or_else(self.acquire()).await;
        if end.is_err() {
            giving_back::clean_up(self.manager).await;
        }
        end
    }

    async fn acquire(&self) -> Result<HeldLease, Failure> {
        let clock = self.manager.clock();
        let begun = clock.now();
        let guard = select! {
            biased;
            won = self.win() => won?,
            failure = self.meet_other_data() => return Err(failure),
        };
        if self.lock.verbose {
            let waited = Shown(clock.now().saturating_since(begun));
            let (left, resource) = (Shown(guard.remaining()), self.lock.resource().quoted());
            let slot = guard.permit().map(|permit| {
                let (slot, of) = (permit.slot(), permit.of());
                format!("slot {slot} of {of}, ")
            });
            let slot = slot.unwrap_or_default();
            match guard.token() {
                Some(token) => output::talk(format_args!(
                    "locked {resource} after {waited}: {slot}token {token}, valid for {left}"
                )),
                None => {
                    let mode = if self.is_shared { "shared" } else { "no token" };
                    output::talk(format_args!(
                        "locked {resource} after {waited}: {mode}, valid for {left}"
                    ));
                }
            }
        }
        Ok(guard)
    }

    async fn win(&self) -> Result<HeldLease, Failure> {
        match self.look_around().await? {
            Some(guard) => Ok(guard),
            None if self.lock.fair || self.is_shared => self.wait_in_line().await,
            None => self.wait().await,
        }
    }

    /// A command that runs under a lock tries once before it waits: it may be that lock.
    async fn look_around(&self) -> Result<Option<HeldLease>, Failure> {
        let around = Nesting::of_this_process();
        if around.is_none() {
            return Ok(None);
        }
        match self.wanted(None)?.try_acquire().await {
            Ok(guard) => Ok(Some(guard)),
            Err(error) if self.is_in_own_way(&error, &around).await => {
                Err(nesting::failure(self.lock.resource()))
            }
            // Whatever it is, the wait tells it.
            Err(_) => Ok(None),
        }
    }

    /// Whether a lock around this command holds what it asks for.
    async fn is_in_own_way(&self, error: &AcquireError, around: &Nesting) -> bool {
        if error.holder().is_some_and(|holder| around.has(holder)) {
            return true;
        }
        if !error.is_contention() {
            return false;
        }
        for name in self.lock.resource().names() {
            if self.is_shared_around(name, around).await {
                return true;
            }
        }
        if !self.lock.resource().is_several() {
            return false;
        }
        // A refusal tells who has one of the names. Another may be ours.
        for name in self.lock.resource().names() {
            let seen = self.manager.inspect(name).await;
            if seen.is_ok_and(|seen| seen.holder().is_some_and(|holder| around.has(holder))) {
                return true;
            }
        }
        false
    }

    /// Whether this command runs under a share of the name, or a permit that is in its way: all of them, if it asks for one. Its
    /// owner alone can ask for it, by an extension; one by so little changes nothing.
    async fn is_shared_around(&self, name: &str, around: &Nesting) -> bool {
        let Manager::Fenced(manager) = self.manager else {
            return false;
        };
        let mut permits = 0;
        for owner in around.shares_of(name) {
            let is_permit = owner.permit().is_some();
            let part = match is_permit {
                true => manager.detached_permit(name, owner),
                false => manager.detached_shared(name, owner),
            };
            let Ok(part) = part else {
                continue;
            };
            match part.extend(LITTLE).await.is_ok() {
                true if is_permit && self.permits.is_some() => permits += 1,
                true => return true,
                false => {}
            }
        }
        self.permits.is_some_and(|all| permits >= all)
    }

    async fn wait(&self) -> Result<HeldLease, Failure> {
        let silence = self.silence();
        let first = match self.patience {
            Patience::Once => self.wanted(None)?.try_acquire().await,
            Patience::Within(wait) => {
                let wanted = self.wanted(None)?;
                wanted.acquire_within(wait.min(silence)).await
            }
            Patience::Forever => {
                let wanted = self.wanted(Some(UNREACHABLE_FOR))?;
                wanted.acquire_within(silence).await
            }
            Patience::Candidate => {
                let elected = self.election()?.campaign_within(silence).await;
                elected.map(whole)
            }
        };
        let error = match (first, self.rest()) {
            (Ok(guard), _) => return Ok(guard),
            (Err(error @ AcquireError::TimedOut { .. }), Some(rest)) => {
                self.tell_waiting(&error).await;
                match self.acquire_later(rest, &error).await? {
                    Ok(guard) => return Ok(guard),
                    Err(later) => spent::with_before(later, error, rest, self.lock.ttl),
                }
            }
            (Err(error), _) => error,
        };
        self.last_word(error).await
    }

    /// How a wait that ended with this error ends. One that is too short to reach a node is one try: nodes that were given no
    /// time have said nothing.
    async fn last_word(&self, error: AcquireError) -> Result<HeldLease, Failure> {
        let error = match self.patience {
            Patience::Within(wait) if wait < ONE_TRY && spent::is_silence(&error) => {
                match self.wanted(None)?.try_acquire().await {
                    Ok(guard) => return Ok(guard),
                    Err(error) => error,
                }
            }
            _ => error,
        };
        Err(self.failure(&error).await)
    }

    /// How long the wait goes on without a word.
    fn silence(&self) -> Duration {
        if self.lock.verbose {
            SHORT_SILENCE
        } else {
            SILENCE
        }
    }

    /// The patience that is left after the silence, if any.
    fn rest(&self) -> Option<Patience> {
        match self.patience {
            Patience::Within(wait) => {
                let rest = wait.saturating_sub(self.silence());
                Some(Patience::Within(rest)).filter(|_| !rest.is_zero())
            }
            Patience::Forever | Patience::Candidate => Some(self.patience),
            Patience::Once => None,
        }
    }

    async fn acquire_later(
        &self,
        rest: Patience,
        before: &AcquireError,
    ) -> Result<Result<HeldLease, AcquireError>, Failure> {
        match rest {
            Patience::Within(rest) => Ok(self.wanted(None)?.acquire_within(rest).await),
            Patience::Once => Ok(self.wanted(None)?.acquire().await),
            Patience::Candidate => self.campaign().await,
            Patience::Forever => {
                let silent = if before.is_unreachable() {
                    self.silence()
                } else {
                    Duration::ZERO
                };
                let wanted = self.wanted(Some(UNREACHABLE_FOR - silent))?;
                Ok(wanted.acquire().await)
            }
        }
    }

    async fn campaign(&self) -> Result<Result<HeldLease, AcquireError>, Failure> {
        let elected = self.election()?.campaign().await;
        Ok(elected.map(whole))
    }

    fn election(&self) -> Result<Election, Failure> {
        let (resource, options) = (self.lock.resource().as_str(), self.options.clone());
        let election = self.manager.fenced()?.election_with(resource, options);
        election.map_err(|error| misused(&error))
    }

    fn wanted(&self, unreachable_for: Option<Duration>) -> Result<WantedLock, Failure> {
        let mut options = self.options.clone();
        if let Some(patience) = unreachable_for {
            options = options.give_up_unreachable_after(patience);
        }
        let resource = self.lock.resource();
        let name = resource.as_str();
        let wanted = match (self.manager, self.permits) {
            (Manager::Plain(manager), _) => {
                let mutex = manager.mutex_all_with(resource.names(), options);
                mutex.map(WantedLock::Plain)
            }
            (Manager::Fenced(manager), Some(permits)) => {
                let permits = manager.semaphore_with(name, permits, options);
                permits.map(WantedLock::Permit)
            }
            (Manager::Fenced(manager), None) if self.is_shared => {
                manager.rwlock_with(name, options).map(WantedLock::Share)
            }
            (Manager::Fenced(manager), None) => {
                let mutex = manager.mutex_all_with(resource.names(), options);
                mutex.and_then(|mutex| self.of_periods(mutex))
            }
        };
        wanted.map_err(|error| misused(&error))
    }

    fn of_periods(&self, mutex: Mutex) -> Result<WantedLock, ConfigError> {
        let Some((period, offset)) = self
            .once
            .and_then(|once| Some((once.once_per?, once.period_offset)))
        else {
            return Ok(WantedLock::Whole(mutex));
        };
        let once = mutex.once_per(period)?;
        let once = once.starting(offset.unwrap_or_default());
        Ok(WantedLock::Once(once))
    }

    async fn tell_waiting(&self, error: &AcquireError) {
        if error.is_contention() {
            let resource = self.lock.resource().quoted();
            let barrier = self.barrier(error).await;
            output::talk(format_args!("waiting for {resource}: {barrier}"));
            return;
        }
        let why = match error {
            AcquireError::TimedOut { last, .. } => last,
            other => other,
        };
        if error.abstains().is_some() {
            output::talk(format_args!("waiting to {why}"));
            if !hint::must_wait(error) {
                output::hint(hint::ADMIT);
            }
        } else {
            output::talk(format_args!("still trying to {why}"));
        }
    }

    async fn failure(&self, error: &AcquireError) -> Failure {
        if let AcquireError::AlreadyDone(_) = error {
            // `lock "report": done in this period, …`
            let told = error.to_string();
            let told = told.strip_prefix("lock ").unwrap_or(&told);
            return Failure::new(exit_code::SUCCESS, told);
        }
        if error.is_contention()
            && error.holder().is_none()
            && let Some(failure) = self.other_data().await
        {
            return failure;
        }
        if let Some(failure) = self.disagreement(error) {
            return failure;
        }
        let waited = self.patience != Patience::Once;
        let (code, text) = match self.patience {
            Patience::Within(wait) if error.is_contention() => {
                let still = self.barrier(error).await.still(wait);
                let text = format!("cannot lock {}: {still}", self.lock.resource().quoted());
                (self.conflict.unwrap_or(exit_code::WAIT_TIMED_OUT), text)
            }
            _ if error.is_contention() => {
                let code = self.conflict.unwrap_or(exit_code::HELD);
                (code, self.refused(error).await)
            }
            // As another configuration of the nodes: somebody says something wrong, and no time helps.
            _ if matches!(error, AcquireError::OtherPermits { .. }) => {
                (exit_code::USAGE, format!("cannot {error}"))
            }
            _ => {
                let judgement = Judgement::of_failure(error);
                let code = judgement.map_or(exit_code::FAILED, Judgement::code);
                (code, format!("cannot {error}"))
            }
        };
        let hint = match self.is_endless(error).await {
            true => Some(hint::NO_TTL.to_owned()),
            false => hint::not_acquired(error, self.lock.ttl, self.nodes, waited),
        };
        Failure::new(code, text).hint(hint)
    }
}

impl Wait<'_> {
    /// The end of a command that set an option otherwise than the other users of the nodes, if it is known which one.
    fn disagreement(&self, error: &AcquireError) -> Option<Failure> {
        let (ours, faults) = match error {
            AcquireError::TimedOut { last, .. } => return self.disagreement(last),
            AcquireError::Disagreement { ours, faults, .. } => (ours, faults),
            _ => return None,
        };
        let differences = difference::of_faults(ours, faults);
        let told = Difference::told(&differences);
        let text = format!(
            "cannot lock {}: these nodes use {told}",
            self.lock.resource().quoted()
        );
        let hint = Difference::way_out(&differences);
        (!differences.is_empty()).then(|| Failure::new(exit_code::USAGE, text).hint(hint))
    }
}

/// A leadership is an exclusive lease.
fn whole(leadership: Leadership) -> HeldLease {
    HeldLease::Whole(leadership.into_guard())
}

/// No more than most leases last, and enough for the answer to be heard.
const LITTLE: Duration = Duration::from_secs(1);

/// How long the wait goes on without a word.
const SILENCE: Duration = Duration::from_secs(1);

/// The same for somebody who wants to be told everything: other than that, longer than a wait for nothing.
const SHORT_SILENCE: Duration = Duration::from_millis(50);

/// How long nodes that are near take to be connected and to answer, with much to spare.
const ONE_TRY: Duration = Duration::from_millis(50);

/// How long a wait that has no limit goes on while too few nodes can be reached. Longer than a server
/// takes to restart, shorter than it takes somebody to wonder.
const UNREACHABLE_FOR: Duration = Duration::from_secs(3);
