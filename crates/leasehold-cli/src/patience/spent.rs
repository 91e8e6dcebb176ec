//! What a wait has spent in all, where it was made of two calls of the library.

use leasehold::AcquireError;
use std::time::Duration;

/// The error with which a wait ended, with what the call `before` had spent: the time without a word, and its attempts.
pub(super) fn with_before(mut error: AcquireError, before: &AcquireError) -> AcquireError {
    let AcquireError::TimedOut { waited, last, .. } = before else {
        return error;
    };
    add(&mut error, *waited, attempts(last));
    error
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
        let all = with_before(later, &before);
        assert_eq!(tries(&all), (first + second, some + more));
        assert_eq!(all.faults(), faults, "the reason is the last");
    }
}
