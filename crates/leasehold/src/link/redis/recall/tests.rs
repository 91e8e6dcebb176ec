use super::*;
use crate::{
    configuration::{Configuration, KeyFormat, RestartGuard},
    link::redis::scripts::ServerInfo,
};
use leasehold_core::{Permit, PermitCount, Quorum, Resource, quarantine::Disk};

pub(in super::super) fn requests() -> Vec<Request> {
    let one = Resource::new("{a}\u{e9} b").expect("a name");
    let several = Resource::several(["b", "{a}\u{e9} c", "a"]).expect("good names");
    let owner = |bytes: &[u8]| Owner::from_bytes(bytes).expect("an owner");
    let both = [b"me\r\n\0".as_slice(), b"2"].map(owner);
    let share = Resource::shared(one.as_str()).expect("a name");
    let mut parts = requests_about(&share, &both);
    let of = PermitCount::new(12).expect("in range");
    let permit = Resource::permit(one.as_str(), of).expect("a name");
    let owner = |slot| {
        let slot = Permit::new(slot, of).expect("a slot");
        Owner::of_permit(&[7; 20], slot, &both[0])
    };
    let mut of_permits = requests_about(&permit, &[owner(11), owner(0)]);
    // It has no owner, and is the same about any part.
    of_permits.retain(|request| !matches!(request, Request::Inspect { .. }));
    parts.extend(of_permits);
    // Who leaves the queue of a name leaves it, whatever it wanted.
    parts.retain(|request| !matches!(request, Request::Leave { .. }));
    let others = [requests_about(&one, &both), requests_about(&several, &both)];
    [others.concat(), parts].concat()
}

fn requests_about(resource: &Resource, [me, you]: &[Owner; 2]) -> Vec<Request> {
    let ttl = Ttl::LONGEST;
    let place = |ticket| {
        let waiter = Waiter::new(0xab);
        Some(Place { waiter, ticket })
    };
    let acquire = |proposal, place| Request::Acquire {
        resource: resource.clone(),
        owner: me.clone(),
        ttl,
        proposal,
        place,
    };
    let queues = vec![
        acquire(None, place(None)),
        acquire(Some(FencingToken::FIRST), place(Some(Ticket::LAST))),
        Request::Leave {
            resource: resource.clone(),
            waiter: Waiter::new(u64::MAX),
        },
    ];
    let others = others_about(resource, [me, you], ttl);
    // Nobody queues for several names.
    let queues = queues.into_iter().filter(|_| !resource.is_several());
    queues.chain(others).collect()
}

fn others_about(resource: &Resource, [me, you]: [&Owner; 2], ttl: Ttl) -> Vec<Request> {
    let acquire = |proposal| Request::Acquire {
        resource: resource.clone(),
        owner: me.clone(),
        ttl,
        proposal,
        place: None,
    };
    let release = |keep| Request::Release {
        resource: resource.clone(),
        owner: me.clone(),
        keep,
    };
    vec![
        acquire(None),
        acquire(Some(FencingToken::LAST)),
        Request::Repair {
            resource: resource.clone(),
            owner: me.clone(),
            ttl: Ttl::SHORTEST,
            proposal: Some(FencingToken::FIRST),
        },
        Request::Transfer {
            resource: resource.clone(),
            from: you.clone(),
            owner: me.clone(),
            ttl,
            proposal: Some(FencingToken::FIRST),
        },
        Request::Raise {
            resource: resource.clone(),
            owner: me.clone(),
            token: FencingToken::LAST,
        },
        Request::Extend {
            resource: resource.clone(),
            owner: me.clone(),
            ttl,
        },
        Request::Inspect {
            resource: resource.clone(),
        },
        release(None),
        release(Some(ttl)),
    ]
}

/// The request as plain locks have it, which know neither counters nor queues.
fn plainly(request: Request) -> Option<Request> {
    Some(match request {
        Request::Acquire {
            resource,
            owner,
            ttl,
            ..
        } => Request::Acquire {
            resource,
            owner,
            ttl,
            proposal: None,
            place: None,
        },
        Request::Repair {
            resource,
            owner,
            ttl,
            ..
        } => Request::Repair {
            resource,
            owner,
            ttl,
            proposal: None,
        },
        Request::Transfer {
            resource,
            from,
            owner,
            ttl,
            ..
        } => Request::Transfer {
            resource,
            from,
            owner,
            ttl,
            proposal: None,
        },
        Request::Raise { .. } => return None,
        other => other,
    })
}

/// What the key of such a request begins with, before that of the lock.
fn prefix(kind: Kind, encoder: &Encoder) -> &[u8] {
    match kind {
        Kind::Leave => encoder.queues().as_bytes(),
        _ => b"",
    }
}

#[test]
fn a_request_is_read_back_as_it_was_given() {
    let quorum = Quorum::majority(1).expect("one node");
    let (guard, skew) = (RestartGuard::Off, Duration::ZERO);
    let fenced = Configuration::new("leasehold", "n", quorum, guard, Ttl::DEFAULT, skew);
    let plain = Configuration::plain().with_key_format(KeyFormat::php_lock_2());
    let met = ServerInfo::new("id".to_owned(), Disk::Trusted);
    for configuration in [&fenced, &plain] {
        let encoder = Encoder::new(configuration);
        let is_said = |request: &Request| encoder.is_fenced() || !request.resource().is_part();
        for request in requests().into_iter().filter(is_said) {
            let expected = match encoder.is_fenced() {
                true => Some(request.clone()),
                false => plainly(request.clone()),
            };
            let kind = Kind::of(&request);
            let in_full = [1, 2].map(|several| {
                let mut wire = Vec::new();
                encoder.say_in_full(&mut wire, &request, several, &met);
                wire
            });
            let by_hash = encoder.said(&request, &met);
            for mut wire in in_full.into_iter().chain([by_hash]) {
                let length = wire.len();
                assert_eq!(encoder.recall((kind, 0), &wire[..length - 1]), None);
                wire.extend_from_slice(b"*1\r\n$4\r\nPING\r\n");
                assert_eq!(encoder.recall((kind, 0), &wire), expected, "{request:?}");
                let lock = lock((kind, 0), &wire).expect("it has a key");
                let waiter = match &request {
                    Request::Leave { waiter, .. } => Some(waiter.to_string()),
                    _ => None,
                };
                let owner = request.owner().map(Owner::as_bytes);
                let whose = owner.or(waiter.as_ref().map(String::as_bytes));
                assert_eq!(lock.owner, whose, "{request:?}");
                let key = wire[lock.key].strip_prefix(prefix(kind, &encoder));
                let named = key.and_then(|key| encoder.key_format().resource(key));
                assert_eq!(named, request.resource().each().next());
                let several = lock
                    .several
                    .and_then(|keys| resource(&keys, encoder.key_format()));
                let expected = Some(request.resource()).filter(|it| it.is_several());
                assert_eq!(several.as_ref(), expected);
            }
        }
    }
}
