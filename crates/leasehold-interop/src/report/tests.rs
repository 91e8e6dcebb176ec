use super::*;
use crate::{check::CHECKS, differences::Differences};

fn record(name: &str, kind: Kind, flaws: &[(&str, &str)], differences: &str) -> Record {
    let peer = PEERS.iter().find(|peer| peer.name == name).unwrap();
    let differences = Differences::parse(differences).unwrap();
    let mut record = Record {
        peer,
        kind,
        findings: Vec::new(),
        figures: None,
        said: Vec::new(),
    };
    for check in CHECKS.iter().filter(|check| check.is_for(peer)) {
        let flaw = flaws.iter().find(|(path, _)| *path == check.path());
        let found = flaw.map_or(Ok(()), |(_, what)| Err((*what).to_owned()));
        record.add(check, found, &differences);
    }
    record
}

fn report(flaws: &[(&str, &str)], differences: &str) -> Report {
    Report {
        records: vec![
            record("redlock-ng", Kind::Plain, flaws, differences),
            record("redlock-ng", Kind::Fenced, &[], ""),
            record("redis-py", Kind::Plain, &[], ""),
        ],
        ..Report::default()
    }
}

const MIX: &str = "mix/no-increment-is-lost";

#[test]
fn the_table_has_a_row_for_each_peer_and_a_column_for_each_scenario() {
    let text = report(&[], "").markdown();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 4);
    assert!(
        rows.iter()
            .all(|row| row.matches('|').count() == Scenario::ALL.len() + 4)
    );
    // One node has no quorum of which one could be dead.
    assert!(rows[3].contains("| –"), "{}", rows[3]);
    assert!(report(&[], "").is_good());
    assert_eq!(report(&[], "").failures(), "");
}

#[test]
fn the_table_tells_who_was_run_and_who_was_played() {
    let mut report = report(&[], "");
    report
        .records
        .push(record("redlock-rb", Kind::Plain, &[], ""));
    let text = report.markdown();
    let how = |peer: &str| {
        let row = text.lines().find(|line| line.starts_with(peer)).unwrap();
        row.split('|').nth(3).unwrap().trim().to_owned()
    };
    assert_eq!(how("| redis-py "), "run");
    assert_eq!(how("| redlock-rb "), "played");
}

#[test]
fn what_is_said_of_another_kind_is_told_once() {
    let mut report = report(&[], "");
    assert!(!report.markdown().contains("of another kind"));
    for _ in 0..2 {
        report.records[0].note(vec!["it says no".to_owned()]);
    }
    assert!(
        report
            .markdown()
            .contains("* redlock-ng, plain: it says no\n")
    );
    report.records[2].note(vec!["it says no".to_owned()]);
    assert!(
        report
            .markdown()
            .contains("* redlock-ng, plain; redis-py, plain: it says no\n")
    );
}

#[test]
fn a_failure_is_told_with_the_kind_of_lock() {
    let report = report(&[(MIX, "two held")], "");
    assert!(report.markdown().contains("plain FAILED, fenced ok"));
    assert_eq!(
        report.failures(),
        format!("* redlock-ng, {MIX} (with plain locks): two held\n")
    );
    assert!(!report.is_good());
}

#[test]
fn a_known_difference_is_told_and_is_no_failure() {
    let known = format!("redlock-ng {MIX} It is known to.");
    let report = report(&[(MIX, "two held")], &known);
    assert!(report.markdown().contains("It is known to."));
    assert!(report.seen().contains("two held"));
    assert!(report.is_good());
}

#[test]
fn a_difference_that_did_not_occur_is_a_failure() {
    let report = report(&[], &format!("redlock-ng {MIX} It is known to."));
    assert!(!report.is_good());
    assert!(report.failures().contains("differences.txt is wrong"));
}

#[test]
fn a_peer_that_is_skipped_is_in_the_table_and_counted() {
    let peer = PEERS.iter().find(|peer| peer.name == "pottery").unwrap();
    let mut report = report(&[], "");
    report
        .skipped
        .push((peer, "there is no python3".to_owned()));
    let text = report.markdown();
    assert!(text.contains("skipped") && text.contains("where this was run: pottery."));
    assert_eq!(report.skips(), "* pottery: there is no python3\n");
    assert!(report.counts().contains("1 peers skipped"));
    assert!(report.is_good());
    report.records.clear();
    assert!(!report.is_good(), "nobody was tried");
}

#[test]
fn our_own_packages_are_counted_apart() {
    let mut report = report(&[], "");
    for name in ["leasehold-python-fenced", "leasehold-node-fenced"] {
        report.records.push(record(name, Kind::Fenced, &[], ""));
    }
    let counts = report.counts();
    assert!(counts.starts_with("2 libraries, "), "{counts}");
    assert!(counts.contains("for other languages in 2;"), "{counts}");
    let text = report.markdown();
    let row = text
        .lines()
        .find(|line| line.starts_with("| leasehold-python-fenced "));
    assert!(row.unwrap().contains("| run "), "{text}");
}

#[test]
fn a_control_that_is_not_found_out_is_a_failure() {
    let mut report = report(&[], "");
    report.proofs.push(Proof {
        control: "elsewhere",
        check: MIX,
        flaw: Some("passed".to_owned()),
    });
    assert!(!report.is_good());
    assert!(report.failures().contains("control elsewhere"));
    assert!(report.counts().contains("0 of 1 controls"));
}
