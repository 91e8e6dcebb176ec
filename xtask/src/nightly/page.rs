//! What a step came to, and the page of all steps.

use crate::took::seconds;
use std::{fmt, time::Duration};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Good,
    Failed,
    Skipped,
}

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) outcome: Outcome,
    pub(super) took: Duration,
    /// On which it was done.
    pub(super) commit: String,
    /// The last that it said, or why it was skipped.
    pub(super) said: String,
}

impl Seen {
    pub(super) fn skipped(commit: &str, why: &str) -> Self {
        Self {
            outcome: Outcome::Skipped,
            took: Duration::ZERO,
            commit: commit.to_owned(),
            said: why.to_owned(),
        }
    }

    /// In a line, to be read back.
    pub(super) fn to_line(&self) -> String {
        format!(
            "{} {} {} {}\n",
            self.outcome.word(),
            self.took.as_millis(),
            self.commit,
            self.said
        )
    }

    /// None if it was not written by [`to_line`](Self::to_line).
    pub(super) fn of_line(line: &str) -> Option<Self> {
        let mut words = line.trim_end().splitn(4, ' ');
        let outcome = words.next()?;
        let all = [Outcome::Good, Outcome::Failed, Outcome::Skipped];
        Some(Self {
            outcome: all.into_iter().find(|other| other.word() == outcome)?,
            took: Duration::from_millis(words.next()?.parse().ok()?),
            commit: words.next()?.to_owned(),
            said: words.next().unwrap_or_default().to_owned(),
        })
    }
}

impl Outcome {
    const fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Failed => "FAILED",
            Self::Skipped => "skipped",
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} after {}: {}",
            self.outcome.word(),
            seconds(self.took),
            self.said
        )
    }
}

/// All steps of a commit.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) commit: String,
    pub(super) date: String,
    /// None for what was not done.
    pub(super) rows: Vec<(&'static str, Option<Seen>)>,
}

impl fmt::Display for Page {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { commit, date, rows } = self;
        let count = |outcome| {
            let seen = rows.iter().filter_map(|(_, seen)| seen.as_ref());
            seen.filter(|seen| seen.outcome == outcome).count()
        };
        let undone = rows.iter().filter(|(_, seen)| seen.is_none()).count();
        writeln!(
            out,
            "# The last nights\n\nWritten by `cargo xtask nightly` about commit {commit} of {date}: {} of {} steps as they must be, {} failed, \
             {} skipped, {undone} not done. What was done on an earlier commit was done on the same code: nothing has changed since \
             that the step depends on.\n",
            count(Outcome::Good),
            rows.len(),
            count(Outcome::Failed),
            count(Outcome::Skipped),
        )?;
        writeln!(
            out,
            "| step | outcome | took | commit | what it said last |\n|---|---|---|---|---|"
        )?;
        for (name, seen) in rows {
            match seen {
                None => writeln!(out, "| {name} | not done | | | |")?,
                Some(Seen {
                    outcome,
                    took,
                    commit,
                    said,
                }) => writeln!(
                    out,
                    "| {name} | {} | {} | {commit} | {} |",
                    outcome.word(),
                    seconds(*took),
                    said.replace('|', "\\|")
                )?,
            }
        }
        Ok(())
    }
}

/// The last line that says something.
pub(super) fn last_line(said: &str) -> String {
    let mut lines = said.lines().map(str::trim).rev();
    let line = lines.find(|line| !line.is_empty()).unwrap_or("nothing");
    line.chars().filter(|letter| !letter.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(outcome: Outcome, said: &str) -> Seen {
        Seen {
            outcome,
            took: Duration::from_secs(61),
            commit: "c0ffee".to_owned(),
            said: said.to_owned(),
        }
    }

    #[test]
    fn what_a_step_came_to_is_read_back() {
        for seen in [
            seen(Outcome::Good, "all as they must be"),
            seen(Outcome::Failed, ""),
            Seen::skipped("c0ffee", "`cargo deny` is not installed"),
        ] {
            assert_eq!(Seen::of_line(&seen.to_line()), Some(seen));
        }
        for wrong in ["", "good", "good 3", "good x y z", "fine 3 y z"] {
            assert_eq!(Seen::of_line(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn the_page_tells_what_failed_and_what_was_not_done() {
        let page = Page {
            commit: "c0ffee".to_owned(),
            date: "2026-01-02".to_owned(),
            rows: vec![
                ("test", Some(seen(Outcome::Good, "12 steps"))),
                ("chaos", Some(seen(Outcome::Failed, "two | held"))),
                ("bench", None),
            ],
        };
        let text = page.to_string();
        for line in [
            "commit c0ffee of 2026-01-02: 1 of 3 steps as they must be, 1 failed, 0 skipped, 1 not done. ",
            "| chaos | FAILED | 1 min 1 s | c0ffee | two \\| held |",
            "| bench | not done | | | |",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn the_last_that_was_said_is_told() {
        assert_eq!(last_line("a\n  b c \n\n"), "b c");
        assert_eq!(last_line("\n"), "nothing");
    }
}
