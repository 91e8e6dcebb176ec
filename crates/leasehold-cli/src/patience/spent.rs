//! What a wait has spent and found in all, where it was made of two calls of the library.

use leasehold::{AcquireError, FaultKind};
use std::time::Duration;

/// The error with which a wait for a lock with this TTL ended, with what the call `before` had spent: the time without a
/// word, and its attempts. The reason is the last that is evidence.
pub(super) fn with_before(
    error: AcquireError,
    before: AcquireError,
    ttl: Duration,
) -> AcquireError {
    let (mut told, other) = if is_cut_short(&error, ttl) {
        (before, error)
    } else {
        (error, before)
    };
    if let AcquireError::TimedOut { waited, last, .. } = &other {
        add(&mut told, *waited, attempts(last));
    }
    told
}

/// Whether a call ended in the silence of nodes that it gave less time than they may take: that is no evidence.
fn is_cut_short(error: &AcquireError, ttl: Duration) -> bool {
    let AcquireError::TimedOut { waited, last, .. } = error else {
        return false;
    };
    let AcquireError::Unreachable(unreachable) = &**last else {
        return false;
    };
    let faults = unreachable.faults.iter();
    let told = faults.filter(|fault| fault.kind() != FaultKind::TimedOut);
    let spare = unreachable.nodes - unreachable.quorum;
    *waited < node_limit(ttl) && told.count() <= spare
}

/// How long one node may take to answer, as in the library, which does not tell.
fn node_limit(ttl: Duration) -> Duration {
    (ttl / 20).clamp(Duration::from_millis(20), Duration::from_millis(500))
}

fn add(error: &mut AcquireError, more: Duration, attempts: u32) {
    match error {
        AcquireError::TimedOut { waited, last, .. } => {
            *waited += more;
            add(last, more, attempts);
        }
        AcquireError::Held(held) => {
            held.waited += more;
            held.attempts += attempts;
        }
        AcquireError::Unreachable(unreachable) => {
            unreachable.waited += more;
            unreachable.attempts += attempts;
        }
        AcquireError::Abstained(abstained) => {
            abstained.waited += more;
            abstained.attempts += attempts;
        }
        _ => {}
    }
}

fn attempts(error: &AcquireError) -> u32 {
    match error {
        AcquireError::Held(held) => held.attempts,
        AcquireError::Unreachable(unreachable) => unreachable.attempts,
        AcquireError::Abstained(abstained) => abstained.attempts,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold::{LockManager, LockOptions, NodeFault};

    /// How an attempt on nodes that nobody can reach ends, after so long.
    fn unreachable(patience: Duration) -> AcquireError {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().expect("a runtime");
        let manager = LockManager::builder()
            .nodes(["redis://127.0.0.1:1"])
            .defaults(LockOptions::new())
            .build()
            .expect("an address");
        let mutex = manager.mutex("r").expect("a plain name");
        let error = runtime.block_on(mutex.acquire_within(patience));
        error.map(drop).expect_err("nobody is there")
    }

    #[test]
    fn the_time_without_a_word_counts() {
        let patience = Duration::from_millis(120);
        let (before, later) = (unreachable(patience), unreachable(patience));
        let tries = |error: &AcquireError| match error {
            AcquireError::TimedOut { waited, last, .. } => (*waited, attempts(last)),
            other => panic!("{other:?}"),
        };
        let ((first, some), (second, more)) = (tries(&before), tries(&later));
        let faults: Vec<NodeFault> = later.faults().to_vec();
        let all = with_before(later, before, Duration::from_secs(10));
        assert_eq!(tries(&all), (first + second, some + more));
        assert_eq!(all.faults(), faults, "the reason is the last");
    }
}
