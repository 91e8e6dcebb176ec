//! How a request about names that are locked together becomes a call.

use super::{Encoder, encode_ttl};
use crate::link::redis::{codec, heads::Call};
use leasehold_core::{FencingToken, Owner, Request, Resource, Ttl};

impl Encoder {
    /// Appends a request about names that are locked together, with the script's text if it goes along `in_full`. Tells
    /// where a connection adds something of its own, if it does.
    pub(super) fn write_several(
        &self,
        wire: &mut Vec<u8>,
        (call, request): (Call, &Request),
        in_full: bool,
    ) -> Option<usize> {
        let each: Vec<Resource> = request.resource().each().collect();
        call.begin(wire, self.is_fenced, (each.len(), 0), in_full);
        for name in &each {
            self.encode_key(wire, name);
        }
        if self.is_fenced {
            wire.extend_from_slice(&self.node);
        }
        let owner = request.owner().map(Owner::as_bytes);
        codec::encode_part(wire, owner.unwrap_or_default());
        let (verb, ttl, token, from) = several(request);
        match ttl {
            Some(ttl) => encode_ttl(wire, ttl),
            None => codec::encode_part(wire, b""),
        }
        self.encode_proposal(wire, token);
        codec::encode_part(wire, from.map(Owner::as_bytes).unwrap_or_default());
        codec::encode_part(wire, verb);
        if !self.is_fenced {
            return None;
        }
        wire.extend_from_slice(&self.of_votes);
        let gap = wire.len();
        for name in &each {
            self.encode_counter(wire, name);
        }
        Some(gap)
    }
}

/// What a request about several names says: what is wanted, a TTL, what the counters shall be, and whose the keys were.
fn several(
    request: &Request,
) -> (
    &'static [u8],
    Option<Ttl>,
    Option<FencingToken>,
    Option<&Owner>,
) {
    match request {
        Request::Acquire { ttl, proposal, .. } => (b"acquire", Some(*ttl), *proposal, None),
        Request::Repair { ttl, proposal, .. } => (b"repair", Some(*ttl), *proposal, None),
        Request::Transfer {
            from,
            ttl,
            proposal,
            ..
        } => (b"transfer", Some(*ttl), *proposal, Some(from)),
        Request::Raise { token, .. } => (b"raise", None, Some(*token), None),
        Request::Extend { ttl, .. } => (b"extend", Some(*ttl), None, None),
        Request::Release { keep, .. } => (b"release", *keep, None, None),
        // Nobody queues for several names.
        Request::Inspect { .. } | Request::Leave { .. } => (b"inspect", None, None, None),
    }
}
