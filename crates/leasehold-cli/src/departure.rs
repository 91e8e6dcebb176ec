//! Servers whose places others have taken: a master, by the word of its sentinels, or a node of the list, by `reconfigure`.
//!
//! A lease of a master is lost there if the successor had not heard of it, and the library tells of a key that is gone. Who reads that
//! looks for somebody who has deleted it, unless the reason is told.

use crate::output;
use leasehold::{
    Observation,
    operate::{Examination, Told},
};
use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};
use tokio::time::Instant;

/// When it was told, and in which words.
static LAST: Mutex<Option<(Instant, String)>> = Mutex::new(None);

/// What was told to those who look.
static TOLD: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());

/// Takes note of a master that is replaced, and tells of a node that was.
pub(crate) fn note(observation: &Observation<'_>) {
    if let Observation::Replaced { node, former, .. } = observation {
        tell(&node.to_string(), &former.to_string());
    }
    if let Observation::Down { node, reason, .. } = observation
        && reason.contains(WORDS)
    {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((Instant::now(), format!("{node}: {reason}")));
    }
}

/// Tells of a node that has taken the place of another, which is on our list.
pub(crate) fn tell(node: &str, former: &str) {
    output::talk(format_args!("{node} {}", taken(former)));
    output::hint(AMEND);
}

/// The same, once: for those who look again and again.
pub(crate) fn tell_once(node: &str, former: &str) {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.insert((node.to_owned(), former.to_owned())) {
        tell(node, former);
    }
}

/// What is to be said of a node that has taken the place of this one.
pub(crate) fn taken(former: &str) -> String {
    format!("has taken the place of {former}, which is on the list here")
}

/// What is to be done then.
pub(crate) const AMEND: &str = "name the new node in --nodes, LEASEHOLD_NODES or the configuration file; with two of them missing \
                                there, no lock can be acquired";

/// A node that is not on the list itself, and the one whose place it has taken.
pub(crate) fn replaced(told: &Told<Examination>) -> Option<(String, String)> {
    let former = told.former.as_ref()?;
    Some((told.node.to_string(), former.to_string()))
}

/// The last one since then.
pub(crate) fn since(begun: Instant) -> Option<String> {
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let last = last.as_ref().filter(|(when, _)| *when >= begun);
    last.map(|(_, words)| words.clone())
}

/// As the library says it.
const WORDS: &str = "names another server as the master";
