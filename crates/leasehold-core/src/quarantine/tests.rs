//! Argument S9, row by row.

mod disk;
mod failovers;

use super::*;

fn at(millis: u64) -> Instant {
    Instant::from_origin(Duration::from_millis(millis))
}

fn process(id: &str) -> Process {
    Process::new(Identity::new(id))
}

const GUARD: Quarantine = Quarantine {
    span: Duration::from_secs(1),
    disk: Disk::Ignored,
};

fn left(cause: AbstentionCause, millis: u64) -> Result<(), Abstention> {
    let left = Duration::from_millis(millis);
    Err(Abstention { cause, left })
}

#[test]
fn a_node_without_a_marker_votes_when_the_quarantine_is_over() {
    let mut marker = None;
    let mut admit = |millis| GUARD.admit(&mut marker, at(millis), None, || process("a"));
    assert_eq!(admit(50), left(AbstentionCause::Empty, 1_000));
    assert_eq!(admit(1_049), left(AbstentionCause::Empty, 1));
    assert_eq!(admit(1_050), Ok(()));
    assert_eq!(admit(9_000), Ok(()));
}

#[test]
fn a_clock_that_is_set_back_lengthens_the_quarantine_by_once_its_span_at_most() {
    let mut marker = None;
    let mut admit = |millis| GUARD.admit(&mut marker, at(millis), None, || process("a"));
    assert_eq!(admit(90_000), left(AbstentionCause::Empty, 1_000));
    assert_eq!(admit(500), left(AbstentionCause::Empty, 1_000));
    assert_eq!(admit(1_500), Ok(()));
}

#[test]
fn another_process_begins_the_quarantine_anew() {
    let mut marker = None;
    let mut admit = |millis, id| {
        GUARD
            .admit(&mut marker, at(millis), Some(&Identity::new(id)), || {
                process(id)
            })
            .is_ok()
    };
    assert!(!admit(0, "a"));
    assert!(admit(2_000, "a"));
    assert!(!admit(2_500, "b"));
    assert!(!admit(3_499, "b"));
    assert!(admit(3_500, "b"));
    // Back to the first: it is a replica that was promoted once more.
    assert!(!admit(3_501, "a"));
}

#[test]
fn the_process_is_looked_at_once_in_a_millisecond_unless_the_client_met_another() {
    let mut marker = None;
    let met = Identity::new("a");
    let mut looks = 0;
    let mut admit = |micros, met: Option<&Identity>| {
        let now = Instant::from_origin(Duration::from_micros(micros));
        let _ = GUARD.admit(&mut marker, now, met, || {
            looks += 1;
            process("a")
        });
    };
    admit(1_000, Some(&met));
    admit(1_001, Some(&met));
    admit(1_999, Some(&met));
    admit(2_000, Some(&met));
    admit(2_001, None);
    admit(2_002, Some(&Identity::new("b")));
    // The clock was set back.
    admit(1_500, Some(&met));
    assert_eq!(looks, 5);
}

#[test]
fn a_restart_does_not_shorten_what_a_reconfiguration_has_to_wait_for() {
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
    let mut admit = |millis| GUARD.admit(&mut marker, at(millis), None, || process("b"));
    assert_eq!(admit(0), left(AbstentionCause::Reconfigured, 60_000));
    assert_eq!(admit(59_000), left(AbstentionCause::Reconfigured, 1_000));
    assert_eq!(admit(60_000), Ok(()));
}

#[test]
fn a_clock_that_is_set_back_lengthens_a_reconfiguration_by_once_what_was_written_at_most() {
    const DAYS: u64 = 3 * 24 * 3_600_000;
    let marker = |wait: Option<u64>| {
        Some(Marker {
            id: Identity::new("a"),
            until: at(DAYS),
            cause: AbstentionCause::Reconfigured,
            wait: wait.map(Duration::from_millis),
            seen_ms: None,
            evictions: None,
            durability: Durability::Ignored,
            failover: None,
        })
    };
    // A restart changes nothing of it; a wait that is shorter than the quarantine does not shorten that; and what
    // nobody noted stands.
    for (process_id, wait, expected) in [
        ("a", Some(60_000), 60_000),
        ("b", Some(60_000), 60_000),
        ("a", Some(400), 1_000),
        ("a", None, DAYS),
    ] {
        let mut marker = marker(wait);
        let mut admit = |millis| GUARD.admit(&mut marker, at(millis), None, || process(process_id));
        assert_eq!(admit(0), left(AbstentionCause::Reconfigured, expected));
        assert_eq!(
            admit(100),
            left(AbstentionCause::Reconfigured, expected - 100)
        );
        assert_eq!(admit(expected), Ok(()));
    }
}

#[test]
fn an_abstention_says_why_and_for_how_long() {
    use alloc::string::ToString;
    let abstention = Abstention {
        cause: AbstentionCause::Empty,
        left: Duration::from_millis(12_301),
    };
    assert_eq!(
        abstention.to_string(),
        "does not vote for 12.4 s more: it is new to these locks, was flushed, or has restarted without \
         its data, and may have forgotten who holds what"
    );
}

/// A node that is looked at once in each of these milliseconds, and what it answers.
fn looks<const N: usize>(
    guard: Quarantine,
    looks: [(u64, Process); N],
) -> [Result<(), Abstention>; N] {
    let mut marker = None;
    looks.map(|(millis, process)| {
        let met = process.id.clone();
        guard.admit(&mut marker, at(millis), Some(&met), || process)
    })
}

#[test]
fn a_node_that_may_evict_does_not_vote_and_waits_when_it_does_not_any_more() {
    let evicts = || Process {
        may_evict: true,
        ..process("a")
    };
    let answers = looks(
        GUARD,
        [
            (0, process("a")),
            (2_000, process("a")),
            (2_001, evicts()),
            // At any time until the next look.
            (9_000, evicts()),
            (20_000, process("a")),
            (20_999, process("a")),
            (21_000, process("a")),
        ],
    );
    let expected = [
        left(AbstentionCause::Empty, 1_000),
        Ok(()),
        left(AbstentionCause::MayEvict, 1_000),
        left(AbstentionCause::MayEvict, 1_000),
        left(AbstentionCause::Evicted, 1_000),
        left(AbstentionCause::Evicted, 1),
        Ok(()),
    ];
    assert_eq!(answers, expected);
}

#[test]
fn a_node_that_has_evicted_between_two_looks_waits() {
    let count = |id, evicted| Process {
        evicted,
        ..process(id)
    };
    let answers = looks(
        GUARD,
        [
            // Whatever was before nobody can tell.
            (0, count("a", 7)),
            (1_000, count("a", 7)),
            (2_000, count("a", 8)),
            (3_000, count("a", 8)),
            // Its statistics were reset; and then it has evicted once more.
            (4_000, count("a", 0)),
            (5_000, count("a", 8)),
            (6_000, count("a", 8)),
        ],
    );
    let votes = answers.map(|answer| answer.err().map(|abstention| abstention.cause));
    let evicted = Some(AbstentionCause::Evicted);
    let empty = Some(AbstentionCause::Empty);
    assert_eq!(votes, [empty, None, evicted, None, None, evicted, None]);
}

#[test]
fn what_it_evicted_before_it_restarted_is_not_counted_and_what_it_has_since_is() {
    let trusting = Quarantine {
        disk: Disk::Trusted,
        ..GUARD
    };
    let count = |id, evicted| Process {
        evicted,
        log: Log::On,
        ..process(id)
    };
    for (evicted, votes) in [(0, true), (5, false), (7, false)] {
        let looks = [
            (0, count("a", 5)),
            (1_000, count("a", 5)),
            (2_000, count("b", evicted)),
        ];
        assert_eq!(self::looks(trusting, looks)[2].is_ok(), votes, "{evicted}");
    }
}

#[test]
fn a_look_that_finds_a_node_unfit_is_not_the_last_of_its_millisecond() {
    let (mut marker, met) = (None, Identity::new("a"));
    let mut admit = |millis, may_evict| {
        GUARD.admit(&mut marker, at(millis), Some(&met), || Process {
            may_evict,
            ..process("a")
        })
    };
    assert!(admit(0, false).is_err());
    assert_eq!(admit(1_000, true), left(AbstentionCause::MayEvict, 1_000));
    assert_eq!(admit(1_000, true), left(AbstentionCause::MayEvict, 1_000));
}

#[test]
fn a_replica_does_not_vote() {
    let replica = Process {
        is_replica: true,
        ..process("a")
    };
    let answers = looks(GUARD, [(0, process("a")), (2_000, replica)]);
    assert_eq!(answers[1], left(AbstentionCause::Replica, 1_000));
}

#[test]
fn an_extension_is_held_up_by_what_a_node_may_forget_and_not_by_what_it_may_have_forgotten() {
    let mut marker = None;
    let met = Identity::new("a");
    let mut attest = |millis, may_evict| {
        GUARD.attest(&mut marker, at(millis), Some(&met), || Process {
            may_evict,
            ..process("a")
        })
    };
    assert_eq!(attest(0, false), Ok(()), "its quarantine has just begun");
    assert_eq!(attest(1, true), left(AbstentionCause::MayEvict, 1_000));
    assert_eq!(attest(2, false), Ok(()));
    assert_eq!(
        marker.map(|marker| marker.until),
        Some(at(1_002)),
        "and begins anew"
    );
}

#[test]
fn what_does_not_end_by_itself_says_what_to_do() {
    use alloc::string::ToString;
    let told = |cause| {
        let left = Duration::from_millis(32_302);
        Abstention { cause, left }.to_string()
    };
    assert!(
        told(AbstentionCause::MayEvict)
            .ends_with("CONFIG SET maxmemory-policy noeviction, and it votes 32.4 s after that")
    );
    assert!(told(AbstentionCause::NotDurable).contains("CONFIG SET appendonly yes"));
    assert!(told(AbstentionCause::Evicted).starts_with("does not vote for 32.4 s more"));
}
