//! Counting and measuring, by the `metrics` facade.

use super::{
    Answer, Observation, Observer, Obstacle, RequestKind, label,
    metric::{
        ABSTAINED, ACQUIRED, ANSWERED, ASKED, ATTEMPTS, CLOCK_STEPS, EXTENDED, EXTENSION,
        HANDED_OVER, HELD, HOLD, IN_DANGER, LATENCY, LEFT, LOST, METRICS, MetricKind, NOT_ACQUIRED,
        RELEASED, UP, WAIT,
    },
};
use crate::{
    link::NodeName,
    sync::{Mutex, PoisonError},
};
use ::metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use leasehold_core::{ClockStep, FaultKind, Resource};
use std::{collections::HashSet, fmt, time::Duration};

/// An [`Observer`] that counts and measures through the `metrics` facade, under the names of [`METRICS`]. A
/// program that installs a recorder, for Prometheus or something else, has them; docs/OBSERVING.md says what they mean, and a dashboard
/// for Grafana lies beside it.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold::{LockManager, observe::Metrics};
///
/// // `orders/42` and `orders/43` are one group.
/// let metrics = Metrics::new().grouped_by(|resource| {
///     let name = resource.as_str();
///     name.split_once('/').map_or(name, |(group, _)| group).to_owned()
/// });
/// let manager = LockManager::builder().memory(3).observer(metrics).build()?;
/// # let _ = manager;
/// # Ok(())
/// # }
/// ```
pub struct Metrics {
    group: Box<dyn Fn(&Resource) -> String + Send + Sync>,
    /// Those of which something was told.
    groups: Mutex<HashSet<String>>,
}

impl Metrics {
    /// All resources are one group, `all`. Tells the recorder what each metric means, so install it before.
    #[must_use]
    pub fn new() -> Self {
        for metric in METRICS {
            match metric.kind {
                MetricKind::Counter => describe_counter!(metric.name, metric.help),
                MetricKind::Gauge => describe_gauge!(metric.name, metric.help),
                MetricKind::Histogram => describe_histogram!(metric.name, metric.help),
            }
        }
        Self {
            group: Box::new(|_| "all".to_owned()),
            groups: Mutex::default(),
        }
    }

    /// Tells resources apart by this. Let there be few groups: every one of them has some twenty series of its own, for as
    /// long as the program runs. Called on the manager's thread.
    #[must_use]
    pub fn grouped_by(self, group: impl Fn(&Resource) -> String + Send + Sync + 'static) -> Self {
        Self {
            group: Box::new(group),
            ..self
        }
    }

    /// Begins with 0 what alarms look at, when the group is first told of: a series that appears with its first event does not grow
    /// by it.
    fn begin_group(&self, group: &str) {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        if groups.contains(group) {
            return;
        }
        groups.insert(group.to_owned());
        let group = || group.to_owned();
        counter!(IN_DANGER, "group" => group()).increment(0);
        for cause in label::LOSSES {
            counter!(LOST, "group" => group(), "cause" => cause).increment(0);
        }
        for obstacle in Obstacle::ALL {
            let obstacle = obstacle.as_str();
            counter!(NOT_ACQUIRED, "group" => group(), "obstacle" => obstacle).increment(0);
        }
    }

    /// The same of a node.
    fn begin_node(node: &str) {
        for cause in label::ABSTENTIONS.map(label::abstention) {
            counter!(ABSTAINED, "node" => node.to_owned(), "cause" => cause).increment(0);
        }
        for answer in [FaultKind::Disagrees, FaultKind::SameNode] {
            let answer = Answer::Unknown(answer).as_str();
            for request in RequestKind::VOTES.map(RequestKind::as_str) {
                let node = node.to_owned();
                counter!(ANSWERED, "node" => node, "request" => request, "answer" => answer)
                    .increment(0);
            }
        }
        let (forward, back) = (ClockStep::Forward, ClockStep::Back);
        for step in [forward(Duration::ZERO), back(Duration::ZERO)] {
            let direction = label::direction(step);
            counter!(CLOCK_STEPS, "node" => node.to_owned(), "direction" => direction).increment(0);
        }
    }

    /// What happened to locks.
    fn of_lock(&self, resource: &Resource, observation: &Observation<'_>) {
        let group = (self.group)(resource);
        self.begin_group(&group);
        let ended = |held: Duration| {
            histogram!(HOLD, "group" => group.clone()).record(held);
            gauge!(HELD, "group" => group.clone()).decrement(1);
        };
        let tried = |attempts: u32| {
            counter!(ATTEMPTS, "group" => group.clone()).increment(u64::from(attempts));
        };
        match *observation {
            Observation::Acquired {
                waited, attempts, ..
            } => {
                counter!(ACQUIRED, "group" => group.clone()).increment(1);
                histogram!(WAIT, "group" => group.clone()).record(waited);
                gauge!(HELD, "group" => group.clone()).increment(1);
                tried(attempts);
            }
            Observation::NotAcquired {
                obstacle, attempts, ..
            } => {
                let labels = [
                    ("group", group.clone()),
                    ("obstacle", obstacle.as_str().into()),
                ];
                counter!(NOT_ACQUIRED, &labels).increment(1);
                tried(attempts);
            }
            Observation::Extended { took, left, .. } => {
                counter!(EXTENDED, "group" => group.clone()).increment(1);
                histogram!(EXTENSION, "group" => group.clone()).record(took);
                histogram!(LEFT, "group" => group.clone()).record(left);
            }
            Observation::InDanger { .. } => {
                counter!(IN_DANGER, "group" => group.clone()).increment(1);
            }
            Observation::Lost { cause, held, .. } => {
                ended(held);
                let cause = label::loss(cause);
                counter!(LOST, "group" => group.clone(), "cause" => cause).increment(1);
            }
            Observation::Released { outcome, held, .. } => {
                ended(held);
                let outcome = label::release(outcome);
                counter!(RELEASED, "group" => group.clone(), "outcome" => outcome).increment(1);
            }
            Observation::HandedOver { held, .. } => {
                ended(held);
                counter!(HANDED_OVER, "group" => group.clone()).increment(1);
            }
            _ => {}
        }
    }

    /// What happened to nodes.
    fn of_node(node: &NodeName, observation: &Observation<'_>) {
        let node = node.as_str().to_owned();
        match *observation {
            Observation::Asked { request, .. } => {
                let request = request.as_str();
                counter!(ASKED, "node" => node, "request" => request).increment(1);
            }
            Observation::Answered {
                request,
                answer,
                took,
                ..
            } => {
                let request = request.as_str();
                if matches!(answer, Answer::Granted | Answer::Refused) {
                    let latency = histogram!(LATENCY, "node" => node.clone(), "request" => request);
                    latency.record(took);
                }
                let answer = answer.as_str();
                counter!(ANSWERED, "node" => node, "request" => request, "answer" => answer)
                    .increment(1);
            }
            Observation::Abstained { abstention, .. } => {
                let cause = label::abstention(abstention.cause);
                counter!(ABSTAINED, "node" => node, "cause" => cause).increment(1);
            }
            Observation::ClockStepped { step, .. } => {
                let direction = label::direction(step);
                counter!(CLOCK_STEPS, "node" => node, "direction" => direction).increment(1);
            }
            Observation::Up { .. } => {
                Self::begin_node(&node);
                gauge!(UP, "node" => node).set(1);
            }
            Observation::Down { .. } | Observation::Replaced { .. } => {
                gauge!(UP, "node" => node).set(0);
            }
            _ => {}
        }
    }
}

impl Observer for Metrics {
    fn observe(&self, observation: &Observation<'_>) {
        match observation {
            Observation::Acquired { resource, .. }
            | Observation::NotAcquired { resource, .. }
            | Observation::Extended { resource, .. }
            | Observation::InDanger { resource, .. }
            | Observation::Lost { resource, .. }
            | Observation::Released { resource, .. }
            | Observation::HandedOver { resource, .. } => self.of_lock(resource, observation),
            Observation::Asked { node, .. }
            | Observation::Answered { node, .. }
            | Observation::Abstained { node, .. }
            | Observation::ClockStepped { node, .. }
            | Observation::Up { node }
            | Observation::Replaced { former: node, .. }
            | Observation::Down { node, .. } => Self::of_node(node, observation),
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Metrics").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
