//! The manager, and locks of all kinds.

use crate::{
    error::{Raise, wrong},
    facts::{facts, names, object},
    guard::Guard,
    inspection,
    lease::{Detached, Leases, leasing, owner_of},
    lock::{Kind, Lock},
    operate::NativeOperator,
    operation::{Operation, operation, sure},
    options::{builder, lock_options, seconds},
    process::Own,
};
use leasehold::{
    ConfigError, Election, LockManager, LockOptions, ManagerBuilder, Mode, NodeConnection, Plain,
};
use pyo3::{prelude::*, types::PyDict};
use std::sync::Arc;

/// A manager of this process.
#[pyclass(frozen, module = "leasehold._native")]
pub(crate) struct Manager(Own<Inner>);

struct Inner {
    any: Any,
    leases: Arc<Leases>,
    builder: ManagerBuilder,
    /// Those of locks that say nothing.
    defaults: LockOptions,
}

/// The two kinds.
pub(crate) enum Any {
    Fenced(LockManager),
    Plain(LockManager<Plain>),
}

macro_rules! both {
    ($any:expr, $of:ident => $what:expr) => {
        match $any {
            Any::Fenced($of) => $what,
            Any::Plain($of) => $what,
        }
    };
}

pub(crate) const FORKED: &str =
    "this process is a fork of the one that has the lock manager: make a manager after the fork";

impl Manager {
    pub(crate) fn of(any: Any, builder: ManagerBuilder, defaults: LockOptions) -> Self {
        Self(Own::new(Inner {
            any,
            leases: Arc::default(),
            builder,
            defaults,
        }))
    }

    pub(crate) fn build(
        py: Python<'_>,
        builder: ManagerBuilder,
        is_plain: bool,
        defaults: LockOptions,
    ) -> PyResult<Self> {
        // Its thread is its own: no loop of Python can hold it up.
        let kept = builder.clone();
        let built = py.detach(move || {
            let builder = builder.own_thread();
            Ok(if is_plain {
                Any::Plain(builder.build_plain()?)
            } else {
                Any::Fenced(builder.build()?)
            })
        });
        let any = built.map_err(|error: ConfigError| error.raise(py))?;
        Ok(Self::of(any, kept, defaults))
    }

    fn inner(&self, py: Python<'_>) -> PyResult<&Inner> {
        self.0.get().ok_or_else(|| wrong(py, &FORKED))
    }

    /// The fenced manager, for what plain ones do not have.
    fn fenced<'a>(&'a self, py: Python<'_>, what: &str) -> PyResult<(&'a LockManager, &'a Inner)> {
        let inner = self.inner(py)?;
        match &inner.any {
            Any::Fenced(manager) => Ok((manager, inner)),
            Any::Plain(_) => Err(wrong(
                py,
                &format!("{what}: plain locks have none; make a manager without plain=True"),
            )),
        }
    }
}

impl Inner {
    fn options(&self, given: &Bound<'_, PyDict>) -> PyResult<LockOptions> {
        lock_options(given, self.defaults.clone())
    }
}

#[pymethods]
impl Manager {
    #[new]
    fn new(given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let py = given.py();
        let (builder, is_plain, defaults) = builder(given)?;
        Self::build(py, builder, is_plain, defaults)
    }

    fn is_ours(&self) -> bool {
        self.0.is_ours()
    }

    fn nodes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(both!(&self.inner(py)?.any, manager => names(&manager.nodes())))
    }

    fn health(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        let healths = both!(&self.inner(py)?.any, manager => manager.health());
        let told = healths.into_iter().map(|health| {
            let (connection, reason) = match &health.connection {
                NodeConnection::Connecting => ("connecting", None),
                NodeConnection::Up => ("up", None),
                NodeConnection::Down(why) => ("down", Some(why.clone())),
                _ => ("other", None),
            };
            let facts = facts!(py, {
                node: health.node.to_string(), connection: connection, reason: reason,
                clock_steps: health.clock_steps, text: health.to_string(),
            });
            object(py, "NodeHealth", &facts)
        });
        told.collect()
    }

    /// The lock of these names.
    fn mutex(&self, given: Vec<String>, options: &Bound<'_, PyDict>) -> PyResult<Lock> {
        let py = options.py();
        let inner = self.inner(py)?;
        let options = inner.options(options)?;
        let kind = match (&inner.any, given.as_slice()) {
            (Any::Fenced(manager), [name]) => manager.mutex_with(name, options).map(Kind::Mutex),
            (Any::Plain(manager), [name]) => {
                manager.mutex_with(name, options).map(Kind::PlainMutex)
            }
            (Any::Fenced(manager), names) => {
                manager.mutex_all_with(names, options).map(Kind::Mutex)
            }
            (Any::Plain(manager), names) => {
                manager.mutex_all_with(names, options).map(Kind::PlainMutex)
            }
        };
        Lock::new(py, kind, &inner.leases)
    }

    fn rwlock(&self, name: &str, writes: bool, options: &Bound<'_, PyDict>) -> PyResult<Lock> {
        let py = options.py();
        let inner = self.inner(py)?;
        let options = inner.options(options)?;
        let lock = both!(&inner.any, manager => manager.rwlock_with(name, options));
        let kind = lock.map(|lock| {
            if writes {
                Kind::Write(lock)
            } else {
                Kind::Read(lock)
            }
        });
        Lock::new(py, kind, &inner.leases)
    }

    fn semaphore(&self, name: &str, permits: usize, options: &Bound<'_, PyDict>) -> PyResult<Lock> {
        let py = options.py();
        let inner = self.inner(py)?;
        let options = inner.options(options)?;
        let semaphore =
            both!(&inner.any, manager => manager.semaphore_with(name, permits, options));
        Lock::new(py, semaphore.map(Kind::Semaphore), &inner.leases)
    }

    fn once_per(
        &self,
        name: &str,
        period: &Bound<'_, PyAny>,
        offset: &Bound<'_, PyAny>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Lock> {
        let py = options.py();
        let (manager, inner) = self.fenced(py, "once_per")?;
        let (period, offset) = (
            seconds("once_per", period)?,
            seconds("period_offset", offset)?,
        );
        let mutex = manager.mutex_with(name, inner.options(options)?);
        let once = mutex.and_then(|mutex| mutex.once_per(period));
        Lock::new(
            py,
            once.map(|once| Kind::Once(once.starting(offset))),
            &inner.leases,
        )
    }

    /// No options are those of elections: a leader leads for as long as it lives. A label is told beside host and process.
    fn election(&self, name: &str, options: &Bound<'_, PyDict>) -> PyResult<Lock> {
        let py = options.py();
        let inner = self.inner(py)?;
        let options = options.copy()?;
        let label = match options.get_item("label")? {
            Some(label) if !label.is_none() => {
                options.del_item("label")?;
                Some(label.extract::<String>()?)
            }
            _ => None,
        };
        let kind = match &inner.any {
            Any::Fenced(manager) => {
                candidacy(manager, name, inner, &options, label).map(|own| own.map(Kind::Election))
            }
            Any::Plain(manager) => candidacy(manager, name, inner, &options, label)
                .map(|own| own.map(Kind::PlainElection)),
        };
        Lock::new(py, kind?, &inner.leases)
    }

    /// A lease that was detached: of `names`, as `kind` says.
    fn detached(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        owner: &str,
        kind: &str,
    ) -> PyResult<Detached> {
        let (manager, _) = self.fenced(py, "detached")?;
        let owner = owner_of(py, owner)?;
        let lease = match (kind, names.as_slice()) {
            ("read", [name]) => manager.detached_shared(name, owner),
            ("permit", [name]) => manager.detached_permit(name, owner),
            (_, [name]) => manager.detached(name, owner),
            (_, names) => manager.detached_all(names, owner),
        };
        Ok(Detached::new(lease.map_err(|error| error.raise(py))?))
    }

    fn adopt(&self, text: String, options: &Bound<'_, PyDict>) -> PyResult<Operation> {
        let inner = self.inner(options.py())?;
        let options = inner.options(options)?;
        let leases = Arc::clone(&inner.leases);
        Ok(match &inner.any {
            Any::Fenced(manager) => {
                let manager = manager.clone();
                leasing(
                    async move {
                        Ok::<_, leasehold::AdoptError>(Guard::Fenced(
                            manager.adopt_with(&text, options).await?,
                        ))
                    },
                    leases,
                )
            }
            Any::Plain(manager) => {
                let manager = manager.clone();
                leasing(
                    async move {
                        Ok::<_, leasehold::AdoptError>(Guard::Plain(
                            manager.adopt_with(&text, options).await?,
                        ))
                    },
                    leases,
                )
            }
        })
    }

    fn inspect(&self, py: Python<'_>, name: String) -> PyResult<Operation> {
        Ok(both!(&self.inner(py)?.any, manager => {
            let manager = manager.clone();
            let work = async move { manager.inspect(&name).await };
            operation(work, |py, seen| inspection::told(py, &seen))
        }))
    }

    fn force_release(&self, py: Python<'_>, name: String) -> PyResult<Operation> {
        Ok(both!(&self.inner(py)?.any, manager => {
            let manager = manager.clone();
            let work = async move { manager.force_release(&name).await };
            operation(work, |py, eviction| inspection::eviction(py, &eviction))
        }))
    }

    fn operator(&self, py: Python<'_>) -> PyResult<NativeOperator> {
        let operator = self.inner(py)?.builder.operator();
        Ok(NativeOperator::new(
            operator.map_err(|error| error.raise(py))?,
        ))
    }

    /// Ends all waiting, and waits for the releases that are under way. Returns how many are not confirmed.
    fn shutdown(&self, py: Python<'_>) -> PyResult<Operation> {
        Ok(both!(&self.inner(py)?.any, manager => {
            let manager = manager.clone();
            let work = async move { manager.shutdown().await };
            sure(work, |py, left| Ok(left.into_pyobject(py)?.unbind()))
        }))
    }

    /// How many leases are held.
    fn held(&self) -> usize {
        self.0.get().map_or(0, |inner| inner.leases.count())
    }

    /// Gives back, in the background, what is held, and returns how much that is.
    fn release_all(&self) -> usize {
        self.0.get().map_or(0, |inner| inner.leases.release())
    }
}

/// An election with these options, and this label.
fn candidacy<M: Mode>(
    manager: &LockManager<M>,
    name: &str,
    inner: &Inner,
    options: &Bound<'_, PyDict>,
    label: Option<String>,
) -> PyResult<Result<Election<M>, ConfigError>> {
    let election = if options.is_empty() {
        manager.election(name)
    } else {
        manager.election_with(name, election_options(inner, options)?)
    };
    Ok(election.and_then(|election| match label {
        Some(label) => election.labelled(&label),
        None => Ok(election),
    }))
}

/// Of an election that has options: unless they say so, there is no maximum.
fn election_options(inner: &Inner, given: &Bound<'_, PyDict>) -> PyResult<LockOptions> {
    let options = inner.options(given)?;
    if given.contains("max_hold")? {
        return Ok(options);
    }
    Ok(options.max_hold_unlimited())
}
