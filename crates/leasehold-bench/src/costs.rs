//! What a lock costs, on one page: a figure or two of each workload, for those who use locks.

use crate::{
    conditions::Conditions,
    report::{Report, number},
    subject::{BARE, PLACES, Subject},
};
use std::fmt::Write;

/// A table of medians, one column for each subject.
pub(crate) fn markdown(conditions: &Conditions, reports: &[Report]) -> String {
    let ours = PLACES.map(Subject::name).into_iter();
    let subjects: Vec<&str> = ours.chain([BARE]).collect();
    let mut text = format!("| | {} |\n", subjects.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(subjects.len() + 1));
    for (what, workload, setting, figure) in ROWS {
        let found = |subject| median(reports, [workload, setting, subject, figure]);
        let cells: Vec<Option<f64>> = subjects.iter().map(|subject| found(subject)).collect();
        if cells.iter().any(Option::is_some) {
            let told = |cell: Option<f64>| cell.map_or("–".to_owned(), number);
            let cells: Vec<String> = cells.into_iter().map(told).collect();
            let _ = writeln!(text, "| {what} | {} |", cells.join(" | "));
        }
    }
    text + &format!("\nMedians. {}", conditions.brief())
}

/// Of the first setting whose name begins like this.
fn median(reports: &[Report], [workload, setting, subject, figure]: [&str; 4]) -> Option<f64> {
    let mut reports = reports.iter();
    let ledger = &reports.find(|it| it.workload.name == workload)?.ledger;
    let mut rows = ledger.rows().into_iter();
    let (setting, subject) = rows.find(|row| row.0.starts_with(setting) && row.1 == subject)?;
    let spread = ledger.spread(setting, subject, figure)?;
    Some(spread.median)
}

/// What it is in words, the workload, the setting and the figure.
const ROWS: [(&str, &str, &str, &str); 15] = [
    (
        "**1 node:** a lock and its release, µs",
        "latency",
        "1 node",
        "cycle p50 µs",
    ),
    (
        "locks a second, 64 tasks",
        "throughput",
        "1 node, 64 tasks",
        "cycles/s",
    ),
    (
        "instructions of the client for each",
        "instructions",
        "1 node, 64 tasks",
        "instructions/cycle",
    ),
    (
        "allocations for each",
        "instructions",
        "1 node, 64 tasks",
        "allocations/cycle",
    ),
    (
        "commands for each",
        "sent",
        "1 node, 64 tasks",
        "commands/cycle",
    ),
    (
        "hand-offs a second of 1,000, 16 tasks that want one lock",
        "tasks",
        "1 node",
        "hand-offs/s",
    ),
    (
        "**5 nodes:** a lock and its release, µs",
        "latency",
        "5 nodes",
        "cycle p50 µs",
    ),
    (
        "locks a second, 64 tasks",
        "throughput",
        "5 nodes, 64 tasks",
        "cycles/s",
    ),
    (
        "instructions of the client for each",
        "instructions",
        "5 nodes, 64 tasks",
        "instructions/cycle",
    ),
    (
        "allocations for each",
        "instructions",
        "5 nodes, 64 tasks",
        "allocations/cycle",
    ),
    (
        "commands for each",
        "sent",
        "5 nodes, 64 tasks",
        "commands/cycle",
    ),
    (
        "hand-offs a second of 1,000, 16 tasks that want one lock",
        "tasks",
        "5 nodes",
        "hand-offs/s",
    ),
    (
        "acquiring while one of them is dead, µs",
        "faults",
        "dead",
        "p50 µs",
    ),
    (
        "instructions to extend a lease",
        "held",
        "5 nodes",
        "instructions/renewal",
    ),
    (
        "bytes of memory for a lease",
        "held",
        "5 nodes",
        "bytes/lease",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ledger::Ledger, workload::WORKLOADS};

    #[test]
    fn the_page_has_what_was_measured_and_no_other_rows() {
        let mut ledger = Ledger::default();
        for value in [3.0, 1.0, 2.0] {
            ledger.add("5 nodes", "plain", "cycle p50 µs", value);
        }
        let report = Report {
            workload: &WORKLOADS[0],
            ledger,
            verdicts: Vec::new(),
            failure: None,
        };
        let text = markdown(&Conditions::default(), &[report]);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            rows[0],
            "| **5 nodes:** a lock and its release, µs | 2.00 | – | – | – | – | – |"
        );
        assert_eq!(rows[1], "");
    }

    #[test]
    fn each_row_is_of_a_workload_that_there_is() {
        for (what, workload, ..) in ROWS {
            assert!(
                WORKLOADS.iter().any(|it| it.name == workload),
                "{what}: {workload}"
            );
        }
    }
}
