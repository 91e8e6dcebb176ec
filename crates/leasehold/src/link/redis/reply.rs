//! What a node's reply says: a vote, in most cases.

use super::codec::Frame;
use leasehold_core::{Fault, FaultKind, Owner, Refusal, Vote};
use std::time::Duration;

/// What the reply to a call of a script means.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    Vote(Vote),
    /// The node does not know the script: the request certainly did not take effect.
    ScriptMissing,
    /// The node has failed, and nobody knows when: the request may have taken effect. In its words.
    Unclear(String),
}

/// Reads the reply to a call of one of our scripts; none if no script of ours replies so.
pub(super) fn verdict(frame: &Frame<'_>) -> Option<Verdict> {
    match frame {
        Frame::Integer(1) => Some(Verdict::Vote(Vote::Granted)),
        Frame::List(parts) => match parts[..] {
            [ref holder, Frame::Integer(pttl_ms)] => refusal(holder, pttl_ms),
            _ => None,
        },
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

const REFUSALS: [&[u8]; 12] = [
    b"BUSY",
    b"CLUSTERDOWN",
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
];

fn refusal(holder: &Frame<'_>, pttl_ms: i64) -> Option<Verdict> {
    let holder = match holder {
        Frame::Text(owner) => Owner::from_bytes(owner),
        Frame::Null => None,
        _ => return None,
    };
    // Negative is how the node says that there is no key, or one without a TTL.
    let remaining = u64::try_from(pttl_ms).ok().map(Duration::from_millis);
    Some(Verdict::Vote(Vote::Refused(Refusal { holder, remaining })))
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

const LONGEST_WORDS: usize = 240;

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(holder: Option<&[u8]>, remaining_ms: Option<u64>) -> Option<Verdict> {
        Some(Verdict::Vote(Vote::Refused(Refusal {
            holder: holder.and_then(Owner::from_bytes),
            remaining: remaining_ms.map(Duration::from_millis),
        })))
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
            let reply = Frame::List(vec![holder, Frame::Integer(pttl_ms)]);
            assert_eq!(verdict(&reply), expected, "{reply:?}");
        }
    }

    #[test]
    fn a_reply_that_no_script_of_ours_gives_is_no_vote() {
        for reply in [
            Frame::Integer(0),
            Frame::Null,
            Frame::Text(b"OK"),
            Frame::Other,
            Frame::List(vec![]),
        ] {
            assert_eq!(verdict(&reply), None, "{reply:?}");
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
            match verdict(&Frame::Error(error.as_bytes())) {
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
        let Some(Verdict::Vote(Vote::Unknown(fault))) = verdict(&Frame::Error(error)) else {
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
