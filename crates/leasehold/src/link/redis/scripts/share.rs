//! How a request about a part of a name, a share or a permit, becomes a call.

use super::{Encoder, encode_field, encode_place, encode_ttl};
use crate::link::redis::codec;
use leasehold_core::{Owner, Request};

impl Encoder {
    /// Ends the call behind its head, and tells where a connection adds something of its own.
    pub(super) fn end_share(&self, wire: &mut Vec<u8>, request: &Request) -> Option<usize> {
        let (verb, ttl, from) = match request {
            Request::Acquire { ttl, .. } => ("acquire", Some(*ttl), None),
            Request::Repair { ttl, .. } => ("repair", Some(*ttl), None),
            Request::Transfer { ttl, from, .. } => ("transfer", Some(*ttl), Some(from)),
            Request::Extend { ttl, .. } => ("extend", Some(*ttl), None),
            Request::Release { keep, .. } => ("release", *keep, None),
            Request::Raise { .. } => ("raise", None, None),
            Request::Inspect { .. } | Request::Leave { .. } => ("inspect", None, None),
        };
        let number = match request {
            Request::Acquire { proposal, .. }
            | Request::Repair { proposal, .. }
            | Request::Transfer { proposal, .. } => *proposal,
            Request::Raise { token, .. } => Some(*token),
            _ => None,
        };
        let resource = request.resource();
        self.encode_key(wire, resource);
        wire.extend_from_slice(&self.node);
        self.encode_queue(wire, resource);
        codec::encode_part(wire, verb.as_bytes());
        wire.extend_from_slice(&self.of_votes);
        let gap = wire.len();
        let owner = request.owner().map(Owner::as_bytes);
        codec::encode_part(wire, owner.unwrap_or_default());
        match ttl {
            Some(ttl) => encode_ttl(wire, ttl),
            None => codec::encode_part(wire, b""),
        }
        self.encode_proposal(wire, number);
        match request.place() {
            Some(place) => encode_place(wire, place),
            None => {
                codec::encode_part(wire, b"");
                codec::encode_part(wire, b"");
            }
        }
        // Of those who read no grant is counted.
        match request.permit() {
            Some(_) => encode_field(wire, request.counter()),
            None => codec::encode_part(wire, b""),
        }
        codec::encode_part(wire, from.map(Owner::as_bytes).unwrap_or_default());
        Some(gap)
    }
}
