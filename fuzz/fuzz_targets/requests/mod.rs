//! Requests to which something is answered.

use leasehold_core::{FencingToken, Owner, PermitCount, Request, Resource, Ttl};

/// One of each kind, by its number.
pub fn one(number: u8, name: &str) -> Request {
    let permits = PermitCount::new(3).expect("three are possible");
    let resource = match number / 8 % 4 {
        0 => Resource::new(name),
        1 => Resource::shared(name),
        2 => Resource::permit(name, permits),
        _ => Resource::several([name, "other"]),
    };
    let resource = resource.expect("a plain name");
    let owner = Owner::from_bytes(b"0123456789").expect("ten bytes");
    let proposal = (number >= 128).then(|| FencingToken::new(7).expect("a number"));
    let (ttl, place, keep) = (Ttl::DEFAULT, None, None);
    match number % 8 {
        0 | 1 => Request::Acquire {
            resource,
            owner,
            ttl,
            proposal,
            place,
        },
        2 => Request::Repair {
            resource,
            owner,
            ttl,
            proposal,
        },
        3 | 4 => Request::Extend {
            resource,
            owner,
            ttl,
        },
        5 => Request::Inspect { resource },
        _ => Request::Release {
            resource,
            owner,
            keep,
        },
    }
}
