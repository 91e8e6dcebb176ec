//! What operators can do.

use crate::{
    error::wrong,
    facts::{facts, object, span, spans},
    inspection::{self, object_of},
    operation::{Operation, operation, sure},
    options::seconds,
    process::Own,
};
use leasehold::{
    Leaders,
    operate::{
        Admission, ClusterExamination, Examination, Former, Listing, Log, Membership, NodeAnswer,
        Operator, Outcome, Reconfiguration, Search, ShardExamination, Survey, Told, Watcher,
    },
};
use pyo3::{prelude::*, types::PyDict};
use std::{ops::RangeInclusive, sync::Arc};
use tokio::sync::Mutex;

/// An operator of the nodes of a manager. Each call has a thread of its own for as long as it takes.
#[pyclass(frozen, module = "leasehold._native", name = "Operator")]
pub(crate) struct NativeOperator(Own<Arc<Operator>>);

impl NativeOperator {
    pub(crate) fn new(operator: Operator) -> Self {
        Self(Own::new(Arc::new(operator)))
    }

    fn operator(&self, py: Python<'_>) -> PyResult<Arc<Operator>> {
        let operator = self.0.get().cloned();
        operator.ok_or_else(|| wrong(py, &"this operator is that of the process of which this one is a fork: make one after the fork"))
    }
}

/// A call that asks each node.
macro_rules! asking {
    ($self:expr, $py:expr, $call:ident, $convert:expr) => {{
        let operator = $self.operator($py)?;
        let work = async move { operator.$call().await };
        Ok(operation(work, |py, told| each_node(py, &told, $convert)))
    }};
}

#[pymethods]
impl NativeOperator {
    fn quorum(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.operator(py)?.quorum())
    }

    fn is_plain(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.operator(py)?.is_plain())
    }

    fn within(&self, py: Python<'_>, limit: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self::new(
            self.operator(py)?.within(seconds("limit", limit)?),
        ))
    }

    fn answer_within(&self, py: Python<'_>, limit: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self::new(
            self.operator(py)?.answer_within(seconds("limit", limit)?),
        ))
    }

    fn about(&self, py: Python<'_>, name: &str) -> PyResult<Self> {
        let operator = self.operator(py)?.about(name);
        Ok(Self::new(operator.map_err(|error| wrong(py, &error))?))
    }

    fn survey(&self, py: Python<'_>) -> PyResult<Operation> {
        asking!(self, py, survey, survey)
    }

    fn examine(&self, py: Python<'_>) -> PyResult<Operation> {
        asking!(self, py, examine, examination)
    }

    fn examine_votes(&self, py: Python<'_>) -> PyResult<Operation> {
        asking!(self, py, examine_votes, examination)
    }

    fn admit(&self, py: Python<'_>) -> PyResult<Operation> {
        asking!(self, py, admit, admission)
    }

    fn admit_new(&self, py: Python<'_>) -> PyResult<Operation> {
        asking!(self, py, admit_new, admission)
    }

    fn search(
        &self,
        py: Python<'_>,
        prefix: &str,
        most: usize,
        hashes: bool,
    ) -> PyResult<Operation> {
        let operator = self.operator(py)?;
        let mut search = Search::new(prefix).most(most);
        if hashes {
            search = search.hashes();
        }
        let work = async move { operator.search(search).await };
        Ok(operation(work, |py, listing| listed(py, &listing)))
    }

    fn look(&self, py: Python<'_>, name: String) -> PyResult<Operation> {
        let operator = self.operator(py)?;
        let work = async move { operator.look(&name).await };
        Ok(operation(work, |py, seen| inspection::told(py, &seen)))
    }

    #[pyo3(signature = (name, limit=None))]
    fn until_free(
        &self,
        py: Python<'_>,
        name: String,
        limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Operation> {
        let operator = self.operator(py)?;
        let limit = limit.map(|limit| seconds("timeout", limit)).transpose()?;
        let work = async move { operator.until_free(&name, limit).await };
        Ok(operation(work, |py, seen| inspection::told(py, &seen)))
    }

    #[pyo3(signature = (name, permits, limit=None))]
    fn until_permit(
        &self,
        py: Python<'_>,
        name: String,
        permits: usize,
        limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Operation> {
        let operator = self.operator(py)?;
        let limit = limit.map(|limit| seconds("timeout", limit)).transpose()?;
        let work = async move { operator.until_permit(&name, permits, limit).await };
        Ok(operation(work, |py, seen| inspection::told(py, &seen)))
    }

    fn look_on(&self, py: Python<'_>, name: &str) -> PyResult<Lookout> {
        let watcher = self
            .operator(py)?
            .look_on(name)
            .map_err(|error| wrong(py, &error))?;
        Ok(Lookout::of(Looking::Lock(watcher)))
    }

    fn observe(&self, py: Python<'_>, election: &str) -> PyResult<Lookout> {
        let leaders = self
            .operator(py)?
            .observe(election)
            .map_err(|error| wrong(py, &error))?;
        Ok(Lookout::leaders(leaders))
    }

    #[pyo3(signature = (former=None))]
    fn reconfigure(&self, py: Python<'_>, former: Option<Vec<String>>) -> PyResult<Operation> {
        let (operator, former) = (
            self.operator(py)?,
            former.map_or_else(Former::same, Former::nodes),
        );
        let work = async move { operator.reconfigure(former).await };
        Ok(operation(work, |py, done| reconfiguration(py, &done)))
    }

    #[pyo3(signature = (former=None))]
    fn rehearse(&self, py: Python<'_>, former: Option<Vec<String>>) -> PyResult<Operation> {
        let (operator, former) = (
            self.operator(py)?,
            former.map_or_else(Former::same, Former::nodes),
        );
        let work = async move { operator.rehearse(former).await };
        Ok(operation(work, |py, done| reconfiguration(py, &done)))
    }
}

/// Somebody who looks on: who leads, or who holds a lock.
#[pyclass(frozen, module = "leasehold._native")]
pub(crate) struct Lookout(Own<Arc<Mutex<Looking>>>);

enum Looking {
    Leaders(Box<Leaders>),
    Lock(Watcher),
}

impl Lookout {
    fn of(looking: Looking) -> Self {
        Self(Own::new(Arc::new(Mutex::new(looking))))
    }

    pub(crate) fn leaders(leaders: Leaders) -> Self {
        Self::of(Looking::Leaders(Box::new(leaders)))
    }
}

#[pymethods]
impl Lookout {
    /// Waits for news. None at the end: when the manager was shut down.
    fn next(&self, py: Python<'_>) -> PyResult<Operation> {
        let looking = self.0.get().cloned();
        let looking = looking
            .ok_or_else(|| wrong(py, &"the process of which this one is a fork looks on"))?;
        let work = async move {
            match &mut *looking.lock().await {
                Looking::Leaders(leaders) => Seen::Leader(leaders.next().await),
                Looking::Lock(watcher) => Seen::Lock(watcher.next().await),
            }
        };
        Ok(sure(work, |py, seen| match seen {
            Seen::Leader(Some(state)) => inspection::election(py, &state),
            Seen::Lock(Some(seen)) => inspection::told(py, &seen),
            Seen::Leader(None) | Seen::Lock(None) => Ok(py.None()),
        }))
    }
}

enum Seen {
    Leader(Option<leasehold::ElectionState>),
    Lock(Option<leasehold::Inspection>),
}

/// What each node answered: its name, the word for the kind of answer, a text, and the answer.
fn each_node<T: ToText>(
    py: Python<'_>,
    told: &[Told<T>],
    convert: impl Fn(Python<'_>, &T) -> PyResult<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let answers: PyResult<Vec<_>> = told.iter().map(|told| answer(py, told, &convert)).collect();
    Ok(answers?.into_pyobject(py)?.unbind())
}

fn answer<T: ToText>(
    py: Python<'_>,
    told: &Told<T>,
    convert: impl Fn(Python<'_>, &T) -> PyResult<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let (kind, answer, text) = match &told.answer {
        NodeAnswer::Told(told) => ("told", Some(convert(py, told)?), told.text()),
        NodeAnswer::NeedsNone => (
            "needs_none",
            None,
            "is no server, and needs none of this".to_owned(),
        ),
        NodeAnswer::CannotBeListed => (
            "cannot_be_listed",
            None,
            "has no list of its locks".to_owned(),
        ),
        NodeAnswer::Silent(why) => ("silent", None, why.clone()),
        _ => ("other", None, String::new()),
    };
    let former = told.former.as_ref().map(ToString::to_string);
    let facts =
        facts!(py, { node: told.node.to_string(), kind: kind, answer: answer, former: former });
    object_of(py, "NodeAnswer", &facts, text)
}

/// What has a text, or none.
trait ToText {
    fn text(&self) -> String;
}

impl ToText for Survey {
    fn text(&self) -> String {
        self.to_string()
    }
}

impl ToText for Admission {
    fn text(&self) -> String {
        self.to_string()
    }
}

impl ToText for Examination {
    fn text(&self) -> String {
        String::new()
    }
}

impl ToText for leasehold::operate::Scanned {
    fn text(&self) -> String {
        self.to_string()
    }
}

fn survey(py: Python<'_>, survey: &Survey) -> PyResult<Py<PyAny>> {
    let log = match &survey.log {
        Log::Kept { fsync } => format!("kept, fsync {}", fsync.as_deref().unwrap_or("unknown")),
        Log::None => "none".to_owned(),
        _ => "unknown".to_owned(),
    };
    let membership = match &survey.membership {
        Membership::Nobodys => "nobodys".to_owned(),
        Membership::Ours => "ours".to_owned(),
        Membership::Others { configuration } => format!("others: {configuration}"),
        Membership::Unfinished { change } => format!("unfinished: {change}"),
        _ => "unknown".to_owned(),
    };
    let facts = facts!(py, {
        version: survey.version.clone(), role: survey.role.clone(), identity: survey.identity.clone(),
        unsuitable: survey.unsuitable.clone(), log: log, membership: membership,
        abstains: survey.abstains.map(|abstention| span(abstention.left)),
        largest_counter: survey.largest_counter,
    });
    object_of(py, "Survey", &facts, survey.to_string())
}

fn admission(py: Python<'_>, admission: &Admission) -> PyResult<Py<PyAny>> {
    let (kind, left) = match admission {
        Admission::Admitted { was } => ("admitted", was),
        Admission::NotNew { abstains } => ("not_new", abstains),
        Admission::Disagrees { .. } => ("disagrees", &None),
        _ => ("other", &None),
    };
    let facts = facts!(py, { kind: kind, abstains: left.map(|abstention| span(abstention.left)) });
    object_of(py, "Admission", &facts, admission.to_string())
}

fn cluster_of(py: Python<'_>, cluster: &ClusterExamination) -> PyResult<Py<PyDict>> {
    let pair = |slots: &RangeInclusive<u16>| (*slots.start(), *slots.end());
    let shard = |shard: &ShardExamination| -> PyResult<Py<PyDict>> {
        let told = match &shard.answer {
            NodeAnswer::Told(told) => Some(examination(py, told)?),
            _ => None,
        };
        let silent = match &shard.answer {
            NodeAnswer::Silent(why) => Some(why.clone()),
            _ => None,
        };
        let slots: Vec<_> = shard.slots.iter().map(pair).collect();
        let address = shard.address.clone();
        Ok(facts!(py, { address: address, slots: slots, told: told, reason: silent }).unbind())
    };
    let shards: PyResult<Vec<_>> = cluster.shards.iter().map(shard).collect();
    Ok(facts!(py, { slots: pair(&cluster.slots), shards: shards? }).unbind())
}

fn examination(py: Python<'_>, seen: &Examination) -> PyResult<Py<PyAny>> {
    let clock = seen.clock.map(|clock| {
        let by = span(clock.by);
        (
            if clock.is_ahead { by } else { -by },
            span(clock.uncertainty),
        )
    });
    let log = seen.persistence.has_log;
    let about = match &seen.survey {
        Some(NodeAnswer::Told(of)) => Some(survey(py, of)?),
        _ => None,
    };
    let facts = facts!(py, {
        version: seen.version.clone(), role: seen.role.clone(), uptime: spans(seen.uptime),
        round_trip: spans(seen.round_trip()), clock: clock, run_id: seen.run_id.clone(),
        others: seen.others.clone(), is_proxied: seen.is_proxied, replicas: seen.replicas,
        has_log: log, fsync: seen.persistence.fsync.clone(),
        memory_used: seen.memory.as_ref().map(|memory| memory.used),
        memory_limit: seen.memory.as_ref().and_then(|memory| memory.limit),
        memory_policy: seen.memory.as_ref().map(|memory| memory.policy.clone()),
        lacking: seen.lacking.clone(), lacking_for_fair: seen.lacking_for_fair.clone(),
        out_of_reach: seen.out_of_reach.clone(), refuses_writes: seen.refuses_writes.clone(),
        survey: about,
    });
    let file = seen.file.as_ref().map(|file| -> PyResult<Py<PyDict>> {
        Ok(facts!(py, {
            path: file.path.display().to_string(), used: file.used, room: file.room,
            holders: file.holders.clone(), unusable: file.unusable.clone(),
        })
        .unbind())
    });
    facts.set_item("file", file.transpose()?)?;
    let cluster = seen.cluster.as_ref().map(|cluster| cluster_of(py, cluster));
    facts.set_item("cluster", cluster.transpose()?)?;
    object(py, "Examination", &facts)
}

fn listed(py: Python<'_>, listing: &Listing) -> PyResult<Py<PyAny>> {
    let scanned = |py: Python<'_>, scanned: &leasehold::operate::Scanned| {
        let facts = facts!(py, { keys: scanned.keys, has_more: scanned.has_more });
        object_of(py, "Scanned", &facts, scanned.to_string())
    };
    let nodes: PyResult<Vec<_>> = listing
        .nodes
        .iter()
        .map(|told| answer(py, told, scanned))
        .collect();
    let locks: PyResult<Vec<_>> = listing
        .locks
        .iter()
        .map(|seen| inspection::told(py, seen))
        .collect();
    let facts = facts!(py, { nodes: nodes?, locks: locks?, quorum: listing.quorum });
    object(py, "Listing", &facts)
}

fn reconfiguration(py: Python<'_>, done: &Reconfiguration) -> PyResult<Py<PyAny>> {
    let nodes: PyResult<Vec<_>> = done
        .nodes
        .iter()
        .map(|node| {
            let kind = match &node.outcome {
                Outcome::Would => "would",
                Outcome::Changed { .. } => "changed",
                Outcome::Already => "already",
                Outcome::Waits { .. } => "waits",
                Outcome::Missed { .. } => "missed",
                _ => "other",
            };
            let facts = facts!(py, { node: node.node.to_string(), kind: kind });
            object_of(py, "Reconfigured", &facts, node.outcome.to_string())
        })
        .collect();
    let facts = facts!(py, {
        former: done.from.clone(), to: done.to.clone(), quarantine: span(done.quarantine),
        nodes: nodes?, goes_on: done.goes_on, is_complete: done.is_complete(), waits: spans(done.waits()),
    });
    object(py, "Reconfiguration", &facts)
}
