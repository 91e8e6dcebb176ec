//! How plain locks are kept where nobody may run scripts: by commands that compare before they change.
//!
//! Valkey from 9.0 has `SET … IFEQ` and `DELIFEQ`, Redis from 8.4 `SET … IFEQ` and `DELEX … IFEQ`. They do what must be one
//! atomic step (argument S3), and tell less than a script can. So a request becomes several commands, sent
//! together:
//!
//! * the change, which says yes or no. That is the vote, but for two things;
//! * `GET`, which says whose the key is, for a refusal that names the holder, and for a request that has found its own
//!   key;
//! * `PTTL`, which says how long it is.
//!
//! Another client may come between them, so a refusal describes the key a moment after it was refused. Nothing
//! depends on that: a client that is refused hears of it later still.
//!
//! What no command can do is to compare how long the key lives: see `lives`. And a server without memory refuses `SET`,
//! where a script may be allowed to extend.

mod lives;
mod trial;

pub(super) use lives::Lives;
pub(super) use trial::{SentCommand, Trial};

use super::{
    codec::{self, Frame},
    reply::{self, Reply, Verdict},
};
use leasehold_core::{Fault, Owner, Refusal, Request, Vote};
use std::time::Duration;

/// The command by which a node deletes a key only if it carries a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Native {
    DelIfEq,
    DelEx,
}

impl Native {
    /// Appends the command that changes the key, if the request is for one that does. A key that lives on does so for
    /// `life_ms`.
    pub(super) fn change(
        self,
        wire: &mut Vec<u8>,
        request: &Request,
        key: &[u8],
        life_ms: u64,
    ) -> bool {
        let life_ms = life_ms.to_string();
        let px = life_ms.as_bytes();
        match request {
            Request::Acquire { owner, .. } | Request::Repair { owner, .. } => {
                set_if_none(wire, key, owner, px);
            }
            // Argument S3: the comparison and the change are one step.
            Request::Extend { owner, .. }
            | Request::Release {
                owner,
                keep: Some(_),
                ..
            } => {
                set_if(wire, key, owner, owner, px);
            }
            Request::Transfer { from, owner, .. } => {
                set_if(wire, key, from, owner, px);
            }
            Request::Release {
                owner, keep: None, ..
            } => match self {
                // Argument S3, as above.
                Self::DelIfEq => codec::encode(wire, &[b"DELIFEQ", key, owner.as_bytes()]),
                Self::DelEx => codec::encode(wire, &[b"DELEX", key, b"IFEQ", owner.as_bytes()]),
            },
            // Plain locks know neither counters that could be raised nor queues.
            Request::Inspect { .. } | Request::Raise { .. } | Request::Leave { .. } => {
                return false;
            }
        }
        true
    }
}

/// Redlock's own command.
pub(super) fn set_if_none(wire: &mut Vec<u8>, key: &[u8], owner: &Owner, px: &[u8]) {
    codec::encode(wire, &[b"SET", key, owner.as_bytes(), b"NX", b"PX", px]);
}

fn set_if(wire: &mut Vec<u8>, key: &[u8], now: &Owner, then: &Owner, px: &[u8]) {
    let (now, then) = (now.as_bytes(), then.as_bytes());
    codec::encode(wire, &[b"SET", key, then, b"IFEQ", now, b"PX", px]);
}

/// What a node has answered so far to the commands of one request.
#[derive(Debug, Default)]
pub(super) struct NativeReplies {
    change: Option<KeyChange>,
    key: Option<KeyAfter>,
}

/// What became of the change.
#[derive(Debug)]
enum KeyChange {
    Done,
    NotDone,
    Failed(Verdict),
}

/// What the key was just after that.
#[derive(Debug)]
enum KeyAfter {
    Absent,
    Of(Vec<u8>),
    /// Of another type: another program's lock.
    Foreign,
    Failed(Verdict),
}

impl NativeReplies {
    pub(super) const NOTHING: Self = Self {
        change: None,
        key: None,
    };

    /// Takes the answer to the change; none if it is no answer to one.
    pub(super) fn change(&mut self, frame: &Frame<'_>) -> Option<()> {
        self.change = Some(match frame {
            Frame::Text(b"OK") | Frame::Integer(1) => KeyChange::Done,
            Frame::Null | Frame::Integer(0) => KeyChange::NotDone,
            Frame::Error(error) if is_of_other_type(error) => KeyChange::NotDone,
            frame => KeyChange::Failed(failure(frame)?),
        });
        Some(())
    }

    /// Takes the answer to `GET`; none if it is no answer to that.
    pub(super) fn key(&mut self, frame: &Frame<'_>) -> Option<()> {
        self.key = Some(match frame {
            Frame::Text(value) => KeyAfter::Of(value.to_vec()),
            Frame::Null => KeyAfter::Absent,
            Frame::Error(error) if is_of_other_type(error) => KeyAfter::Foreign,
            frame => KeyAfter::Failed(failure(frame)?),
        });
        Some(())
    }

    /// What all of it says to `request`, with the answer to `PTTL`; none if that is no answer to it. Begins anew.
    pub(super) fn reply(&mut self, request: &Request, life: &Frame<'_>) -> Option<Reply> {
        let heard = std::mem::take(self);
        let verdict = match (heard.change, heard.key?) {
            (Some(KeyChange::Done), _) => Verdict::Vote(Vote::GRANTED),
            (Some(KeyChange::Failed(verdict)), _) | (_, KeyAfter::Failed(verdict)) => verdict,
            (Some(KeyChange::NotDone) | None, key) => refused(request, key, life)?,
        };
        Some(Reply {
            verdict,
            time: None,
        })
    }
}

/// The vote of a node that has changed nothing.
fn refused(request: &Request, key: KeyAfter, life: &Frame<'_>) -> Option<Verdict> {
    let remaining = match life {
        Frame::Integer(-2) => return Some(absent(request)),
        Frame::Integer(millis) => u64::try_from(*millis).ok().map(Duration::from_millis),
        frame => return failure(frame),
    };
    let vote = match (request, key) {
        (_, KeyAfter::Absent) => return Some(absent(request)),
        (_, KeyAfter::Of(value)) if has_found_its_own(request, &value) => own(request),
        (_, KeyAfter::Of(value)) => Vote::Refused(Refusal {
            holder: Owner::from_bytes(&value),
            remaining,
            queued: None,
            permits: None,
        }),
        (_, KeyAfter::Foreign | KeyAfter::Failed(_)) => Vote::Refused(Refusal {
            holder: None,
            remaining,
            queued: None,
            permits: None,
        }),
    };
    Some(Verdict::Vote(vote))
}

/// Whether a vote has found its own owner.
fn has_found_its_own(request: &Request, value: &[u8]) -> bool {
    let owner = request.owner().filter(|_| request.is_vote());
    owner.is_some_and(|owner| owner.as_bytes() == value)
}

/// The vote of a node whose key is the request's own.
fn own(request: &Request) -> Vote {
    match request {
        // An earlier one has set it: that one's TTL is the one that counts.
        Request::Repair { .. } => Vote::GRANTED,
        // Argument S1: nothing is sent twice, so it has come to a server that has voted already. One server, one vote.
        _ => Vote::Unknown(Fault::same_node()),
    }
}

/// The vote of a node whose key `SET … NX` has found, by the answer to the `GET` that followed; none if it is no answer to
/// that.
pub(super) fn found(request: &Request, frame: &Frame<'_>) -> Option<Vote> {
    match frame {
        Frame::Text(value) if has_found_its_own(request, value) => Some(own(request)),
        // It was refused, whatever has become of the key since.
        Frame::Text(_) | Frame::Null | Frame::Error(_) => Some(Vote::Refused(Refusal::default())),
        _ => None,
    }
}

/// The vote of a node that has no such key.
fn absent(request: &Request) -> Verdict {
    Verdict::Vote(match request {
        Request::Inspect { .. } => Vote::GRANTED,
        _ => Vote::Refused(Refusal::default()),
    })
}

/// What an error means; none if it is none, or is about a script, of which there was none.
fn failure(frame: &Frame<'_>) -> Option<Verdict> {
    reply::of_error(frame).filter(|verdict| *verdict != Verdict::ScriptMissing)
}

/// Redis says it in one way for `SET` and `GET` and in another for `DELEX`.
fn is_of_other_type(error: &[u8]) -> bool {
    [&b"WRONGTYPE"[..], b"ERR Key should be of string type"]
        .iter()
        .any(|words| error.starts_with(words))
}

#[cfg(test)]
mod tests;
