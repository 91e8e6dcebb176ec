//! The fifteen libraries that the page of Redlock names, and how each of them is tried.

use crate::{
    args::named,
    report::{Report, aligned},
};

/// A row for each: run, played, or skipped where this was run.
pub(crate) fn table(report: &Report) -> String {
    let head = ["library", "tried as", "how"].map(str::to_owned).to_vec();
    let rows = FIFTEEN.iter().map(|(library, peers)| {
        let names: Vec<String> = peers.iter().map(|peer| format!("`{peer}`")).collect();
        let mut hows: Vec<&str> = peers.iter().map(|peer| how(report, peer)).collect();
        hows.dedup();
        vec![(*library).to_owned(), names.join(" "), hows.join(", ")]
    });
    aligned(&[vec![head], rows.collect()].concat())
}

fn how(report: &Report, name: &str) -> &'static str {
    let is_of = |other: &str| other == name;
    let is_tried = { report.records.iter() }.any(|record| is_of(record.peer.name));
    match named(name) {
        Ok(peer) if is_tried => peer.means.how(),
        _ => "skipped",
    }
}

/// In the order of the table above it, each with the peers that stand for it.
const FIFTEEN: [(&str, &[&str]); 15] = [
    ("redlock-rb", &["redlock-rb"]),
    ("redlock-py", &["redlock-py"]),
    ("aioredlock", &["aioredlock"]),
    ("redlock-php", &["redlock-php"]),
    ("php-lock", &["php-lock"]),
    ("php-redis-lock", &["php-redis-lock"]),
    ("redsync", &["redsync"]),
    (
        "Redisson",
        &[
            "redisson",
            "redisson-fenced",
            "redisson-redlock",
            "redisson-multilock",
        ],
    ),
    ("Redis::DistLock", &["redis-distlock"]),
    ("redlock-cpp", &["redlock-cpp"]),
    ("redlock-cs", &["redlock-cs"]),
    ("RedLock.net", &["redlock-net"]),
    ("ScarletLock", &["scarletlock"]),
    ("Redlock4Net", &["redlock4net"]),
    ("node-redlock", &["node-redlock4", "node-redlock5"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ours::Kind, record::Record};

    #[test]
    fn each_library_is_tried_as_somebody() {
        for (library, peers) in FIFTEEN {
            assert!(!peers.is_empty(), "{library}");
            for peer in peers {
                assert!(named(peer).is_ok(), "{library}: {peer}");
            }
        }
    }

    #[test]
    fn what_was_not_tried_is_said_to_be_skipped() {
        let records = ["redsync", "redlock-cpp"].map(|name| Record {
            peer: named(name).unwrap(),
            kind: Kind::Plain,
            findings: Vec::new(),
            figures: None,
            said: Vec::new(),
        });
        let report = Report {
            records: records.into(),
            ..Report::default()
        };
        let text = table(&report);
        let cells = |library: &str| -> Vec<String> {
            let line = text.lines().find(|line| line.contains(library)).unwrap();
            line.split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        assert_eq!(text.lines().count(), 2 + FIFTEEN.len());
        assert_eq!(cells("redsync")[3], "run");
        assert_eq!(cells("redlock-cpp")[3], "played");
        assert_eq!(cells("Redisson")[3], "skipped");
    }
}
