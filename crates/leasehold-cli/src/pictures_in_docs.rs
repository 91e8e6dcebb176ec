//! What docs/COMMAND.md shows is what the command prints: rendered here from fixed data and compared.

use crate::{
    agreement::Guard,
    command::list,
    diagnosis::{
        Diagnosis, Options, Patient,
        facts::{NodeFacts, NodeState, ServerFacts, VoteFacts},
    },
    lock_view::{KeyView, LockView, PermitsView, Signature, State},
    picture::Picture,
    whose::Whose,
};
use leasehold::{Abstention, AbstentionCause};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

const PAGE: &str = include_str!("../../../docs/COMMAND.md");

/// 2026-01-01 12:04:13 UTC.
const NOW: Duration = Duration::from_secs(1_767_269_053);

/// The block of text behind the line that says `$ command`.
fn shown(command: &str) -> &'static str {
    let start = format!("```text\n$ {command}\n");
    let (_, rest) = PAGE
        .split_once(&start)
        .unwrap_or_else(|| panic!("docs/COMMAND.md has no block that begins with {start:?}"));
    rest.split("\n```").next().unwrap_or_default()
}

/// What is compared here, and what not: it depends on who comes when.
const COMPARED: [&str; 5] = [
    "leasehold status orders/42",
    "leasehold status gpu",
    "leasehold list orders/",
    "leasehold doctor",
    "leasehold watch --once",
];
const OTHERS: [&str; 2] = [
    "leasehold run --fair --no-wait deploy -- make deploy",
    "leasehold elect --observe scheduler",
];

#[track_caller]
fn assert_shown(command: &str, rendered: &str) {
    assert!(COMPARED.contains(&command), "{command}");
    assert_eq!(
        shown(command),
        rendered,
        "docs/COMMAND.md shows something else for `{command}`"
    );
}

fn signature(seconds: u64, left_ms: u64) -> Signature {
    let owner = format!(
        "6ea1c958a7b80d85ac2636a4edd080b0fb72d69c.web2.4711@{}",
        NOW.as_secs() - seconds
    );
    let left = Some(Duration::from_millis(left_ms));
    Signature::new(owner.as_bytes(), left, Whose::Ours)
}

fn held() -> LockView {
    LockView {
        resource: "orders/42".to_owned(),
        quorum: 2,
        state: State::Held(signature(250, 7204)),
        keys: vec![
            ("db1:6379".to_owned(), KeyView::Lock(signature(250, 7309))),
            ("db2:6379".to_owned(), KeyView::Lock(signature(250, 7204))),
            ("db3:6379".to_owned(), KeyView::Nothing),
        ],
        refusals: BTreeMap::new(),
        forgetful: BTreeSet::new(),
    }
}

fn permits() -> LockView {
    let permit = |slot, digits: &str, pid, seconds: u64, left_ms| {
        let since = NOW.as_secs() - seconds;
        let owner = format!("{}+permit{slot}/4.web2.{pid}@{since}", digits.repeat(10));
        let left = Some(Duration::from_millis(left_ms));
        let signature = Signature::new(owner.as_bytes(), left, Whose::Ours);
        (slot, signature)
    };
    let other = permit(3, "9f3a", 812, 2, 9120);
    let taken = vec![permit(0, "6ea1", 4711, 250, 7204), other.clone()];
    let keys = [
        ("db1:6379", KeyView::Permits(taken.clone())),
        ("db2:6379", KeyView::Permits(taken.clone())),
        ("db3:6379", KeyView::Permits(vec![other])),
    ];
    LockView {
        resource: "gpu".to_owned(),
        quorum: 2,
        state: State::Permits(PermitsView { of: 4, taken }),
        keys: keys.map(|(node, key)| (node.to_owned(), key)).into(),
        refusals: BTreeMap::new(),
        forgetful: BTreeSet::new(),
    }
}

fn left_over() -> LockView {
    let owner = b"9f3a1c0d2b7e85ac2636a4edd080b0fb72d69c6e";
    let left = Some(Duration::from_millis(21_900));
    let other = Signature::new(owner, left, Whose::Ours);
    LockView {
        resource: "orders/43".to_owned(),
        quorum: 2,
        state: State::Free,
        keys: vec![
            ("db1:6379".to_owned(), KeyView::Lock(other)),
            ("db2:6379".to_owned(), KeyView::Nothing),
            ("db3:6379".to_owned(), KeyView::Nothing),
        ],
        refusals: BTreeMap::new(),
        forgetful: BTreeSet::new(),
    }
}

fn patient() -> Patient {
    let server = |micros, uptime_s, vote| {
        let server = ServerFacts {
            round_trip: Duration::from_micros(micros),
            slowest: Duration::from_micros(micros * 3),
            version: Some("Valkey 8.1.3".to_owned()),
            role: Some("master".to_owned()),
            uptime: Some(Duration::from_secs(uptime_s)),
            clock: Some((
                true,
                Duration::from_millis(31),
                Duration::from_micros(micros / 2),
            )),
            memory_used: Some(1_310_720),
            has_log: Some(false),
            lacking: Some(Vec::new()),
            lacking_for_fair: Some(Vec::new()),
            vote,
            ..ServerFacts::default()
        };
        NodeState::Server(Box::new(server))
    };
    let abstains = VoteFacts::Abstains(Abstention {
        cause: AbstentionCause::Changed,
        left: Duration::from_millis(18_400),
    });
    let day = 24 * 60 * 60;
    let nodes = [
        (
            "db1:6379".to_owned(),
            server(350, 12 * day, VoteFacts::Votes),
        ),
        (
            "db2:6379".to_owned(),
            server(1210, 12 * day, VoteFacts::Votes),
        ),
        ("db3:6379".to_owned(), server(402, 14, abstains)),
    ];
    Patient {
        origin: Some("[clusters.main] of /etc/leasehold/leasehold.toml".to_owned()),
        quorum: 2,
        options: Options {
            ttl: Duration::from_secs(10),
            clock_skew: Duration::from_secs(2),
            guard: Guard::Quarantine,
            is_plain: false,
            replicated: None,
            on_disk: None,
        },
        nodes: nodes
            .map(|(name, state)| NodeFacts { name, state })
            .to_vec(),
        replaced: Vec::new(),
    }
}

#[test]
fn whatever_the_page_shows_is_compared_or_said_not_to_be() {
    let commands = PAGE.lines().filter_map(|line| line.strip_prefix("$ "));
    let mut commands: Vec<_> = commands.collect();
    let mut known = [&COMPARED[..], &OTHERS].concat();
    commands.sort_unstable();
    known.sort_unstable();
    assert_eq!(commands, known);
}

#[test]
fn the_page_shows_what_status_prints() {
    assert_shown(
        "leasehold status orders/42",
        &held().text(NOW, Duration::from_secs(30)),
    );
    assert_shown(
        "leasehold status gpu",
        &permits().text(NOW, Duration::from_secs(30)),
    );
}

#[test]
fn the_page_shows_what_list_prints() {
    let lines = list::table(&[held(), left_over()]);
    assert_shown("leasehold list orders/", &lines.join("\n"));
}

#[test]
fn the_page_shows_what_doctor_prints() {
    let diagnosis = Diagnosis::of(patient());
    assert_shown("leasehold doctor", &diagnosis.text());
}

#[test]
fn the_page_shows_what_watch_draws() {
    let picture = Picture {
        prefix: String::new(),
        now: NOW,
        patient: patient(),
        locks: vec![held(), left_over()],
        steps: Vec::new(),
        unlisted: 0,
        has_more: false,
    };
    assert_shown("leasehold watch --once", &picture.text(usize::MAX));
    let stepped = Picture {
        steps: vec!["db1:6379: its clock was set".to_owned()],
        ..picture.clone()
    };
    let stepped = stepped.text(usize::MAX);
    assert!(
        stepped.contains("in 18.4 s\ndb1:6379: its clock was set\n\nLOCK"),
        "{stepped}"
    );
    // On a small screen the nodes stay, and what does not fit is counted.
    let small = picture.text(9);
    assert!(small.ends_with("… and 1 more"), "{small}");
    assert_eq!(small.lines().count(), 10, "{small}");
}

#[test]
fn a_key_that_lasts_longer_than_any_lease_is_one_that_a_release_left() {
    let text = held().text(NOW, Duration::from_secs(5));
    assert!(
        text.contains("7.2 s, kept by --min-hold: the process may have ended"),
        "{text}"
    );
}
