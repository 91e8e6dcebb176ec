//! On what and when it was measured.

use crate::{Fallible, effort::Effort, sample::confidence};
use leasehold_report::{Stamp, root};
use leasehold_servers::ServerBinary;
use serde_json::{Value, json};
use std::{fs, thread};

/// Told with every result: without it no figure means anything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    /// Of this program and of the library.
    stamp: Stamp,
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
            stamp: Stamp::of(&root()),
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
            "Measured {}: {} cores of {}, kernel {}, {} on loopback without persistence, load average at \
             the start {}. Median of {} interleaved rounds, least and most in round brackets. Ratios are taken within a \
             round; in square brackets is where their median would be with rounds without end, with a confidence of \
             {sure:.0} %. {}\n",
            self.stamp,
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
            "Measured {}, on {} cores for the client and all nodes, {}.\n",
            self.stamp, self.cores, self.server
        )
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "date": self.stamp.date,
            "commit": self.stamp.commit,
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
