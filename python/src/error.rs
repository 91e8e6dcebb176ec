//! Errors of Rust as exceptions of Python, by what the caller can do.
//!
//! Each has the text of the error that it was.

use crate::facts::{facts, faults, names, resource, some_holder, span, spans};
use leasehold::{
    AcquireError, AdoptError, ConfigError, DowngradeError, ExtendError, Held, InspectError,
    LeaseLost, LossCause, NotKept, ReconfigureError, Resource,
};
use pyo3::{prelude::*, types::PyDict};
use std::fmt::Display;

/// An error that Python has an exception for.
pub(crate) trait Raise {
    fn raise(self, py: Python<'_>) -> PyErr;
}

/// An exception of a class of `leasehold._errors`.
pub(crate) fn exception(
    py: Python<'_>,
    class: &str,
    text: &impl Display,
    facts: PyResult<Bound<'_, PyDict>>,
) -> PyErr {
    let made = || {
        let class = py.import("leasehold._errors")?.getattr(class)?;
        let value = class.call((text.to_string(),), Some(&facts?))?;
        Ok(PyErr::from_value(value))
    };
    made().unwrap_or_else(|error: PyErr| error)
}

/// Options, addresses or names that are wrong.
pub(crate) fn wrong(py: Python<'_>, text: &impl Display) -> PyErr {
    exception(py, "ConfigError", text, Ok(PyDict::new(py)))
}

impl Raise for ConfigError {
    fn raise(self, py: Python<'_>) -> PyErr {
        wrong(py, &self)
    }
}

impl Raise for PyErr {
    fn raise(self, _: Python<'_>) -> PyErr {
        self
    }
}

/// The name of a lock, as texts have it: several names are told with a comma between them.
pub(crate) fn name(of: &Resource) -> String {
    resource(of).join(", ")
}

fn held_facts<'py>(py: Python<'py>, held: &Held) -> PyResult<Bound<'py, PyDict>> {
    Ok(facts!(py, {
        name: name(&held.resource),
        holder: some_holder(py, held.holder.as_ref())?,
        remaining: spans(held.remaining),
        ahead: held.ahead,
        held_on: names(&held.held_on),
        kept_on: names(&held.kept_on),
        granted_on: names(&held.granted_on),
        nodes: faults(py, &held.faults)?,
        taken_permits: held.permits.as_ref().map(|permits| permits.slots.len()),
        permits: held.permits.as_ref().map(|permits| permits.of.get()),
        attempts: held.attempts,
        waited: span(held.waited),
    }))
}

/// The class and the facts of a reason. If the caller's patience ran out, those of the last attempt: what one can do about it
/// is the same.
fn acquire_facts<'py>(
    py: Python<'py>,
    error: &AcquireError,
) -> (&'static str, PyResult<Bound<'py, PyDict>>) {
    let of = error.resource();
    match error {
        AcquireError::Held(held) => ("Held", held_facts(py, held)),
        AcquireError::AlreadyDone(held) => ("AlreadyDone", held_facts(py, held)),
        AcquireError::Unreachable(inner) => (
            "Unreachable",
            (|| {
                Ok(facts!(py, {
                    name: name(of), nodes: faults(py, &inner.faults)?, quorum: inner.quorum,
                    attempts: inner.attempts, waited: span(inner.waited),
                }))
            })(),
        ),
        AcquireError::Abstained(inner) => (
            "Abstained",
            (|| {
                Ok(facts!(py, {
                    name: name(of), nodes: faults(py, &inner.faults)?, quorum: inner.quorum,
                    attempts: inner.attempts, waited: span(inner.waited), remaining: span(inner.left),
                }))
            })(),
        ),
        error => other_facts(py, error),
    }
}

/// The same, for what is no question of votes.
fn other_facts<'py>(
    py: Python<'py>,
    error: &AcquireError,
) -> (&'static str, PyResult<Bound<'py, PyDict>>) {
    let of = error.resource();
    match error {
        AcquireError::Disagreement {
            ours,
            faults: those,
            ..
        } => (
            "Disagreement",
            (|| {
                Ok(facts!(py, {
                    name: name(of), nodes: faults(py, those)?, ours: ours,
                }))
            })(),
        ),
        AcquireError::OtherPermits {
            ours,
            theirs,
            remaining,
            ..
        } => (
            "OtherPermits",
            (|| {
                Ok(facts!(py, {
                    name: name(of), ours: *ours, theirs: *theirs, remaining: span(*remaining),
                }))
            })(),
        ),
        AcquireError::TooLate { elapsed, ttl, .. } => (
            "TooLate",
            (|| {
                Ok(facts!(py, {
                    name: name(of), elapsed: span(*elapsed), ttl: span(*ttl),
                }))
            })(),
        ),
        AcquireError::TimedOut { waited, last, .. } => {
            let (class, facts) = acquire_facts(py, last);
            let facts = facts.and_then(|facts| {
                facts.set_item("timed_out", true)?;
                facts.set_item("waited", span(*waited))?;
                Ok(facts)
            });
            (class, facts)
        }
        AcquireError::ShutDown { .. } => ("ShutDown", just_name(py, of)),
        AcquireError::Forked { .. } => ("Forked", just_name(py, of)),
        _ => ("AcquireError", just_name(py, of)),
    }
}

fn just_name<'py>(py: Python<'py>, of: &Resource) -> PyResult<Bound<'py, PyDict>> {
    Ok(facts!(py, { name: name(of) }))
}

impl Raise for AcquireError {
    fn raise(self, py: Python<'_>) -> PyErr {
        let (class, facts) = acquire_facts(py, &self);
        exception(py, class, &self, facts)
    }
}

impl Raise for ExtendError {
    fn raise(self, py: Python<'_>) -> PyErr {
        let nodes: &[_] = match &self {
            Self::Unreachable { faults, .. } => faults,
            _ => &[],
        };
        let holder = match &self {
            Self::Gone { holder, .. } => holder.as_ref(),
            _ => None,
        };
        let kind = match &self {
            Self::Lost { .. } => "lost",
            Self::Released { .. } => "released",
            Self::Gone { .. } => "gone",
            Self::Unreachable { .. } => "unreachable",
            Self::Limit { .. } => "limit",
            Self::TooShort { .. } => "too_short",
            Self::Timing { .. } => "timing",
            Self::ShutDown { .. } => "shut_down",
            _ => "other",
        };
        let facts = (|| {
            Ok(facts!(py, {
                name: name(self.resource()), kind: kind, is_lost: self.is_lost(),
                nodes: faults(py, nodes)?, holder: some_holder(py, holder)?,
            }))
        })();
        exception(py, "ExtendError", &self, facts)
    }
}

/// The word for what ended a lease.
pub(crate) const fn cause(of: &LossCause) -> &'static str {
    match of {
        LossCause::TimedOut { .. } => "timed_out",
        LossCause::Gone { .. } => "gone",
        LossCause::ClockStepped { .. } => "clock_stepped",
        LossCause::ExtensionLimit { .. } => "extension_limit",
        LossCause::HoldLimit { .. } => "hold_limit",
        LossCause::NoProgress { .. } => "no_progress",
        LossCause::Released => "released",
        LossCause::Forked => "forked",
        LossCause::Stopped => "stopped",
        _ => "other",
    }
}

impl Raise for LeaseLost {
    fn raise(self, py: Python<'_>) -> PyErr {
        let holder = match &self.cause {
            LossCause::Gone { holder, .. } => holder.as_ref(),
            _ => None,
        };
        let facts = (|| {
            Ok(facts!(py, {
                name: name(&self.resource), cause: cause(&self.cause), holder: some_holder(py, holder)?,
            }))
        })();
        exception(py, "LeaseLost", &self, facts)
    }
}

/// What is told of a lease of the process of which this one is a fork.
pub(crate) fn foreign(py: Python<'_>, names: &[String]) -> PyErr {
    let name = names.join(", ");
    let text = format!(
        "lost the lock {name:?}: this process is a fork of the one that holds it, which goes on holding it"
    );
    let facts = (|| Ok(facts!(py, { name: name, cause: "forked" })))();
    exception(py, "LeaseLost", &text, facts)
}

/// What is told of a lease that was given back.
pub(crate) fn released(py: Python<'_>, names: &[String]) -> PyErr {
    let name = names.join(", ");
    let text = format!("the lock {name:?} was given back already");
    let facts = (|| Ok(facts!(py, { name: name, cause: "released" })))();
    exception(py, "LeaseLost", &text, facts)
}

impl Raise for NotKept {
    fn raise(self, py: Python<'_>) -> PyErr {
        exception(py, "NotKept", &self, Ok(PyDict::new(py)))
    }
}

impl Raise for InspectError {
    fn raise(self, py: Python<'_>) -> PyErr {
        exception(py, "InspectError", &self, Ok(PyDict::new(py)))
    }
}

impl Raise for ReconfigureError {
    fn raise(self, py: Python<'_>) -> PyErr {
        exception(py, "ReconfigureError", &self, Ok(PyDict::new(py)))
    }
}

impl Raise for AdoptError {
    fn raise(self, py: Python<'_>) -> PyErr {
        let facts = (|| match &self {
            Self::Gone {
                resource, holder, ..
            } => Ok(facts!(py, {
                name: name(resource), holder: some_holder(py, holder.as_ref())?,
            })),
            _ => Ok(PyDict::new(py)),
        })();
        exception(py, "AdoptError", &self, facts)
    }
}

impl Raise for DowngradeError {
    fn raise(self, py: Python<'_>) -> PyErr {
        let facts = (|| match &self {
            Self::Gone {
                resource, holder, ..
            } => Ok(facts!(py, {
                name: name(resource), holder: some_holder(py, holder.as_ref())?,
            })),
            _ => Ok(PyDict::new(py)),
        })();
        exception(py, "DowngradeError", &self, facts)
    }
}
