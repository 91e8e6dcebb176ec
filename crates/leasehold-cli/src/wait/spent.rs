//! Joins the errors of the two calls of which one wait is made.

use crate::lock::Patience;
use leasehold::{AcquireError, FaultKind, LockOptions};
use std::time::Duration;

/// The error with which a wait for a lock with this TTL ended, whose second call was given `rest`, with what the call
/// `before` had spent: the time without a word, and its attempts. The reason is the last that is evidence.
pub(super) fn with_before(
    error: AcquireError,
    before: AcquireError,
    rest: Patience,
    ttl: Duration,
) -> AcquireError {
    let (mut told, other) = if is_cut_short(&error, rest, ttl) {
        (before, error)
    } else {
        (error, before)
    };
    if let AcquireError::TimedOut { waited, last, .. } = &other {
        add(&mut told, *waited, attempts(last));
    }
    told
}

/// Whether a call ended in the silence of nodes that it gave less time than they may take: that is no evidence. What it was
/// given counts, and not how long it took on a busy machine.
fn is_cut_short(error: &AcquireError, rest: Patience, ttl: Duration) -> bool {
    let Patience::Within(rest) = rest else {
        return false;
    };
    rest < LockOptions::usual_node_limit(ttl) && is_silence(error)
}

/// Whether time was up before nodes enough had said anything.
pub(super) fn is_silence(error: &AcquireError) -> bool {
    let AcquireError::TimedOut { last, .. } = error else {
        return false;
    };
    let AcquireError::Unreachable(unreachable) = &**last else {
        return false;
    };
    let faults = unreachable.faults.iter();
    let told = faults.filter(|fault| fault.kind() != FaultKind::TimedOut);
    told.count() <= unreachable.nodes - unreachable.quorum
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
    use leasehold::{LockManager, NodeFault};
    use std::net::TcpListener;

    /// How a wait of 120 ms for a lock on this node ends, where nobody is.
    fn unreachable(port: u16) -> AcquireError {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().expect("a runtime");
        let manager = LockManager::builder()
            .nodes([format!("redis://127.0.0.1:{port}")])
            .defaults(LockOptions::new())
            .build()
            .expect("an address");
        let mutex = manager.mutex("r").expect("a plain name");
        let error = runtime.block_on(mutex.acquire_within(Duration::from_millis(120)));
        error.map(drop).expect_err("nobody is there")
    }

    fn tries(error: &AcquireError) -> (Duration, u32) {
        match error {
            AcquireError::TimedOut { waited, last, .. } => (*waited, attempts(last)),
            other => panic!("{other:?}"),
        }
    }

    fn names(error: &AcquireError) -> Vec<String> {
        let nodes = error.faults().iter().map(NodeFault::node);
        nodes.map(ToString::to_string).collect()
    }

    const TTL: Duration = Duration::from_secs(10);

    #[test]
    fn the_time_without_a_word_counts_and_the_reason_is_the_last() {
        let (before, later) = (unreachable(1), unreachable(2));
        let ((first, some), (second, more)) = (tries(&before), tries(&later));
        // However short the rest was: a node that refuses has said so.
        let rest = Patience::Within(Duration::from_millis(1));
        let all = with_before(later, before, rest, TTL);
        assert_eq!(tries(&all), (first + second, some + more));
        assert_eq!(names(&all), ["127.0.0.1:2"]);
    }

    #[test]
    fn silence_is_a_reason_where_a_node_was_given_its_time() {
        // It takes connections, and never answers.
        let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let silent = silent.local_addr().expect("it is bound").port();
        let its_time = LockOptions::usual_node_limit(TTL);
        let too_short = Patience::Within(its_time - Duration::from_millis(1));
        let ends = [
            (too_short, "127.0.0.1:1".to_owned()),
            (Patience::Within(its_time), format!("127.0.0.1:{silent}")),
            (Patience::Forever, format!("127.0.0.1:{silent}")),
        ];
        for (rest, expected) in ends {
            let (before, later) = (unreachable(1), unreachable(silent));
            let ((first, some), (second, more)) = (tries(&before), tries(&later));
            let all = with_before(later, before, rest, TTL);
            assert_eq!(tries(&all), (first + second, some + more));
            assert_eq!(names(&all), [expected], "{rest:?}");
        }
    }
}
