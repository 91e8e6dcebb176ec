//! Where sentinels say who the master is.

use super::*;

#[test]
fn the_quarantine_begins_with_the_first_client_that_was_told_of_the_failover() {
    let mut marker = None;
    let mut came = |millis, failover| {
        let _ = GUARD.admit(&mut marker, at(millis), None, || process("a"));
        GUARD.follow(&mut marker, at(millis), failover);
        GUARD.admit(&mut marker, at(millis), None, || process("a"))
    };
    assert_eq!(came(0, 1), left(AbstentionCause::Empty, 1_000));
    assert_eq!(came(400, 1), left(AbstentionCause::Empty, 600));
    assert_eq!(came(1_000, 1), Ok(()));
    // It was another's replica in between, and somebody looked who has not heard of that.
    assert_eq!(came(1_500, 3), left(AbstentionCause::Changed, 1_000));
    assert_eq!(came(2_500, 3), Ok(()));
    // Late, by an earlier one.
    assert_eq!(came(2_600, 1), left(AbstentionCause::Changed, 1_000));
    assert_eq!(came(2_700, 3), left(AbstentionCause::Changed, 1_000));
}

#[test]
fn a_later_failover_does_not_shorten_a_wait_and_a_look_does_not_forget_it() {
    let mut marker = Some(Marker {
        id: Identity::new("a"),
        until: at(60_000),
        cause: AbstentionCause::Reconfigured,
        wait: Some(Duration::from_mins(1)),
        seen_ms: None,
        evictions: None,
        durability: Durability::Ignored,
        failover: None,
    });
    GUARD.follow(&mut marker, at(0), 2);
    let mut admit = |millis, id| GUARD.admit(&mut marker, at(millis), None, || process(id));
    assert_eq!(admit(0, "a"), left(AbstentionCause::Reconfigured, 60_000));
    assert_eq!(admit(60_000, "b"), left(AbstentionCause::Changed, 1_000));
    GUARD.follow(&mut marker, at(60_500), 2);
    let answer = GUARD.admit(&mut marker, at(61_000), None, || process("b"));
    assert_eq!(answer, Ok(()));
    // Nobody has looked yet.
    let mut none = None;
    GUARD.follow(&mut none, at(0), 2);
    assert_eq!(none, None);
}
