//! What a person reads.

use crate::{
    check::Scenario,
    control::Proof,
    ours::Kind,
    peer::{CONTROLS, Means, PEERS, Peer},
    record::{Record, Verdict},
};
use std::{collections::BTreeMap, fmt::Write};

/// Everything that came of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) records: Vec<Record>,
    /// Who could not be had here, and why.
    pub(crate) skipped: Vec<(&'static Peer, String)>,
    pub(crate) proofs: Vec<Proof>,
}

impl Report {
    /// Whether everything is as it must be.
    pub(crate) fn is_good(&self) -> bool {
        let mut verdicts = self.verdicts();
        let is_seen = |proof: &Proof| proof.flaw.is_none();
        // Where every peer was skipped, nothing was tried.
        !self.records.is_empty()
            && !verdicts.any(Verdict::is_failure)
            && self.proofs.iter().all(is_seen)
    }

    /// The table, and what explains it.
    pub(crate) fn markdown(&self) -> String {
        let mut text = aligned(&self.rows());
        text += &self.mixes();
        let differences = self.notes(|verdict| match verdict {
            Verdict::Differs { reason, .. } => Some(reason.clone()),
            _ => None,
        });
        if !differences.is_empty() {
            text += "\nWhat differs, as is known:\n\n";
            text += &differences;
        }
        text += &self.sayings();
        if !self.skipped.is_empty() {
            // Without the reasons, which name files of one machine.
            let names: Vec<_> = self.skipped.iter().map(|(peer, _)| peer.name).collect();
            text += &format!(
                "\nCould not be had where this was run: {}.\n",
                names.join(", ")
            );
        }
        text
    }

    /// What is said where a lock of another kind stands.
    fn sayings(&self) -> String {
        let said = self.records.iter().filter(|record| !record.said.is_empty());
        let said = said.map(|record| {
            let place = format!("{}, {}", record.peer.name, record.kind.name());
            (place, record.said.join("; "))
        });
        let text = together(said);
        match text.is_empty() {
            true => text,
            false => format!(
                "\nWhat is said of locks of another kind, which are in the way of ours, and ours of them:\n\n{text}"
            ),
        }
    }

    /// Who was skipped, and why. Empty if nobody was.
    pub(crate) fn skips(&self) -> String {
        let lines = self.skipped.iter();
        lines
            .map(|(peer, why)| format!("* {}: {why}\n", peer.name))
            .collect()
    }

    /// What was seen of the differences that are known. Empty if there were none.
    pub(crate) fn seen(&self) -> String {
        self.notes(|verdict| match verdict {
            Verdict::Differs { what, .. } => Some(what.clone()),
            _ => None,
        })
    }

    /// What went wrong. Empty if nothing did.
    pub(crate) fn failures(&self) -> String {
        let mut text = self.notes(|verdict| match verdict {
            Verdict::Failed { what } => Some(what.clone()),
            Verdict::Stale { reason } => Some(format!(
                "was expected to differ and did not, so differences.txt is wrong: {reason}"
            )),
            _ => None,
        });
        for proof in &self.proofs {
            if let Some(flaw) = &proof.flaw {
                let _ = writeln!(text, "* control {}, {}: {flaw}", proof.control, proof.check);
            }
        }
        text
    }

    /// How much of what.
    pub(crate) fn counts(&self) -> String {
        let count =
            |is_so: fn(&Verdict) -> bool| self.verdicts().filter(|&verdict| is_so(verdict)).count();
        let tried: BTreeMap<&str, &Means> = self
            .records
            .iter()
            .map(|record| (record.peer.name, &record.peer.means))
            .collect();
        let count_of =
            |is_so: fn(&Means) -> bool| tried.values().filter(|means| is_so(means)).count();
        let played = count_of(|means| *means == Means::Played);
        let earlier = count_of(|means| matches!(means, Means::Earlier(_)));
        let own = count_of(|means| matches!(means, Means::Package(..)));
        let libraries = tried.len() - played - earlier - own;
        let seen = self
            .proofs
            .iter()
            .filter(|proof| proof.flaw.is_none())
            .count();
        format!(
            "{libraries} libraries, and the commands of {played} more; the version before in {earlier} ways; \
             our own packages for other languages in {own}; {} checks: {} ok, {} differ as is known, {} failed; \
             {} peers skipped; {seen} of {} controls were found out",
            self.verdicts().count(),
            count(|verdict| *verdict == Verdict::Ok),
            count(|verdict| matches!(verdict, Verdict::Differs { .. })),
            count(Verdict::is_failure),
            self.skipped.len(),
            self.proofs.len(),
        )
    }

    fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        let findings = self.records.iter().flat_map(|record| &record.findings);
        findings.map(|finding| &finding.verdict)
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let mut head = vec!["peer".to_owned(), "what".to_owned(), "how".to_owned()];
        head.extend(Scenario::ALL.map(|scenario| scenario.name().to_owned()));
        let mut rows = vec![head];
        for peer in PEERS {
            let records: Vec<_> = self.records_of(peer).collect();
            let is_skipped = self
                .skipped
                .iter()
                .any(|(other, _)| other.name == peer.name);
            if records.is_empty() && !is_skipped {
                continue;
            }
            let how = if is_skipped {
                "skipped"
            } else {
                peer.means.how()
            };
            let mut row = vec![peer.name.to_owned(), peer.about.to_owned(), how.to_owned()];
            row.extend(Scenario::ALL.map(|scenario| match is_skipped {
                true => "–".to_owned(),
                false => cell(&records, scenario),
            }));
            rows.push(row);
        }
        rows
    }

    fn records_of(&self, peer: &Peer) -> impl Iterator<Item = &Record> {
        let name = peer.name;
        self.records
            .iter()
            .filter(move |record| record.peer.name == name)
    }

    /// What contenders counted, a line for each peer.
    fn mixes(&self) -> String {
        let head = ["mix", "with plain locks of ours", "with fenced ones"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for peer in PEERS {
            let figures = |kind| {
                let mut records = self.records_of(peer).filter(|record| record.kind == kind);
                let figures = records.find_map(|record| record.figures);
                figures.map_or_else(|| "–".to_owned(), |figures| figures.to_string())
            };
            let cells = Kind::ALL.map(figures);
            if cells.iter().any(|cell| cell != "–") {
                rows.push([&[peer.name.to_owned()], &cells[..]].concat());
            }
        }
        match rows.len() {
            1 => String::new(),
            _ => format!("\n{}", aligned(&rows)),
        }
    }

    /// A line for each check of each peer about which there is something to say: once, if it is so for both kinds.
    fn notes(&self, note: impl Fn(&Verdict) -> Option<String>) -> String {
        let mut notes: Vec<(String, String, Vec<&str>)> = Vec::new();
        for record in &self.records {
            for finding in &record.findings {
                let Some(note) = note(&finding.verdict) else {
                    continue;
                };
                let place = format!("{}, {}", record.peer.name, finding.check.path());
                let kind = record.kind.name();
                match notes.iter_mut().find(|(other, ..)| *other == place) {
                    Some((.., kinds)) => kinds.push(kind),
                    None => notes.push((place, note, vec![kind])),
                }
            }
        }
        together(notes.into_iter().map(|(place, note, kinds)| {
            let only = match kinds.as_slice() {
                [kind] => format!(" (with {kind} locks)"),
                _ => String::new(),
            };
            (format!("{place}{only}"), note)
        }))
    }
}

/// A line for each note, with all places of which it is true.
fn together(notes: impl Iterator<Item = (String, String)>) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    for (place, note) in notes {
        match lines.iter_mut().find(|(_, other)| *other == note) {
            Some((places, _)) => *places = format!("{places}; {place}"),
            None => lines.push((place, note)),
        }
    }
    let lines = lines.into_iter();
    lines
        .map(|(places, note)| format!("* {places}: {note}\n"))
        .collect()
}

/// One scenario with one peer, against both kinds of our locks.
fn cell(records: &[&Record], scenario: Scenario) -> String {
    let worst: Vec<_> = records
        .iter()
        .filter_map(|record| Some((record.kind, record.worst(scenario)?.word())))
        .collect();
    match worst.as_slice() {
        [] => "–".to_owned(),
        [(_, one), rest @ ..] if rest.iter().all(|(_, other)| other == one) => (*one).to_owned(),
        both => {
            let both = both
                .iter()
                .map(|(kind, word)| format!("{} {word}", kind.name()));
            both.collect::<Vec<_>>().join(", ")
        }
    }
}

/// A table whose source can be read as well.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(text, "| {cell:<width$} ");
        }
        text += "|\n";
        if number == 0 {
            for width in &widths {
                let _ = write!(text, "|{}", "-".repeat(width + 2));
            }
            text += "|\n";
        }
    }
    text
}

/// Everybody, and everything that is tried.
pub(crate) fn list() -> String {
    let mut text = String::from("peers:\n");
    for peer in PEERS {
        let _ = writeln!(
            text,
            "  {:<23} {}: {}; locks the key {}",
            peer.name,
            peer.means.how(),
            peer.about,
            peer.key_of("NAME")
        );
    }
    text += "controls:\n";
    for control in CONTROLS {
        let _ = writeln!(text, "  {:<23} {}", control.name, control.about);
    }
    text += "scenarios:\n";
    for scenario in Scenario::ALL {
        let _ = writeln!(text, "  {:<23} {}", scenario.name(), scenario.about());
    }
    let kinds = Kind::ALL.map(Kind::name).join(" and ");
    let _ = writeln!(text, "each peer is tried with {kinds} locks of ours");
    text
}

#[cfg(test)]
mod tests;
