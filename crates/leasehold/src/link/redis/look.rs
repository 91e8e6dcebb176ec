//! How a node is brought to tell that a key has changed.
//!
//! Servers do it for client-side caches: to a connection that said `CLIENT TRACKING ON` they push, once for each key that
//! it has read, that somebody changed it. Nothing has to be done by the client that changes the key, so it works for a plain
//! `DEL`, for other programs' releases, for expiry and for `FLUSHALL`.
//!
//! The obvious way, to have everything tracked, taxes those who need no hints. Every vote reads the node's own
//! hash and the key and then writes them, which drops what was noted by the read. Measured for an uncontended vote with
//! its release: 2 to 3 µs more of a server's 21 µs, and 3 to 5 µs more until the grant (Redis 7.0, Valkey 8.1). And a
//! refused vote or an extension reads the hash and does not write it, so the server pushes at the next vote about anything.
//!
//! So tracking is on request (`OPTIN`), and what is requested is one look at the key of a lock, behind an answer
//! after which somebody waits for it or holds it for long: `CLIENT CACHING YES` and `GET`. That costs the server about 1 µs
//! there. A lease that is still held after 100 ms asks for it by inspecting its keys; a shorter one never does. Uncontended votes and releases cost what they cost without hints, the scripts know nothing of it, and plain
//! locks have hints too.
//!
//! No change is missed between answer and look: the look tells what the key is, and if that is not what the
//! answer said, the hint is given at once. Of a set it tells only that it is one: a permit that was left meanwhile, where others
//! are taken, is found when the waiter asks again by the clock. `NOLOOP` keeps our own changes out of it; the engine learns of those by the
//! answers.

use super::{
    codec::{self, Frame},
    glance::bulk,
    kind::Kind,
};
use crate::{configuration::KeyFormat, link::LinkEvent};
use leasehold_core::{Barrier, Owner, Request, Resource, Vote};
use std::ops::Range;

/// What an answer said of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeenValue {
    /// There is none.
    Free,
    /// It is there; whose, if that could be told. Two owners of one fingerprint cost a hint, at worst. Of several names, it is
    /// the first that is there.
    Held(Option<u64>),
    /// It is ours; of several names, all are.
    Ours(u64),
}

impl SeenValue {
    /// Whether a vote that answers a request of this kind may say something of the key after which the next change matters.
    pub(super) const fn may_be_by(vote: &Vote, kind: Kind) -> bool {
        match vote {
            Vote::Refused(_) => {
                matches!(kind, Kind::Acquire | Kind::AcquireSeveral | Kind::Inspect)
            }
            Vote::Granted { .. } => matches!(kind, Kind::Inspect | Kind::Extend),
            Vote::Unknown(_) => false,
        }
    }

    /// What `vote` on a request of this kind by this owner says of the key, if it is one after which the next change
    /// matters.
    pub(super) fn by(vote: &Vote, kind: Kind, owner: Option<&[u8]>) -> Option<Self> {
        match (kind, vote) {
            // Others come first, but none of them has it yet.
            (Kind::Acquire, Vote::Refused(refusal))
                if refusal
                    .queued
                    .is_some_and(|queued| queued.barrier == Barrier::Queue) =>
            {
                Some(Self::Free)
            }
            (Kind::Acquire | Kind::AcquireSeveral | Kind::Inspect, Vote::Refused(refusal)) => {
                let holder = refusal.holder.as_ref().map(Owner::as_bytes);
                Some(Self::Held(holder.map(fingerprint)))
            }
            (Kind::Inspect, Vote::Granted { .. }) => Some(Self::Free),
            (Kind::Extend, Vote::Granted { .. }) => Some(match owner {
                Some(owner) => Self::Ours(fingerprint(owner)),
                None => Self::Held(None),
            }),
            _ => None,
        }
    }

    /// The same, of a request in full.
    pub(super) fn of(vote: &Vote, request: &Request) -> Option<Self> {
        let owner = request.owner().map(Owner::as_bytes);
        Self::by(vote, Kind::of(request), owner)
    }

    /// Whether the look shows something else. An error shows nothing, but that the key is of another type.
    pub(super) fn is_outdated(self, look: &Frame<'_>) -> bool {
        match (self, look) {
            (Self::Held(_) | Self::Ours(_), Frame::Null) => true,
            // The holder has become a reader, or the key is another program's.
            (Self::Held(Some(_)) | Self::Ours(_), Frame::Error(told)) => {
                told.starts_with(b"WRONGTYPE")
            }
            (_, Frame::Text(text)) => self.is_not(text),
            (_, Frame::List(values)) => self.is_outdated_by(values),
            _ => false,
        }
    }

    /// The same of a look at several names. A key of another type looks as if there were none.
    fn is_outdated_by(self, values: &[Frame<'_>]) -> bool {
        let mut there = values.iter().filter(|value| **value != Frame::Null);
        match self {
            Self::Held(None) => false,
            Self::Held(Some(_)) => there.next().is_none_or(|first| self.is_outdated(first)),
            Self::Free => there.next().is_some(),
            Self::Ours(_) => values.iter().any(|value| self.is_outdated(value)),
        }
    }

    /// What follows in `bytes` on a look that shows what was said, and a value; none if they begin with no such look.
    pub(super) fn confirmed(self, bytes: &[u8]) -> Option<&[u8]> {
        let (value, rest) = bulk(bytes)?;
        (!self.is_not(value)).then_some(rest)
    }

    /// Whether a key with this value is something else.
    fn is_not(self, value: &[u8]) -> bool {
        match self {
            Self::Free => true,
            Self::Held(owner) => owner.is_some_and(|owner| owner != fingerprint(value)),
            Self::Ours(owner) => owner != fingerprint(value),
        }
    }
}

/// Tells one owner from another, in eight bytes.
fn fingerprint(owner: &[u8]) -> u64 {
    let (words, rest) = owner.as_chunks();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).copied().map(u64::from_le_bytes);
    words.fold(owner.len() as u64, |all, word| {
        (all ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
    })
}

/// Whether a node tells of changes to the keys that it was asked to watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hints {
    Given,
    /// By an old server, a proxy, or one that does not let us ask for them.
    Refused,
}

/// Said once for each connection.
pub(super) const TRACKING: [&[u8]; 5] = [b"CLIENT", b"TRACKING", b"ON", b"OPTIN", b"NOLOOP"];
/// That what the next command reads shall be watched.
pub(super) const CACHING: [&[u8]; 3] = [b"CLIENT", b"CACHING", b"YES"];
/// The same as it leaves.
pub(super) const WATCH: &[u8] = b"*3\r\n$6\r\nCLIENT\r\n$7\r\nCACHING\r\n$3\r\nYES\r\n";
/// What the node answers to that.
pub(super) const WATCHES: &[u8] = b"+OK\r\n";

/// Appends the look at a key.
pub(super) fn encode(wire: &mut Vec<u8>, key: &[u8]) {
    codec::encode(wire, &[b"GET", key]);
}

/// Appends the look at the keys of names that are locked together.
pub(super) fn encode_several<'a>(wire: &mut Vec<u8>, keys: impl Iterator<Item = &'a [u8]>) {
    let parts: Vec<&[u8]> = std::iter::once(&b"MGET"[..]).chain(keys).collect();
    codec::encode(wire, &parts);
}

/// Appends the look at the key that stands there in `wire`.
pub(super) fn encode_within(wire: &mut Vec<u8>, key: Range<usize>) {
    wire.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
    codec::encode_within(wire, key);
}

/// Takes what a node tells without having been asked.
pub(super) fn hear(push: &[Frame<'_>], format: &KeyFormat, tell: &mut impl Extend<LinkEvent>) {
    match push {
        [Frame::Text(b"invalidate"), Frame::List(keys)] => {
            tell.extend(
                keys.iter()
                    .filter_map(|key| resource(key, format))
                    .map(|resource| LinkEvent::Changed(Some(resource))),
            );
        }
        // After FLUSHALL, for one.
        [Frame::Text(b"invalidate"), Frame::Null] => tell.extend([LinkEvent::Changed(None)]),
        _ => {}
    }
}

/// None for what cannot be the key of a lock.
fn resource(key: &Frame<'_>, format: &KeyFormat) -> Option<Resource> {
    match key {
        Frame::Text(key) => format.resource(key),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(push: &[Frame<'_>]) -> Vec<String> {
        told_of(push, &KeyFormat::raw())
    }

    fn told_of(push: &[Frame<'_>], format: &KeyFormat) -> Vec<String> {
        let mut events = Vec::new();
        hear(push, format, &mut events);
        events.iter().map(|event| format!("{event:?}")).collect()
    }

    #[test]
    fn an_invalidation_is_a_hint_for_each_name_and_everything_else_is_none() {
        let invalidate = Frame::Text(b"invalidate");
        let keys = vec![
            Frame::Text(b"a"),
            Frame::Text(b""),
            Frame::Text(b"\xff"),
            Frame::Text(b"b"),
        ];
        let named = told(&[invalidate.clone(), Frame::List(keys)]);
        assert_eq!(named.len(), 2, "{named:?}");
        assert!(
            named[0].contains("\"a\"") && named[1].contains("\"b\""),
            "{named:?}"
        );
        assert_eq!(told(&[invalidate.clone(), Frame::Null]), ["Changed(None)"]);
        for other in [
            vec![],
            vec![invalidate.clone()],
            vec![invalidate, Frame::Integer(1)],
            vec![Frame::Text(b"message"), Frame::Null],
        ] {
            assert!(told(&other).is_empty(), "{other:?}");
        }
    }

    #[test]
    fn an_invalidation_is_of_a_key_and_a_hint_is_of_a_resource() {
        let keys = ["redlock:a", "a", "redlock:", "redlock"].map(|key| Frame::Text(key.as_bytes()));
        let push = [Frame::Text(b"invalidate"), Frame::List(keys.to_vec())];
        let hints = told_of(&push, &KeyFormat::pottery());
        assert_eq!(hints, [r#"Changed(Some(Resource("a")))"#]);
    }

    #[test]
    fn who_waits_for_others_to_take_what_is_free_is_told_when_they_do() {
        for (barrier, said) in [
            (Barrier::Queue, SeenValue::Free),
            (Barrier::Key, SeenValue::Held(None)),
        ] {
            let ticket = leasehold_core::Ticket::LAST;
            let queued = leasehold_core::Queued {
                ticket,
                ahead: 1,
                barrier,
            };
            let vote = Vote::Refused(leasehold_core::Refusal {
                queued: Some(queued),
                ..Default::default()
            });
            assert_eq!(SeenValue::by(&vote, Kind::Acquire, Some(b"o")), Some(said));
        }
    }

    #[test]
    fn a_look_that_shows_what_was_said_is_no_news() {
        let wrong_type = Frame::Error(b"WRONGTYPE");
        for (said, look, is_outdated) in [
            (SeenValue::Free, Frame::Null, false),
            (SeenValue::Free, Frame::Text(b"x"), true),
            (SeenValue::Held(None), Frame::Text(b"x"), false),
            (SeenValue::Held(None), wrong_type.clone(), false),
            (SeenValue::Held(None), Frame::Null, true),
            (
                SeenValue::Held(Some(fingerprint(b"x"))),
                Frame::Text(b"x"),
                false,
            ),
            (
                SeenValue::Held(Some(fingerprint(b"x"))),
                Frame::Text(b"y"),
                true,
            ),
            (SeenValue::Held(Some(fingerprint(b"x"))), Frame::Null, true),
            (
                SeenValue::Held(Some(fingerprint(b"x"))),
                Frame::Error(b"NOPERM"),
                false,
            ),
            (SeenValue::Held(Some(fingerprint(b"x"))), wrong_type, true),
        ] {
            assert_eq!(said.is_outdated(&look), is_outdated, "{said:?} {look:?}");
        }
    }

    #[test]
    fn a_look_at_several_names_is_about_all_of_them() {
        let (x, y) = (Frame::Text(b"x"), Frame::Text(b"y"));
        let held = SeenValue::Held(Some(fingerprint(b"x")));
        let ours = SeenValue::Ours(fingerprint(b"x"));
        for (said, look, is_outdated) in [
            (SeenValue::Free, vec![Frame::Null, Frame::Null], false),
            (SeenValue::Free, vec![Frame::Null, x.clone()], true),
            // The first that was in the way still is.
            (held, vec![Frame::Null, x.clone(), y.clone()], false),
            (held, vec![Frame::Null, y.clone(), x.clone()], true),
            (held, vec![Frame::Null, Frame::Null], true),
            // A key of another type looks as if there were none.
            (SeenValue::Held(None), vec![Frame::Null, Frame::Null], false),
            (ours, vec![x.clone(), x.clone()], false),
            (ours, vec![x.clone(), Frame::Null], true),
            (ours, vec![y, x], true),
        ] {
            let look = Frame::List(look);
            assert_eq!(said.is_outdated(&look), is_outdated, "{said:?} {look:?}");
        }
    }

    #[test]
    fn a_look_is_written_in_one_piece_as_it_is_part_by_part() {
        let mut wire = Vec::new();
        codec::encode(&mut wire, &CACHING);
        assert_eq!(wire, WATCH);
        let mut within = b"..key..".to_vec();
        encode_within(&mut within, 2..5);
        wire.clear();
        encode(&mut wire, b"key");
        assert_eq!(within[7..], wire);
    }

    #[test]
    fn owners_are_told_from_each_other_wherever_they_differ() {
        let usual = [b'a'; 40];
        for at in 0..usual.len() {
            let mut other = usual;
            other[at] ^= 1;
            assert_ne!(fingerprint(&usual), fingerprint(&other), "{at}");
            assert_ne!(fingerprint(&usual), fingerprint(&usual[..at]), "{at}");
        }
        assert_ne!(fingerprint(b"me"), fingerprint(b"me\0"));
    }
}
