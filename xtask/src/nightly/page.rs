//! What the steps came to, and the page that tells of them, which is read back by the next night.

use crate::took::seconds;
use std::{collections::BTreeMap, fmt, time::Duration};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Good,
    Failed,
    Skipped,
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

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) outcome: Outcome,
    /// For people.
    pub(super) took: String,
    /// On which it was done.
    pub(super) commit: String,
    /// A name for what it depends on, as it was on that commit.
    pub(super) inputs: String,
    /// The last that it said, or why it was skipped.
    pub(super) said: String,
}

impl Seen {
    pub(super) fn new(
        outcome: Outcome,
        took: Duration,
        (commit, inputs): (&str, &str),
        said: &str,
    ) -> Self {
        Self {
            outcome,
            took: seconds(took),
            commit: commit.to_owned(),
            inputs: inputs.to_owned(),
            said: said.to_owned(),
        }
    }

    /// A row of the page.
    fn row(&self, step: &str) -> String {
        let Self {
            outcome,
            took,
            commit,
            inputs,
            said,
        } = self;
        let (outcome, said) = (outcome.word(), said.replace('|', "\\|"));
        format!("| {step} | {outcome} | {took} | {commit} | {inputs} | {said} |")
    }

    /// Out of a row of the page: of which step it is as well. None if it tells of none that was done.
    fn of_row(row: &str) -> Option<(&str, Self)> {
        let inner = row.strip_prefix("| ")?.strip_suffix(" |")?;
        let [step, outcome, took, commit, inputs, said] =
            *inner.splitn(6, " | ").collect::<Vec<_>>()
        else {
            return None;
        };
        let all = [Outcome::Good, Outcome::Failed, Outcome::Skipped];
        let seen = Self {
            outcome: all.into_iter().find(|other| other.word() == outcome)?,
            took: took.to_owned(),
            commit: commit.to_owned(),
            inputs: inputs.to_owned(),
            said: said.replace("\\|", "|"),
        };
        Some((step, seen))
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            outcome,
            took,
            said,
            ..
        } = self;
        write!(out, "{} after {took}: {said}", outcome.word())
    }
}

/// What was seen of this step by the page, if that was of these inputs.
pub(super) fn seen_of(page: &str, step: &str, inputs: &str) -> Option<Seen> {
    let rows = page.lines().filter_map(Seen::of_row);
    let mut of_it = rows.filter(|(name, seen)| *name == step && seen.inputs == inputs);
    of_it.next().map(|(_, seen)| seen)
}

/// The steps that were as they must be, and the commit on which each was.
pub(super) fn good(page: &str) -> impl Iterator<Item = (&str, String)> {
    let rows = page.lines().filter_map(Seen::of_row);
    let good = rows.filter(|(_, seen)| seen.outcome == Outcome::Good);
    good.map(|(step, seen)| (step, seen.commit))
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
             {} skipped, {undone} not done. A step that was done on an earlier commit stands for as long as nothing changes that it \
             depends on: the column *of* names that, as git names what is committed.\n",
            count(Outcome::Good),
            rows.len(),
            count(Outcome::Failed),
            count(Outcome::Skipped),
        )?;
        writeln!(
            out,
            "| step | outcome | took | commit | of | what it said last |\n|---|---|---|---|---|---|"
        )?;
        for (step, seen) in rows {
            match seen {
                None => writeln!(out, "| {step} | not done | | | | |")?,
                Some(seen) => writeln!(out, "{}", seen.row(step))?,
            }
        }
        Ok(())
    }
}

/// The last line that says something.
pub(super) fn last_line(said: &str) -> String {
    let mut lines = said.lines().map(str::trim).rev();
    let line = lines.find(|line| !line.is_empty()).unwrap_or("nothing");
    let words: Vec<_> = line.split_whitespace().collect();
    words.join(" ").replace(char::is_control, "")
}

/// What a run of tests said at its ends that it had skipped, each once and how often; none if it skipped nothing.
pub(super) fn skips(said: &str) -> Option<String> {
    let mut times = BTreeMap::<&str, usize>::new();
    for why in { said.lines() }.filter_map(|line| line.trim().strip_prefix("skipped: ")) {
        *times.entry(why).or_default() += 1;
    }
    let told = { times.iter() }.map(|(why, times)| format!("{times} × {why}"));
    let told: Vec<_> = told.collect();
    (!told.is_empty()).then(|| format!("skipped within: {}", told.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_were_skipped_are_told_with_what_passed() {
        let said = "SKIPPED: no b\n3 skipped\n  skipped: no b\n  skipped: no a, which is rare\n  skipped: no b\nall skipped: c\n";
        let told = "skipped within: 1 × no a, which is rare; 2 × no b";
        assert_eq!(skips(said).as_deref(), Some(told));
        assert_eq!(skips("0 skipped\n819 passed"), None);
    }

    fn seen(outcome: Outcome, said: &str) -> Seen {
        Seen::new(outcome, Duration::from_secs(61), ("c0ffee", "abc"), said)
    }

    fn page() -> Page {
        Page {
            commit: "c0ffee".to_owned(),
            date: "2026-01-02".to_owned(),
            rows: vec![
                ("test", Some(seen(Outcome::Good, "12 steps"))),
                ("chaos", Some(seen(Outcome::Failed, "two | held"))),
                ("fuzz", Some(seen(Outcome::Skipped, "no compiler"))),
                ("bench", None),
            ],
        }
    }

    #[test]
    fn what_a_step_came_to_is_read_back_as_long_as_its_inputs_are_the_same() {
        let (page, text) = (page(), page().to_string());
        for (step, seen) in page.rows {
            assert_eq!(seen_of(&text, step, "abc"), seen, "{step}");
            assert_eq!(seen_of(&text, step, "abcd"), None, "{step}");
        }
        let good: Vec<_> = good(&text).collect();
        assert_eq!(good, [("test", "c0ffee".to_owned())]);
        assert_eq!(seen_of(&text, "tests", "abc"), None);
        assert_eq!(seen_of("", "test", "abc"), None);
    }

    #[test]
    fn the_page_tells_what_failed_and_what_was_not_done() {
        let text = page().to_string();
        for line in [
            "commit c0ffee of 2026-01-02: 1 of 4 steps as they must be, 1 failed, 1 skipped, 1 not done. ",
            "| chaos | FAILED | 1 min 1 s | c0ffee | abc | two \\| held |",
            "| bench | not done | | | | |",
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
