//! How a request becomes a call of a script.

mod arguments;
mod copied;
mod followed;
mod server_info;
mod several;
mod share;

use super::{
    codec,
    copies::Copies,
    heads::{Call, Heads},
    kind::Kind,
    texts::{GREET, RAISE, SCRIPTS, Script, TRANSFER, VOTE, VOTES},
};
use crate::{
    configuration::{Configuration, KeyFormat, RestartGuard},
    link::{Message, Wording},
};
use leasehold_core::{
    FencingToken, Owner, Place, Request, Resource, Ttl, fence::counter_of, quarantine::Disk,
};
use std::{borrow::Cow, time::Duration};

pub(super) use arguments::Arguments;
use followed::Lists;
pub(super) use server_info::{ServerInfo, flag};

/// Makes commands of requests, for nodes of one configuration.
#[derive(Clone, Debug)]
pub(crate) struct Encoder {
    is_fenced: bool,
    key_format: KeyFormat,
    node_key: String,
    /// What the keys of queues begin with.
    queues: String,
    fingerprint: String,
    text: String,
    /// The quarantine in milliseconds, or `off`.
    guard: String,
    trusts_disk: bool,
    /// For how long a node abstains that may have forgotten votes; none if it does not.
    quarantine: Option<Duration>,
    /// Where else a vote must be before it counts, in the order in which that is asked.
    copies: Vec<Copies>,
    is_sharded: bool,
    lists: Lists,
    /// Of all that is said but what a connection adds to it. Clones have it in common: nothing that is said changes.
    wording: Wording,
    heads: Heads,
    /// Parts of commands, as they leave: the key of the node's own hash; what a vote and what an extension say of the
    /// configuration.
    node: Vec<u8>,
    of_votes: Vec<u8>,
    of_extensions: Vec<u8>,
}

impl Encoder {
    pub(crate) fn new(configuration: &Configuration) -> Self {
        let (node_key, fingerprint) = (configuration.node_key(), configuration.fingerprint());
        let guard = configuration.quarantine_text();
        let parts = |parts: &[&str]| {
            let mut wire = Vec::new();
            for part in parts {
                codec::encode_part(&mut wire, part.as_bytes());
            }
            wire
        };
        Self {
            wording: Wording::new(),
            heads: Heads::new(configuration.is_fenced()),
            node: parts(&[&node_key]),
            of_votes: parts(&[&guard, &fingerprint]),
            of_extensions: parts(&[&fingerprint, &guard]),
            is_fenced: configuration.is_fenced(),
            key_format: configuration.key_format().clone(),
            node_key,
            queues: configuration.queues(),
            fingerprint,
            text: configuration.text().to_owned(),
            guard,
            trusts_disk: configuration.guard() == RestartGuard::TrustAof,
            quarantine: configuration.max_ttl().map(|_| configuration.quarantine()),
            copies: Vec::new(),
            is_sharded: false,
            lists: Lists::default(),
        }
    }

    /// For a server that keeps some of the keys only, as those of a cluster do: each lock is asked for in a call of its own.
    pub(super) fn sharded(mut self) -> Self {
        self.is_sharded = true;
        self
    }

    /// Whether the server keeps some of the keys only.
    pub(super) const fn is_sharded(&self) -> bool {
        self.is_sharded
    }

    /// For how long a node abstains that may have forgotten votes; none if it does not.
    pub(super) const fn quarantine(&self) -> Option<Duration> {
        self.quarantine
    }

    /// Where else a vote must be before it counts, in the order in which that is asked.
    pub(super) fn copies(&self) -> &[Copies] {
        &self.copies
    }

    /// Whether nodes that may have forgotten votes are kept from voting.
    pub(super) fn is_guarded(&self) -> bool {
        self.guard != "off"
    }

    /// Whether it matters that a node writes everything to its disk before it answers.
    pub(super) const fn trusts_disk(&self) -> bool {
        self.trusts_disk
    }

    /// The scripts that are needed.
    pub(super) fn scripts(&self) -> impl Iterator<Item = &'static Script> {
        let is_fenced = self.is_fenced;
        let of_the_other_kind = if is_fenced {
            &[TRANSFER.sha1][..]
        } else {
            &[VOTE.sha1, VOTES.sha1, RAISE.sha1]
        };
        SCRIPTS
            .iter()
            .filter(move |script| !of_the_other_kind.contains(&script.sha1))
    }

    /// Whether nodes have a hash of their own.
    pub(super) const fn is_fenced(&self) -> bool {
        self.is_fenced
    }

    /// The key of the hash that nodes have of their own, if they have one.
    pub(super) fn node_key(&self) -> Option<&str> {
        self.is_fenced.then_some(&*self.node_key)
    }

    /// What the keys of queues begin with.
    pub(super) fn queues(&self) -> &str {
        &self.queues
    }

    /// Which resources the keys are of.
    pub(super) const fn key_format(&self) -> &KeyFormat {
        &self.key_format
    }

    /// The key of this name on the nodes.
    pub(super) fn key_of<'a>(&self, name: &'a str) -> Cow<'a, str> {
        self.key_format.key(name)
    }

    /// The key of `resource` on the nodes.
    pub(super) fn key<'a>(&self, resource: &'a Resource) -> Cow<'a, str> {
        self.key_format.key(resource.as_str())
    }

    /// What is relied upon of a node's disk, by whether its settings make it get every change before the answer; none
    /// if they were not asked for yet.
    pub(super) const fn disk(&self, is_durable: Option<bool>) -> Disk {
        match (self.trusts_disk, is_durable) {
            (false, _) => Disk::Ignored,
            (true, None) => Disk::Unasked,
            (true, Some(true)) => Disk::Trusted,
            (true, Some(false)) => Disk::Distrusted,
        }
    }

    /// The first call on a new connection; with the number of the failover by which the node is the master, where sentinels
    /// say so.
    pub(super) fn greeting(&self, disk: Disk, failover: Option<u64>) -> Vec<u8> {
        let mut wire = Vec::new();
        let failover = failover.map(|number| number.to_string());
        let mut parts: Vec<&[u8]> = vec![
            b"EVAL",
            GREET.as_bytes(),
            b"1",
            self.node_key.as_bytes(),
            self.guard.as_bytes(),
            flag(disk).as_bytes(),
            self.fingerprint.as_bytes(),
            self.text.as_bytes(),
        ];
        parts.extend(failover.as_deref().map(str::as_bytes));
        codec::encode(&mut wire, &parts);
        wire
    }

    /// The command that `request` becomes.
    pub(super) fn call_of(&self, request: &Request) -> Call {
        Call::of(request, self.is_fenced)
    }

    /// What `message` asks, in words that all links have in common. Behind the first of them a connection adds something
    /// of its own, if there are others. A call that can be for several locks has no head yet: first come its keys.
    #[inline(always)]
    pub(super) fn words<'a>(&self, message: &'a mut Message<'_>) -> (&'a [u8], Option<&'a [u8]>) {
        message.words(self.wording, |request, words| self.write(request, words))
    }

    /// Appends these words, and tells where a connection adds something of its own, if it does.
    #[inline(never)]
    pub(super) fn write(&self, request: &Request, words: &mut Vec<u8>) -> Option<usize> {
        let call = self.call_of(request);
        if call.is_of_several_names() {
            return self.write_several(words, (call, request), false);
        }
        if !call.is_for_several() {
            words.extend_from_slice(self.heads.of(call));
        }
        match call.is_of_a_share() {
            true => self.end_share(words, request),
            false => self.end(words, request),
        }
    }

    /// Appends `request` to `wire`, by the hash of a script that the node should know.
    pub(super) fn say_request(&self, wire: &mut Vec<u8>, request: &Request, met: &ServerInfo) {
        let mut words = Vec::new();
        let gap = self.write(request, &mut words);
        let parts = match gap.and_then(|gap| words.split_at_checked(gap)) {
            Some((before, behind)) => (before, Some(behind)),
            None => (&*words, None),
        };
        self.say(wire, self.call_of(request), parts, met);
    }

    /// Appends these words for a request to `wire`, likewise.
    #[inline]
    pub(super) fn say(
        &self,
        wire: &mut Vec<u8>,
        call: Call,
        (before, behind): (&[u8], Option<&[u8]>),
        met: &ServerInfo,
    ) {
        if call.is_for_several() {
            let mut arguments = Arguments::default();
            arguments.push(call, behind.unwrap_or_default());
            return self.call(wire, (call, 1), (before, &arguments), met);
        }
        wire.extend_from_slice(before);
        if let Some(behind) = behind {
            wire.extend_from_slice(&met.attested);
            wire.extend_from_slice(behind);
        }
    }

    /// Appends a call for so many locks to `wire`, of which these are the keys and the arguments. Parts of one name have all in
    /// common that stands before the gap.
    pub(super) fn call(
        &self,
        wire: &mut Vec<u8>,
        (call, locks): (Call, usize),
        (keys, arguments): (&[u8], &Arguments),
        met: &ServerInfo,
    ) {
        let call = call.of_locks(locks);
        match locks {
            1 => wire.extend_from_slice(self.heads.of(call)),
            _ => call.begin(wire, self.is_fenced, (locks, arguments.runs()), false),
        }
        wire.extend_from_slice(keys);
        self.end_call(wire, call, arguments, met);
    }

    /// Ends a call that can be for several locks behind their keys.
    fn end_call(&self, wire: &mut Vec<u8>, call: Call, arguments: &Arguments, met: &ServerInfo) {
        match call {
            Call::Vote => {
                wire.extend_from_slice(&self.node);
                arguments.write(wire, call);
                wire.extend_from_slice(&self.of_votes);
                // It is taken over from nobody.
                codec::encode_part(wire, b"");
                wire.extend_from_slice(&met.attested);
            }
            Call::Votes => {
                wire.extend_from_slice(&self.node);
                wire.extend_from_slice(&self.of_votes);
                wire.extend_from_slice(&met.attested);
                arguments.write(wire, call);
            }
            Call::VoteParts | Call::ReleaseParts => {
                wire.extend_from_slice(&met.attested);
                arguments.write(wire, call);
            }
            _ => arguments.write(wire, call),
        }
    }

    /// What is said for a request that goes to one node alone.
    #[cfg(any(test, feature = "wire"))]
    pub(super) fn said(&self, request: &Request, met: &ServerInfo) -> Vec<u8> {
        let mut wire = Vec::new();
        self.say_request(&mut wire, request, met);
        wire
    }

    /// Appends `request` to `wire`, and brings the script along that is for so many.
    pub(super) fn say_in_full(
        &self,
        wire: &mut Vec<u8>,
        request: &Request,
        several: usize,
        met: &ServerInfo,
    ) {
        let call = self.call_of(request).of_locks(several);
        let end = if call.is_of_several_names() {
            self.write_several(wire, (call, request), true)
        } else {
            call.begin(wire, self.is_fenced, (1, 1), true);
            match call.is_of_a_share() {
                true => self.end_share(wire, request),
                false => self.end(wire, request),
            }
        };
        if let Some(gap) = end {
            let behind = wire.split_off(gap);
            if call.is_for_several() {
                let mut arguments = Arguments::default();
                arguments.push(call, &behind);
                return self.end_call(wire, call, &arguments, met);
            }
            wire.extend_from_slice(&met.attested);
            wire.extend_from_slice(&behind);
        }
    }

    /// Whether a request of this kind is a command of the node's and no call of a script.
    pub(super) const fn is_native(&self, kind: Kind) -> bool {
        !self.is_fenced && matches!(kind, Kind::Acquire | Kind::Repair)
    }

    /// Ends the command with its keys and arguments, and tells where a connection adds its [`ServerInfo`], if it does.
    fn end(&self, wire: &mut Vec<u8>, request: &Request) -> Option<usize> {
        match request {
            Request::Acquire { .. } | Request::Repair { .. } | Request::Transfer { .. } => {
                return self.end_vote(wire, request);
            }
            Request::Raise {
                resource,
                owner,
                token,
            } => {
                self.encode_key(wire, resource);
                wire.extend_from_slice(&self.node);
                codec::encode_part(wire, owner.as_bytes());
                self.encode_counter(wire, resource);
                self.encode_proposal(wire, Some(*token));
                codec::encode_part(wire, self.fingerprint.as_bytes());
            }
            Request::Extend {
                resource,
                owner,
                ttl,
            } => {
                self.encode_key(wire, resource);
                if self.is_fenced {
                    wire.extend_from_slice(&self.node);
                }
                codec::encode_part(wire, owner.as_bytes());
                encode_ttl(wire, *ttl);
                if self.is_fenced {
                    wire.extend_from_slice(&self.of_extensions);
                    return Some(wire.len());
                }
            }
            Request::Inspect { resource } => self.encode_key(wire, resource),
            Request::Leave { resource, waiter } => {
                self.encode_queue(wire, resource);
                codec::encode_part(wire, waiter.to_string().as_bytes());
            }
            Request::Release {
                resource,
                owner,
                keep,
            } => {
                self.encode_key(wire, resource);
                let gap = wire.len();
                codec::encode_part(wire, owner.as_bytes());
                let Some(keep) = keep else {
                    return Some(gap);
                };
                encode_ttl(wire, *keep);
            }
        }
        None
    }

    fn end_vote(&self, wire: &mut Vec<u8>, request: &Request) -> Option<usize> {
        let (owner, ttl) = (request.owner()?, request.ttl()?);
        let (from, proposal) = match request {
            Request::Transfer { from, proposal, .. } => (Some(from), *proposal),
            Request::Acquire { proposal, .. } | Request::Repair { proposal, .. } => {
                (None, *proposal)
            }
            _ => (None, None),
        };
        let resource = request.resource();
        self.encode_key(wire, resource);
        if !self.is_fenced {
            codec::encode_part(wire, owner.as_bytes());
            if from.is_none() {
                wire.extend_from_slice(SET_IF_NONE);
            }
            encode_ttl(wire, ttl);
            if let Some(from) = from {
                codec::encode_part(wire, from.as_bytes());
            }
            return None;
        }
        let place = request.place();
        let is_first = self.call_of(request) == Call::Vote;
        let mut gap = wire.len();
        if !is_first {
            wire.extend_from_slice(&self.node);
        }
        if place.is_some() {
            self.encode_queue(wire, resource);
        }
        codec::encode_part(wire, owner.as_bytes());
        encode_ttl(wire, ttl);
        self.encode_proposal(wire, proposal);
        self.encode_counter(wire, resource);
        if is_first {
            return Some(gap);
        }
        wire.extend_from_slice(&self.of_votes);
        codec::encode_part(wire, from.map(Owner::as_bytes).unwrap_or_default());
        gap = wire.len();
        if let Some(place) = place {
            encode_place(wire, place);
        }
        Some(gap)
    }

    fn encode_key(&self, wire: &mut Vec<u8>, resource: &Resource) {
        if self.key_format.is_raw() {
            return codec::encode_part(wire, resource.as_bytes());
        }
        let (before, behind) = self.key_format.affixes();
        let (before, behind) = (before.as_bytes(), behind.as_bytes());
        codec::encode_joined(wire, [b"", before, resource.as_bytes(), behind]);
    }

    /// The key of the queue of a fair lock.
    fn encode_queue(&self, wire: &mut Vec<u8>, resource: &Resource) {
        let (before, behind) = self.key_format.affixes();
        let (before, behind) = (before.as_bytes(), behind.as_bytes());
        let queues = self.queues.as_bytes();
        codec::encode_joined(wire, [queues, before, resource.as_bytes(), behind]);
    }

    /// The field of the counter. Plain locks know no counters.
    fn encode_counter(&self, wire: &mut Vec<u8>, resource: &Resource) {
        if self.is_fenced {
            encode_field(wire, counter_of(resource));
        } else {
            codec::encode_part(wire, b"");
        }
    }

    fn encode_proposal(&self, wire: &mut Vec<u8>, token: Option<FencingToken>) {
        match token {
            Some(token) if self.is_fenced => {
                codec::encode_number(wire, token.get());
            }
            _ => codec::encode_part(wire, b""),
        }
    }
}

/// The field of this counter.
fn encode_field(wire: &mut Vec<u8>, counter: u16) {
    codec::encode_marked(wire, Some(b'f'), u64::from(counter));
}

fn encode_place(wire: &mut Vec<u8>, Place { waiter, ticket }: Place) {
    codec::encode_part(wire, waiter.to_string().as_bytes());
    let ticket = ticket.map(|ticket| ticket.to_string());
    codec::encode_part(wire, ticket.unwrap_or_default().as_bytes());
}

fn encode_ttl(wire: &mut Vec<u8>, ttl: Ttl) {
    codec::encode_number(wire, ttl.as_millis());
}

/// What Redlock's own command says between owner and TTL.
const SET_IF_NONE: &[u8] = b"$2\r\nNX\r\n$2\r\nPX\r\n";

#[cfg(test)]
mod tests;
