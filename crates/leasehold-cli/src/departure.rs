//! The last master that another one has replaced, by the word of its sentinels.
//!
//! A lease is lost there if the successor had not heard of it, and the library tells of a key that is gone. Who reads that
//! looks for somebody who has deleted it, unless the reason is told.

use leasehold::Observation;
use std::sync::{Mutex, PoisonError};
use tokio::time::Instant;

/// When it was told, and in which words.
static LAST: Mutex<Option<(Instant, String)>> = Mutex::new(None);

/// Takes note of a master that is replaced.
pub(crate) fn note(observation: &Observation<'_>) {
    if let Observation::Down { node, reason, .. } = observation
        && reason.contains(WORDS)
    {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((Instant::now(), format!("{node}: {reason}")));
    }
}

/// The last one since then.
pub(crate) fn since(begun: Instant) -> Option<String> {
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let last = last.as_ref().filter(|(when, _)| *when >= begun);
    last.map(|(_, words)| words.clone())
}

/// As the library says it.
const WORDS: &str = "names another server as the master";
