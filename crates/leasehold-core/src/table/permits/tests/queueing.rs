//! Who is next: as many as there are permits left.

use super::*;
use crate::queue::Queued;

/// How many come before it, what it waits for, and the rest of what it is told.
fn queued(node: &mut Node, request: &Request) -> (u32, Barrier, Refusal) {
    let told = node.refuses(request);
    let Some(Queued { ahead, barrier, .. }) = told.queued else {
        panic!("it is in the queue: {told:?}");
    };
    let queued = None;
    (ahead, barrier, Refusal { queued, ..told })
}

#[test]
fn as_many_are_next_as_there_are_permits_left() {
    let mut node = Node::default();
    for slot in 0..3 {
        let number = u8::try_from(slot).expect("few");
        node.grants(&permit(slot, 3, number).in_queue(100 + u64::from(slot)));
    }
    let all = taken(3, &[(0, 1_000), (1, 1_000), (2, 1_000)]);
    let wants = |waiter: u8, slot| permit(slot, 3, 10 + waiter).in_queue(u64::from(waiter));
    for waiter in 0..4 {
        let told = queued(&mut node, &wants(waiter, 0));
        assert_eq!(told, (u32::from(waiter), Barrier::Key, all.clone()));
    }
    node.grants(&permit(1, 3, 1).release(None));
    let two = taken(3, &[(0, 1_000), (2, 1_000)]);
    // One is left, and it is the first one's.
    assert_eq!(
        queued(&mut node, &wants(1, 1)),
        (1, Barrier::Key, two.clone())
    );
    // Who asks for a slot that is taken keeps its place.
    assert_eq!(
        queued(&mut node, &wants(0, 2)),
        (0, Barrier::Key, two.clone())
    );
    assert_eq!(queued(&mut node, &wants(1, 1)), (1, Barrier::Key, two));
    node.grants(&permit(2, 3, 2).release(None));
    // Two are left, for the first two, in whatever order they ask.
    let one = taken(3, &[(0, 1_000)]);
    assert_eq!(
        queued(&mut node, &wants(2, 1)),
        (2, Barrier::Key, one.clone())
    );
    node.grants(&wants(1, 1));
    let two = taken(3, &[(0, 1_000), (1, 1_000)]);
    assert_eq!(
        queued(&mut node, &wants(2, 2)),
        (1, Barrier::Key, two.clone())
    );
    // A newcomer is behind all who wait.
    assert_eq!(queued(&mut node, &wants(9, 2)), (3, Barrier::Key, two));
    node.grants(&wants(0, 2));
    let waiting = node.table.queue(&whole()).expect("some wait");
    assert_eq!(waiting.entries().len(), 3);
}

#[test]
fn where_all_permits_are_left_who_comes_behind_more_than_there_are_waits_for_the_queue() {
    let mut node = Node::default();
    node.grants(&writer("w").in_queue(100));
    let wants = |waiter: u8, slot| permit(slot, 2, 10 + waiter).in_queue(u64::from(waiter));
    for waiter in 0..3 {
        let (ahead, barrier, told) = queued(&mut node, &wants(waiter, 0));
        assert_eq!((ahead, barrier), (u32::from(waiter), Barrier::Key));
        assert_eq!(told.holder, Some(writer("w").owner));
    }
    node.millis = 1_000;
    let (ahead, barrier, told) = queued(&mut node, &wants(2, 0));
    assert_eq!((ahead, barrier), (2, Barrier::Queue));
    assert_eq!(told.remaining, Some(Duration::from_secs(2)));
    assert_eq!(told.permits, None);
    node.grants(&wants(1, 0));
    let (ahead, barrier, told) = queued(&mut node, &wants(2, 1));
    assert_eq!((ahead, barrier), (1, Barrier::Key));
    assert_eq!(told, taken(2, &[(0, 1_000)]));
    node.grants(&wants(0, 1));
}

#[test]
fn who_waits_for_anything_else_is_not_passed_by_although_permits_are_left() {
    let mut node = Node::default();
    node.grants(&permit(0, 3, 1).in_queue(100));
    let one = taken(3, &[(0, 1_000)]);
    for other in [writer("w"), reader("r")] {
        node.grants(&permit(1, 3, 2).in_queue(2));
        let (ahead, barrier, _) = queued(&mut node, &other.in_queue(3));
        assert_eq!((ahead, barrier), (0, Barrier::Key));
        // As many come before it as there are permits, so that whoever asks knows that none of those left is for it.
        node.grants(&permit(1, 3, 2).release(None));
        let (ahead, barrier, told) = queued(&mut node, &permit(2, 3, 4).in_queue(4));
        assert_eq!((ahead, barrier), (3, Barrier::Key));
        assert_eq!(told, one);
        node.grants(&other.leave(3));
        node.grants(&permit(2, 3, 4).in_queue(4));
        node.grants(&permit(2, 3, 4).release(None));
    }
}

#[test]
fn who_is_not_next_is_not_counted() {
    let mut node = Node::default();
    node.grants(&permit(0, 2, 1).acquire());
    queued(&mut node, &permit(0, 2, 2).in_queue(2));
    queued(&mut node, &permit(1, 2, 3).in_queue(3));
    assert_eq!(node.counts(&permit(1, 2, 2).in_queue(2)), Some(1));
    node.grants(&permit(1, 2, 2).release(None));
    assert_eq!(node.counts(&permit(1, 2, 3).in_queue(3)), Some(2));
}

#[test]
fn a_counter_at_its_end_is_told_to_who_is_next_alone() {
    let mut node = Node::default();
    let last = FencingToken::LAST.get();
    assert_eq!(node.counts(&permit(1, 2, 1).counted(last)), Some(last));
    node.grants(&permit(1, 2, 1).release(None));
    node.grants(&permit(0, 2, 2).acquire());
    let told = taken(2, &[(0, 1_000)]);
    assert_eq!(
        queued(&mut node, &permit(0, 2, 3).in_queue(3)),
        (0, Barrier::Key, told.clone())
    );
    // Others come first, and there is a permit: that is what it waits for, whatever the counter says.
    assert_eq!(
        queued(&mut node, &permit(1, 2, 4).in_queue(4)),
        (1, Barrier::Key, told)
    );
    let vote = node.ask(&permit(1, 2, 3).in_queue(3));
    assert!(matches!(vote, Vote::Unknown(_)), "{vote:?}");
    let waiting = node.table.queue(&whole()).expect("one waits");
    assert_eq!(waiting.entries().len(), 1, "the next has no place any more");
}
