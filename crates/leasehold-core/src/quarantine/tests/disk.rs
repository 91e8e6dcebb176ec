//! A node whose clients trust its disk.

use super::*;

/// What the process `a` wrote down that waits for nothing.
fn of_a(durability: Durability) -> Marker {
    Marker {
        id: Identity::new("a"),
        until: at(0),
        cause: AbstentionCause::Empty,
        wait: None,
        seen_ms: None,
        evictions: None,
        durability,
        failover: None,
    }
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
    let ignored = || of_a(Durability::Ignored);
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
    // What a replica may have copied does not say that its disk can be trusted.
    let (mut marker, met) = (None, Identity::new("a"));
    let mut admit = |millis, has_replicas| {
        let process = || Process {
            has_replicas,
            ..with(Log::On)
        };
        let answer = trusting.admit(&mut marker, at(millis), Some(&met), process);
        let durability = marker.as_ref().map(|marker| marker.durability);
        (answer.is_ok(), durability)
    };
    assert_eq!(admit(0, false), (false, Some(Durability::Kept)));
    assert_eq!(admit(1_000, true), (false, Some(Durability::Lost)));
    assert_eq!(admit(1_000, false), (true, Some(Durability::Kept)));
}

#[test]
fn a_process_that_did_not_read_its_log_is_not_trusted() {
    let trusting = Quarantine {
        disk: Disk::Trusted,
        ..GUARD
    };
    // What a process that never had another log left on its disk.
    let kept = || Some(of_a(Durability::Kept));
    let causes = |logs: &[(Log, bool)]| {
        let (mut marker, met) = (kept(), Identity::new("b"));
        let answers = logs.iter().map(|&(log, has_rewritten)| {
            let answer = trusting.admit(&mut marker, at(2_000), Some(&met), || Process {
                log,
                has_rewritten,
                ..process("b")
            });
            answer.err().map(|abstention| abstention.cause)
        });
        answers.collect::<alloc::vec::Vec<_>>()
    };
    let changed = Some(AbstentionCause::Changed);
    assert_eq!(causes(&[(Log::On, false)]), [None]);
    // Turned on before anybody looked, or afterwards.
    assert_eq!(causes(&[(Log::On, true)]), [changed]);
    assert_eq!(
        causes(&[(Log::Rewriting, false), (Log::On, true)]),
        [changed; 2]
    );
    let lost = Some(AbstentionCause::NotDurable);
    assert_eq!(
        causes(&[(Log::Off, false), (Log::On, true)]),
        [lost, changed]
    );
    // One that has read it may write it anew.
    assert_eq!(causes(&[(Log::On, false), (Log::On, true)]), [None; 2]);
}
