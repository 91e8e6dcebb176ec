//! Locks that are shared with programs of `SETNX` and `GETSET`.

use crate::{
    error::{Raise, exception, wrong},
    facts::{facts, span},
    operation::{Operation, Told, lock, operation, sure},
    options::{patience, seconds},
    process::Own,
};
use leasehold::timestamp::{
    TimestampAcquireError, TimestampExtendError, TimestampGuard, TimestampLock, TimestampOptions,
    TimestampReleaseOutcome,
};
use pyo3::prelude::*;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::RwLock;

const FORKED: &str =
    "this lock is that of the process of which this one is a fork: make one after the fork";

#[pyclass(frozen, module = "leasehold._native", name = "TimestampLock")]
pub(crate) struct NativeLock(Own<Arc<TimestampLock>>);

#[pymethods]
impl NativeLock {
    #[new]
    fn new(
        py: Python<'_>,
        url: &str,
        name: &str,
        ttl: &Bound<'_, PyAny>,
        pause: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let options = TimestampOptions::new();
        let options = options.timeout(seconds("lock_timeout", ttl)?);
        let options = options.pause(seconds("pause", pause)?);
        let lock = TimestampLock::with_options(url, name, options);
        let lock = lock.map_err(|error| error.raise(py))?;
        Ok(Self(Own::new(Arc::new(lock))))
    }

    fn is_ours(&self) -> bool {
        self.0.is_ours()
    }

    #[pyo3(signature = (timeout=None))]
    fn acquire(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Operation> {
        let patience = patience(timeout)?.map(|seconds| seconds.0);
        let own = self.0.get().cloned();
        let own = own.ok_or_else(|| wrong(py, &FORKED))?;
        Ok(Operation::new(async move {
            let won = match patience {
                None => own.acquire().await,
                Some(Duration::ZERO) => own.try_acquire().await,
                Some(patience) => own.acquire_within(patience).await,
            };
            let told: Told = Box::new(move |py| match won {
                Ok(guard) => Ok(Py::new(py, NativeLease::new(guard))?.into_any()),
                Err(error) => Err(error.raise(py)),
            });
            told
        }))
    }
}

/// A lease of such a lock. Dropping it gives the lock back in the background.
#[pyclass(frozen, module = "leasehold._native", name = "TimestampLease")]
pub(crate) struct NativeLease {
    guard: Own<Mutex<Option<Shared>>>,
    value: u64,
}

/// Who extends reads it, and who releases takes it.
type Shared = Arc<RwLock<Option<TimestampGuard>>>;

impl NativeLease {
    fn new(guard: TimestampGuard) -> Self {
        let value = guard.value();
        let shared = Arc::new(RwLock::new(Some(guard)));
        Self {
            guard: Own::new(Mutex::new(Some(shared))),
            value,
        }
    }

    fn shared(&self) -> Option<Shared> {
        lock(self.guard.get()?).clone()
    }

    fn asked<T>(&self, ask: impl FnOnce(&TimestampGuard) -> T) -> Option<T> {
        let shared = self.shared()?;
        let guard = shared.try_read().ok()?;
        guard.as_ref().map(ask)
    }
}

#[pymethods]
impl NativeLease {
    #[getter]
    const fn value(&self) -> u64 {
        self.value
    }

    fn is_valid(&self) -> bool {
        self.asked(TimestampGuard::is_valid).unwrap_or(false)
    }

    fn remaining(&self) -> f64 {
        self.asked(|guard| span(guard.remaining())).unwrap_or(0.0)
    }

    fn extend(&self, py: Python<'_>) -> PyResult<Operation> {
        let shared = self.shared();
        let shared =
            shared.ok_or_else(|| wrong(py, &"the lease was given back, or is the parent's"))?;
        let work = async move {
            match &*shared.read().await {
                Some(guard) => guard.extend().await,
                None => Ok(()),
            }
        };
        Ok(operation(work, |py, ()| Ok(py.None())))
    }

    /// The word for what became of it, and a sentence; None if there is nothing to give back.
    fn release(&self) -> Option<Operation> {
        let shared = lock(self.guard.get()?).take()?;
        let work = async move {
            let guard = shared.write().await.take();
            match guard {
                Some(guard) => guard.release().await,
                None => TimestampReleaseOutcome::AlreadyExpired,
            }
        };
        Some(sure(work, |py, outcome| {
            let kind = match outcome {
                TimestampReleaseOutcome::Released => "released",
                TimestampReleaseOutcome::AlreadyExpired => "already_expired",
                TimestampReleaseOutcome::Gone => "gone",
                TimestampReleaseOutcome::Overwritten { .. } => "overwritten",
                _ => "unknown",
            };
            let facts = facts!(py, { kind: kind, text: outcome.to_string() });
            crate::facts::object(py, "ReleaseOutcome", &facts)
        }))
    }
}

/// By what one can do about it, as with other locks.
fn class(error: &TimestampAcquireError) -> &'static str {
    match error {
        TimestampAcquireError::Held(_) => "Held",
        TimestampAcquireError::Unreachable { .. } | TimestampAcquireError::Unclear { .. } => {
            "Unreachable"
        }
        TimestampAcquireError::TooLate { .. } => "TooLate",
        TimestampAcquireError::TimedOut { last, .. } => class(last),
        TimestampAcquireError::ShutDown { .. } => "ShutDown",
        _ => "AcquireError",
    }
}

impl Raise for TimestampAcquireError {
    fn raise(self, py: Python<'_>) -> PyErr {
        let facts = (|| {
            Ok(facts!(py, {
                name: self.resource().as_str(),
                timed_out: matches!(self, Self::TimedOut { .. }),
                remaining: self.remaining().map(span),
            }))
        })();
        exception(py, class(&self), &self, facts)
    }
}

impl Raise for TimestampExtendError {
    fn raise(self, py: Python<'_>) -> PyErr {
        exception(py, "ExtendError", &self, Ok(pyo3::types::PyDict::new(py)))
    }
}
