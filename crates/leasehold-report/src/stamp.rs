//! Of which commit a result is, and of which day.

use std::{
    fmt,
    path::Path,
    process::Command,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Told with every result: without it no figure means anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stamp {
    /// As `2026-01-31`, in UTC.
    pub date: String,
    /// The one that is checked out, and whether files differ from it, apart from documents: results are written into these.
    pub commit: String,
}

impl Stamp {
    /// Today, and the commit of the repository at `root`.
    #[expect(
        clippy::disallowed_methods,
        reason = "the day is for people, and nothing is decided by it"
    )]
    pub fn of(root: &Path) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            date: date(now.unwrap_or_default()),
            commit: commit(root),
        }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "on {} at commit {}", self.date, self.commit)
    }
}

fn commit(root: &Path) -> String {
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).current_dir(root).output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short", "HEAD"]);
    let changed = git(&[
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ".",
        ":(exclude)docs",
    ]);
    let changed = changed.is_some_and(|files| !files.is_empty());
    commit.unwrap_or_else(|| "unknown".to_owned()) + if changed { ", with changes" } else { "" }
}

/// The day of this time since 1970, by the proleptic Gregorian calendar.
fn date(wall: Duration) -> String {
    // Days from 1 March of the year 0, in years that end in February: leap days come last.
    let days = wall.as_secs() / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_commit_is_told_and_changes_but_not_those_of_documents() {
        let root = std::env::temp_dir().join(format!("leasehold-stamp-{}", std::process::id()));
        fs::create_dir_all(root.join("docs")).expect("a folder");
        let git = |words: &[&str]| {
            let who = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
            let mut git = Command::new("git");
            let status = git.args(who).args(words).current_dir(&root).status();
            assert!(status.expect("git is there").success(), "{words:?}");
        };
        let write = |file: &str, text: &str| fs::write(root.join(file), text).expect("a file");
        write("docs/page.md", "1");
        write("code", "1");
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "all"]);
        let committed = commit(&root);
        assert!(
            committed.len() >= 7 && !committed.contains(' '),
            "{committed}"
        );
        write("docs/page.md", "2");
        assert_eq!(commit(&root), committed);
        write("code", "2");
        assert_eq!(commit(&root), format!("{committed}, with changes"));
        fs::remove_dir_all(&root).expect("it was made");
        assert_eq!(commit(&root), "unknown");
    }

    #[test]
    fn days_are_told_by_the_calendar() {
        let told = [0, 951_782_399, 951_782_400, 1_795_219_200]
            .map(Duration::from_secs)
            .map(date);
        assert_eq!(
            told,
            ["1970-01-01", "2000-02-28", "2000-02-29", "2026-11-21"]
        );
    }
}
