//! A lease, of whichever kind.

use crate::{
    error::{Raise, foreign, released, wrong},
    facts::{facts, faults, object, owner_text, resource, snake, some_holder, span},
    guard::{Borrowed, Guard, Shared, Taken, each},
    observe::outcome_word,
    operation::{Operation, Told, lock, operation, sure},
    options::seconds,
    process::Own,
};
use leasehold::{DetachedLease, LeaseState, ReleaseOutcome};
use pyo3::prelude::*;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
    time::UNIX_EPOCH,
};

/// The leases of one manager, for the end of the program.
#[derive(Debug, Default)]
pub(crate) struct Leases(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    next: u64,
    held: HashMap<u64, Weak<Shared>>,
}

impl Leases {
    fn note(&self, shared: &Arc<Shared>) -> u64 {
        let mut known = lock(&self.0);
        known.next += 1;
        let number = known.next;
        known.held.insert(number, Arc::downgrade(shared));
        number
    }

    fn forget(&self, number: u64) {
        lock(&self.0).held.remove(&number);
    }

    /// How many of them are held.
    pub(crate) fn count(&self) -> usize {
        let held: Vec<_> = lock(&self.0)
            .held
            .values()
            .filter_map(Weak::upgrade)
            .collect();
        held.iter()
            .filter(|shared| shared.borrow().is_some())
            .count()
    }

    /// Gives all of them back, in the background.
    pub(crate) fn release(&self) -> usize {
        let held: Vec<_> = lock(&self.0)
            .held
            .drain()
            .filter_map(|(_, weak)| weak.upgrade())
            .collect();
        held.iter().filter_map(Shared::take).count()
    }
}

/// A lease. Dropping it gives the lock back in the background; in a fork, it does nothing.
#[pyclass(frozen, module = "leasehold._native")]
pub(crate) struct Lease {
    inner: Own<Inner>,
    names: Vec<String>,
    owner: String,
    kind: &'static str,
    token: Option<u64>,
    slot: Option<usize>,
    next_period: Option<f64>,
}

struct Inner {
    shared: Arc<Shared>,
    leases: Arc<Leases>,
    number: u64,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.leases.forget(self.number);
    }
}

impl Lease {
    pub(crate) fn new(guard: Guard, leases: Arc<Leases>) -> Self {
        let (names, owner) =
            each!(&guard, guard => (resource(guard.resource()), owner_text(guard.owner())));
        let (kind, token) = (guard.kind(), guard.token());
        let slot = match &guard {
            Guard::Permit(guard) => Some(guard.slot()),
            _ => None,
        };
        let next_period = match &guard {
            Guard::Once(guard) => guard
                .next_period()
                .duration_since(UNIX_EPOCH)
                .ok()
                .map(span),
            _ => None,
        };
        let shared = Shared::new(guard);
        let number = leases.note(&shared);
        let inner = Inner {
            shared,
            leases,
            number,
        };
        Self {
            inner: Own::new(inner),
            names,
            owner,
            kind,
            token,
            slot,
            next_period,
        }
    }

    fn borrow(&self) -> Option<Borrowed> {
        self.inner.get()?.shared.borrow()
    }

    /// To ask the nodes something.
    fn used(&self, py: Python<'_>) -> PyResult<Borrowed> {
        let inner = self.inner.get().ok_or_else(|| foreign(py, &self.names))?;
        inner.shared.borrow().ok_or_else(|| self.over(py))
    }

    /// To end it by something else than a release.
    fn taken(&self, py: Python<'_>) -> PyResult<(Taken, Arc<Leases>)> {
        let inner = self.inner.get().ok_or_else(|| foreign(py, &self.names))?;
        let taken = inner.shared.take().ok_or_else(|| self.over(py))?;
        Ok((taken, Arc::clone(&inner.leases)))
    }

    fn over(&self, py: Python<'_>) -> PyErr {
        let lost = self.inner.get().and_then(|inner| inner.shared.lost());
        lost.map_or_else(|| released(py, &self.names), |lost| lost.raise(py))
    }
}

#[pymethods]
impl Lease {
    #[getter]
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    #[getter]
    fn owner(&self) -> &str {
        &self.owner
    }

    #[getter]
    const fn kind(&self) -> &'static str {
        self.kind
    }

    #[getter]
    const fn token(&self) -> Option<u64> {
        self.token
    }

    #[getter]
    const fn slot(&self) -> Option<usize> {
        self.slot
    }

    #[getter]
    const fn next_period(&self) -> Option<f64> {
        self.next_period
    }

    fn is_valid(&self) -> bool {
        self.borrow()
            .is_some_and(|guard| each!(guard.get(), guard => guard.is_valid()))
    }

    fn remaining(&self) -> f64 {
        self.borrow().map_or(
            0.0,
            |guard| each!(guard.get(), guard => span(guard.remaining())),
        )
    }

    /// The word for its state, and a sentence.
    fn state(&self) -> (&'static str, String) {
        let Some(inner) = self.inner.get() else {
            return (
                "foreign",
                "held by the process of which this one is a fork".to_owned(),
            );
        };
        let Some(guard) = inner.shared.borrow() else {
            return match inner.shared.lost() {
                Some(lost) => ("lost", lost.to_string()),
                None => ("released", "released".to_owned()),
            };
        };
        let state = each!(guard.get(), guard => guard.state());
        let word = match &state {
            LeaseState::Held => "held",
            LeaseState::InDanger(_) => "in_danger",
            LeaseState::Lost(_) => "lost",
            _ => "released",
        };
        (word, state.to_string())
    }

    /// The exception that tells of the loss; None if it was not lost.
    fn lost(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let error = match self.inner.get() {
            None => foreign(py, &self.names),
            Some(inner) => inner.shared.lost()?.raise(py),
        };
        Some(error.into_value(py).into_any())
    }

    fn heartbeat(&self) {
        if let Some(guard) = self.borrow() {
            each!(guard.get(), guard => guard.heartbeat());
        }
    }

    /// Waits for the loss, and returns the exception.
    fn wait_lost(&self, py: Python<'_>) -> PyResult<Operation> {
        let guard = self.used(py)?;
        let loss = guard.get().loss();
        drop(guard);
        Ok(sure(loss, |py, lost| {
            Ok(lost.raise(py).into_value(py).into_any())
        }))
    }

    /// Waits for the next change of the state.
    fn changed(&self, py: Python<'_>) -> PyResult<Operation> {
        let work = self.used(py)?.changed();
        Ok(sure(work, |py, ()| Ok(py.None())))
    }

    #[pyo3(signature = (ttl=None))]
    fn extend(&self, py: Python<'_>, ttl: Option<&Bound<'_, PyAny>>) -> PyResult<Operation> {
        let ttl = ttl.map(|ttl| seconds("ttl", ttl)).transpose()?;
        let guard = self.used(py)?;
        let work = async move {
            each!(guard.get(), guard => match ttl {
                None => guard.extend().await,
                Some(ttl) => guard.extend_to(ttl).await,
            })
        };
        Ok(operation(work, |py, ()| Ok(py.None())))
    }

    fn ensure(&self, py: Python<'_>, remaining: &Bound<'_, PyAny>) -> PyResult<Operation> {
        let remaining = seconds("remaining", remaining)?;
        let guard = self.used(py)?;
        let work = async move { each!(guard.get(), guard => guard.ensure(remaining).await) };
        Ok(operation(work, |py, ()| Ok(py.None())))
    }

    /// Gives the lock back; None if there is nothing to give: it was done before, or is a parent's.
    fn release(&self) -> Option<Operation> {
        let taken = self.inner.get()?.shared.take()?;
        let work = async move {
            match taken.alone().await {
                Guard::Fenced(guard) => guard.release().await,
                Guard::Plain(guard) => guard.release().await,
                Guard::Read(guard) => guard.release().await,
                Guard::Write(guard) => guard.release().await,
                Guard::Permit(guard) => guard.release().await,
                // Without a mark: the work is not done.
                Guard::Once(guard) => guard.into_guard().release().await,
            }
        };
        Some(sure(work, |py, outcome| release_outcome(py, &outcome)))
    }

    /// Gives the lock back in the background.
    fn drop(&self) {
        drop(self.inner.get().and_then(|inner| inner.shared.take()));
    }

    /// Lets the lease live without anybody who extends it, and returns its owner's text.
    fn detach(&self, py: Python<'_>) -> PyResult<Operation> {
        let (taken, _) = self.taken_if(py, "detach", !matches!(self.kind, "plain"))?;
        let work = async move {
            match taken.alone().await {
                Guard::Fenced(guard) => guard.detach().await,
                Guard::Write(guard) => guard.detach().await,
                Guard::Permit(guard) => guard.detach().await,
                Guard::Once(guard) => guard.into_guard().detach().await,
                Guard::Read(guard) => guard.detach().await,
                Guard::Plain(_) => unreachable!("a plain lease is not taken for this"),
            }
        };
        Ok(operation(work, |py, owner| {
            Ok(owner_text(&owner).into_pyobject(py)?.into_any().unbind())
        }))
    }

    /// Makes a text of the lease, for another process.
    fn hand_over(&self, py: Python<'_>) -> PyResult<Operation> {
        let is_lock = !matches!(self.kind, "read" | "permit");
        let (taken, _) = self.taken_if(py, "hand_over", is_lock)?;
        let work = async move {
            match taken.alone().await {
                Guard::Fenced(guard) => guard.hand_over().await,
                Guard::Plain(guard) => guard.hand_over().await,
                Guard::Write(guard) => guard.into_guard().hand_over().await,
                Guard::Once(guard) => guard.into_guard().hand_over().await,
                Guard::Read(_) | Guard::Permit(_) => {
                    unreachable!("such a lease is not taken for this")
                }
            }
        };
        Ok(operation(work, |py, text| {
            Ok(text.into_pyobject(py)?.into_any().unbind())
        }))
    }

    /// Goes on as a reader.
    fn downgrade(&self, py: Python<'_>) -> PyResult<Operation> {
        let (taken, leases) = self.taken_if(py, "downgrade", self.kind == "write")?;
        let work = async move {
            match taken.alone().await {
                Guard::Write(guard) => guard.downgrade().await,
                _ => unreachable!("no other lease is taken for this"),
            }
        };
        Ok(operation(work, move |py, reader| {
            let lease = Self::new(Guard::Read(reader), leases);
            Ok(Py::new(py, lease)?.into_any())
        }))
    }

    /// Says that the work of this period is done.
    fn done(&self, py: Python<'_>) -> PyResult<Operation> {
        let (taken, _) = self.taken_if(py, "done", self.kind == "once")?;
        let work = async move {
            match taken.alone().await {
                Guard::Once(guard) => guard.done().await,
                _ => unreachable!("no other lease is taken for this"),
            }
        };
        Ok(operation(work, |py, ()| Ok(py.None())))
    }
}

impl Lease {
    /// As `taken`, if leases of this kind can do it.
    fn taken_if(&self, py: Python<'_>, what: &str, can: bool) -> PyResult<(Taken, Arc<Leases>)> {
        if can {
            return self.taken(py);
        }
        let text = format!(
            "{what}: a lease of this kind ({}) cannot do that",
            snake(self.kind)
        );
        Err(wrong(py, &text))
    }
}

pub(crate) fn release_outcome(py: Python<'_>, outcome: &ReleaseOutcome) -> PyResult<Py<PyAny>> {
    let (holder, nodes): (_, &[_]) = match outcome {
        ReleaseOutcome::TakenByAnother { holder } => (Some(holder), &[]),
        ReleaseOutcome::Unknown { faults } => (None, faults),
        _ => (None, &[]),
    };
    let facts = facts!(py, {
        kind: outcome_word(outcome), text: outcome.to_string(), holder: some_holder(py, holder)?,
        nodes: faults(py, nodes)?,
    });
    object(py, "ReleaseOutcome", &facts)
}

/// A lease that nobody extends by itself, known by its owner's text.
#[pyclass(frozen, module = "leasehold._native")]
pub(crate) struct Detached(Own<Arc<DetachedLease>>);

impl Detached {
    pub(crate) fn new(lease: DetachedLease) -> Self {
        Self(Own::new(Arc::new(lease)))
    }

    fn lease(&self, py: Python<'_>) -> PyResult<Arc<DetachedLease>> {
        let lease = self.0.get().cloned();
        lease.ok_or_else(|| wrong(py, &"this process is a fork of the one that has the lock manager: make a manager after the fork"))
    }
}

#[pymethods]
impl Detached {
    /// Returns for how many seconds it may be relied upon.
    fn extend(&self, py: Python<'_>, ttl: &Bound<'_, PyAny>) -> PyResult<Operation> {
        let (lease, ttl) = (self.lease(py)?, seconds("ttl", ttl)?);
        let work = async move { lease.extend(ttl).await };
        Ok(operation(work, |py, left| {
            Ok(span(left).into_pyobject(py)?.into_any().unbind())
        }))
    }

    fn release(&self, py: Python<'_>) -> PyResult<Operation> {
        let lease = self.lease(py)?;
        let work = async move { lease.release().await };
        Ok(sure(work, |py, outcome| release_outcome(py, &outcome)))
    }
}

/// The owner of a text that `detach` returned, here or in another program.
pub(crate) fn owner_of(py: Python<'_>, text: &str) -> PyResult<leasehold::Owner> {
    leasehold::Owner::from_bytes(text.as_bytes()).ok_or_else(|| {
        let longest = leasehold::Owner::LONGEST;
        wrong(
            py,
            &format!("owner: {text:?} has not 1 to {longest} bytes, as an owner has"),
        )
    })
}

/// Work that makes a lease, or fails.
pub(crate) fn leasing<E: Raise + Send + 'static>(
    work: impl Future<Output = Result<Guard, E>> + Send + 'static,
    leases: Arc<Leases>,
) -> Operation {
    Operation::new(async move {
        let outcome = work.await;
        let told: Told = Box::new(move |py| match outcome {
            Ok(guard) => Ok(Py::new(py, Lease::new(guard, leases))?.into_any()),
            Err(error) => Err(error.raise(py)),
        });
        told
    })
}
