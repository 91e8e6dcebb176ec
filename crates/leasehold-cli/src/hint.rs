//! What to try next, by what went wrong. The library tells facts; these are advice.

use crate::nodes::Nodes;
use leasehold::AcquireError;

/// A way out for somebody who did not get the lock.
pub(crate) fn not_acquired(error: &AcquireError, nodes: &Nodes, waited: bool) -> Option<String> {
    let hint = match (error, nodes) {
        (AcquireError::TooLate { .. }, _) => "a longer --ttl leaves the nodes more time to answer",
        (error, Nodes::Servers(_)) if error.is_unreachable() => {
            "check the addresses in --nodes; for a try, `leasehold servers start` starts servers here"
        }
        (error, _) if error.is_contention() && !waited => {
            "--wait 30s waits for it; without --no-wait, leasehold waits for ever"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}
