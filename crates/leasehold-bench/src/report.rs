//! What was measured, as text for people and for machines.

use crate::{bar::Verdict, ledger::Ledger, sample::Spread, workload::Workload};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// A workload that was run.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) workload: &'static Workload,
    pub(crate) ledger: Ledger,
    pub(crate) verdicts: Vec<Verdict>,
    /// Why it could not be run to its end.
    pub(crate) failure: Option<String>,
}

impl Report {
    pub(crate) fn markdown(&self) -> String {
        let workload = self.workload;
        let mut text = format!("### {}\n\n{}\n\n", workload.title, workload.about);
        if let Some(failure) = &self.failure {
            let _ = writeln!(text, "**Failed:** {failure}\n");
        }
        if self.ledger.is_empty() {
            return text + "Not measured.\n";
        }
        text += &self.table();
        if !self.verdicts.is_empty() {
            text.push('\n');
            text += BARS;
            for verdict in &self.verdicts {
                text += &verdict.line();
                text.push('\n');
            }
        }
        text
    }

    fn table(&self) -> String {
        let (headline, references) = (self.workload.headline, self.workload.references);
        let figures = self.ledger.figures();
        let mut text = format!("| | | {} |", figures.join(" | "));
        for reference in references {
            let _ = write!(text, " {headline} / {reference} |");
        }
        let columns = figures.len() + 2 + references.len();
        let _ = writeln!(text, "\n|{}", "---|".repeat(columns));
        for (setting, subject) in self.ledger.rows() {
            let _ = write!(text, "| {setting} | {subject} |");
            for figure in figures {
                let spread = self.ledger.spread(setting, subject, figure);
                let _ = write!(text, " {} |", spread.map_or("–".to_owned(), cell));
            }
            for reference in references {
                let [one, other] =
                    [subject.as_str(), reference].map(|who| [setting, who, headline]);
                let ratio = self.ledger.ratio(one, other);
                let _ = write!(text, " {} |", ratio.map_or("–".to_owned(), bounded));
            }
            text.push('\n');
        }
        text
    }

    pub(crate) fn json(&self) -> Value {
        let rows = self.ledger.rows().into_iter().map(|(setting, subject)| {
            let figures = self.ledger.figures().iter();
            let figures: Map<String, Value> = figures
                .map(|figure| {
                    let values = self.ledger.values(setting, subject, figure);
                    (figure.clone(), json!(values))
                })
                .collect();
            json!({ "setting": setting, "subject": subject, "rounds": figures })
        });
        json!({
            "workload": self.workload.name,
            "failure": self.failure,
            "rows": rows.collect::<Vec<_>>(),
            "bars": self.verdicts.iter().map(Verdict::json).collect::<Vec<_>>(),
        })
    }
}

/// How a table of bars begins.
pub(crate) const BARS: &str = "| bar | limit | measured | |\n|---|---|---|---|\n";

/// The median, and between which values the rounds were.
pub(crate) fn cell(spread: Spread) -> String {
    let Spread { least, most, .. } = spread;
    told(
        spread.median,
        &format!(" ({}–{})", number(least), number(most)),
        least == most,
    )
}

/// The median, and its bound.
pub(crate) fn bounded(spread: Spread) -> String {
    let (low, high) = spread.bound;
    told(
        spread.median,
        &format!(" [{}–{}]", number(low), number(high)),
        low == high,
    )
}

/// A median, and around what, unless that is nothing.
fn told(median: f64, around: &str, is_nothing: bool) -> String {
    number(median) + if is_nothing { "" } else { around }
}

/// Three digits or more.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 100.0 => format!("{value:.1}"),
        size if size < 10_000.0 => format!("{value:.0}"),
        size if size < 10_000_000.0 => format!("{:.0}k", value / 1e3),
        _ => format!("{:.0}M", value / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_spreads_are_told() {
        let told = [0.0, 0.123, 45.67, 1234.5, 123_456.0].map(number);
        assert_eq!(told, ["0", "0.12", "45.7", "1234", "123k"]);
        let same = Spread::of([2.0, 2.0]).unwrap();
        assert_eq!(cell(same), "2.00");
        assert_eq!(
            cell(Spread::of([1.0, 2.0, 30.0]).unwrap()),
            "2.00 (1.00–30.0)"
        );
        let nine = Spread::of((1..=9_u8).map(f64::from)).unwrap();
        assert_eq!(bounded(nine), "5.00 [2.00–8.00]");
    }
}
