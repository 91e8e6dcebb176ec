//! That names and owners arrive as they are, to the longest.

use super::{
    Suite,
    peer::{LONG, Peer, checked},
};
use crate::link::Link;
use leasehold_core::{Owner, Request, Resource};

pub(super) async fn check<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    resources(suite).await;
    owners(suite).await;
}

async fn resources<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("names").await;
    let stem = peer.resource(0);
    let tails = [
        "plain",
        "Plain",
        " with spaces ",
        " with spaces",
        "\"quotes\" 'and' \\ {braces} [brackets] * ? %00 $1",
        "é",
        // The same to the eye, other bytes.
        "e\u{301}",
        "\u{65e5}\u{672c}\u{1f512}",
    ];
    let mut names: Vec<_> = tails.iter().map(|tail| format!("{stem}{tail}")).collect();
    // The longest names, alike up to the last byte; and one that is the beginning of another.
    let filler = "x".repeat(Resource::LONGEST - stem.as_str().len() - 1);
    names.extend(["y", "z", ""].map(|end| format!("{stem}{filler}{end}")));
    let names: Vec<_> = names
        .iter()
        .map(|name| Resource::new(name).expect("a name in range"))
        .collect();

    for (number, name) in names.iter().enumerate() {
        let request = acquire(name, &numbered(number));
        peer.expect_granted(request, "resources of different names do not interfere")
            .await;
    }
    let stranger = numbered(usize::MAX);
    for (number, name) in names.iter().enumerate() {
        let request = acquire(name, &stranger);
        let promise = "a resource of any name is found again";
        peer.expect_held(request, &numbered(number), LONG, promise)
            .await;
    }
    for (number, name) in names.iter().enumerate() {
        release(&mut peer, name, &numbered(number)).await;
    }
}

async fn owners<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("owners").await;
    let name = peer.resource(0);
    let all: Vec<u8> = (0..=u8::MAX).collect();
    let values = [
        &all[..Owner::LONGEST],
        &all[1..],
        &[0],
        b"text\0and more",
        b"\r\n",
        b" ",
        &[0xff; 255],
    ];
    let stranger = numbered(usize::MAX);
    for value in values {
        let owner = Owner::from_bytes(value).expect("an owner in range");
        peer.expect_granted(acquire(&name, &owner), "any bytes make an owner")
            .await;
        let held = "any bytes keep others out";
        peer.expect_held(acquire(&name, &stranger), &owner, LONG, held)
            .await;
        // All but the last byte are the same.
        if let Some(shorter) = Owner::from_bytes(&value[..value.len() - 1]) {
            let prefix = "the beginning of an owner is another owner";
            peer.expect_held(acquire(&name, &shorter), &owner, LONG, prefix)
                .await;
        }
        release(&mut peer, &name, &owner).await;
    }
}

async fn release<L: Link>(peer: &mut Peer<L>, resource: &Resource, owner: &Owner) {
    let request = Request::Release {
        resource: resource.clone(),
        owner: owner.clone(),
        keep: None,
    };
    peer.expect_granted(request, "the owner releases its key")
        .await;
}

fn acquire(resource: &Resource, owner: &Owner) -> Request {
    Request::Acquire {
        resource: resource.clone(),
        owner: owner.clone(),
        ttl: checked(LONG),
        proposal: None,
        place: None,
    }
}

fn numbered(number: usize) -> Owner {
    Owner::from_bytes(number.to_string().as_bytes()).expect("a short number")
}
