//! How a request becomes a call of a script.

use super::{
    codec,
    native::{Native, set_if_none},
    replicas::Replicas,
    texts::{
        EXTEND, FAIR, GREET, INSPECT, LEAVE, RAISE, RELEASE, REPAIR, SCRIPTS, Script, TRANSFER,
        VOTE,
    },
};
use crate::configuration::{Configuration, KeyFormat, RestartGuard};
use leasehold_core::{Owner, Request, Resource, fence::counter_of, quarantine::Disk};
use std::{borrow::Cow, time::Duration};

/// Makes commands of requests, for nodes of one configuration.
#[derive(Clone, Debug)]
pub(super) struct Encoder {
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
    /// Who must have heard of a vote before it counts.
    replicas: Option<Replicas>,
}

/// What one connection adds to the commands that all links have in common.
#[derive(Clone, Debug)]
pub(super) struct Met {
    /// The process that was met when the connection was opened; empty if it is not known.
    pub(super) id: String,
    /// What clients rely on the disk of that process for, and whether its settings let them.
    pub(super) disk: Disk,
    /// What takes the place of scripts, if they cannot be run.
    pub(super) native: Option<Native>,
}

impl Met {
    /// Of a connection of which nothing is known yet.
    pub(super) const fn nobody(disk: Disk) -> Self {
        Self {
            id: String::new(),
            disk,
            native: None,
        }
    }
}

impl Encoder {
    pub(super) fn new(configuration: &Configuration) -> Self {
        Self {
            is_fenced: configuration.is_fenced(),
            key_format: configuration.key_format().clone(),
            node_key: configuration.node_key(),
            queues: configuration.queues(),
            fingerprint: configuration.fingerprint(),
            text: configuration.text().to_owned(),
            guard: configuration.quarantine_text(),
            trusts_disk: configuration.guard() == RestartGuard::TrustAof,
            quarantine: configuration.max_ttl().map(|_| configuration.quarantine()),
            replicas: None,
        }
    }

    /// For how long a node abstains that may have forgotten votes; none if it does not.
    pub(super) const fn quarantine(&self) -> Option<Duration> {
        self.quarantine
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

    /// The key of the hash that nodes have of their own, if they have one.
    pub(super) fn node_key(&self) -> Option<&str> {
        self.is_fenced.then_some(&*self.node_key)
    }

    /// Which resources the keys are of.
    pub(super) const fn key_format(&self) -> &KeyFormat {
        &self.key_format
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

    /// The first call on a new connection.
    pub(super) fn greeting(&self, disk: Disk) -> Vec<u8> {
        let mut wire = Vec::new();
        let parts: [&[u8]; 8] = [
            b"EVAL",
            GREET.as_bytes(),
            b"1",
            self.node_key.as_bytes(),
            self.guard.as_bytes(),
            flag(disk).as_bytes(),
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
        if self.is_attested(request) {
            codec::encode_part(wire, flag(met.disk).as_bytes());
            codec::encode_part(wire, met.id.as_bytes());
        }
        if let Some(place) = request.place().filter(|_| self.is_fenced) {
            let ticket = place.ticket.map(|ticket| ticket.to_string());
            codec::encode_part(wire, place.waiter.to_string().as_bytes());
            codec::encode_part(wire, ticket.unwrap_or_default().as_bytes());
        }
    }

    /// Whether `request` is a command of the node's and no call of a script.
    pub(super) const fn is_native(&self, request: &Request) -> bool {
        script(request, self.is_fenced).is_none()
    }

    /// Whether the node looks at itself for `request`, and needs what its connection adds to the command.
    fn is_attested(&self, request: &Request) -> bool {
        let relies = request.is_vote() || matches!(request, Request::Extend { .. });
        self.is_fenced && relies
    }

    /// Redlock's own command.
    fn native(&self, request: &Request) -> Vec<u8> {
        let mut wire = Vec::with_capacity(160);
        if let Request::Acquire {
            resource,
            owner,
            ttl,
            ..
        }
        | Request::Repair {
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
        let (queue, waiter) = (self.queue(request), waiter(request));
        let (one_key, two_keys) = ([&b"1"[..], key], [&b"2"[..], key, node_key]);
        let mut parts = Vec::with_capacity(14);
        parts.extend([command, script.as_bytes()]);
        match request {
            request if self.is_fenced && request.is_vote() => {
                match &queue {
                    Some(queue) => parts.extend([&b"3"[..], key, node_key, queue.as_bytes()]),
                    None => parts.extend(two_keys),
                }
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
                parts.push(self.guard.as_bytes());
            }
            Request::Acquire { .. } | Request::Repair { .. } | Request::Extend { .. } => {
                parts.extend(one_key);
                parts.extend([owner, ttl_ms.as_bytes()]);
            }
            Request::Transfer { .. } => {
                parts.extend(one_key);
                parts.extend([owner, ttl_ms.as_bytes(), from(request)]);
            }
            Request::Inspect { .. } => parts.extend(one_key),
            Request::Leave { .. } => {
                parts.extend([&b"1"[..], queue.as_deref().unwrap_or_default().as_bytes()]);
                parts.push(waiter.as_bytes());
            }
            Request::Release { keep, .. } => {
                parts.extend(one_key);
                parts.push(owner);
                parts.extend(keep.map(|_| ttl_ms.as_bytes()));
            }
        }
        self.begin(&parts, request)
    }

    /// The command of these parts, which [`append`](Self::append) ends.
    fn begin(&self, parts: &[&[u8]], request: &Request) -> Vec<u8> {
        let length: usize = parts.iter().map(|part| part.len() + 16).sum();
        let mut wire = Vec::with_capacity(length);
        let more = match request.place() {
            _ if !self.is_attested(request) => 0,
            None => 2,
            Some(_) => 4,
        };
        codec::encode_with(&mut wire, parts, more);
        wire
    }

    /// The key of the queue, if the request is about a fair lock.
    fn queue(&self, request: &Request) -> Option<String> {
        let is_fair = request.place().is_some() || matches!(request, Request::Leave { .. });
        let key = || self.key(request.resource());
        is_fair.then(|| format!("{}{}", self.queues, key()))
    }
}

/// None where a command of the node's does it.
const fn script(request: &Request, is_fenced: bool) -> Option<&'static Script> {
    match request {
        Request::Acquire { place: Some(_), .. } if is_fenced => Some(&FAIR),
        Request::Acquire { .. } | Request::Transfer { .. } if is_fenced => Some(&VOTE),
        Request::Repair { .. } if is_fenced => Some(&REPAIR),
        Request::Acquire { .. } | Request::Repair { .. } => None,
        Request::Transfer { .. } => Some(&TRANSFER),
        Request::Raise { .. } => Some(&RAISE),
        Request::Extend { .. } => Some(&EXTEND),
        Request::Inspect { .. } => Some(&INSPECT),
        Request::Release { .. } => Some(&RELEASE),
        Request::Leave { .. } => Some(&LEAVE),
    }
}

/// What is relied upon of a disk, as scripts are told.
pub(super) const fn flag(disk: Disk) -> &'static str {
    match disk {
        Disk::Ignored => "0",
        Disk::Trusted => "1",
        Disk::Distrusted => "2",
        Disk::Unasked => "3",
    }
}

fn ttl_ms(request: &Request) -> String {
    let ttl = match request {
        Request::Acquire { ttl, .. }
        | Request::Repair { ttl, .. }
        | Request::Extend { ttl, .. }
        | Request::Transfer { ttl, .. } => Some(*ttl),
        Request::Release { keep, .. } => *keep,
        Request::Raise { .. } | Request::Inspect { .. } | Request::Leave { .. } => None,
    };
    ttl.map(|ttl| ttl.as_millis().to_string())
        .unwrap_or_default()
}

fn counter_field(request: &Request) -> String {
    format!("f{}", counter_of(request.resource()))
}

fn proposal(request: &Request) -> String {
    let token = match request {
        Request::Acquire { proposal, .. }
        | Request::Repair { proposal, .. }
        | Request::Transfer { proposal, .. } => *proposal,
        Request::Raise { token, .. } => Some(*token),
        _ => None,
    };
    token.map(|token| token.to_string()).unwrap_or_default()
}

fn waiter(request: &Request) -> String {
    match request {
        Request::Leave { waiter, .. } => waiter.to_string(),
        _ => String::new(),
    }
}

fn from(request: &Request) -> &[u8] {
    match request {
        Request::Transfer { from, .. } => from.as_bytes(),
        _ => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::{Place, Resource, Ttl, Waiter};

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
    fn only_a_fair_vote_names_a_queue_and_who_waits() {
        let quorum = leasehold_core::Quorum::majority(1).expect("one node");
        let (guard, skew) = (RestartGuard::Off, std::time::Duration::ZERO);
        let fenced = Configuration::new("leasehold", "n", quorum, guard, Ttl::DEFAULT, skew);
        let wire = |place: Option<Place>| {
            let request = Request::Acquire {
                resource: Resource::new("r").expect("a name"),
                owner: Owner::from_bytes(b"me").expect("an owner"),
                ttl: Ttl::SHORTEST,
                proposal: None,
                place,
            };
            let encoder = Encoder::new(&fenced);
            let mut wire = encoder.by_hash(&request);
            encoder.append(&mut wire, &request, &Met::nobody(Disk::Ignored));
            String::from_utf8(wire).expect("text")
        };
        let usual = wire(None);
        assert!(usual.starts_with("*14\r\n"), "{usual}");
        assert!(!usual.contains("queue"), "{usual}");
        let place = |ticket| {
            let waiter = Waiter::new(0xab);
            Some(Place { waiter, ticket })
        };
        let fair = wire(place(leasehold_core::Ticket::new(7)));
        assert!(fair.starts_with("*17\r\n"), "{fair}");
        assert!(fair.contains("$17\r\nleasehold:queue:r\r\n"), "{fair}");
        assert!(
            fair.ends_with("$16\r\n00000000000000ab\r\n$1\r\n7\r\n"),
            "{fair}"
        );
        let new = wire(place(None));
        assert!(
            new.ends_with("$16\r\n00000000000000ab\r\n$0\r\n\r\n"),
            "{new}"
        );
    }

    #[test]
    fn a_plain_acquire_is_redlocks_own_command() {
        let request = Request::Acquire {
            resource: Resource::new("r").expect("a name"),
            owner: Owner::from_bytes(b"me").expect("an owner"),
            ttl: Ttl::SHORTEST,
            proposal: None,
            place: None,
        };
        let plain = Encoder::new(&Configuration::plain());
        let expected =
            b"*6\r\n$3\r\nSET\r\n$1\r\nr\r\n$2\r\nme\r\n$2\r\nNX\r\n$2\r\nPX\r\n$2\r\n10\r\n";
        assert_eq!(plain.by_hash(&request), expected);
        assert_eq!(
            plain.in_full(&request, &Met::nobody(Disk::Ignored)),
            expected
        );
    }
}
