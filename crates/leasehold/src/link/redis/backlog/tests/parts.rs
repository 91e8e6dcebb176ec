//! Requests about parts of names that leave together.

use super::{
    calls::{commands, fenced, given, met},
    *,
};
use crate::link::redis::{
    backlog::calls::Again,
    texts::{RELEASE_SHARE, VOTE_SHARE},
};
use leasehold_core::{FencingToken, Permit, PermitCount, Place, Ticket, Waiter};

fn reader(number: u8) -> Owner {
    Owner::from_bytes(format!("{}.me", format!("{number:02x}").repeat(20)).as_bytes())
        .expect("short")
}

fn vote(name: &str, number: u8) -> Request {
    let (waiter, ticket) = (Waiter::new(number.into()), Ticket::new(number.into()));
    Request::Acquire {
        resource: Resource::shared(name).expect("a name"),
        owner: reader(number),
        ttl: Ttl::DEFAULT,
        proposal: FencingToken::new(7),
        // The first comes for the first time, and the second need not queue.
        place: (number != 1).then_some(Place {
            waiter,
            ticket: ticket.filter(|_| number > 0),
        }),
    }
}

fn release(name: &str, number: u8) -> Request {
    Request::Release {
        resource: Resource::shared(name).expect("a name"),
        owner: reader(number),
        keep: None,
    }
}

fn vote_for_permit(name: &str, number: u8) -> Request {
    let of = PermitCount::new(4).expect("in range");
    let slot = of.slots().nth(number.into()).expect("there are four");
    let permit = Permit::new(slot, of).expect("in range");
    Request::Acquire {
        resource: Resource::permit(name, of).expect("a name"),
        owner: Owner::of_permit(&[number; 20], permit, &reader(number)),
        ttl: Ttl::DEFAULT,
        proposal: FencingToken::new(7),
        place: None,
    }
}

/// The requests in the order in which they leave, each with how many are behind it in its call.
fn all_left(backlog: &mut Backlog, encoder: &Encoder) -> Vec<(Request, u16)> {
    backlog.say_gathered(encoder, &met());
    backlog.sent(backlog.ready().len());
    std::iter::from_fn(|| backlog.answered())
        .collect::<Vec<_>>()
        .into_iter()
        .map(|pending| match pending {
            Pending::Request(waiting) => {
                let request = backlog.recall(&waiting, encoder).expect("it is read back");
                let (_, owner) = backlog.lock(&waiting).expect("it has a key");
                assert_eq!(owner.as_deref(), request.owner().map(Owner::as_bytes));
                (request, waiting.behind)
            }
            Pending::Aside(aside) => panic!("{aside:?}"),
        })
        .collect()
}

#[test]
fn those_of_one_name_leave_together_the_releases_before_the_votes() {
    let (encoder, mut backlog) = (fenced(), Backlog::default());
    let requests = [
        vote("a", 0),
        release("a", 8),
        vote("a", 1),
        vote_for_permit("a", 2),
        release("a", 9),
        vote("a", 3),
    ];
    for (number, request) in (0..).zip(&requests) {
        given(&mut backlog, number, request, &encoder);
    }
    assert!(backlog.ready().is_empty(), "more may come");
    backlog.say_if_room(&encoder, &met());
    let [releases, votes] = &commands(&backlog)[..] else {
        panic!("{:?}", commands(&backlog));
    };
    assert_eq!(releases[1], RELEASE_SHARE.sha1);
    assert_eq!(votes[1], VOTE_SHARE.sha1);
    // The keys stand there once.
    for call in [releases, votes] {
        assert_eq!(call[2..6], ["3", "a", "ns:node", "ns:queue:a"]);
    }
    assert_eq!(
        (releases.len(), votes.len()),
        (6 + 5 + 2 * 7, 6 + 5 + 4 * 7)
    );
    let order = [(1, 1), (4, 0), (0, 3), (2, 2), (3, 1), (5, 0)];
    let order = order.map(|(at, behind): (usize, u16)| (requests[at].clone(), behind));
    assert_eq!(all_left(&mut backlog, &encoder), order);
}

#[test]
fn those_of_another_name_leave_behind_them() {
    let (encoder, mut backlog) = (fenced(), Backlog::default());
    let requests = [vote("a", 0), vote("a", 1), vote("b", 2), release("c", 3)];
    for (number, request) in (0..).zip(&requests) {
        given(&mut backlog, number, request, &encoder);
    }
    let order = [(0, 1), (1, 0), (3, 0), (2, 0)];
    let order = order.map(|(at, behind): (usize, u16)| (requests[at].clone(), behind));
    assert_eq!(all_left(&mut backlog, &encoder), order);
}

#[test]
fn a_release_leaves_behind_the_vote_that_it_takes_back_and_not_behind_others() {
    let (encoder, mut backlog) = (fenced(), Backlog::default());
    let requests = [vote("a", 0), vote("a", 1), release("a", 2), release("a", 1)];
    for (number, request) in (0..).zip(&requests) {
        given(&mut backlog, number, request, &encoder);
    }
    let order = [(2, 0), (0, 1), (1, 0), (3, 0)];
    let order = order.map(|(at, behind): (usize, u16)| (requests[at].clone(), behind));
    assert_eq!(all_left(&mut backlog, &encoder), order);
}

#[test]
fn a_call_without_its_script_is_given_again_with_it() {
    let (encoder, mut backlog) = (fenced(), Backlog::default());
    let requests = [vote("a", 0), vote("a", 2), vote("a", 3)];
    for (number, request) in (0..).zip(&requests) {
        given(&mut backlog, number, request, &encoder);
    }
    backlog.say_gathered(&encoder, &met());
    backlog.sent(backlog.ready().len());
    for _ in 0..3 {
        let Some(Pending::Request(waiting)) = backlog.answered() else {
            panic!("it has left");
        };
        let said = backlog.repeat(waiting, Again::WithScript(3), &encoder, &met());
        assert_eq!(said, Ok(()));
    }
    let in_full = &commands(&backlog)[0];
    assert_eq!((&*in_full[0], &*in_full[1]), ("EVAL", VOTE_SHARE.text));
    let order = [(2, 0), (0, 1), (1, 0)];
    let order = order.map(|(at, behind): (usize, u16)| (requests[at].clone(), behind));
    assert_eq!(all_left(&mut backlog, &encoder), order);
}

#[test]
fn a_call_for_parts_is_shorter_than_one_for_locks() {
    let (encoder, mut backlog) = (fenced(), Backlog::default());
    for number in 2..100 {
        given(&mut backlog, number.into(), &vote("a", number), &encoder);
    }
    let left = all_left(&mut backlog, &encoder);
    let longest = left.iter().map(|(_, behind)| behind + 1).max();
    assert_eq!((left.len(), longest), (98, Some(32)));
}
