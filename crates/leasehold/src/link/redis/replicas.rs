//! Votes that replicas must have heard of before they count.
//!
//! `WAIT` is asked behind each vote that was given, on the same connection, and the vote is told only when enough
//! replicas have confirmed. A vote that they have not confirmed in time may be lost with its master, so it is
//! unknown: the attempt releases it, an extension does not count it.
//!
//! That narrows the window in which a failover loses votes, and does not close it. The replica that takes over
//! need not be one that confirmed, a replica may restart and forget, and a vote that changed nothing because the key
//! was ours already, by a connection before this one, has nothing to wait for.

use super::codec::{self, Frame};
use super::reply::words;
use leasehold_core::{Fault, FaultKind, Request, Vote};
use std::time::Duration;

/// How many replicas, and how long the node waits for them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replicas {
    count: u32,
    within_ms: u64,
}

impl Replicas {
    pub(super) fn new(count: u32, within: Duration) -> Self {
        Self {
            count,
            // Nothing would mean for ever to the node, which answers nothing else meanwhile.
            within_ms: u64::try_from(within.as_millis())
                .map_or(LONGEST_MS, |ms| ms.clamp(1, LONGEST_MS)),
        }
    }

    /// Whether somebody will rely on this answer.
    pub(super) const fn concern(request: &Request, vote: &Vote) -> bool {
        let gives = request.is_vote() || matches!(request, Request::Extend { .. });
        gives && vote.is_granted()
    }

    /// Appends the question to `wire`.
    pub(super) fn encode(self, wire: &mut Vec<u8>) {
        let (count, within) = (self.count.to_string(), self.within_ms.to_string());
        codec::encode(wire, &[b"WAIT", count.as_bytes(), within.as_bytes()]);
    }

    /// What the vote is worth by this answer.
    pub(super) fn judge(self, frame: &Frame<'_>, vote: Vote) -> Vote {
        let why = match frame {
            Frame::Integer(heard) if *heard >= i64::from(self.count) => return vote,
            Frame::Integer(heard) => format!(
                "granted, but only {heard} of {} replicas confirmed it within {} ms",
                self.count, self.within_ms
            ),
            Frame::Error(error) => format!(
                "granted, but does not tell whether replicas have it (+wait): {}",
                words(error)
            ),
            _ => "granted, but gave an odd answer about its replicas".to_owned(),
        };
        Vote::Unknown(Fault::new(FaultKind::TimedOut, &why))
    }
}

const LONGEST_MS: u64 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(count: u32, frame: &Frame<'_>) -> Vote {
        let replicas = Replicas::new(count, Duration::from_millis(7));
        replicas.judge(frame, Vote::GRANTED)
    }

    #[test]
    fn a_vote_counts_when_enough_replicas_have_it_and_is_in_doubt_otherwise() {
        assert_eq!(judge(1, &Frame::Integer(1)), Vote::GRANTED);
        assert_eq!(judge(1, &Frame::Integer(2)), Vote::GRANTED);
        for (frame, words) in [
            (
                Frame::Integer(1),
                "only 1 of 2 replicas confirmed it within 7 ms",
            ),
            (Frame::Error(b"NOPERM no"), "(+wait): NOPERM no"),
            (Frame::Null, "an odd answer"),
        ] {
            let Vote::Unknown(fault) = judge(2, &frame) else {
                panic!("{frame:?}");
            };
            assert!(fault.may_have_happened(), "it must be released");
            assert!(fault.to_string().contains(words), "{fault}");
        }
    }

    #[test]
    fn the_node_never_waits_for_ever() {
        for (within, ms) in [(Duration::ZERO, "0"), (Duration::MAX, "0")] {
            let mut wire = Vec::new();
            Replicas::new(3, within).encode(&mut wire);
            let wire = String::from_utf8(wire).expect("it is text");
            assert!(wire.contains("\r\n3\r\n"), "{wire}");
            assert!(!wire.contains(&format!("\r\n{ms}\r\n")), "{wire}");
        }
    }
}
