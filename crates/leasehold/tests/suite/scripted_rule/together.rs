//! Requests that leave in one call.

use super::{NAMES, Twice, wordless};
use crate::support::driven::{self, name};
use leasehold::link::redis::wire::{self, RemoteProcess, Wire};
use leasehold_core::{
    FencingToken, Identity, Owner, Permit, PermitCount, Request, Resource, Ttl, Vote,
    quarantine::Disk,
};
use leasehold_fake_redis::{Data, Interpreter, Server, Time};
use std::time::Duration;

impl Twice {
    /// The request, and now and then another that can leave in the same call.
    pub(super) fn together(&mut self, request: &Request) -> Vec<Request> {
        let mut together = vec![request.clone()];
        if request.resource().is_part() {
            for _ in 0..self.dice.pick(&[0, 0, 1, 3, 8]) {
                let other = self.dice.for_another_part(request);
                let is_new =
                    |other: &Request| together.iter().all(|one| one.owner() != other.owner());
                together.extend(other.filter(is_new));
            }
            return together;
        }
        let (now, table) = (self.now(), &self.ruled.table);
        // In a call, a vote that a key of another type refuses is counted all the same, which costs a number and no more.
        let is_counted = |of: &Resource| {
            let is_read = table.readers(now, of).next().is_some();
            is_read && matches!(request, Request::Acquire { .. })
        };
        let counted = NAMES.map(|of| is_counted(&name(of)));
        if is_counted(&request.resource().whole()) {
            return together;
        }
        if let Request::Acquire { .. } | Request::Release { .. } = request {
            for (of, is_counted) in NAMES.into_iter().zip(counted) {
                let is_new = together.iter().all(|other| *other.resource() != name(of));
                if is_new && !is_counted && self.dice.roll(3) == 0 {
                    let less = self.dice.pick(&[0, 0, 1, 49]);
                    together.push(of_another(request, of, less));
                }
            }
        }
        together
    }

    /// Compares what the rule says to each of these requests with what the server says that gets these bytes.
    pub(super) fn hear(
        &mut self,
        lua: &Interpreter,
        requests: &[Request],
        wire: &[u8],
        (met, disk): (Option<&Identity>, Disk),
    ) {
        self.story = format!("disk {disk:?}, met {met:?}: {requests:?}");
        // A call is one step: the node looks once, for all of it.
        let attested = self.attest(&requests[0], met, disk);
        let ruled = { requests.iter() }.map(|request| match &attested {
            Ok(()) => wordless(self.apply(request)),
            Err(abstained) => abstained.clone(),
        });
        let ruled: Vec<_> = ruled.collect();
        let (now, time) = (Duration::from_micros(self.us), Time::at(self.us));
        let reply = self.server.answer(&mut self.data, lua, time, wire);
        let told = self.wire.votes(requests, &reply).into_iter();
        let told = told.map(|(vote, time)| (wordless(vote), time.unwrap_or(now)));
        let ruled: Vec<_> = ruled.into_iter().map(|vote| (vote, now)).collect();
        let place = format!("{}: {}", self.place, self.story);
        assert_eq!(told.collect::<Vec<_>>(), ruled, "{place}");
    }
}

#[test]
fn an_error_about_one_key_is_told_to_its_lock_alone() {
    let lua = Interpreter::new();
    for (sha1, text) in wire::scripts() {
        lua.load(sha1, text);
    }
    let (wire, peer) = (Wire::new(&driven::unguarded()), RemoteProcess::default());
    let (mut server, mut data) = (Server::new("run", "history"), Data::default());
    let mut told = |server: &mut Server, requests: &[Request]| {
        let call = wire.call(requests, &peer).expect("they leave together");
        let time = Time::at(1_700_000_000_000_000);
        let reply = server.answer(&mut data, &lua, time, &call);
        let votes = wire.votes(requests, &reply).into_iter();
        votes.map(|(vote, _)| vote).collect::<Vec<_>>()
    };
    let ttl = Duration::from_secs(10);
    let by = |owner: &str| ["a", "b", "c"].map(|key| driven::acquire(key, owner, ttl));
    let before = told(&mut server, &by("you")[1..2]);
    assert!(matches!(before[..], [Vote::Granted { .. }]), "{before:?}");
    server.forbidden.insert("PTTL".to_owned());
    let releases = ["a", "b", "c"].map(|key| driven::release(key, "me"));
    for requests in [by("me"), releases] {
        let votes = told(&mut server, &requests);
        let [
            Vote::Granted { .. },
            Vote::Unknown(fault),
            Vote::Granted { .. },
        ] = &votes[..]
        else {
            panic!("{votes:?}");
        };
        assert!(fault.to_string().contains("this command"), "{fault}");
    }
}

/// The one who is given the smaller proposal is counted behind the other, by the counter that both slots have.
#[test]
fn slots_with_one_counter_are_counted_one_after_the_other() {
    let lua = Interpreter::new();
    let (wire, peer) = (Wire::new(&driven::unguarded()), RemoteProcess::default());
    let (mut server, mut data) = (Server::new("run", "history"), Data::default());
    let ask = |permit: Permit, proposal: u64| Request::Acquire {
        resource: Resource::permit("gpu", permit.of()).expect("a good name"),
        owner: Owner::of_permit(&[b'a'; 20], permit, &driven::by("me")),
        ttl: Ttl::DEFAULT,
        proposal: FencingToken::new(proposal),
        place: None,
    };
    let of = PermitCount::new(256).expect("in range");
    let slots: Vec<_> = of
        .slots()
        .filter_map(|slot| Permit::new(slot, of))
        .collect();
    let mut pairs = slots
        .iter()
        .enumerate()
        .flat_map(|(at, one)| slots[at + 1..].iter().map(move |other| (*one, *other)));
    let (one, other) = pairs
        .find(|(one, other)| ask(*one, 1).counter() == ask(*other, 1).counter())
        .expect("256 slots and 1,024 counters");
    for (sha1, text) in wire::scripts() {
        lua.load(sha1, text);
    }
    let requests = [ask(one, 100), ask(other, 50)];
    let call = wire.call(&requests, &peer).expect("they leave together");
    let time = Time::at(1_700_000_000_000_000);
    let reply = server.answer(&mut data, &lua, time, &call);
    let counted = wire.votes(&requests, &reply).into_iter();
    let counted = counted.map(|(vote, _)| match vote {
        Vote::Granted { counter } => counter.map(FencingToken::get),
        other => panic!("{other:?}"),
    });
    assert_eq!(counted.collect::<Vec<_>>(), [Some(100), Some(101)]);
}

/// The request for another lock, with a proposal that differs by this, and now and then for another time.
fn of_another(request: &Request, of: &str, less: u64) -> Request {
    let mut other = request.clone();
    match &mut other {
        Request::Acquire {
            resource,
            proposal,
            ttl,
            ..
        } => {
            *resource = name(of);
            if less == 1 {
                *ttl = Ttl::DEFAULT;
            }
            let smaller =
                proposal.and_then(|token| FencingToken::new(token.get().saturating_sub(less)));
            *proposal = smaller.or(*proposal);
        }
        Request::Release { resource, .. } => *resource = name(of),
        _ => {}
    }
    other
}
