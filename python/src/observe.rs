//! What managers do, for observers of Python.
//!
//! An observer is called on a manager's thread, which must not wait for the GIL. So what is told goes into a queue, from which
//! a thread of Python takes it. A queue that is full drops what comes, and says how much.

use crate::{
    error::cause,
    facts::{owner_text, resource, snake, span, token},
    operation::lock,
    process::Own,
};
use leasehold::{ClockStep, Observation, Observer, ReleaseOutcome, observe};
use pyo3::{prelude::*, types::PyDict};
use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

/// How many events wait at most.
const LONGEST: usize = 10_000;

/// How many are taken at once, so that none is old.
const BATCH: usize = 256;

struct Event(&'static str, Vec<(&'static str, Fact)>);

enum Fact {
    Text(String),
    Texts(Vec<String>),
    Span(Duration),
    Count(u64),
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    news: Condvar,
    /// Whether everything is told, or only what somebody should hear of.
    is_all: bool,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    dropped: u64,
    is_closed: bool,
}

/// Events on their way to a thread of Python.
#[pyclass(frozen, module = "leasehold._native")]
pub(crate) struct EventQueue(Own<Arc<Queue>>);

/// The kind of an event, and its facts.
type Pair = (&'static str, Py<PyDict>);

struct Teller(Arc<Queue>);

impl Observer for Teller {
    fn observe(&self, observation: &Observation<'_>) {
        if !self.0.is_all && !is_notable(observation) {
            return;
        }
        let Some(event) = event(observation) else {
            return;
        };
        let mut state = lock(&self.0.state);
        if state.events.len() < LONGEST {
            state.events.push_back(event);
            self.0.news.notify_one();
        } else {
            state.dropped += 1;
        }
    }
}

impl EventQueue {
    pub(crate) fn observer(&self) -> impl Observer + use<> {
        // One of a parent is told nothing: its lock may be held for ever.
        let queue = self.0.get().cloned();
        Teller(queue.unwrap_or_default())
    }
}

#[pymethods]
impl EventQueue {
    #[new]
    fn new(is_all: bool) -> Self {
        let queue = Queue {
            is_all,
            ..Queue::default()
        };
        Self(Own::new(Arc::new(queue)))
    }

    /// Waits for events without the GIL. None when the queue is closed and empty; otherwise pairs of a kind and its facts, and
    /// how many were dropped since the last time.
    fn take(&self, py: Python<'_>) -> PyResult<Option<(Vec<Pair>, u64)>> {
        let Some(queue) = self.0.get() else {
            return Ok(None);
        };
        let taken = py.detach(|| {
            let mut state = lock(&queue.state);
            while state.events.is_empty() && !state.is_closed {
                state = queue
                    .news
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            if state.events.is_empty() {
                return None;
            }
            let count = state.events.len().min(BATCH);
            let dropped = std::mem::take(&mut state.dropped);
            Some((state.events.drain(..count).collect::<Vec<_>>(), dropped))
        });
        let Some((events, dropped)) = taken else {
            return Ok(None);
        };
        let events = events
            .into_iter()
            .map(|Event(kind, facts)| Ok((kind, dictionary(py, facts)?)));
        Ok(Some((events.collect::<PyResult<_>>()?, dropped)))
    }

    /// How many events wait.
    fn waiting(&self) -> usize {
        self.0
            .get()
            .map_or(0, |queue| lock(&queue.state).events.len())
    }

    /// Nobody waits for more.
    fn close(&self) {
        if let Some(queue) = self.0.get() {
            lock(&queue.state).is_closed = true;
            queue.news.notify_all();
        }
    }
}

fn dictionary(py: Python<'_>, facts: Vec<(&'static str, Fact)>) -> PyResult<Py<PyDict>> {
    let dictionary = PyDict::new(py);
    for (name, fact) in facts {
        match fact {
            Fact::Text(text) => dictionary.set_item(name, text)?,
            Fact::Texts(texts) => dictionary.set_item(name, texts)?,
            Fact::Span(of) => dictionary.set_item(name, span(of))?,
            Fact::Count(count) => dictionary.set_item(name, count)?,
        }
    }
    Ok(dictionary.unbind())
}

/// What should not go by unheard.
const fn is_notable(observation: &Observation<'_>) -> bool {
    matches!(
        observation,
        Observation::InDanger { .. }
            | Observation::Lost { .. }
            | Observation::Abstained { .. }
            | Observation::ClockStepped { .. }
            | Observation::Up { .. }
            | Observation::Down { .. }
            | Observation::Replaced { .. }
    )
}

fn event(observation: &Observation<'_>) -> Option<Event> {
    use Fact::{Count, Span, Text, Texts};
    let names = |of| ("names", Texts(resource(of)));
    let whose = |owner| ("owner", Text(owner_text(owner)));
    Some(match observation {
        Observation::NotAcquired {
            resource,
            obstacle,
            waited,
            attempts,
            ..
        } => Event(
            "not_acquired",
            vec![
                names(resource),
                ("obstacle", Text(obstacle.as_str().to_owned())),
                ("waited", Span(*waited)),
                ("attempts", Count((*attempts).into())),
            ],
        ),
        Observation::Extended {
            resource,
            owner,
            took,
            left,
            valid_for,
            ..
        } => Event(
            "extended",
            vec![
                names(resource),
                whose(owner),
                ("took", Span(*took)),
                ("left", Span(*left)),
                ("valid_for", Span(*valid_for)),
            ],
        ),
        Observation::InDanger {
            resource,
            owner,
            danger,
            ..
        } => Event(
            "in_danger",
            vec![
                names(resource),
                whose(owner),
                ("remaining", Span(danger.remaining)),
                (
                    "nodes",
                    Texts(danger.faults().iter().map(ToString::to_string).collect()),
                ),
            ],
        ),
        Observation::Acquired { .. } => return acquired(observation),
        other => return event_of_end(other),
    })
}

/// The one that begins a lease.
fn acquired(observation: &Observation<'_>) -> Option<Event> {
    use Fact::{Count, Span, Text, Texts};
    let names = |of| ("names", Texts(resource(of)));
    let whose = |owner| ("owner", Text(owner_text(owner)));
    Some(match observation {
        Observation::Acquired {
            resource,
            owner,
            token: of,
            waited,
            attempts,
            valid_for,
            ..
        } => {
            let mut facts = vec![
                names(resource),
                whose(owner),
                ("waited", Span(*waited)),
                ("attempts", Count((*attempts).into())),
                ("valid_for", Span(*valid_for)),
            ];
            facts.extend(token(*of).map(|token| ("fencing_token", Count(token))));
            Event("acquired", facts)
        }
        _ => return None,
    })
}

/// One that ends a lease.
fn event_of_end(observation: &Observation<'_>) -> Option<Event> {
    use Fact::{Span, Text, Texts};
    let names = |of| ("names", Texts(resource(of)));
    let whose = |owner| ("owner", Text(owner_text(owner)));
    Some(match observation {
        Observation::Lost {
            resource,
            owner,
            cause: why,
            held,
            ..
        } => Event(
            "lost",
            vec![
                names(resource),
                whose(owner),
                ("cause", Text(cause(why).to_owned())),
                ("text", Text(why.to_string())),
                ("held", Span(*held)),
            ],
        ),
        Observation::Released {
            resource,
            owner,
            outcome,
            held,
            took,
            ..
        } => Event(
            "released",
            vec![
                names(resource),
                whose(owner),
                ("outcome", Text(outcome_word(outcome).to_owned())),
                ("held", Span(*held)),
                ("took", Span(*took)),
            ],
        ),
        Observation::HandedOver {
            resource,
            owner,
            held,
            ..
        } => Event(
            "handed_over",
            vec![names(resource), whose(owner), ("held", Span(*held))],
        ),
        other => return event_of_node(other),
    })
}

/// One that concerns a node, and no lock.
fn event_of_node(observation: &Observation<'_>) -> Option<Event> {
    use Fact::{Span, Text};
    Some(match observation {
        Observation::Asked { node, request, .. } => Event(
            "asked",
            vec![
                ("node", Text(node.to_string())),
                ("request", Text(request.as_str().to_owned())),
            ],
        ),
        Observation::Answered {
            node,
            request,
            answer,
            took,
            ..
        } => Event(
            "answered",
            vec![
                ("node", Text(node.to_string())),
                ("request", Text(request.as_str().to_owned())),
                ("answer", Text(answer_word(*answer))),
                ("took", Span(*took)),
            ],
        ),
        Observation::Abstained {
            node, abstention, ..
        } => Event(
            "abstained",
            vec![
                ("node", Text(node.to_string())),
                ("text", Text(abstention.to_string())),
                ("left", Span(abstention.left)),
                ("cause", Text(snake(&format!("{:?}", abstention.cause)))),
            ],
        ),
        other => return event_of_connection(other),
    })
}

/// One that concerns the clock of a node, or the connection to it.
fn event_of_connection(observation: &Observation<'_>) -> Option<Event> {
    use Fact::{Span, Text};
    Some(match observation {
        Observation::ClockStepped { node, step, .. } => {
            let (direction, by) = match step {
                ClockStep::Forward(by) => ("forward", by),
                ClockStep::Back(by) => ("back", by),
            };
            Event(
                "clock_stepped",
                vec![
                    ("node", Text(node.to_string())),
                    ("direction", Text(direction.to_owned())),
                    ("by", Span(*by)),
                ],
            )
        }
        Observation::Up { node, .. } => Event("up", vec![("node", Text(node.to_string()))]),
        Observation::Down { node, reason, .. } => Event(
            "down",
            vec![
                ("node", Text(node.to_string())),
                ("text", Text((*reason).to_owned())),
            ],
        ),
        Observation::Replaced { node, former, .. } => Event(
            "replaced",
            vec![
                ("node", Text(node.to_string())),
                ("former", Text(former.to_string())),
            ],
        ),
        _ => return None,
    })
}

fn answer_word(answer: observe::Answer) -> String {
    answer.as_str().to_owned()
}

/// The word for what became of a release.
pub(crate) const fn outcome_word(outcome: &ReleaseOutcome) -> &'static str {
    match outcome {
        ReleaseOutcome::Released => "released",
        ReleaseOutcome::AlreadyExpired => "already_expired",
        ReleaseOutcome::TakenByAnother { .. } => "taken_by_another",
        _ => "unknown",
    }
}
