//! What to try next, by what went wrong. The library tells facts; these are advice.

use crate::nodes::Nodes;
use leasehold::AcquireError;

/// A way out for somebody who did not get the lock.
pub(crate) fn not_acquired(error: &AcquireError, nodes: &Nodes, waited: bool) -> Option<String> {
    let hint = match (error, nodes) {
        (AcquireError::TooLate { .. }, _) => "a longer --ttl leaves the nodes more time to answer",
        (error, Nodes::Servers(_)) if error.is_unreachable() => by_fault(error),
        (error, _) if error.is_contention() && !waited => {
            "--wait 30s waits for it; without --no-wait, leasehold waits for ever"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// A way out by what the first of the silent nodes said.
fn by_fault(error: &AcquireError) -> &'static str {
    let said = error
        .faults()
        .first()
        .map(ToString::to_string)
        .unwrap_or_default();
    let knows = |(words, _): &&(&str, &str)| said.contains(words);
    REMEDIES.iter().find(knows).map_or(
        "check the nodes' addresses; for a try, `leasehold servers start` starts servers here",
        |(_, remedy)| remedy,
    )
}

/// What a server says, and what to do about it.
const REMEDIES: [(&str, &str); 7] = [
    (
        "authentication failed",
        "check user and password in the address: redis://user:password@host",
    ),
    (
        "READONLY",
        "a replica cannot vote: name servers that are nobody's replica",
    ),
    (
        "OOM",
        "the server has reached its maxmemory: raise it, or free some",
    ),
    ("NOPERM", PERMISSIONS),
    ("ACL failure", PERMISSIONS),
    ("can't run this command", PERMISSIONS),
    (
        "Redis protocol",
        "something else listens there, or it wants TLS: rediss://host",
    ),
];

const PERMISSIONS: &str =
    "the server's user needs the key, evalsha, eval, script|load, and set, get, del, pexpire, pttl";
