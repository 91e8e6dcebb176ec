//! Locks of all kinds, with their options.

use crate::{
    error::{Raise, wrong},
    facts::resource,
    guard::Guard,
    inspection,
    lease::{Leases, leasing},
    manager::FORKED,
    operate::Lookout,
    operation::{Operation, operation},
    options::patience,
    process::Own,
};
use leasehold::{
    AcquireError, ConfigError, Election, Mode, Mutex, OncePer, Plain, RwLock, Semaphore,
};
use pyo3::prelude::*;
use std::{sync::Arc, time::Duration};

/// A lock of any kind, with its options.
#[pyclass(frozen, module = "leasehold._native")]
pub(crate) struct Lock(Own<(Kind, Arc<Leases>)>);

pub(crate) enum Kind {
    Mutex(Mutex),
    PlainMutex(Mutex<Plain>),
    Read(RwLock),
    Write(RwLock),
    Semaphore(Semaphore),
    Once(OncePer),
    Election(Election),
    PlainElection(Election<Plain>),
}

impl Lock {
    pub(crate) fn new(
        py: Python<'_>,
        kind: Result<Kind, ConfigError>,
        leases: &Arc<Leases>,
    ) -> PyResult<Self> {
        let kind = kind.map_err(|error| error.raise(py))?;
        Ok(Self(Own::new((kind, Arc::clone(leases)))))
    }
}

/// Waits as a lock of each kind does: as its options say, once, or for so long.
macro_rules! acquiring {
    ($lock:expr, $patience:expr, $leases:expr, $variant:path, $plain:ident, $once:ident, $within:ident) => {{
        let (lock, patience) = ($lock.clone(), $patience);
        leasing(
            async move {
                let won = match patience {
                    None => lock.$plain().await,
                    Some(Duration::ZERO) => lock.$once().await,
                    Some(patience) => lock.$within(patience).await,
                };
                Ok::<_, AcquireError>($variant(won?))
            },
            $leases,
        )
    }};
}

#[pymethods]
impl Lock {
    /// Waits for the lock, for `timeout` seconds at most; None: as long as its options say.
    #[pyo3(signature = (timeout=None))]
    fn acquire(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Operation> {
        let patience = patience(timeout)?.map(|seconds| seconds.0);
        let (kind, leases) = self.0.get().ok_or_else(|| wrong(py, &FORKED))?;
        let leases = Arc::clone(leases);
        Ok(match kind {
            Kind::Mutex(lock) => acquiring!(
                lock,
                patience,
                leases,
                Guard::Fenced,
                acquire,
                try_acquire,
                acquire_within
            ),
            Kind::PlainMutex(lock) => acquiring!(
                lock,
                patience,
                leases,
                Guard::Plain,
                acquire,
                try_acquire,
                acquire_within
            ),
            Kind::Read(lock) => acquiring!(
                lock,
                patience,
                leases,
                Guard::Read,
                read,
                try_read,
                read_within
            ),
            Kind::Write(lock) => acquiring!(
                lock,
                patience,
                leases,
                Guard::Write,
                write,
                try_write,
                write_within
            ),
            kind => acquire_other(kind, patience, leases),
        })
    }

    #[getter]
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let (kind, _) = self.0.get().ok_or_else(|| wrong(py, &FORKED))?;
        Ok(resource(match kind {
            Kind::Mutex(lock) => lock.resource(),
            Kind::PlainMutex(lock) => lock.resource(),
            Kind::Read(lock) | Kind::Write(lock) => lock.resource(),
            Kind::Semaphore(lock) => lock.resource(),
            Kind::Once(lock) => lock.resource(),
            Kind::Election(lock) => lock.resource(),
            Kind::PlainElection(lock) => lock.resource(),
        }))
    }

    /// How many permits there are, if it is a semaphore.
    #[getter]
    fn permits(&self) -> Option<usize> {
        match self.0.get() {
            Some((Kind::Semaphore(lock), _)) => Some(lock.permits()),
            _ => None,
        }
    }

    /// Who leads, if this is an election.
    fn leader(&self, py: Python<'_>) -> PyResult<Operation> {
        let (kind, _) = self.0.get().ok_or_else(|| wrong(py, &FORKED))?;
        Ok(match kind {
            Kind::Election(election) => {
                let election = election.clone();
                let work = async move { election.leader().await };
                operation(work, |py, state| inspection::election(py, &state))
            }
            Kind::PlainElection(election) => {
                let election = election.clone();
                let work = async move { election.leader().await };
                operation(work, |py, state| inspection::election(py, &state))
            }
            _ => return Err(wrong(py, &"this lock is no election")),
        })
    }

    /// Looks on who leads, if this is an election.
    fn observe(&self, py: Python<'_>) -> PyResult<Lookout> {
        let (kind, _) = self.0.get().ok_or_else(|| wrong(py, &FORKED))?;
        match kind {
            Kind::Election(election) => Ok(Lookout::leaders(election.observe())),
            Kind::PlainElection(election) => Ok(Lookout::leaders(election.observe())),
            _ => Err(wrong(py, &"this lock is no election")),
        }
    }
}

/// As `Lock::acquire`, for what is no mutex and has no readers.
fn acquire_other(kind: &Kind, patience: Option<Duration>, leases: Arc<Leases>) -> Operation {
    match kind {
        Kind::Semaphore(lock) => acquiring!(
            lock,
            patience,
            leases,
            Guard::Permit,
            acquire,
            try_acquire,
            acquire_within
        ),
        Kind::Once(lock) => acquiring!(
            lock,
            patience,
            leases,
            Guard::Once,
            begin,
            try_begin,
            begin_within
        ),
        Kind::Election(election) => campaign(election.clone(), patience, leases, Guard::Fenced),
        Kind::PlainElection(election) => campaign(election.clone(), patience, leases, Guard::Plain),
        Kind::Mutex(_) | Kind::PlainMutex(_) | Kind::Read(_) | Kind::Write(_) => {
            unreachable!("these are no others")
        }
    }
}

fn campaign<M: Mode>(
    election: Election<M>,
    patience: Option<Duration>,
    leases: Arc<Leases>,
    guard: impl FnOnce(leasehold::LeaseGuard<M>) -> Guard + Send + 'static,
) -> Operation {
    leasing(
        async move {
            let won = match patience {
                None => election.campaign().await,
                Some(Duration::ZERO) => election.try_campaign().await,
                Some(patience) => election.campaign_within(patience).await,
            };
            Ok::<_, AcquireError>(guard(won?.into_guard()))
        },
        leases,
    )
}
