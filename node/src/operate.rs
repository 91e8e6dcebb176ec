//! What operators do with the nodes.

use crate::{
    executor::{Executor, Payload},
    failure::{Failure, kebab, millis},
    js::{self, thrown},
    options::duration,
    stream::{NativeStream, Source},
    told,
};
use leasehold::operate::{
    Admission, Examination, Former, Listing, Log, Membership, NodeAnswer, Operator, Outcome,
    Reconfiguration, Scanned, Search, ShardExamination, Survey, Told,
};
use napi_derive::napi;
use serde_json::{Value, json};
use std::ops::RangeInclusive;

#[napi]
pub struct NativeOperator {
    executor: Executor,
    operator: Operator,
}

impl NativeOperator {
    pub(crate) fn new(executor: &Executor, operator: Operator) -> Self {
        Self {
            executor: executor.clone(),
            operator,
        }
    }

    fn changed(&self, operator: Operator) -> Self {
        Self::new(&self.executor, operator)
    }
}

/// What to list.
#[napi(object)]
pub struct SearchConfig {
    pub prefix: String,
    pub most: Option<u32>,
    pub hashes: Option<bool>,
    pub answer_within: Option<f64>,
}

#[napi]
impl NativeOperator {
    #[napi]
    pub fn within(&self, limit: f64) -> Self {
        self.changed(self.operator.within(duration(limit)))
    }

    #[napi]
    pub fn answer_within(&self, limit: f64) -> Self {
        self.changed(self.operator.answer_within(duration(limit)))
    }

    #[napi]
    pub fn about(&self, name: String) -> js::Result<NativeOperator> {
        thrown(|| Ok(self.changed(self.operator.about(&name)?)))
    }

    #[napi(getter)]
    pub fn quorum(&self) -> u32 {
        u32::try_from(self.operator.quorum()).unwrap_or(u32::MAX)
    }

    #[napi(getter)]
    pub fn is_plain(&self) -> bool {
        self.operator.is_plain()
    }

    #[napi]
    pub fn survey(&self) -> u32 {
        let operator = self.operator.clone();
        self.executor.begin(async move {
            let told = operator.survey().await?;
            Ok(Payload::Value(all(&told, survey)))
        })
    }

    #[napi]
    pub fn examine(&self, votes_only: bool) -> u32 {
        let operator = self.operator.clone();
        self.executor.begin(async move {
            let told = match votes_only {
                true => operator.examine_votes().await?,
                false => operator.examine().await?,
            };
            Ok(Payload::Value(all(&told, examination)))
        })
    }

    #[napi]
    pub fn admit(&self, new_only: bool) -> u32 {
        let operator = self.operator.clone();
        self.executor.begin(async move {
            let told = match new_only {
                true => operator.admit_new().await?,
                false => operator.admit().await?,
            };
            Ok(Payload::Value(all(&told, admission)))
        })
    }

    #[napi]
    pub fn list(&self, search: SearchConfig) -> u32 {
        let operator = self.operator.clone();
        let mut wanted = Search::new(&search.prefix);
        if let Some(most) = search.most {
            wanted = wanted.most(usize::try_from(most).unwrap_or(usize::MAX));
        }
        if search.hashes == Some(true) {
            wanted = wanted.hashes();
        }
        if let Some(limit) = search.answer_within {
            wanted = wanted.answer_within(duration(limit));
        }
        self.executor.begin(async move {
            let listing = operator.search(wanted).await?;
            Ok(Payload::Value(listed(&listing)))
        })
    }

    #[napi]
    pub fn look(&self, name: String) -> u32 {
        let operator = self.operator.clone();
        self.executor.begin(async move {
            let seen = operator.look(&name).await?;
            Ok(Payload::Value(told::inspection(&seen)))
        })
    }

    /// Until the lock is free, or one of so many permits.
    #[napi]
    pub fn until_free(&self, name: String, permits: Option<u32>, limit: Option<f64>) -> u32 {
        let (operator, limit) = (self.operator.clone(), limit.map(duration));
        self.executor.begin(async move {
            let seen = match permits.map(|permits| usize::try_from(permits).unwrap_or(usize::MAX)) {
                None => operator.until_free(&name, limit).await?,
                Some(permits) => operator.until_permit(&name, permits, limit).await?,
            };
            Ok(Payload::Value(told::inspection(&seen)))
        })
    }

    #[napi]
    pub fn look_on(&self, name: String) -> js::Result<NativeStream> {
        thrown(|| {
            let watcher = self.operator.look_on(&name)?;
            Ok(NativeStream::new(&self.executor, Source::Watcher(watcher)))
        })
    }

    #[napi]
    pub fn observe(&self, election: String) -> js::Result<NativeStream> {
        thrown(|| {
            let leaders = self.operator.observe(&election)?;
            Ok(NativeStream::new(
                &self.executor,
                Source::Leaders(Box::new(leaders)),
            ))
        })
    }

    /// From the former nodes to these; or only what would be done.
    #[napi]
    pub fn reconfigure(&self, former: Option<Vec<String>>, rehearse: bool) -> u32 {
        let operator = self.operator.clone();
        let former = former.map_or_else(Former::same, Former::nodes);
        self.executor.begin(async move {
            let done = match rehearse {
                true => operator.rehearse(former).await?,
                false => operator.reconfigure(former).await?,
            };
            Ok::<_, Failure>(Payload::Value(reconfiguration(&done)))
        })
    }
}

/// What each node said.
fn all<T>(told: &[Told<T>], value: impl Fn(&T) -> Value) -> Value {
    let one = |told: &Told<T>| {
        let mut one = answer(told.node.as_str(), &told.answer, &value);
        one["former"] = json!(told.former.as_ref().map(leasehold::NodeName::as_str));
        one
    };
    told.iter().map(one).collect()
}

fn answer<T>(node: &str, answer: &NodeAnswer<T>, value: impl Fn(&T) -> Value) -> Value {
    let (is, told, reason) = match answer {
        NodeAnswer::Told(told) => ("told", Some(value(told)), None),
        NodeAnswer::NeedsNone => ("needs-none", None, None),
        NodeAnswer::CannotBeListed => ("cannot-be-listed", None, None),
        NodeAnswer::Silent(why) => ("silent", None, Some(why)),
        _ => ("unknown", None, None),
    };
    json!({ "node": node, "is": is, "told": told, "reason": reason })
}

fn survey(survey: &Survey) -> Value {
    let (membership, configuration) = match &survey.membership {
        Membership::Nobodys => ("nobodys", None),
        Membership::Ours => ("ours", None),
        Membership::Others { configuration } => ("others", Some(configuration)),
        Membership::Unfinished { change } => ("unfinished", Some(change)),
        _ => ("unknown", None),
    };
    json!({
        "message": survey.to_string(),
        "identity": survey.identity,
        "version": survey.version,
        "role": survey.role,
        "unsuitable": survey.unsuitable,
        "hasLog": match survey.log { Log::Kept { .. } => Some(true), Log::None => Some(false), _ => None },
        "abstains": survey.abstains.map(|abstention| json!({
            "cause": kebab(&format!("{:?}", abstention.cause)),
            "left": millis(abstention.left),
            "message": abstention.to_string(),
        })),
        "membership": membership,
        "configuration": configuration,
        "largestCounter": survey.largest_counter,
    })
}

fn examination(seen: &Examination) -> Value {
    json!({
        "roundTrip": seen.round_trip().map(millis),
        "clockOffset": seen.clock.map(|clock| {
            let by = millis(clock.by);
            json!({ "by": if clock.is_ahead { by } else { -by }, "uncertainty": millis(clock.uncertainty) })
        }),
        "runId": seen.run_id,
        "others": seen.others,
        "isProxied": seen.is_proxied,
        "version": seen.version,
        "role": seen.role,
        "uptime": seen.uptime.map(millis),
        "replicas": seen.replicas,
        "memory": seen.memory.as_ref().map(|memory| json!({
            "used": memory.used, "limit": memory.limit, "policy": memory.policy,
        })),
        "persistence": {
            "hasLog": seen.persistence.has_log,
            "fsync": seen.persistence.fsync,
            "snapshots": seen.persistence.snapshots,
            "failed": seen.persistence.failed,
        },
        "lacking": seen.lacking,
        "lackingForFair": seen.lacking_for_fair,
        "outOfReach": seen.out_of_reach,
        "refusesWrites": seen.refuses_writes,
        "survey": seen.survey.as_ref().map(|told| answer("", told, survey)["told"].take()),
        "file": seen.file.as_ref().map(|file| json!({
            "path": file.path.to_string_lossy(),
            "used": file.used,
            "room": file.room,
            "holders": file.holders,
            "unusable": file.unusable,
        })),
        "cluster": seen.cluster.as_ref().map(|cluster| json!({
            "slots": pair(&cluster.slots),
            "shards": cluster.shards.iter().map(shard).collect::<Vec<_>>(),
        })),
    })
}

fn shard(shard: &ShardExamination) -> Value {
    let mut told = answer(&shard.address, &shard.answer, examination);
    told["slots"] = shard.slots.iter().map(pair).collect();
    told
}

fn pair(slots: &RangeInclusive<u16>) -> Value {
    json!([slots.start(), slots.end()])
}

fn admission(admission: &Admission) -> Value {
    let is = match admission {
        Admission::Admitted { .. } => "admitted",
        Admission::Disagrees { .. } => "disagrees",
        Admission::NotNew { .. } => "not-new",
        _ => "unknown",
    };
    json!({ "is": is, "message": admission.to_string() })
}

fn listed(listing: &Listing) -> Value {
    let scanned = |scanned: &Scanned| json!({ "keys": scanned.keys, "hasMore": scanned.has_more });
    json!({
        "nodes": all(&listing.nodes, scanned),
        "locks": listing.locks.iter().map(told::inspection).collect::<Value>(),
        "quorum": listing.quorum,
    })
}

fn reconfiguration(done: &Reconfiguration) -> Value {
    let nodes = done.nodes.iter().map(|node| {
        let is = match node.outcome {
            Outcome::Would => "would",
            Outcome::Changed { .. } => "changed",
            Outcome::Already => "already",
            Outcome::Waits { .. } => "waits",
            Outcome::Missed { .. } => "missed",
            _ => "unknown",
        };
        json!({ "node": node.node.as_str(), "is": is, "message": node.outcome.to_string() })
    });
    json!({
        "from": done.from,
        "to": done.to,
        "quarantine": millis(done.quarantine),
        "goesOn": done.goes_on,
        "isComplete": done.is_complete(),
        "waits": done.waits().map(millis),
        "nodes": nodes.collect::<Value>(),
    })
}
