//! The wait for the lock.

use crate::{
    args::run::RunArguments,
    duration::Shown,
    exit_code,
    failure::Failure,
    hint,
    label::{Holder, Label},
    nodes::{Nodes, misused},
    output,
    upkeep::Upkeep,
};
use leasehold::{AcquireError, LeaseGuard, LockManager, LockOptions, Mutex, OwnerSource};
use std::time::Duration;

/// How long to wait for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    /// One try.
    Once,
    /// So long at most.
    Within(Duration),
    /// Until it is won, as long as a quorum of nodes can be reached.
    Forever,
}

/// The wait of one run.
#[derive(Debug)]
pub(crate) struct Wait<'a> {
    manager: &'a LockManager,
    nodes: &'a Nodes,
    resource: &'a str,
    ttl: Duration,
    max_hold: Option<Duration>,
    patience: Patience,
}

impl<'a> Wait<'a> {
    /// The wait that these arguments ask for.
    pub(crate) fn new(
        manager: &'a LockManager,
        nodes: &'a Nodes,
        arguments: &'a RunArguments,
    ) -> Self {
        let patience = match (arguments.no_wait, arguments.wait) {
            (true, _) => Patience::Once,
            (false, Some(wait)) => Patience::Within(wait),
            (false, None) => Patience::Forever,
        };
        Self {
            manager,
            nodes,
            resource: &arguments.resource,
            ttl: arguments.ttl,
            max_hold: arguments.max_hold,
            patience,
        }
    }

    /// Waits for the lock. Dropping the future gives the wait up.
    pub(crate) async fn acquire(&self) -> Result<LeaseGuard, Failure> {
        let first = match self.patience {
            Patience::Once => self.mutex(None)?.try_acquire().await,
            Patience::Within(wait) => {
                let mutex = self.mutex(None)?;
                mutex.acquire_within(wait.min(SILENCE)).await
            }
            Patience::Forever => {
                let mutex = self.mutex(Some(UNREACHABLE_FOR))?;
                mutex.acquire_within(SILENCE).await
            }
        };
        let error = match (first, self.rest()) {
            (Ok(guard), _) => return Ok(guard),
            (Err(error @ AcquireError::TimedOut { .. }), Some(rest)) => {
                self.tell_waiting(&error);
                match self.acquire_later(rest, &error).await? {
                    Ok(guard) => return Ok(guard),
                    Err(error) => error,
                }
            }
            (Err(error), _) => error,
        };
        Err(self.failure(&error))
    }

    /// The patience that is left after the silence, if any.
    fn rest(&self) -> Option<Patience> {
        match self.patience {
            Patience::Within(wait) if wait > SILENCE => Some(Patience::Within(wait - SILENCE)),
            Patience::Forever => Some(Patience::Forever),
            Patience::Once | Patience::Within(_) => None,
        }
    }

    async fn acquire_later(
        &self,
        rest: Patience,
        before: &AcquireError,
    ) -> Result<Result<LeaseGuard, AcquireError>, Failure> {
        if let Patience::Within(rest) = rest {
            return Ok(self.mutex(None)?.acquire_within(rest).await);
        }
        let silent = if before.is_unreachable() {
            SILENCE
        } else {
            Duration::ZERO
        };
        let mutex = self.mutex(Some(UNREACHABLE_FOR - silent))?;
        Ok(mutex.acquire().await)
    }

    fn mutex(&self, unreachable_for: Option<Duration>) -> Result<Mutex, Failure> {
        let label = Label::of_this_process();
        let mut options = LockOptions::new()
            .ttl(self.ttl)
            .tries_unlimited()
            .warn_before(Upkeep::new(self.ttl, self.max_hold).warn_before())
            .owner_source(OwnerSource::new(move |random| label.owner(random)));
        options = match self.max_hold {
            Some(most) => options.max_hold(most),
            None => options.max_hold_unlimited(),
        };
        if let Some(patience) = unreachable_for {
            options = options.give_up_unreachable_after(patience);
        }
        self.manager
            .mutex_with(self.resource, options)
            .map_err(|error| misused(&error))
    }

    fn tell_waiting(&self, error: &AcquireError) {
        let resource = self.resource;
        if error.is_contention() {
            let by = held_by(error);
            output::talk(format_args!("waiting for {resource:?}: held{by}"));
            return;
        }
        let why = match error {
            AcquireError::TimedOut { last, .. } => last,
            other => other,
        };
        if error.abstains().is_some() {
            output::talk(format_args!("waiting to {why}"));
            output::hint(hint::ADMIT);
        } else {
            output::talk(format_args!("still trying to {why}"));
        }
    }

    fn failure(&self, error: &AcquireError) -> Failure {
        let waited = self.patience != Patience::Once;
        let (code, text) = match self.patience {
            Patience::Within(wait) if error.is_contention() => {
                let (resource, by) = (self.resource, held_by(error));
                let wait = Shown(wait);
                let text = format!("cannot lock {resource:?}: after {wait} still held{by}");
                (exit_code::WAIT_TIMED_OUT, text)
            }
            _ if error.is_contention() => {
                let by = error.holder().map(|_| held_by(error)).unwrap_or_default();
                let by = if by.is_empty() {
                    by
                } else {
                    format!("; held{by}")
                };
                (exit_code::HELD, format!("cannot {error}{by}"))
            }
            _ if disagrees(error) => (exit_code::USAGE, format!("cannot {error}")),
            _ if is_silence(error) => (exit_code::NO_QUORUM, format!("cannot {error}")),
            _ => (exit_code::FAILED, format!("cannot {error}")),
        };
        Failure::new(code, text).hint(hint::not_acquired(error, self.nodes, waited))
    }
}

/// Whether nobody is known to hold the lock, and too few nodes said so in time.
fn is_silence(error: &AcquireError) -> bool {
    match error {
        AcquireError::TimedOut { last, .. } => is_silence(last),
        AcquireError::TooLate { .. } | AcquireError::Abstained(_) => true,
        error => error.is_unreachable(),
    }
}

/// Whether too many nodes are used with other options than ours.
fn disagrees(error: &AcquireError) -> bool {
    match error {
        AcquireError::TimedOut { last, .. } => disagrees(last),
        error => matches!(error, AcquireError::Disagreement { .. }),
    }
}

/// `" by pid 4711 on db1, for at most 9.2 s unless extended"`, or as much of it as is known.
fn held_by(error: &AcquireError) -> String {
    let by = error.holder().map_or_else(
        || " elsewhere".to_owned(),
        |owner| format!(" by {}", Holder::of(owner.as_bytes())),
    );
    match error.remaining() {
        Some(remaining) => format!("{by}, for at most {} unless extended", Shown(remaining)),
        None => by,
    }
}

/// How long the wait goes on without a word.
const SILENCE: Duration = Duration::from_secs(1);

/// How long a wait that has no limit goes on while too few nodes can be reached. Longer than a server
/// takes to restart, shorter than it takes somebody to wonder.
const UNREACHABLE_FOR: Duration = Duration::from_secs(3);
