//! The scripts and how a request becomes a call of one.
//!
//! They declare themselves with `#!lua`, so that the node checks before the first line whether it may
//! write at all: a replica then refuses as a whole, where a bare script would read, find a key that is
//! not ours, and answer for a node that does not decide. Extending and releasing are allowed to a node
//! that is out of memory: they need none.

use super::{
    codec,
    native::{Native, set_if_none},
    replicas::Replicas,
};
use crate::configuration::{Configuration, KeyFormat, RestartGuard};
use leasehold_core::{Owner, Request, Resource, fence::counter_of};
use std::borrow::Cow;

/// A script and the name that the nodes know it by.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) text: &'static str,
    pub(super) sha1: &'static str,
}

/// All of them, to be loaded into a node before it is first used.
const SCRIPTS: [Script; 6] = [VOTE, RAISE, EXTEND, TRANSFER, INSPECT, RELEASE];

/// Makes commands of requests, for nodes of one configuration.
#[derive(Clone, Debug)]
pub(super) struct Encoder {
    is_fenced: bool,
    key_format: KeyFormat,
    node_key: String,
    fingerprint: String,
    text: String,
    /// The quarantine in milliseconds, or `off`.
    guard: String,
    trusts_disk: bool,
    /// Who must have heard of a vote before it counts.
    replicas: Option<Replicas>,
}

/// What one connection adds to the commands that all links have in common.
#[derive(Clone, Debug, Default)]
pub(super) struct Met {
    /// The process that was met when the connection was opened; empty if it is not known.
    pub(super) id: String,
    /// Whether that process writes everything to its disk before it answers.
    pub(super) is_durable: bool,
    /// What takes the place of scripts, if they cannot be run.
    pub(super) native: Option<Native>,
}

impl Encoder {
    pub(super) fn new(configuration: &Configuration) -> Self {
        Self {
            is_fenced: configuration.is_fenced(),
            key_format: configuration.key_format().clone(),
            node_key: configuration.node_key(),
            fingerprint: configuration.fingerprint(),
            text: configuration.text().to_owned(),
            guard: configuration.quarantine_text(),
            trusts_disk: configuration.guard() == RestartGuard::TrustAof,
            replicas: None,
        }
    }

    /// With votes that these must have heard of.
    pub(super) fn replicated(self, replicas: Replicas) -> Self {
        Self {
            replicas: Some(replicas),
            ..self
        }
    }

    /// Who must have heard of a vote before it counts, if anybody.
    pub(super) const fn replicas(&self) -> Option<Replicas> {
        self.replicas
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
            [TRANSFER.sha1, TRANSFER.sha1]
        } else {
            [VOTE.sha1, RAISE.sha1]
        };
        SCRIPTS
            .iter()
            .filter(move |script| !of_the_other_kind.contains(&script.sha1))
    }

    /// Whether nodes have a hash of their own.
    pub(super) const fn is_fenced(&self) -> bool {
        self.is_fenced
    }

    /// Which resources the keys are of.
    pub(super) const fn key_format(&self) -> &KeyFormat {
        &self.key_format
    }

    /// The key of `resource` on the nodes.
    pub(super) fn key<'a>(&self, resource: &'a Resource) -> Cow<'a, str> {
        self.key_format.key(resource.as_str())
    }

    /// The first call on a new connection.
    pub(super) fn greeting(&self, is_durable: bool) -> Vec<u8> {
        let mut wire = Vec::new();
        let parts: [&[u8]; 8] = [
            b"EVAL",
            GREET.as_bytes(),
            b"1",
            self.node_key.as_bytes(),
            self.guard.as_bytes(),
            flag(is_durable),
            self.fingerprint.as_bytes(),
            self.text.as_bytes(),
        ];
        codec::encode(&mut wire, &parts);
        wire
    }

    /// `request` as a call of a script that the node should know, but for what [`append`](Self::append) adds.
    pub(super) fn by_hash(&self, request: &Request) -> Vec<u8> {
        match script(request, self.is_fenced) {
            None => self.native(request),
            Some(script) => self.call(b"EVALSHA", script.sha1, request),
        }
    }

    /// `request` as a call that brings its script along.
    pub(super) fn in_full(&self, request: &Request, met: &Met) -> Vec<u8> {
        let mut wire = match script(request, self.is_fenced) {
            None => self.native(request),
            Some(script) => self.call(b"EVAL", script.text, request),
        };
        self.append(&mut wire, request, met);
        wire
    }

    /// Ends the command with what differs between connections.
    pub(super) fn append(&self, wire: &mut Vec<u8>, request: &Request, met: &Met) {
        if self.is_vote(request) {
            codec::encode_part(wire, flag(met.is_durable));
            codec::encode_part(wire, met.id.as_bytes());
        }
    }

    /// Whether `request` is a command of the node's and no call of a script.
    pub(super) const fn is_native(&self, request: &Request) -> bool {
        script(request, self.is_fenced).is_none()
    }

    /// Whether a command for `request` is complete only with what its connection adds.
    fn is_vote(&self, request: &Request) -> bool {
        self.is_fenced && matches!(request, Request::Acquire { .. } | Request::Transfer { .. })
    }

    /// Redlock's own command.
    fn native(&self, request: &Request) -> Vec<u8> {
        let mut wire = Vec::with_capacity(160);
        if let Request::Acquire {
            resource,
            owner,
            ttl,
            ..
        } = request
        {
            let ttl_ms = ttl.as_millis().to_string();
            let key = self.key(resource);
            set_if_none(&mut wire, key.as_bytes(), owner, ttl_ms.as_bytes());
        }
        wire
    }

    fn call(&self, command: &[u8], script: &str, request: &Request) -> Vec<u8> {
        let ttl_ms = ttl_ms(request);
        // Plain locks know no counters.
        let numbers = if self.is_fenced {
            [counter_field(request), proposal(request)]
        } else {
            [String::new(), String::new()]
        };
        let [field, number] = numbers.each_ref().map(String::as_bytes);
        let node_key = self.node_key.as_bytes();
        let key = self.key(request.resource());
        let key = key.as_bytes();
        let owner = request.owner().map(Owner::as_bytes).unwrap_or_default();
        let (one_key, two_keys) = ([&b"1"[..], key], [&b"2"[..], key, node_key]);
        let mut parts = Vec::with_capacity(13);
        parts.extend([command, script.as_bytes()]);
        match request {
            Request::Acquire { .. } | Request::Transfer { .. } if self.is_fenced => {
                parts.extend(two_keys);
                let (guard, cfg) = (self.guard.as_bytes(), self.fingerprint.as_bytes());
                parts.extend([owner, ttl_ms.as_bytes(), number, field, guard, cfg]);
                parts.push(from(request));
            }
            Request::Raise { .. } => {
                parts.extend(two_keys);
                parts.extend([owner, field, number, self.fingerprint.as_bytes()]);
            }
            Request::Extend { .. } if self.is_fenced => {
                parts.extend(two_keys);
                parts.extend([owner, ttl_ms.as_bytes(), self.fingerprint.as_bytes()]);
            }
            Request::Acquire { .. } | Request::Extend { .. } => {
                parts.extend(one_key);
                parts.extend([owner, ttl_ms.as_bytes()]);
            }
            Request::Transfer { .. } => {
                parts.extend(one_key);
                parts.extend([owner, ttl_ms.as_bytes(), from(request)]);
            }
            Request::Inspect { .. } => parts.extend(one_key),
            Request::Release { keep, .. } => {
                parts.extend(one_key);
                parts.push(owner);
                parts.extend(keep.map(|_| ttl_ms.as_bytes()));
            }
        }
        let length: usize = parts.iter().map(|part| part.len() + 16).sum();
        let mut wire = Vec::with_capacity(length);
        let more = if self.is_vote(request) { 2 } else { 0 };
        codec::encode_with(&mut wire, &parts, more);
        wire
    }
}

/// None where a command of the node's does it.
const fn script(request: &Request, is_fenced: bool) -> Option<&'static Script> {
    match request {
        Request::Acquire { .. } | Request::Transfer { .. } if is_fenced => Some(&VOTE),
        Request::Acquire { .. } => None,
        Request::Transfer { .. } => Some(&TRANSFER),
        Request::Raise { .. } => Some(&RAISE),
        Request::Extend { .. } => Some(&EXTEND),
        Request::Inspect { .. } => Some(&INSPECT),
        Request::Release { .. } => Some(&RELEASE),
    }
}

const fn flag(flag: bool) -> &'static [u8] {
    if flag { b"1" } else { b"0" }
}

fn ttl_ms(request: &Request) -> String {
    let ttl = match request {
        Request::Acquire { ttl, .. }
        | Request::Extend { ttl, .. }
        | Request::Transfer { ttl, .. } => Some(*ttl),
        Request::Release { keep, .. } => *keep,
        Request::Raise { .. } | Request::Inspect { .. } => None,
    };
    ttl.map(|ttl| ttl.as_millis().to_string())
        .unwrap_or_default()
}

fn counter_field(request: &Request) -> String {
    format!("f{}", counter_of(request.resource()))
}

fn proposal(request: &Request) -> String {
    let token = match request {
        Request::Acquire { proposal, .. } | Request::Transfer { proposal, .. } => *proposal,
        Request::Raise { token, .. } => Some(*token),
        _ => None,
    };
    token.map(|token| token.to_string()).unwrap_or_default()
}

fn from(request: &Request) -> &[u8] {
    match request {
        Request::Transfer { from, .. } => from.as_bytes(),
        _ => b"",
    }
}

const VOTE: Script = Script {
    text: concat!(
        "#!lua\n",
        include_str!("guard.lua"),
        include_str!("refuse.lua"),
        include_str!("vote.lua")
    ),
    sha1: "5e6ef3da3ae57803be485f2c0d57a000016f8c92",
};
const RAISE: Script = Script {
    text: concat!(
        "#!lua\n",
        include_str!("refuse.lua"),
        include_str!("raise.lua")
    ),
    sha1: "953fbd38938d8c124185aa9265723444a8c05eb2",
};
const EXTEND: Script = Script {
    text: concat!(
        "#!lua flags=allow-oom\n",
        include_str!("refuse.lua"),
        include_str!("extend.lua")
    ),
    sha1: "1316eab192c3b998f577081db34b41881c418827",
};
const TRANSFER: Script = Script {
    text: concat!(
        "#!lua flags=allow-oom\n",
        include_str!("refuse.lua"),
        include_str!("transfer.lua")
    ),
    sha1: "611013c06ede63b28d8beab06942308fdc51df49",
};
const INSPECT: Script = Script {
    text: concat!(
        "#!lua flags=no-writes\n",
        include_str!("refuse.lua"),
        include_str!("inspect.lua")
    ),
    sha1: "ee6e0e084b174b700f58a9ad4fe3b4cbbbb5324d",
};
const RELEASE: Script = Script {
    text: concat!(
        "#!lua flags=allow-oom\n",
        include_str!("refuse.lua"),
        include_str!("release.lua")
    ),
    sha1: "cbf57fd06f5e57e48638b631b82318cade55aa5a",
};

/// Said once for each connection, so it goes along in full. Also to a node without memory: it still releases.
const GREET: &str = concat!(
    "#!lua flags=allow-oom\n",
    include_str!("guard.lua"),
    include_str!("greet.lua")
);

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::{Resource, Ttl, owner::hexadecimal};

    #[test]
    fn the_hashes_are_those_of_the_texts() {
        assert_eq!(
            hexadecimal(&sha1(b"abc")),
            "a9993e364706816aba3e25717850c26c9cd0d89d"
        );
        for script in SCRIPTS {
            let hash = hexadecimal(&sha1(script.text.as_bytes()));
            assert_eq!(script.sha1, hash, "{}", script.text);
        }
    }

    #[test]
    fn a_plain_request_is_a_call_with_one_key() {
        let request = Request::Extend {
            resource: Resource::new("r").expect("a name"),
            owner: Owner::from_bytes(b"o\r\n").expect("an owner"),
            ttl: Ttl::SHORTEST,
        };
        let expected = format!(
            "*6\r\n$7\r\nEVALSHA\r\n$40\r\n{}\r\n$1\r\n1\r\n$1\r\nr\r\n$3\r\no\r\n\r\n$2\r\n10\r\n",
            EXTEND.sha1
        );
        let plain = Encoder::new(&Configuration::plain());
        assert_eq!(plain.by_hash(&request), expected.as_bytes());
        let format = KeyFormat::php_lock_2();
        let formatted = Encoder::new(&Configuration::plain().with_key_format(format));
        let expected = expected.replace("$1\r\nr\r\n", "$6\r\nlock_r\r\n");
        assert_eq!(formatted.by_hash(&request), expected.as_bytes());
    }

    #[test]
    fn a_plain_acquire_is_redlocks_own_command() {
        let request = Request::Acquire {
            resource: Resource::new("r").expect("a name"),
            owner: Owner::from_bytes(b"me").expect("an owner"),
            ttl: Ttl::SHORTEST,
            proposal: None,
        };
        let plain = Encoder::new(&Configuration::plain());
        let expected =
            b"*6\r\n$3\r\nSET\r\n$1\r\nr\r\n$2\r\nme\r\n$2\r\nNX\r\n$2\r\nPX\r\n$2\r\n10\r\n";
        assert_eq!(plain.by_hash(&request), expected);
        assert_eq!(plain.in_full(&request, &Met::default()), expected);
    }

    /// FIPS 180-1, as plainly as it can be said.
    fn sha1(text: &[u8]) -> [u8; 20] {
        let mut state: [u32; 5] = [
            0x6745_2301,
            0xefcd_ab89,
            0x98ba_dcfe,
            0x1032_5476,
            0xc3d2_e1f0,
        ];
        let mut padded = text.to_vec();
        padded.push(0x80);
        padded.resize(padded.len().next_multiple_of(64), 0);
        if padded.len() - text.len() < 9 {
            padded.resize(padded.len() + 64, 0);
        }
        let end = padded.len() - 8;
        padded[end..].copy_from_slice(&(text.len() as u64 * 8).to_be_bytes());
        for block in padded.chunks_exact(64) {
            let mut words: Vec<u32> = block
                .chunks_exact(4)
                .map(|word| u32::from_be_bytes(word.try_into().expect("four bytes")))
                .collect();
            for i in 16..80 {
                let mixed = words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16];
                words.push(mixed.rotate_left(1));
            }
            let [mut a, mut b, mut c, mut d, mut e] = state;
            for (i, word) in words.into_iter().enumerate() {
                let (mix, constant) = match i {
                    0..20 => (b & c | !b & d, 0x5a82_7999_u32),
                    20..40 => (b ^ c ^ d, 0x6ed9_eba1),
                    40..60 => (b & c | b & d | c & d, 0x8f1b_bcdc),
                    _ => (b ^ c ^ d, 0xca62_c1d6),
                };
                let sum = [a.rotate_left(5), mix, e, constant, word];
                let next = sum.into_iter().fold(0, u32::wrapping_add);
                (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
            }
            for (part, add) in state.iter_mut().zip([a, b, c, d, e]) {
                *part = part.wrapping_add(add);
            }
        }
        let mut hash = [0; 20];
        for (bytes, part) in hash.chunks_exact_mut(4).zip(state) {
            bytes.copy_from_slice(&part.to_be_bytes());
        }
        hash
    }
}
