//! On what and when it was measured.

use crate::{Fallible, effort::Effort, sample::confidence};
use leasehold::clock::Clock;
use leasehold_servers::ServerBinary;
use serde_json::{Value, json};
use std::{fs, process::Command, thread, time::Duration};

/// Told with every result: without it no figure means anything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    date: String,
    /// Of this program and of the library.
    commit: String,
    cores: usize,
    processor: String,
    kernel: String,
    server: String,
    load: String,
    rounds: usize,
    /// Whether the processors were kept awake, or why not.
    awake: String,
}

impl Conditions {
    pub(crate) fn look(effort: &Effort, awake: String) -> Fallible<Self> {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let information = read("/proc/cpuinfo");
        let model = information
            .lines()
            .find_map(|line| line.strip_prefix("model name"));
        let load = read("/proc/loadavg");
        Ok(Self {
            date: date(Clock::system().wall()),
            commit: commit(),
            cores: thread::available_parallelism().map_or(0, usize::from),
            processor: model
                .unwrap_or_default()
                .trim_matches([' ', '\t', ':'])
                .to_owned(),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            server: ServerBinary::find()?.version()?.to_string(),
            load: load.split(' ').take(3).collect::<Vec<_>>().join(" "),
            rounds: effort.rounds,
            awake,
        })
    }

    pub(crate) fn markdown(&self) -> String {
        let sure = 100.0 * confidence(self.rounds);
        format!(
            "Measured on {} at commit {}: {} cores of {}, kernel {}, {} on loopback without persistence, load average at \
             the start {}. Median of {} interleaved rounds, least and most in round brackets. Ratios are taken within a \
             round; in square brackets is where their median would be with rounds without end, with a confidence of \
             {sure:.0} %. {}\n",
            self.date,
            self.commit,
            self.cores,
            self.processor,
            self.kernel,
            self.server,
            self.load,
            self.rounds,
            self.awake
        )
    }

    /// When and on what, for those who want no more.
    pub(crate) fn brief(&self) -> String {
        format!(
            "Measured on {} at commit {}, on {} cores for the client and all nodes, {}.\n",
            self.date, self.commit, self.cores, self.server
        )
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "date": self.date,
            "commit": self.commit,
            "cores": self.cores,
            "processor": self.processor,
            "kernel": self.kernel,
            "server": self.server,
            "load": self.load,
            "rounds": self.rounds,
            "awake": self.awake,
        })
    }
}

/// The commit that is checked out, and whether files differ from it.
fn commit() -> String {
    let git = |words: &[&str]| {
        let output = Command::new("git")
            .args(words)
            .current_dir(crate::root())
            .output()
            .ok()?;
        let told = output.status.success().then_some(output.stdout)?;
        Some(String::from_utf8_lossy(&told).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short", "HEAD"]);
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
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
