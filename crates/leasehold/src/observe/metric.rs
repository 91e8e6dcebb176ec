//! The names under which a manager is measured, in one table. Dashboards and alarms stand on them: a name that is here stays.

/// One metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metric {
    /// What it is called, as Prometheus has it: in seconds where it is a time, and ending in `_total` where it is a counter.
    pub name: &'static str,
    /// What it is.
    pub kind: MetricKind,
    /// What it is told apart by.
    pub labels: &'static [&'static str],
    /// What it says.
    pub help: &'static str,
}

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricKind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Many values, of which one wants to know how they are distributed.
    Histogram,
}

macro_rules! metrics {
    ($($id:ident, $kind:ident, $name:literal, [$($label:literal),*], $help:literal;)*) => {
        $(
            #[cfg(feature = "metrics")]
            pub(super) const $id: &str = $name;
        )*

        /// All metrics. `group` says of which resources, as `Metrics::grouped_by` has it: `all` unless
        /// configured, since a label for each resource would be without bound.
        pub const METRICS: &[Metric] = &[$(Metric {
            name: $name,
            kind: MetricKind::$kind,
            labels: &[$($label),*],
            help: $help,
        }),*];
    };
}

metrics! {
    ACQUIRED, Counter, "leasehold_acquired_total", ["group"],
        "Locks that were won";
    NOT_ACQUIRED, Counter, "leasehold_not_acquired_total", ["group", "obstacle"],
        "Acquisitions that ended without the lock, by what they failed of";
    ATTEMPTS, Counter, "leasehold_attempts_total", ["group"],
        "Attempts of acquisitions that have ended: beyond one each it is contention, or nodes that do not answer";
    WAIT, Histogram, "leasehold_wait_seconds", ["group"],
        "How long it took until a lock was won";
    HELD, Gauge, "leasehold_held", ["group"],
        "Leases that are held now";
    HOLD, Histogram, "leasehold_hold_seconds", ["group"],
        "For how long locks were held, until they were given back, handed over or lost";
    RELEASED, Counter, "leasehold_released_total", ["group", "outcome"],
        "Locks that were given back, by what became of that";
    HANDED_OVER, Counter, "leasehold_handed_over_total", ["group"],
        "Locks that were given out of hand, for other processes to adopt";
    EXTENDED, Counter, "leasehold_extended_total", ["group"],
        "Extensions that a quorum has confirmed";
    EXTENSION, Histogram, "leasehold_extension_seconds", ["group"],
        "How long extensions took, those that failed in between included";
    LEFT, Histogram, "leasehold_left_before_extension_seconds", ["group"],
        "How much of a lease was left when an extension was confirmed";
    IN_DANGER, Counter, "leasehold_in_danger_total", ["group"],
        "Warnings that a lease was not confirmed for long and ends soon";
    LOST, Counter, "leasehold_lost_total", ["group", "cause"],
        "Leases that ended against the will of their holders, by why";
    ASKED, Counter, "leasehold_node_requests_total", ["node", "request"],
        "What nodes were asked";
    ANSWERED, Counter, "leasehold_node_answers_total", ["node", "request", "answer"],
        "What nodes answered";
    LATENCY, Histogram, "leasehold_node_latency_seconds", ["node", "request"],
        "How long the nodes' answers took, granted or refused";
    ABSTAINED, Counter, "leasehold_node_abstentions_total", ["node", "cause"],
        "Answers of nodes that do not vote, because they may have forgotten votes";
    CLOCK_STEPS, Counter, "leasehold_node_clock_steps_total", ["node", "direction"],
        "How often nodes' clocks were seen to have been set";
    UP, Gauge, "leasehold_node_up", ["node"],
        "Whether a node can be asked: 1 or 0";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, fs, path::Path};

    /// What begins with `leasehold_` in a file, as the table calls it.
    fn named(file: &str) -> BTreeSet<String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../docs")
            .join(file);
        let text = fs::read_to_string(path).expect("the file is there");
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let words = text.split(|letter| !is_part(letter));
        let names = words
            .filter(|word| word.starts_with("leasehold_"))
            .map(|word| {
                // Prometheus makes three series of a histogram.
                let base = |suffix| word.strip_suffix(suffix).filter(|base| is_histogram(base));
                let base = ["_bucket", "_sum", "_count"].into_iter().find_map(base);
                base.unwrap_or(word).to_owned()
            });
        names.collect()
    }

    fn is_histogram(name: &str) -> bool {
        let is_it = |metric: &&Metric| metric.name == name;
        let found = METRICS.iter().find(is_it);
        found.is_some_and(|metric| metric.kind == MetricKind::Histogram)
    }

    fn table() -> BTreeSet<String> {
        METRICS
            .iter()
            .map(|metric| metric.name.to_owned())
            .collect()
    }

    #[test]
    fn the_dashboard_shows_every_metric_and_no_other() {
        assert_eq!(named("grafana-dashboard.json"), table());
    }

    #[test]
    fn the_page_explains_every_metric_and_no_other() {
        assert_eq!(named("OBSERVING.md"), table());
    }

    #[test]
    fn names_say_what_they_are() {
        for metric in METRICS {
            let name = metric.name;
            let is_counter = metric.kind == MetricKind::Counter;
            assert_eq!(name.ends_with("_total"), is_counter, "{name}");
            let is_histogram = metric.kind == MetricKind::Histogram;
            assert_eq!(name.ends_with("_seconds"), is_histogram, "{name}");
        }
    }
}
