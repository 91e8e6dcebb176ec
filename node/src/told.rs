//! What the library tells, as plain values.

use crate::failure::{cause, faults, holder, millis};
use leasehold::{
    ElectionState, HeldPermits, Inspection, Key, LeaseState, NodeHealth, NodeKey, ReleaseOutcome,
    timestamp::TimestampReleaseOutcome,
};
use serde_json::{Value, json};

pub(crate) fn state(state: &LeaseState) -> Value {
    let mut value = json!({ "is": "held", "message": state.to_string() });
    match state {
        LeaseState::InDanger(danger) => {
            value["is"] = "in-danger".into();
            value["remaining"] = millis(danger.remaining).into();
            value["faults"] = faults(danger.faults());
        }
        LeaseState::Lost(lost) => {
            value["is"] = "lost".into();
            value["cause"] = cause(&lost.cause).into();
        }
        LeaseState::Released => value["is"] = "released".into(),
        _ => {}
    }
    value
}

/// How a release of the caller's own ended.
pub(crate) fn own_release(outcome: &ReleaseOutcome) -> Value {
    if outcome.is_released() {
        // The usual one, of which JavaScript makes what it shows.
        return true.into();
    }
    let mut value = json!({ "is": "unknown", "message": outcome.to_string() });
    match outcome {
        ReleaseOutcome::AlreadyExpired => value["is"] = "already-expired".into(),
        ReleaseOutcome::TakenByAnother { holder: by } => {
            value["is"] = "taken-by-another".into();
            value["holder"] = holder(by);
        }
        ReleaseOutcome::Unknown { faults: of } => value["faults"] = faults(of),
        _ => {}
    }
    value
}

/// How a release ended.
pub(crate) fn release(outcome: &ReleaseOutcome) -> Value {
    match outcome.is_released() {
        true => json!({ "is": "released" }),
        false => own_release(outcome),
    }
}

pub(crate) fn election(state: &ElectionState) -> Value {
    let mut value = json!({ "is": "unknown", "message": state.to_string() });
    match state {
        ElectionState::Led(leader) => {
            value["is"] = "led".into();
            value["leader"] = holder(&leader.owner);
            value["leader"]["label"] = leader.label().into();
            value["termAtMost"] = leader.term_at_most.map(leasehold::FencingToken::get).into();
            value["remaining"] = leader.remaining.map(millis).into();
        }
        ElectionState::NoLeader => value["is"] = "no-leader".into(),
        _ => {}
    }
    value
}

pub(crate) fn inspection(seen: &Inspection) -> Value {
    json!({
        "message": seen.to_string(),
        "resource": seen.resource().as_str(),
        "holder": seen.holder().map(holder),
        "remaining": seen.remaining().map(millis),
        "isFree": seen.is_free(),
        "isRead": seen.is_read(),
        "isUnclear": seen.is_unclear(),
        "otherType": seen.other_type(),
        "quorum": seen.quorum(),
        "tokenAtMost": seen.token_at_most().map(leasehold::FencingToken::get),
        "permits": seen.permits().as_ref().map(permits),
        "nodes": seen.nodes().iter().map(node_key).collect::<Value>(),
    })
}

fn permits(permits: &HeldPermits) -> Value {
    let held = permits.held.iter().map(|permit| {
        json!({
            "slot": permit.slot,
            "holder": holder(&permit.holder),
            "remaining": millis(permit.remaining),
        })
    });
    json!({ "of": permits.of, "held": held.collect::<Value>() })
}

fn node_key(of: &NodeKey) -> Value {
    let mut value = json!({
        "node": of.node.as_str(),
        "key": "free",
        "counter": of.counter.map(leasehold::FencingToken::get),
    });
    match &of.key {
        Key::Held {
            holder: by,
            remaining,
        } => {
            value["key"] = "held".into();
            value["holder"] = holder(by);
            value["remaining"] = remaining.map(millis).into();
        }
        Key::Read { remaining } => {
            value["key"] = "read".into();
            value["remaining"] = millis(*remaining).into();
        }
        Key::Permits(of) => {
            value["key"] = "permits".into();
            value["permits"] = permits(of);
        }
        Key::Foreign {
            kind, remaining, ..
        } => {
            value["key"] = "foreign".into();
            value["type"] = kind.clone().into();
            value["remaining"] = remaining.map(millis).into();
        }
        Key::Unknown(fault) => {
            value["key"] = "unknown".into();
            value["message"] = fault.to_string().into();
        }
        _ => {}
    }
    value
}

pub(crate) fn health(health: &NodeHealth) -> Value {
    use leasehold::NodeConnection as To;
    let (connection, why) = match &health.connection {
        To::Connecting => ("connecting", None),
        To::Up => ("up", None),
        To::Down(why) => ("down", Some(why.as_str())),
        _ => ("unknown", None),
    };
    json!({
        "node": health.node.as_str(),
        "connection": connection,
        "reason": why,
        "clockSteps": health.clock_steps,
        "message": health.to_string(),
    })
}

pub(crate) fn release_of_timestamp(outcome: &TimestampReleaseOutcome) -> Value {
    let is = match outcome {
        TimestampReleaseOutcome::Released => "released",
        TimestampReleaseOutcome::AlreadyExpired => "already-expired",
        TimestampReleaseOutcome::Gone => "gone",
        TimestampReleaseOutcome::Overwritten { .. } => "taken-by-another",
        _ => "unknown",
    };
    json!({ "is": is, "message": outcome.to_string() })
}
