//! What an engine asked and told, as text.

use core::time::Duration;
use leasehold_core::{
    AcquireFailure, Cause, Ended, Event, ExtendFailure, Fault, Instant, NodeId, NodeSet,
    Opposition, Quorum, ReleaseOutcome, Request,
};

pub(crate) fn moment(at: Instant) -> String {
    time(at.since_origin())
}

pub(crate) fn time(duration: Duration) -> String {
    let rest = duration.subsec_nanos() % 1_000_000;
    if rest == 0 {
        format!("{}ms", duration.as_millis())
    } else {
        format!("{}.{rest:06}ms", duration.as_millis())
    }
}

pub(crate) fn nodes(nodes: NodeSet, quorum: Quorum) -> String {
    if nodes == quorum.nodes() {
        return "all".into();
    }
    let names: Vec<_> = nodes.iter().map(|node| node.to_string()).collect();
    names.join(" ")
}

pub(crate) const fn verb(request: &Request) -> &'static str {
    match request {
        Request::Acquire { .. } => "acquire",
        Request::Extend { .. } => "extend",
        Request::Release { .. } => "release",
    }
}

pub(crate) fn event(event: &Event) -> String {
    match event {
        Event::Acquired(lease) => format!("acquired, valid until {}", moment(lease.valid_until)),
        Event::NotAcquired(failure) => not_acquired(failure),
        Event::Extended(valid_until) => format!("extended, valid until {}", moment(*valid_until)),
        Event::NotExtended(failure) => format!("not extended: {}", not_extended(failure)),
        Event::Released(outcome) => released(outcome),
    }
}

fn not_acquired(failure: &AcquireFailure) -> String {
    let ended = match failure.ended {
        Ended::Tries => "tries used up",
        Ended::Patience => "patience over",
        Ended::Unreachable => "unreachable for too long",
        Ended::Cancelled => "cancelled",
        Ended::Misuse => "misuse",
        _ => "unheard of",
    };
    let tries = match failure.attempts {
        1 => "1 try".to_owned(),
        tries => format!("{tries} tries"),
    };
    let (cause, waited) = (cause(&failure.cause), time(failure.waited));
    format!("not acquired after {tries} and {waited} ({ended}): {cause}")
}

fn cause(cause: &Cause) -> String {
    match cause {
        Cause::Held(opposition) => format!("held, {}", opposed(opposition)),
        Cause::Unreachable {
            granted,
            refused,
            faults: reasons,
        } => {
            format!(
                "unreachable, {granted} granted, {refused} refused{}",
                faults(reasons)
            )
        }
        Cause::TooLate { elapsed } => format!("too late by a vote of {}", time(*elapsed)),
        Cause::Cancelled => "cancelled".into(),
        Cause::OwnerRepeated => "owner repeated".into(),
        _ => "unheard of".into(),
    }
}

fn not_extended(failure: &ExtendFailure) -> String {
    match failure {
        ExtendFailure::Lost => "lost".into(),
        ExtendFailure::Gone(opposition) => format!("gone, {}", opposed(opposition)),
        ExtendFailure::Unreachable {
            granted,
            refused,
            faults: reasons,
        } => {
            format!(
                "unreachable, {granted} granted, {refused} refused{}",
                faults(reasons)
            )
        }
        ExtendFailure::Released => "released meanwhile".into(),
        _ => "unheard of".into(),
    }
}

fn released(outcome: &ReleaseOutcome) -> String {
    match outcome {
        ReleaseOutcome::Released => "released".into(),
        ReleaseOutcome::AlreadyExpired => "already expired".into(),
        ReleaseOutcome::TakenByAnother { holder } => format!("taken by {holder}"),
        ReleaseOutcome::Unknown {
            settled,
            faults: reasons,
        } => {
            format!("release unknown, {settled} settled{}", faults(reasons))
        }
        _ => "unheard of".into(),
    }
}

fn opposed(opposition: &Opposition) -> String {
    let mut out = format!("{} refused", opposition.refused);
    if let Some(holder) = &opposition.holder {
        out += &format!(" by={holder}");
    }
    if let Some(remaining) = opposition.remaining {
        out += &format!(" left={}", time(remaining));
    }
    out + &faults(&opposition.faults)
}

fn faults(faults: &[(NodeId, Fault)]) -> String {
    faults
        .iter()
        .map(|(node, fault)| format!(", {node} {fault}"))
        .collect()
}
