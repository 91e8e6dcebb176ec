//! Argument S9, row by row.

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
fn a_disk_that_kept_everything_is_trusted_with_its_own_data_only() {
    let trusting = Quarantine {
        disk: Disk::Trusted,
        ..GUARD
    };
    let mut marker = None;
    let mut admit = |millis, id, was_replica| {
        let id = Identity::new(id);
        let process = Process {
            was_replica,
            log: Log::On,
            ..Process::new(id.clone())
        };
        trusting
            .admit(&mut marker, at(millis), Some(&id), || process)
            .is_ok()
    };
    assert!(!admit(0, "a", false), "without a marker nothing was kept");
    assert!(
        !admit(500, "b", false),
        "a restart does not end a quarantine"
    );
    assert!(admit(1_000, "b", false));
    assert!(admit(1_001, "c", false));
    assert!(!admit(1_002, "d", true));
    // Another process than the one whose settings the client knows.
    let process = || Process {
        log: Log::On,
        ..process("f")
    };
    let met = Identity::new("e");
    assert!(
        admit(3_000, "e", false),
        "as long as it is the one that was met"
    );
    let answer = trusting.admit(&mut marker, at(3_001), Some(&met), process);
    assert_eq!(answer, left(AbstentionCause::Changed, 1_000));
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

/// A node whose disk was trusted while it wrote everything down, and then was in these states.
fn after_trust<const N: usize>(states: [(Disk, &str, Log); N]) -> [Option<AbstentionCause>; N] {
    let mut marker = None;
    let mut admit = |millis, disk, id: &str, log| {
        let guard = Quarantine { disk, ..GUARD };
        let (met, process) = (Identity::new(id), process(id));
        let answer = guard.admit(&mut marker, at(millis), Some(&met), || Process {
            log,
            ..process
        });
        answer.err().map(|abstention| abstention.cause)
    };
    assert!(admit(0, Disk::Trusted, "a", Log::On).is_some());
    assert_eq!(admit(1_000, Disk::Trusted, "a", Log::On), None);
    // All within one millisecond, in which a look would be of no use to those who trust the disk.
    states.map(|(disk, id, log)| admit(1_000, disk, id, log))
}

#[test]
fn a_node_that_does_not_keep_what_it_is_trusted_to_keep_does_not_vote_until_it_does() {
    use {
        AbstentionCause::NotDurable,
        Disk::{Distrusted, Trusted},
        Log::{Off, On, Rewriting},
    };
    let lost = Some(NotDurable);
    assert_eq!(
        after_trust([(Trusted, "a", Rewriting), (Trusted, "b", On)]),
        [None, None]
    );
    assert_eq!(
        after_trust([
            (Trusted, "a", Off),
            (Trusted, "a", Rewriting),
            (Trusted, "a", On)
        ]),
        [lost, lost, None]
    );
    assert_eq!(
        after_trust([(Distrusted, "a", On), (Trusted, "a", On)]),
        [lost, None]
    );
}

#[test]
fn a_node_that_is_trusted_does_not_vote_before_it_has_a_whole_log_whatever_it_knows_of_itself() {
    use {
        AbstentionCause::NotDurable,
        Disk::{Distrusted, Trusted, Unasked},
        Log::{Off, On, Rewriting},
    };
    // A flush takes the marker away, and another guard's says nothing of a log.
    let ignored = || Marker {
        id: Identity::new("a"),
        until: at(0),
        cause: AbstentionCause::Empty,
        wait: None,
        seen_ms: None,
        evictions: None,
        durability: Durability::Ignored,
        failover: None,
    };
    for before in [None, Some(ignored())] {
        let mut marker = before;
        let mut admit = |millis, disk, log| {
            let (guard, met) = (Quarantine { disk, ..GUARD }, Identity::new("a"));
            let answer = guard.admit(&mut marker, at(millis), Some(&met), || Process {
                log,
                ..process("a")
            });
            answer.err().map(|abstention| abstention.cause)
        };
        let _ = admit(0, Trusted, Off);
        for (disk, log) in [
            (Trusted, Off),
            (Unasked, Off),
            (Distrusted, On),
            (Unasked, On),
            (Trusted, Rewriting),
        ] {
            assert_eq!(
                admit(2_000, disk, log),
                Some(NotDurable),
                "{disk:?} {log:?}"
            );
        }
        assert_eq!(admit(2_000, Trusted, On), None);
        assert_eq!(admit(2_000, Unasked, Rewriting), None);
    }
}

#[test]
fn a_client_that_has_not_asked_yet_neither_trusts_a_disk_nor_distrusts_it() {
    use {
        AbstentionCause::{Changed, NotDurable},
        Disk::{Distrusted, Unasked},
        Log::{Off, On},
    };
    assert_eq!(
        after_trust([(Unasked, "a", On), (Unasked, "a", Off), (Unasked, "a", On)]),
        [None, Some(NotDurable), Some(NotDurable)]
    );
    assert_eq!(
        after_trust([(Distrusted, "a", On), (Unasked, "a", On)])[1],
        Some(NotDurable)
    );
    assert_eq!(after_trust([(Unasked, "b", On)]), [Some(Changed)]);
}

#[test]
fn a_restart_of_a_node_that_did_not_keep_all_is_not_trusted() {
    use {
        Disk::Trusted,
        Log::{Off, On},
    };
    let changed = Some(AbstentionCause::Changed);
    assert_eq!(
        after_trust([(Trusted, "a", Off), (Trusted, "b", On)])[1],
        changed
    );
    // What nobody trusted may have been written carelessly, and is not kept as if it had not been.
    let (mut marker, met) = (None, Identity::new("a"));
    for (millis, disk) in [
        (0, Disk::Trusted),
        (1_000, Disk::Ignored),
        (2_000, Disk::Ignored),
    ] {
        let guard = Quarantine { disk, ..GUARD };
        let process = || Process {
            log: Log::On,
            ..process("a")
        };
        let _ = guard.admit(&mut marker, at(millis), Some(&met), process);
    }
    assert_eq!(
        marker.map(|marker| marker.durability),
        Some(Durability::Ignored)
    );
}

#[test]
fn a_node_that_is_trusted_has_no_replicas() {
    let trusting = Quarantine {
        disk: Disk::Trusted,
        ..GUARD
    };
    let with = |log| Process {
        has_replicas: true,
        log,
        ..process("a")
    };
    let cause = |guard, log| {
        let looks = looks(guard, [(0, with(log)), (1_000, with(log))]);
        looks[1].err().map(|abstention| abstention.cause)
    };
    assert_eq!(cause(trusting, Log::On), Some(AbstentionCause::HasReplicas));
    assert_eq!(cause(GUARD, Log::On), None);
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
