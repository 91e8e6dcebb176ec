//! What a node's reply says: a vote, in most cases.

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
        [Frame::Integer(0), holder, Frame::Integer(pttl_ms)] => {
            (Vote::Refused(refusal(holder, *pttl_ms)?), None)
        }
        [Frame::Integer(0), holder, Frame::Integer(pttl_ms), time] => {
            (Vote::Refused(refusal(holder, *pttl_ms)?), Some(time))
        }
        [
            Frame::Integer(0),
            holder,
            Frame::Integer(pttl_ms),
            time,
            ticket,
            ahead,
        ] => {
            let queued = queued(ticket, ahead, Barrier::Key)?;
            (in_queue(refusal(holder, *pttl_ms)?, queued), Some(time))
        }
        [
            Frame::Integer(2),
            Frame::Integer(left_ms),
            time,
            ticket,
            ahead,
        ] => {
            let queued = queued(ticket, ahead, Barrier::Queue)?;
            let refusal = refusal(&Frame::Null, *left_ms)?;
            (in_queue(refusal, queued), Some(time))
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

/// Whether a server of a cluster says that these keys are not all of one slot.
pub(super) fn is_divided(frame: &Frame<'_>) -> bool {
    matches!(frame, Frame::Error(error) if error.starts_with(DIVIDED))
}

const DIVIDED: &[u8] = b"CROSSSLOT";

const REFUSALS: [&[u8]; 16] = [
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

fn in_queue(refusal: Refusal, queued: Queued) -> Vote {
    Vote::Refused(Refusal {
        queued: Some(queued),
        ..refusal
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
mod tests {
    use super::*;

    fn told(vote: Vote, micros: u64) -> Option<Reply> {
        let time = Some(Duration::from_micros(micros));
        let verdict = Verdict::Vote(vote);
        Some(Reply { verdict, time })
    }

    fn refused(holder: Option<&[u8]>, remaining_ms: Option<u64>) -> Option<Reply> {
        Some(untimed(Verdict::Vote(Vote::Refused(Refusal {
            holder: holder.and_then(Owner::from_bytes),
            remaining: remaining_ms.map(Duration::from_millis),
            queued: None,
        }))))
    }

    #[test]
    fn a_refusal_tells_holder_and_remaining_time_as_far_as_there_are_any() {
        for (holder, pttl_ms, expected) in [
            (Frame::Text(b"me"), 70, refused(Some(b"me"), Some(70))),
            (Frame::Text(b"me"), -1, refused(Some(b"me"), None)),
            (Frame::Text(b""), 70, refused(None, Some(70))),
            (Frame::Text(&[b'x'; 256]), 0, refused(None, Some(0))),
            (Frame::Null, -2, refused(None, None)),
            (Frame::Integer(1), 70, None),
        ] {
            let reply = Frame::List(vec![Frame::Integer(0), holder, Frame::Integer(pttl_ms)]);
            assert_eq!(of_script(&reply), expected, "{reply:?}");
        }
    }

    #[test]
    fn a_grant_tells_its_counter_to_the_last_digit_and_the_time() {
        let grant = |behind: &str| of_script(&Frame::Text(format!("granted{behind}").as_bytes()));
        let counter = |number| Vote::Granted {
            counter: FencingToken::new(number),
        };
        for (behind, expected) in [
            (" 1 0 5", told(counter(1), 5)),
            (
                " 9007199254740991 1 6",
                told(counter(9_007_199_254_740_991), 1_000_006),
            ),
            (" - 0 5", told(Vote::GRANTED, 5)),
            ("", Some(untimed(Verdict::Vote(Vote::GRANTED)))),
        ] {
            assert_eq!(grant(behind), expected, "{behind}");
        }
        for counter in ["0", "9007199254740992", "1.79e+15", "-1", "", "--"] {
            assert_eq!(grant(&format!(" {counter} 0 5")), None, "{counter}");
        }
        for wrong in [
            " ",
            "!",
            " 1",
            " 1 0",
            " 1 0 5 ",
            " 1 0 5 6",
            " 1 -1 5",
            " 1 0 x",
            " 1 18446744073709551615 1000000",
        ] {
            assert_eq!(grant(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_refusal_of_a_fair_lock_tells_ticket_and_place() {
        let place = |digits: &'static [u8], ahead| {
            let place = [Frame::Text(digits), Frame::Integer(ahead)];
            [&[Frame::Integer(5)][..], &place].concat()
        };
        let free = [Frame::Integer(2), Frame::Integer(900)];
        let held = [Frame::Integer(0), Frame::Text(b"me"), Frame::Integer(900)];
        let told_of = |head: &[Frame<'static>], digits, ahead| {
            of_script(&Frame::List([head, &place(digits, ahead)].concat()))
        };
        for (head, holder, barrier) in [
            (&free[..], None, Barrier::Queue),
            (&held[..], Owner::from_bytes(b"me"), Barrier::Key),
        ] {
            let refusal = Refusal {
                holder,
                remaining: Some(Duration::from_millis(900)),
                queued: Some(Queued {
                    ticket: Ticket::LAST,
                    ahead: 3,
                    barrier,
                }),
            };
            let expected = told(Vote::Refused(refusal), 5);
            assert_eq!(told_of(head, b"9007199254740991", 3), expected);
            assert_eq!(told_of(head, b"9007199254740992", 3), None);
            assert_eq!(told_of(head, b"1", -1), None);
        }
    }

    #[test]
    fn an_abstention_tells_why_and_for_how_long() {
        let reply = Frame::List(vec![
            Frame::Integer(-1),
            Frame::Text(b"changed"),
            Frame::Integer(1_500),
            Frame::Integer(7),
        ]);
        let abstention = Abstention {
            cause: AbstentionCause::Changed,
            left: Duration::from_millis(1_500),
        };
        let vote = Vote::Unknown(Fault::abstained(&abstention));
        assert_eq!(of_script(&reply), told(vote, 7));
    }

    #[test]
    fn a_disagreement_tells_what_the_others_agreed_on() {
        let reply = Frame::List(vec![
            Frame::Integer(-2),
            Frame::Text(b"0123"),
            Frame::Text(b"version=1 count=5"),
            Frame::Integer(7),
        ]);
        let Some(Reply {
            verdict: Verdict::Vote(Vote::Unknown(fault)),
            ..
        }) = of_script(&reply)
        else {
            panic!("no fault");
        };
        assert_eq!(fault.kind(), FaultKind::Disagrees);
        assert!(fault.to_string().ends_with(": version=1 count=5"));
    }

    #[test]
    fn a_server_that_has_voted_under_another_address_says_so() {
        let twin = || Vote::Unknown(Fault::same_node());
        let timed = vec![Frame::Integer(-3), Frame::Integer(7)];
        assert_eq!(of_script(&Frame::List(timed)), told(twin(), 7));
        let untold = Some(untimed(Verdict::Vote(twin())));
        assert_eq!(of_script(&Frame::List(vec![Frame::Integer(-3)])), untold);
    }

    #[test]
    fn the_reply_to_a_plain_set_is_ok_or_nothing() {
        let voted = |vote| Some(untimed(Verdict::Vote(vote)));
        assert_eq!(of_set(&Frame::Text(b"OK")), voted(Vote::GRANTED));
        assert_eq!(
            of_set(&Frame::Null),
            voted(Vote::Refused(Refusal::default()))
        );
        assert_eq!(of_set(&Frame::Integer(1)), None);
    }

    #[test]
    fn a_reply_that_no_script_of_ours_gives_is_no_vote() {
        for reply in [
            Frame::Integer(0),
            Frame::Integer(1),
            Frame::List(vec![Frame::Integer(-1), Frame::Null, Frame::Integer(-5)]),
            Frame::Null,
            Frame::Text(b"OK"),
            Frame::Text(b"granted\xff"),
            Frame::Other,
            Frame::List(vec![]),
            Frame::List(vec![Frame::Integer(1)]),
        ] {
            assert_eq!(of_script(&reply), None, "{reply:?}");
        }
    }

    #[test]
    fn only_an_error_of_which_it_is_certain_says_that_nothing_happened() {
        for (error, certain) in [
            (
                "OOM command not allowed when used memory > 'maxmemory'.",
                true,
            ),
            ("MOVED 1 h:1", true),
            ("LOADING", true),
            ("ERR ACL failure in script: no permissions", true),
            (
                "ERR The user executing the script can't run this command or subcommand",
                true,
            ),
            ("ERR server closed connection", false),
            ("ERR", false),
            ("OOMPH", false),
            ("", false),
        ] {
            match of_error(&Frame::Error(error.as_bytes())) {
                Some(Verdict::Vote(Vote::Unknown(fault))) => {
                    assert_eq!(fault.kind(), FaultKind::Rejected);
                    assert!(certain, "{error}");
                }
                Some(Verdict::Unclear(words)) => {
                    assert_eq!(words, error);
                    assert!(!certain, "{error}");
                }
                other => panic!("{error}: {other:?}"),
            }
        }
    }

    #[test]
    fn an_error_is_kept_in_the_nodes_words() {
        let error = b"READONLY You can't write against a read only replica. script: 3070a0, on @user_script:6.";
        let Some(Verdict::Vote(Vote::Unknown(fault))) = of_error(&Frame::Error(error)) else {
            panic!("not unknown");
        };
        assert_eq!(fault.kind(), FaultKind::Rejected);
        assert_eq!(
            fault.to_string(),
            "READONLY You can't write against a read only replica."
        );
        assert_eq!(words(b"ERR a\r\nb\xff"), "ERR a  b\u{fffd}");
        assert_eq!(words(&[b'x'; 999]).chars().count(), LONGEST_WORDS + 1);
    }
}
