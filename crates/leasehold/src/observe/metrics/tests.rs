use super::*;
use crate::{
    error::{Danger, LossCause},
    observe::RequestKind,
    outcome::ReleaseOutcome,
};
use ::metrics::{
    Counter, CounterFn, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    with_local_recorder,
};
use leasehold_core::{Abstention, AbstentionCause, ClockStep, FaultKind, Owner};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

/// Kinds and labels by name.
type Known = BTreeMap<String, (MetricKind, BTreeSet<String>)>;

/// What was recorded, of counters what has grown; and every series by its labels and what they say.
#[derive(Default)]
struct Recorded {
    metrics: Arc<Mutex<Known>>,
    series: Mutex<BTreeSet<String>>,
}

/// A counter that is known when it grows.
struct Growing(Arc<Mutex<Known>>, Key);

impl CounterFn for Growing {
    fn increment(&self, value: u64) {
        if value > 0 {
            know(&self.0, &self.1, MetricKind::Counter);
        }
    }

    fn absolute(&self, value: u64) {
        self.increment(value);
    }
}

fn know(known: &Mutex<Known>, key: &Key, kind: MetricKind) {
    let labels = key.labels().map(|label| label.key().to_owned()).collect();
    let mut known = known.lock().expect("nothing panics here");
    known.insert(key.name().to_owned(), (kind, labels));
}

impl Recorded {
    /// The counters that have grown.
    fn grown(&self) -> Vec<String> {
        let known = self.metrics.lock().expect("nothing panics here");
        let counters = known
            .iter()
            .filter(|(_, (kind, _))| *kind == MetricKind::Counter);
        counters.map(|(name, _)| name.clone()).collect()
    }

    /// Those that alarms wait for an event of.
    fn alarming(&self) -> BTreeSet<String> {
        let series = self.series.lock().expect("nothing panics here").clone();
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/OBSERVING.md");
        let page = std::fs::read_to_string(page).expect("the page is there");
        let alarms = page.split("increase(").skip(1);
        let alarms: BTreeSet<_> = alarms
            .filter_map(|alarm| alarm.split(['{', '[']).next())
            .collect();
        assert!(
            alarms.contains(LOST) && alarms.contains(ANSWERED),
            "{alarms:?}"
        );
        let is_one = |series: &String| {
            let is_named = alarms.iter().any(|alarm| series.contains(alarm));
            // Of the answers these two alone.
            let is_told = ["disagrees", "same_node"]
                .iter()
                .any(|answer| series.contains(answer));
            is_named && (is_told || !series.contains(ANSWERED))
        };
        series.into_iter().filter(is_one).collect()
    }
}

impl Recorder for Recorded {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let mut series = self.series.lock().expect("nothing panics here");
        series.insert(key.to_string());
        Counter::from_arc(Arc::new(Growing(self.metrics.clone(), key.clone())))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        know(&self.metrics, key, MetricKind::Gauge);
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        know(&self.metrics, key, MetricKind::Histogram);
        Histogram::noop()
    }
}

const SECOND: Duration = Duration::from_secs(1);

fn locks(observer: &Metrics, resource: &Resource, owner: &Owner) {
    let (danger, outcome) = (
        Danger {
            remaining: SECOND,
            trouble: None,
        },
        ReleaseOutcome::Released,
    );
    for observation in [
        Observation::Acquired {
            resource,
            owner,
            token: None,
            waited: SECOND,
            attempts: 1,
            valid_for: SECOND,
        },
        Observation::NotAcquired {
            resource,
            obstacle: Obstacle::Held,
            waited: SECOND,
            attempts: 1,
        },
        Observation::Extended {
            resource,
            owner,
            took: SECOND,
            left: SECOND,
            valid_for: SECOND,
        },
        Observation::InDanger {
            resource,
            owner,
            danger: &danger,
        },
        Observation::Lost {
            resource,
            owner,
            cause: &LossCause::Stopped,
            held: SECOND,
        },
        Observation::Released {
            resource,
            owner,
            outcome: &outcome,
            held: SECOND,
            took: SECOND,
        },
        Observation::HandedOver {
            resource,
            owner,
            held: SECOND,
        },
    ] {
        observer.observe(&observation);
    }
}

fn nodes(observer: &Metrics, node: &NodeName) {
    let request = RequestKind::Acquire;
    let abstention = Abstention {
        cause: AbstentionCause::Empty,
        left: SECOND,
    };
    for observation in [
        Observation::Asked { node, request },
        Observation::Answered {
            node,
            request,
            answer: Answer::Unknown(FaultKind::TimedOut),
            took: SECOND,
        },
        Observation::Answered {
            node,
            request,
            answer: Answer::Granted,
            took: SECOND,
        },
        Observation::Abstained { node, abstention },
        Observation::ClockStepped {
            node,
            step: ClockStep::Forward(SECOND),
        },
        Observation::Up { node },
        Observation::Down {
            node,
            reason: "away",
        },
    ] {
        observer.observe(&observation);
    }
}

#[test]
fn what_is_recorded_is_the_table_no_more_and_no_less() {
    let heard = Recorded::default();
    with_local_recorder(&heard, || {
        let observer = Metrics::new();
        let resource = Resource::new("r").expect("a name");
        let owner = Owner::from_bytes(b"me").expect("not empty");
        locks(&observer, &resource, &owner);
        nodes(&observer, &NodeName::new("a"));
    });
    let table = METRICS.iter().map(|metric| {
        let labels = metric.labels.iter().map(|&label| label.to_owned());
        (metric.name.to_owned(), (metric.kind, labels.collect()))
    });
    assert_eq!(
        *heard.metrics.lock().expect("nothing panics here"),
        table.collect()
    );
}

#[test]
fn what_alarms_look_at_is_there_from_the_first_word_of_a_group_or_node_on() {
    let heard = Recorded::default();
    with_local_recorder(&heard, || {
        let observer = Metrics::new();
        let resource = Resource::new("r").expect("a name");
        let (owner, node) = (
            Owner::from_bytes(b"me").expect("not empty"),
            NodeName::new("a"),
        );
        observer.observe(&Observation::HandedOver {
            resource: &resource,
            owner: &owner,
            held: SECOND,
        });
        observer.observe(&Observation::Up { node: &node });
        assert_eq!(heard.grown(), [HANDED_OVER]);
        let before = heard.alarming();
        assert_eq!(before.len(), 1 + 7 + 8 + 8 + 8 + 2, "{before:?}");
        for cause in &losses() {
            observer.observe(&Observation::Lost {
                resource: &resource,
                owner: &owner,
                cause,
                held: SECOND,
            });
        }
        for obstacle in Obstacle::ALL {
            observer.observe(&Observation::NotAcquired {
                resource: &resource,
                obstacle,
                waited: SECOND,
                attempts: 1,
            });
        }
        for cause in label::ABSTENTIONS {
            let abstention = Abstention {
                cause,
                left: SECOND,
            };
            let node = &node;
            observer.observe(&Observation::Abstained { node, abstention });
        }
        for fault in [FaultKind::Disagrees, FaultKind::SameNode] {
            for request in RequestKind::VOTES {
                observer.observe(&Observation::Answered {
                    node: &node,
                    request,
                    answer: Answer::Unknown(fault),
                    took: SECOND,
                });
            }
        }
        locks(&observer, &resource, &owner);
        nodes(&observer, &node);
        assert_eq!(heard.alarming(), before);
    });
}

/// One of each that observers are told of.
fn losses() -> [LossCause; 7] {
    [
        LossCause::TimedOut { trouble: None },
        LossCause::Gone {
            refused: 2,
            quorum: 2,
            nodes: 3,
            holder: None,
        },
        LossCause::ClockStepped {
            node: NodeName::new("a"),
            step: SECOND,
        },
        LossCause::ExtensionLimit { extensions: 1 },
        LossCause::HoldLimit { held: SECOND },
        LossCause::NoProgress { silent: SECOND },
        LossCause::Stopped,
    ]
}
