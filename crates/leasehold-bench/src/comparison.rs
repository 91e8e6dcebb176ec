//! What another version of the library changes: for each figure of each subject one ratio, and its bound.

use crate::{
    ledger::Ledger,
    report::bounded,
    sample::Spread,
    subject::{BARE, Subject},
    workload::WORKLOADS,
};
use serde_json::Value;
use std::fmt::Write;

/// Two versions, now over before.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    tables: String,
    /// What could not be run to its end.
    failures: Vec<String>,
    ours: Tally,
    /// Of subjects that are the same in both: what differs there is chance.
    others: Tally,
}

#[derive(Debug, Default)]
struct Tally {
    all: usize,
    better: usize,
    worse: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Better,
    Worse,
    Neither,
}

impl Comparison {
    /// Of the results of both, as [`Report::json`](crate::report::Report::json) tells them.
    pub(crate) fn of(before: &Value, now: &Value) -> Self {
        let mut comparison = Self::default();
        for workload in &WORKLOADS {
            for (version, results) in [("before", before), ("now", now)] {
                let failure = report(results, workload.name).and_then(|it| it["failure"].as_str());
                let told = failure
                    .map(|why| format!("**Failed:** {}, {version}: {why}\n\n", workload.name));
                comparison.failures.extend(told);
            }
            let [before, now] = [before, now].map(|results| ledger(results, workload.name));
            if let (Some(before), Some(now)) = (before, now) {
                let _ = write!(comparison.tables, "\n### {}\n\n", workload.title);
                comparison.add(&before, &now);
            }
        }
        comparison
    }

    fn add(&mut self, before: &Ledger, now: &Ledger) {
        let figures = now.figures();
        let _ = writeln!(self.tables, "| | | {} |", figures.join(" | "));
        let _ = writeln!(self.tables, "|{}", "---|".repeat(figures.len() + 2));
        for (setting, subject) in now.rows() {
            let _ = write!(self.tables, "| {setting} | {subject} |");
            for figure in figures {
                let values = |ledger: &'_ Ledger| ledger.values(setting, subject, figure).to_vec();
                let pairs = values(before).into_iter().zip(values(now));
                let ratios: Vec<f64> = pairs.map(|(before, now)| ratio(before, now)).collect();
                let told = self.judge(subject, figure, &ratios);
                let _ = write!(self.tables, " {told} |");
            }
            self.tables.push('\n');
        }
    }

    /// Counts a cell, and writes it: in bold if it is worse.
    fn judge(&mut self, subject: &str, figure: &str, ratios: &[f64]) -> String {
        let Some(found) = Spread::of(ratios.iter().copied()) else {
            return "–".to_owned();
        };
        // What was measured once has no bound: it is told, and that is all.
        if ratios.len() == 1 {
            return bounded(found);
        }
        let is_same = [BARE, Subject::Rslock.name()].contains(&subject);
        let tally = if is_same {
            &mut self.others
        } else {
            &mut self.ours
        };
        tally.all += 1;
        match change(figure, found) {
            Change::Worse => {
                tally.worse += 1;
                return format!("**{}**", bounded(found));
            }
            Change::Better => tally.better += 1,
            Change::Neither => {}
        }
        bounded(found)
    }

    /// Whether everything could be run to its end.
    pub(crate) const fn is_complete(&self) -> bool {
        self.failures.is_empty()
    }

    pub(crate) fn markdown(&self) -> String {
        let Self {
            tables,
            failures,
            ours,
            others,
        } = self;
        failures.concat()
            + &format!(
                "Each cell is what a figure is now, divided by what it was before, round by round; what was measured once has \
                 no bound, and is not counted. Of {} cells of leasehold's \
             {} are better and {} are worse, in bold: their bound leaves out 1, and the median is {NEGLIGIBLE} or more \
             away from it. Of {} cells of subjects that are the same in both, {} are better and {} are worse, by chance.\n\
             {tables}",
                ours.all, ours.better, ours.worse, others.all, others.better, others.worse
            )
    }
}

/// What became of one workload, unless it was not asked for.
fn report<'a>(results: &'a Value, workload: &str) -> Option<&'a Value> {
    let mut workloads = results["workloads"].as_array()?.iter();
    workloads.find(|report| report["workload"] == workload)
}

/// The values of one workload, unless it was not measured.
fn ledger(results: &Value, workload: &str) -> Option<Ledger> {
    let mut ledger = Ledger::default();
    for row in report(results, workload)?["rows"].as_array()? {
        let (setting, subject) = (row["setting"].as_str()?, row["subject"].as_str()?);
        for (figure, values) in row["rounds"].as_object()? {
            for value in values.as_array()? {
                // What is no number is null there.
                ledger.add(setting, subject, figure, value.as_f64().unwrap_or(f64::NAN));
            }
        }
    }
    (!ledger.is_empty()).then_some(ledger)
}

/// Now over before. What was nothing, such as the number of failures, counts as if one had been added to both.
fn ratio(before: f64, now: f64) -> f64 {
    if before == 0.0 {
        now + 1.0
    } else {
        now / before
    }
}

fn change(figure: &str, found: Spread) -> Change {
    let (low, high) = found.bound;
    let (is_more, is_less) = (
        low > 1.0 && found.median >= 1.0 + NEGLIGIBLE,
        high < 1.0 && found.median <= 1.0 - NEGLIGIBLE,
    );
    match (is_more, is_less, MORE_IS_BETTER.contains(&figure)) {
        (true, _, true) | (_, true, false) => Change::Better,
        (true, _, false) | (_, true, true) => Change::Worse,
        _ => Change::Neither,
    }
}

const MORE_IS_BETTER: [&str; 3] = ["cycles/s", "hand-offs/s", "Jain"];
/// What valgrind counts differs by about so much from run to run, in whichever direction the machine's load goes.
const NEGLIGIBLE: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn results(plain: &[f64], rate: &[f64]) -> Value {
        let row = |subject| {
            let rounds = json!({ "cycles/s": rate, "cycle p50 µs": plain });
            json!({ "setting": "1 node", "subject": subject, "rounds": rounds })
        };
        let rows = ["plain", "bare"].map(row);
        json!({ "workloads": [{ "workload": "throughput", "rows": rows }] })
    }

    #[test]
    fn a_cell_is_worse_only_beyond_its_bound() {
        let before = results(&[10.0, 20.0, 10.0], &[5.0, 5.0, 5.0]);
        let now = results(&[11.0, 22.0, 13.0], &[6.0, 6.0, 4.0]);
        let comparison = Comparison::of(&before, &now);
        for tally in [&comparison.ours, &comparison.others] {
            assert_eq!((tally.all, tally.better, tally.worse), (2, 0, 1));
        }
        assert!(comparison.is_complete());
        let text = comparison.markdown();
        assert!(
            text.contains("| 1 node | plain | **1.10 [1.10–1.30]** | 1.20 [0.80–1.20] |"),
            "{text}"
        );
    }

    #[test]
    fn what_could_not_be_run_is_told() {
        let now = results(&[1.0], &[1.0]);
        let mut before = now.clone();
        before["workloads"][0]["failure"] = json!("no server");
        let comparison = Comparison::of(&before, &now);
        assert!(!comparison.is_complete());
        let text = comparison.markdown();
        assert!(
            text.starts_with("**Failed:** throughput, before: no server"),
            "{text}"
        );
    }

    #[test]
    fn more_locks_are_better_and_more_time_is_not() {
        let found = |ratio| Spread::of([ratio]).unwrap();
        let told = ["cycles/s", "cycle p50 µs"].map(|it| change(it, found(1.3)));
        assert_eq!(told, [Change::Better, Change::Worse]);
        let told = ["Jain", "failed"].map(|it| change(it, found(0.7)));
        assert_eq!(told, [Change::Worse, Change::Better]);
        assert_eq!(change("failed", found(1.01)), Change::Neither);
        assert_eq!((ratio(0.0, 0.0), ratio(0.0, 3.0)), (1.0, 4.0));
    }
}
