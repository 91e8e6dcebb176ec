//! What a server's answer to a script means.

use super::codec::Value;
use leasehold_core::{Fault, FaultKind, Owner, Refusal, Vote};
use std::time::Duration;

/// A script's answer as a vote; none if the server has forgotten the script.
pub(super) fn vote(value: Value) -> Option<Vote> {
    match value {
        Value::Integer(1) => Some(Vote::Granted),
        Value::Array(items) => Some(refused(&items)),
        Value::Error(error) if error.starts_with("NOSCRIPT") => None,
        // An error comes before the step or instead of it: nothing was changed.
        Value::Error(error) => Some(rejected(&error)),
        Value::Integer(_) | Value::Nil | Value::Text(_) | Value::Push => Some(strange()),
    }
}

/// The server said that it will not do it, and why.
pub(super) fn rejected(reason: &str) -> Vote {
    // What is wrong stands before the place in the script.
    let reason = reason.split(" script: ").next().unwrap_or(reason);
    Vote::Unknown(Fault::new(FaultKind::Rejected, reason))
}

fn refused(items: &[Value]) -> Vote {
    let [Value::Integer(pttl_ms), holder] = items else {
        return strange();
    };
    let holder = match holder {
        Value::Text(bytes) => Owner::from_bytes(bytes),
        _ => None,
    };
    // -2 is no key, -1 a key that lives for ever.
    let remaining = u64::try_from(*pttl_ms).ok().map(Duration::from_millis);
    Vote::Refused(Refusal { holder, remaining })
}

/// Whatever answered, it did not run our script; what it did instead is not known.
fn strange() -> Vote {
    Vote::Unknown(Fault::new(
        FaultKind::Disconnected,
        "an answer that no script of ours gives",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.as_bytes().to_vec())
    }

    fn kind(value: Value) -> Option<FaultKind> {
        match vote(value) {
            Some(Vote::Unknown(fault)) => Some(fault.kind()),
            _ => None,
        }
    }

    #[test]
    fn refusals_tell_holder_and_time_as_far_as_the_key_has_them() {
        let refusal = |pttl, holder| match vote(Value::Array(vec![Value::Integer(pttl), holder])) {
            Some(Vote::Refused(Refusal { holder, remaining })) => {
                (holder.map(|owner| owner.to_string()), remaining)
            }
            other => panic!("{other:?}"),
        };
        let half = Some(Duration::from_millis(500));
        assert_eq!(refusal(500, text("a")), (Some("a".into()), half));
        assert_eq!(refusal(-1, text("a")), (Some("a".into()), None));
        assert_eq!(refusal(500, Value::Nil), (None, half));
        assert_eq!(refusal(-2, Value::Nil), (None, None));
    }

    #[test]
    fn only_a_one_is_a_grant() {
        assert_eq!(vote(Value::Integer(1)), Some(Vote::Granted));
        for value in [
            Value::Integer(0),
            Value::Nil,
            text("OK"),
            Value::Array(vec![]),
        ] {
            assert_eq!(kind(value), Some(FaultKind::Disconnected));
        }
    }

    #[test]
    fn errors_are_no_votes_and_keep_the_servers_words() {
        assert_eq!(
            kind(Value::Error("OOM command not allowed".into())),
            Some(FaultKind::Rejected)
        );
        assert_eq!(
            vote(Value::Error("NOSCRIPT No matching script".into())),
            None
        );
        let Some(Vote::Unknown(fault)) = vote(Value::Error("READONLY You can't".into())) else {
            panic!("an error is no vote");
        };
        assert_eq!(fault.to_string(), "READONLY You can't");
    }
}
