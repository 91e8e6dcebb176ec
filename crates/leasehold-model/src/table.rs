//! The shapes and how large they are, for the documentation.

use crate::subject::{Report, Subject};
use leasehold_report::{Stamp, page, root};
use std::io;

/// A line of the table. How much of a control is explored before it breaks differs from run to run.
pub(crate) fn row(subject: Subject, report: &Report) -> String {
    let name = subject.name();
    match subject.is_control() {
        true => format!("| {name} | | | | {} |", report.verdict),
        false => format!(
            "| {name} | {} | {} | {} | {} |",
            grouped(report.states),
            grouped(report.unique),
            report.depth,
            report.verdict
        ),
    }
}

/// Puts the table into docs/SAFETY.md.
pub(crate) fn write(rows: &[String]) -> io::Result<()> {
    let root = root();
    let text = format!(
        "| shape | states | different | depth | verdict |\n|---|---|---|---|---|\n{}\n\nExplored {}. Depths differ a little from \
         run to run: threads race.",
        rows.join("\n"),
        Stamp::of(&root)
    );
    page::write(&root.join("docs/SAFETY.md"), &[("model", &text)])
}

/// `1234567` as `1,234,567`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_set_apart() {
        let told = [0, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(told, ["0", "999", "1,000", "1,234,567"]);
    }
}
