//! What nodes said, as objects of Python.

use crate::{
    facts::{facts, faults, holder, object, resource, some_holder, span, spans, token},
    lease::release_outcome,
};
use leasehold::{ElectionState, Eviction, HeldPermits, Inspection, Key, NodeKey};
use pyo3::{prelude::*, types::PyDict};

pub(crate) fn told(py: Python<'_>, seen: &Inspection) -> PyResult<Py<PyAny>> {
    let nodes: PyResult<Vec<_>> = seen.nodes().iter().map(|node| node_key(py, node)).collect();
    let permits = seen
        .permits()
        .map(|permits| held_permits(py, &permits))
        .transpose()?;
    let facts = facts!(py, {
        names: resource(seen.resource()),
        text: seen.to_string(),
        holder: some_holder(py, seen.holder())?,
        remaining: spans(seen.remaining()),
        is_free: seen.is_free(),
        is_read: seen.is_read(),
        is_unclear: seen.is_unclear(),
        token_at_most: token(seen.token_at_most()),
        other_type: seen.other_type(),
        permits: permits,
        quorum: seen.quorum(),
        nodes: nodes?,
    });
    object(py, "Inspection", &facts)
}

fn held_permits(py: Python<'_>, permits: &HeldPermits) -> PyResult<Py<PyAny>> {
    let held: PyResult<Vec<_>> = permits
        .held
        .iter()
        .map(|permit| {
            let facts = facts!(py, {
                slot: permit.slot, holder: holder(py, &permit.holder)?, remaining: span(permit.remaining),
            });
            object(py, "HeldPermit", &facts)
        })
        .collect();
    let facts = facts!(py, { of: permits.of, held: held?, text: permits.to_string() });
    object(py, "HeldPermits", &facts)
}

fn node_key(py: Python<'_>, node: &NodeKey) -> PyResult<Py<PyAny>> {
    let (word, remaining, fault) = match &node.key {
        Key::Free => ("free", None, None),
        Key::Held { remaining, .. } => ("held", *remaining, None),
        Key::Read { remaining } => ("read", Some(*remaining), None),
        Key::Permits(_) => ("permits", None, None),
        Key::Foreign { remaining, .. } => ("foreign", *remaining, None),
        Key::Unknown(fault) => ("unknown", None, Some(fault)),
        _ => ("other", None, None),
    };
    let permits = node
        .key
        .permits()
        .map(|permits| held_permits(py, permits))
        .transpose()?;
    let fault = match fault {
        Some(fault) => faults(py, std::slice::from_ref(fault))?.pop(),
        None => None,
    };
    let facts = facts!(py, {
        node: node.node.to_string(), kind: word, text: node.key.to_string(),
        holder: some_holder(py, node.key.holder())?, remaining: spans(remaining), permits: permits,
        fault: fault, counter: token(node.counter),
    });
    object(py, "NodeKey", &facts)
}

pub(crate) fn eviction(py: Python<'_>, eviction: &Eviction) -> PyResult<Py<PyAny>> {
    let evicted: PyResult<Vec<_>> = eviction
        .evicted
        .iter()
        .map(|(owner, outcome)| Ok((holder(py, owner)?, release_outcome(py, outcome)?)))
        .collect();
    let facts = facts!(py, { before: told(py, &eviction.before)?, evicted: evicted? });
    object(py, "Eviction", &facts)
}

pub(crate) fn election(py: Python<'_>, state: &ElectionState) -> PyResult<Py<PyAny>> {
    let facts = match state {
        ElectionState::Led(leader) => facts!(py, {
            kind: "led", leader: holder(py, &leader.owner)?, label: leader.label(),
            term_at_most: token(leader.term_at_most), remaining: spans(leader.remaining),
        }),
        ElectionState::NoLeader => facts!(py, { kind: "no_leader" }),
        _ => facts!(py, { kind: "unknown" }),
    };
    facts.set_item("text", state.to_string())?;
    object(py, "ElectionState", &facts)
}

/// Facts and a text of them.
pub(crate) fn object_of(
    py: Python<'_>,
    class: &str,
    facts: &Bound<'_, PyDict>,
    text: String,
) -> PyResult<Py<PyAny>> {
    facts.set_item("text", text)?;
    object(py, class, facts)
}
