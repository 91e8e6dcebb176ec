//! Facts of Rust as objects of Python.

use leasehold::{FaultKind, FencingToken, Holder, NodeFault, NodeName, Owner, Resource};
use pyo3::{prelude::*, types::PyDict};
use std::time::Duration;

/// An object of a class of `leasehold._facts`, made by keyword arguments.
pub(crate) fn object(
    py: Python<'_>,
    class: &str,
    facts: &Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    let class = py.import("leasehold._facts")?.getattr(class)?;
    Ok(class.call((), Some(facts))?.unbind())
}

/// Keyword arguments.
macro_rules! facts {
    ($py:expr, { $($name:ident: $value:expr),* $(,)? }) => {{
        let facts = pyo3::types::PyDict::new($py);
        $(facts.set_item(stringify!($name), $value)?;)*
        facts
    }};
}
pub(crate) use facts;

pub(crate) fn span(span: Duration) -> f64 {
    span.as_secs_f64()
}

pub(crate) fn spans(of: Option<Duration>) -> Option<f64> {
    of.map(span)
}

pub(crate) fn token(token: Option<FencingToken>) -> Option<u64> {
    token.map(FencingToken::get)
}

pub(crate) fn names(of: &[NodeName]) -> Vec<String> {
    of.iter().map(ToString::to_string).collect()
}

/// The name of a lock as a person gave it: of several names, each.
pub(crate) fn resource(of: &Resource) -> Vec<String> {
    of.names().map(str::to_owned).collect()
}

/// An owner as the text that stands under the key, by which every program finds the lease again. One of other programs that
/// is no text is shown escaped.
pub(crate) fn owner_text(owner: &Owner) -> String {
    std::str::from_utf8(owner.as_bytes()).map_or_else(|_| owner.to_string(), str::to_owned)
}

pub(crate) fn holder(py: Python<'_>, owner: &Owner) -> PyResult<Py<PyAny>> {
    let holder = Holder::of(owner);
    let text = holder.to_string();
    let (host, pid, since, label) = match holder {
        Holder::Process {
            host,
            pid,
            since,
            label,
            ..
        } => (Some(host), Some(pid), Some(since), label),
        Holder::Named { name, .. } => (None, None, None, Some(name)),
        _ => (None, None, None, None),
    };
    let facts = facts!(py, {
        text: text, host: host, pid: pid, since: spans(since), label: label, owner: owner_text(owner),
    });
    object(py, "Holder", &facts)
}

pub(crate) fn some_holder(py: Python<'_>, owner: Option<&Owner>) -> PyResult<Option<Py<PyAny>>> {
    owner.map(|owner| holder(py, owner)).transpose()
}

pub(crate) fn faults(py: Python<'_>, faults: &[NodeFault]) -> PyResult<Vec<Py<PyAny>>> {
    let fault = |fault: &NodeFault| {
        let facts = facts!(py, {
            node: fault.node().to_string(), reason: reason(fault), kind: kind(fault.kind()),
        });
        object(py, "NodeFault", &facts)
    };
    faults.iter().map(fault).collect()
}

/// The text of a fault without the node's name.
fn reason(fault: &NodeFault) -> String {
    let (node, text) = (fault.node().to_string(), fault.to_string());
    let rest = text
        .strip_prefix(&node)
        .and_then(|rest| rest.strip_prefix(": "));
    rest.map_or_else(|| text.clone(), str::to_owned)
}

fn kind(kind: FaultKind) -> String {
    snake(&format!("{kind:?}"))
}

/// `TimedOut` as `timed_out`.
pub(crate) fn snake(camel: &str) -> String {
    let mut text = String::new();
    for (place, letter) in camel.char_indices() {
        if letter.is_ascii_uppercase() && place > 0 {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}
