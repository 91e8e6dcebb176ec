//! The answers that nearly every request gets, read as they lie in the buffer.

use super::{
    codec::digits,
    reply::{SaidTime, grant},
};
use leasehold_core::{FencingToken, Owner, Refusal, Vote};
use std::time::Duration;

/// Reads the reply that nearly every request gets as it lies in `bytes`: the vote, what the node's clock showed, if that is
/// told, and how long the reply is. It is a grant, or the refusal by a key that has an owner and a TTL. None for every
/// other, and for one that has not come in full: they are taken for a frame first, and mean the same then.
pub(super) fn at_a_glance(bytes: &[u8], is_set: bool) -> Option<(Vote, Option<Duration>, usize)> {
    if let Some((counter, time, rest)) = granted(bytes, is_set, &mut SaidTime::default()) {
        return Some((Vote::Granted { counter }, time, bytes.len() - rest.len()));
    }
    let (refusal, time, rest) = refused(bytes).filter(|_| !is_set)?;
    Some((Vote::Refused(refusal), time, bytes.len() - rest.len()))
}

/// Reads a grant alone: its counter and the time, if they are told, and what follows.
#[inline(always)]
pub(super) fn granted<'a>(
    bytes: &'a [u8],
    is_set: bool,
    said: &mut SaidTime<'a>,
) -> Option<(Option<FencingToken>, Option<Duration>, &'a [u8])> {
    if is_set {
        let rest = bytes.strip_prefix(b"+OK\r\n")?;
        return Some((None, None, rest));
    }
    if let Some(rest) = bytes.strip_prefix(b"$7\r\ngranted\r\n") {
        return Some((None, None, rest));
    }
    let (text, rest) = bulk(bytes)?;
    let (counter, time) = grant(text, said)?;
    Some((counter, time, rest))
}

/// Reads what the replies to a call for `several` locks begin with, each of which stands for itself: how long it is. None if
/// one reply is for all of them, and that one begins with a number.
#[inline]
pub(super) fn opens(bytes: &[u8], several: usize) -> Option<usize> {
    let (count, rest) = digits(bytes.strip_prefix(b"*")?)?;
    let rest = rest.strip_prefix(b"\r\n")?;
    let is_of_each = rest.first().is_some_and(|byte| *byte != b':');
    let is_all = usize::try_from(count).is_ok_and(|count| count == several);
    (is_of_each && is_all).then_some(bytes.len() - rest.len())
}

/// Reads the refusal by a key that has an owner and a TTL.
fn refused(bytes: &[u8]) -> Option<(Refusal, Option<Duration>, &[u8])> {
    let ([b'*', count @ (b'3' | b'4')], rest) = bytes.split_at_checked(2)? else {
        return None;
    };
    let (holder, rest) = bulk(rest.strip_prefix(b"\r\n:0\r\n")?)?;
    let (pttl_ms, rest) = integer(rest)?;
    let (time, rest) = match count {
        b'3' => (None, rest),
        _ => integer(rest).map(|(micros, rest)| (Some(micros), rest))?,
    };
    let refusal = Refusal {
        holder: Owner::from_bytes(holder),
        remaining: Some(Duration::from_millis(pttl_ms)),
        queued: None,
        permits: None,
    };
    let time = time.map(Duration::from_micros);
    Some((refusal, time, rest))
}

/// Reads a text that is told with its length.
pub(super) fn bulk(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = digits(bytes.strip_prefix(b"$")?)?;
    let length = usize::try_from(length).ok()?;
    let (text, rest) = rest.strip_prefix(b"\r\n")?.split_at_checked(length)?;
    Some((text, rest.strip_prefix(b"\r\n")?))
}

/// Reads an integer that is not negative, in the range of the protocol.
fn integer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = digits(bytes.strip_prefix(b":")?)?;
    let is_in_range = i64::try_from(number).is_ok();
    Some((number, rest.strip_prefix(b"\r\n")?)).filter(|_| is_in_range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::redis::{codec, reply};

    #[test]
    fn what_is_read_at_a_glance_means_what_it_means_as_a_frame() {
        let replies = [
            "+OK\r\n",
            "$7\r\ngranted\r\n",
            "$15\r\ngranted - 12 34\r\n",
            "$32\r\ngranted 1700000000000001 17 00012\r\n",
            "*3\r\n:0\r\n$2\r\nme\r\n:70\r\n",
            "*3\r\n:0\r\n$0\r\n\r\n:70\r\n",
            "*4\r\n:0\r\n$2\r\nme\r\n:0\r\n:1700000000000001\r\n",
            "*4\r\n:0\r\n$2\r\nme\r\n:0\r\n:9223372036854775807\r\n",
            "*4\r\n:0\r\n$2\r\nme\r\n:0\r\n:9223372036854775808\r\n",
            "*3\r\n:0\r\n$2\r\nme\r\n:-1\r\n",
            "*3\r\n:0\r\n$-1\r\n:-2\r\n",
            "*3\r\n:0\r\n_\r\n:-2\r\n",
            "*4\r\n:-1\r\n$5\r\nempty\r\n:1\r\n:2\r\n",
            "*2\r\n:-3\r\n:7\r\n",
            "-NOSCRIPT No\r\n",
            "$3\r\nodd\r\n",
            "_\r\n",
            "$-1\r\n",
            "$99999999999999999999\r\n",
        ];
        let mut read = 0;
        for reply in replies {
            for length in 0..=reply.len() {
                for behind in ["", "$7\r\ngranted\r\n"] {
                    let bytes = [&reply.as_bytes()[..length], behind.as_bytes()].concat();
                    for is_set in [true, false] {
                        let Some((vote, time, length)) = at_a_glance(&bytes, is_set) else {
                            continue;
                        };
                        let frame = codec::decode(&bytes);
                        let (frame, whole) = frame.expect("the protocol").expect("complete");
                        let reply = match is_set {
                            true => reply::of_set(&frame),
                            false => reply::of_script(&frame),
                        };
                        let verdict = reply::Verdict::Vote(vote);
                        let seen = Some(reply::Reply { verdict, time });
                        assert_eq!((seen, length), (reply, whole), "{bytes:?}");
                        read += 1;
                    }
                }
            }
        }
        assert!(read >= 2 * 8, "most of them are read so: {read}");
    }
}
