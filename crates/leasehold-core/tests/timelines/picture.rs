//! What an engine asked and told, as text.

use core::time::Duration;
use leasehold_core::{
    AcquireFailure, Cause, ClockStep, Danger, Ended, Event, ExtendFailure, Fault, Instant,
    LeaseChange, Loss, NodeId, NodeSet, Opposition, Owner, Quorum, ReleaseOutcome, Request,
    Trouble, Ttl, Vote,
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

fn permit(owner: Option<&Owner>) -> String {
    let permit = owner.and_then(Owner::permit);
    permit.map_or_else(String::new, |permit| format!(" permit {permit}"))
}

/// What is asked, with the time that the key shall live where that is not the config's TTL.
pub(crate) fn verb(request: &Request, usual: Ttl) -> String {
    let (verb, ttl) = match request {
        Request::Acquire { ttl, .. } => ("acquire", Some(*ttl)),
        Request::Repair { ttl, .. } => ("repair", Some(*ttl)),
        Request::Raise { token, .. } => return format!("raise to {token}"),
        Request::Extend { ttl, .. } => ("extend", Some(*ttl)),
        Request::Transfer { ttl, .. } => ("take over", Some(*ttl)),
        Request::Inspect { .. } => ("inspect", None),
        Request::Release { keep, .. } => ("release", *keep),
        Request::Leave { .. } => ("leave", None),
    };
    let permit = permit(request.owner());
    let verb = match ttl.filter(|ttl| *ttl != usual) {
        None => format!("{verb}{permit}"),
        Some(ttl) => format!("{verb}{permit} for {}", time(ttl.as_duration())),
    };
    let verb = match request.place().and_then(|place| place.ticket) {
        Some(ticket) => format!("{verb} with ticket {ticket}"),
        None => verb,
    };
    match request {
        Request::Acquire {
            proposal: Some(proposal),
            ..
        }
        | Request::Repair {
            proposal: Some(proposal),
            ..
        }
        | Request::Transfer {
            proposal: Some(proposal),
            ..
        } => format!("{verb} proposing {proposal}"),
        _ => verb,
    }
}

pub(crate) fn step(step: ClockStep) -> String {
    match step {
        ClockStep::Forward(by) => format!("{} forward", time(by)),
        ClockStep::Back(by) => format!("{} back", time(by)),
    }
}

pub(crate) fn event(event: &Event) -> String {
    match event {
        Event::Acquired(lease) => {
            let token = lease.token.map(|token| format!(" with token {token}"));
            let until = moment(lease.valid_until);
            let what = permit(Some(&lease.owner)) + &token.unwrap_or_default();
            format!("acquired{what}, valid until {until}")
        }
        Event::NotAcquired(failure) => not_acquired(failure),
        Event::Extended(valid_until) => format!("extended, valid until {}", moment(*valid_until)),
        Event::NotExtended(failure) => format!("not extended: {}", not_extended(failure)),
        Event::Released(outcome) => released(outcome),
        Event::HandedOver(true) => "handed over".into(),
        Event::HandedOver(false) => "not handed over: lost".into(),
        Event::Inspected(votes) => inspected(votes),
        Event::Changed(change) => changed(change),
    }
}

fn inspected(votes: &[(NodeId, Vote)]) -> String {
    let words = votes.iter().map(|(node, vote)| match vote {
        Vote::Granted { .. } => format!("{node} free"),
        Vote::Unknown(fault) => format!("{node} {fault}"),
        Vote::Refused(refusal) => match &refusal.holder {
            Some(holder) => format!("{node} by={holder}"),
            None => format!("{node} foreign"),
        },
    });
    words.collect::<Vec<_>>().join(", ")
}

fn changed(change: &LeaseChange) -> String {
    match change {
        LeaseChange::InDanger(Danger {
            valid_until,
            trouble: why,
            ..
        }) => format!(
            "in danger, valid until {}{}",
            moment(*valid_until),
            trouble(why.as_ref())
        ),
        LeaseChange::Confirmed { valid_until } => {
            format!("confirmed, valid until {}", moment(*valid_until))
        }
        LeaseChange::Cut {
            valid_until,
            node,
            step,
        } => format!(
            "cut, valid until {}: {node} was set {} forward",
            moment(*valid_until),
            time(*step)
        ),
        LeaseChange::Lost(loss) => format!("lost: {}", lost(loss)),
    }
}

fn lost(loss: &Loss) -> String {
    match loss {
        Loss::TimedOut { trouble: why } => format!("timed out{}", trouble(why.as_ref())),
        Loss::Gone(opposition) => format!("gone, {}", opposed(opposition)),
        Loss::ExtensionLimit { extensions } => format!("extended {extensions} times, the limit"),
        Loss::ClockStepped { node, step } => {
            format!("{node} was set {} forward", time(*step))
        }
        Loss::HoldLimit { held } => format!("held for {}, the limit", time(*held)),
        Loss::NoProgress { heard } => format!("no progress since {}", moment(*heard)),
        _ => "unheard of".into(),
    }
}

fn trouble(trouble: Option<&Trouble>) -> String {
    trouble.map_or_else(String::new, |trouble| {
        let since = moment(trouble.since);
        format!(
            ", in trouble since {since}: {}",
            not_extended(&trouble.failure)
        )
    })
}

fn not_acquired(failure: &AcquireFailure) -> String {
    let ended = match failure.ended {
        Ended::Tries => "tries used up",
        Ended::Patience => "patience over",
        Ended::Unreachable => "unreachable for too long",
        Ended::Done => "done",
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
        Cause::Abstained {
            left,
            granted,
            refused,
            faults: reasons,
        } => format!(
            "a quorum votes again in {}, {granted} granted, {refused} refused{}",
            time(*left),
            faults(reasons)
        ),
        Cause::Disagreement { faults: reasons } => format!("disagreement{}", faults(reasons)),
        Cause::OtherPermits(theirs) => format!("others have permits of {}", theirs.of),
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
        ExtendFailure::Limit => "at its limit".into(),
        ExtendFailure::Timing(wrong) => wrong.to_string(),
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
    if !opposition.kept.is_empty() {
        out += &format!(" free={}", opposition.kept.len());
    }
    if let Some(taken) = &opposition.permits {
        let slots: Vec<_> = taken
            .slots
            .iter()
            .map(|(slot, _)| slot.to_string())
            .collect();
        out += &format!(" taken={}/{}", slots.join(","), taken.of);
    }
    if let Some(ahead) = opposition.ahead {
        out += &format!(" ahead={ahead}");
    }
    out + &faults(&opposition.faults)
}

fn faults(faults: &[(NodeId, Fault)]) -> String {
    faults
        .iter()
        .map(|(node, fault)| format!(", {node} {fault}"))
        .collect()
}
