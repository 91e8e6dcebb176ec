//! What a node's reply says: a vote, in most cases.

mod permits;

use super::codec::{Frame, digits};
use leasehold_core::{
    Abstention, AbstentionCause, Barrier, Fault, FaultKind, FencingToken, Owner, Queued, Refusal,
    Ticket, Vote,
};
use std::time::Duration;

/// What a reply says, and what the node's clock showed, if that is told.
#[derive(Debug, PartialEq)]
pub(super) struct Reply {
    pub(super) verdict: Verdict,
    pub(super) time: Option<Duration>,
}

/// What the reply to a call of a script means.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    Vote(Vote),
    /// The node does not know the script: the request certainly did not take effect.
    ScriptMissing,
    /// The node has failed, and nobody knows when: the request may have taken effect. In its words.
    Unclear(String),
}

/// Reads the reply to Redlock's own `SET … NX`; none if it is none.
pub(super) fn of_set(frame: &Frame<'_>) -> Option<Reply> {
    let vote = match frame {
        Frame::Text(b"OK") => Vote::GRANTED,
        Frame::Null => Vote::Refused(Refusal::default()),
        _ => return of_error(frame).map(untimed),
    };
    Some(untimed(Verdict::Vote(vote)))
}

/// Reads the reply to a call of one of our scripts; none if no script of ours replies so.
pub(super) fn of_script(frame: &Frame<'_>) -> Option<Reply> {
    let parts = match frame {
        Frame::List(parts) => parts,
        Frame::Text(text) => {
            let (counter, time) = grant(text, &mut SaidTime::default())?;
            let verdict = Verdict::Vote(Vote::Granted { counter });
            return Some(Reply { verdict, time });
        }
        _ => return of_error(frame).map(untimed),
    };
    let (vote, time) = match &parts[..] {
        [Frame::Integer(0 | 2 | 4), ..] => {
            let (refusal, time) = refused(parts)?;
            (Vote::Refused(refusal), time)
        }
        [Frame::Integer(-1), why, Frame::Integer(left_ms), time] => {
            let fault = Fault::abstained(&abstention(why, *left_ms)?);
            (Vote::Unknown(fault), Some(time))
        }
        [Frame::Integer(-2), _, text, time] => (Vote::Unknown(disagreement(text)), Some(time)),
        [Frame::Integer(-3)] => (Vote::Unknown(Fault::same_node()), None),
        [Frame::Integer(-3), time] => (Vote::Unknown(Fault::same_node()), Some(time)),
        _ => return None,
    };
    let time = match time {
        None => None,
        Some(Frame::Integer(micros)) => Some(Duration::from_micros(u64::try_from(*micros).ok()?)),
        Some(_) => return None,
    };
    let verdict = Verdict::Vote(vote);
    Some(Reply { verdict, time })
}

/// Reads a refusal, and when it was.
fn refused<'a>(parts: &'a [Frame<'a>]) -> Option<(Refusal, Option<&'a Frame<'a>>)> {
    let (refusal, barrier, rest) = match parts {
        [
            Frame::Integer(0),
            holder,
            Frame::Integer(pttl_ms),
            rest @ ..,
        ] => (refusal(holder, *pttl_ms)?, Barrier::Key, rest),
        [Frame::Integer(4), Frame::Integer(of), slots, rest @ ..] if !rest.is_empty() => {
            (permits::refusal(*of, slots)?, Barrier::Key, rest)
        }
        // Others come first, so there is a place among them.
        [Frame::Integer(2), Frame::Integer(left_ms), rest @ ..] if rest.len() == 3 => {
            (refusal(&Frame::Null, *left_ms)?, Barrier::Queue, rest)
        }
        _ => return None,
    };
    let (time, queued) = match rest {
        [] => (None, None),
        [time] => (Some(time), None),
        [time, ticket, ahead] => (Some(time), Some(queued(ticket, ahead, barrier)?)),
        _ => return None,
    };
    Some((Refusal { queued, ..refusal }, time))
}

const fn untimed(verdict: Verdict) -> Reply {
    Reply {
        verdict,
        time: None,
    }
}

/// Reads an error; none if it is none.
pub(super) fn of_error(frame: &Frame<'_>) -> Option<Verdict> {
    match frame {
        Frame::Error(error) if error.starts_with(b"NOSCRIPT") => Some(Verdict::ScriptMissing),
        Frame::Error(error) if is_refusal(error) => {
            let fault = Fault::new(FaultKind::Rejected, &words(error));
            Some(Verdict::Vote(Vote::Unknown(fault)))
        }
        Frame::Error(error) => Some(Verdict::Unclear(words(error))),
        _ => None,
    }
}

/// Whether a server says so before the first line of a script, or where one of ours has not written yet.
///
/// Every other error may come from a proxy that has lost the server after the request had reached it.
fn is_refusal(error: &[u8]) -> bool {
    let code = error.split(|byte| *byte == b' ').next();
    let says = |words: &[u8]| error.windows(words.len()).any(|window| window == words);
    match code.unwrap_or_default() {
        b"ERR" => says(b"can't run this command") || says(b"ACL failure"),
        code => REFUSALS.contains(&code),
    }
}

/// That a server of a cluster says, before it does anything, that another has the key, or nobody for now.
pub(super) fn redirection(frame: &Frame<'_>) -> Option<Fault> {
    const WORDS: [&[u8]; 4] = [b"MOVED ", b"ASK ", b"TRYAGAIN ", b"CLUSTERDOWN "];
    match frame {
        Frame::Error(error) if WORDS.iter().any(|word| error.starts_with(word)) => {
            Some(Fault::new(FaultKind::Rejected, &words(error)))
        }
        _ => None,
    }
}

/// The vote, with the way out if the server is one of a cluster, and was taken for a node by itself.
pub(super) fn with_way_out(vote: Vote) -> Vote {
    match vote {
        Vote::Unknown(fault) if fault.to_string().starts_with("MOVED ") => {
            let words = format!("{fault} ({OF_A_CLUSTER})");
            Vote::Unknown(Fault::new(fault.kind(), &words))
        }
        vote => vote,
    }
}

const OF_A_CLUSTER: &str =
    "the server is one of a Redis Cluster, whose address begins with redis+cluster://";

/// Whether a server of a cluster says that these keys are not all of one slot.
pub(super) fn is_divided(frame: &Frame<'_>) -> bool {
    matches!(frame, Frame::Error(error) if error.starts_with(DIVIDED))
}

const DIVIDED: &[u8] = b"CROSSSLOT";

const REFUSALS: [&[u8]; 17] = [
    b"ASK",
    b"BEYOND",
    b"BUSY",
    b"CLUSTERDOWN",
    DIVIDED,
    b"EXHAUSTED",
    b"LOADING",
    b"MASTERDOWN",
    b"MISCONF",
    b"MOVED",
    b"NOAUTH",
    b"NOPERM",
    b"NOREPLICAS",
    b"OOM",
    b"READONLY",
    b"TRYAGAIN",
    b"WRONGTYPE",
];

/// The time of the last answer, and how it was said: all answers of a call say the same.
#[derive(Debug, Default)]
pub(super) struct SaidTime<'a>(&'a [u8], Duration);

/// Reads `granted`, behind which may stand the counter or `-`, and the time in seconds and microseconds.
pub(super) fn grant<'a>(
    text: &'a [u8],
    said: &mut SaidTime<'a>,
) -> Option<(Option<FencingToken>, Option<Duration>)> {
    let rest = text.strip_prefix(b"granted")?;
    if rest.is_empty() {
        return Some((None, None));
    }
    let (counter, rest) = match rest.strip_prefix(b" -") {
        Some(rest) => (None, rest),
        None => {
            let (counter, rest) = word(rest)?;
            (Some(FencingToken::new(counter)?), rest)
        }
    };
    if rest.is_empty() || rest != said.0 {
        let (seconds, behind) = word(rest)?;
        let (micros, behind) = word(behind)?;
        let time = Duration::from_secs(seconds).checked_add(Duration::from_micros(micros));
        *said = SaidTime(rest, time.filter(|_| behind.is_empty())?);
    }
    Some((counter, Some(said.1)))
}

/// Reads a blank and the number behind it, and gives back what follows.
fn word(text: &[u8]) -> Option<(u64, &[u8])> {
    digits(text.strip_prefix(b" ")?)
}

/// What a node says about its abstention.
pub(super) fn abstention(why: &Frame<'_>, left_ms: i64) -> Option<Abstention> {
    let cause = match why {
        Frame::Text(b"changed") => AbstentionCause::Changed,
        Frame::Text(b"evicted") => AbstentionCause::Evicted,
        Frame::Text(b"reconfigured") => AbstentionCause::Reconfigured,
        Frame::Text(b"evicts") => AbstentionCause::MayEvict,
        Frame::Text(b"replica") => AbstentionCause::Replica,
        Frame::Text(b"undurable") => AbstentionCause::NotDurable,
        Frame::Text(b"replicated") => AbstentionCause::HasReplicas,
        Frame::Text(_) | Frame::Null => AbstentionCause::Empty,
        _ => return None,
    };
    let left = Duration::from_millis(u64::try_from(left_ms).ok()?);
    Some(Abstention { cause, left })
}

/// What is written down on a node that refuses because it is of another configuration.
pub(super) fn other_configuration<'a>(frame: &'a Frame<'_>) -> Option<&'a str> {
    let Frame::List(parts) = frame else {
        return None;
    };
    match &parts[..] {
        [Frame::Integer(-2), _, Frame::Text(text), ..] => std::str::from_utf8(text).ok(),
        _ => None,
    }
}

impl Reply {
    /// The same of a node of the list that follows ours.
    pub(super) fn superseded(self) -> Self {
        let fault = Fault::new(
            FaultKind::Superseded,
            "it votes for a newer list of nodes, which this program is about to learn",
        );
        Self {
            verdict: Verdict::Vote(Vote::Unknown(fault)),
            ..self
        }
    }
}

/// A node that others use with another configuration.
pub(super) fn disagreement(text: &Frame<'_>) -> Fault {
    let theirs = match text {
        Frame::Text(text) => words(text),
        _ => "one that it does not tell".to_owned(),
    };
    Fault::new(
        FaultKind::Disagrees,
        &format_args!("its locks are used with another configuration: {theirs}"),
    )
}

fn refusal(holder: &Frame<'_>, pttl_ms: i64) -> Option<Refusal> {
    let holder = match holder {
        Frame::Text(owner) => Owner::from_bytes(owner),
        Frame::Null => None,
        _ => return None,
    };
    // Negative is how the node says that there is no key, or one without a TTL.
    let remaining = u64::try_from(pttl_ms).ok().map(Duration::from_millis);
    Some(Refusal {
        holder,
        remaining,
        queued: None,
        permits: None,
    })
}

/// What a node says of the caller's place.
fn queued(ticket: &Frame<'_>, ahead: &Frame<'_>, barrier: Barrier) -> Option<Queued> {
    let (Frame::Text(digits), Frame::Integer(ahead)) = (ticket, ahead) else {
        return None;
    };
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(Queued {
        ticket: Ticket::new(number)?,
        ahead: u32::try_from(*ahead).ok()?,
        barrier,
    })
}

/// A node's own words, fit for a message: one line, not too long, without its talk about where in a
/// script it happened.
pub(super) fn words(error: &[u8]) -> String {
    let text = String::from_utf8_lossy(error);
    let text = text.split(" script: ").next().unwrap_or_default();
    let mut words: String = text
        .chars()
        .map(|character| match character {
            character if character.is_control() => ' ',
            character => character,
        })
        .take(LONGEST_WORDS)
        .collect();
    if text.chars().nth(LONGEST_WORDS).is_some() {
        words.push('…');
    }
    words
}

const LONGEST_WORDS: usize = 400;

/// The node has answered what it was not asked.
pub(super) fn unasked(frame: &Frame<'_>) -> String {
    match frame {
        Frame::Error(error) => words(error),
        _ => "the node answered what it was not asked".to_owned(),
    }
}

#[cfg(test)]
mod tests;
