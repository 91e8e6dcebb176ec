//! A lock as it is shown: by `status`, `list`, `watch` and `force-release`.

use crate::{
    columns, duration::Shown, exit_code, json::Json, judgement::Judgement, moment::Moment,
};
use leasehold::{Holder, Inspection, Key, NodeKey, Owner};
use std::time::Duration;

/// A lock, by the word of all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LockView {
    pub(crate) resource: String,
    pub(crate) quorum: usize,
    pub(crate) state: State,
    pub(crate) keys: Vec<(String, KeyView)>,
}

/// What a quorum says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Held(Signature),
    Free,
    /// Nobody holds it, and nobody can have it: why, and how many nodes vote.
    Unusable {
        judgement: Judgement,
        count: String,
    },
    /// Neither: too few nodes answer, or they do not agree.
    Unclear,
}

/// What one node says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyView {
    Nothing,
    Lock(Signature),
    /// A key that is no lock.
    Other,
    /// It does not say, for this reason.
    Silent(String),
}

/// Who signed, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) owner: String,
    pub(crate) holder: Holder,
    /// None if for ever.
    pub(crate) left: Option<Duration>,
}

impl Signature {
    pub(crate) fn new(owner: &Owner, left: Option<Duration>) -> Self {
        Self {
            owner: owner.to_string(),
            holder: Holder::of(owner),
            left,
        }
    }
}

impl LockView {
    pub(crate) fn of(seen: &Inspection) -> Self {
        let state = match seen.holder() {
            Some(holder) => State::Held(Signature::new(holder, seen.remaining())),
            None if seen.is_free() => State::Free,
            None => State::Unclear,
        };
        let keys = seen.nodes().iter().map(key_view);
        Self {
            resource: seen.resource().as_str().to_owned(),
            quorum: seen.quorum(),
            state,
            keys: keys.collect(),
        }
    }

    /// Everybody who has a key on some node but does not hold the lock.
    pub(crate) fn left_over(&self) -> Vec<&Signature> {
        let holder = match &self.state {
            State::Held(holder) => Some(&holder.owner),
            _ => None,
        };
        let mut found: Vec<&Signature> = Vec::new();
        for (_, key) in &self.keys {
            if let KeyView::Lock(other) = key
                && Some(&other.owner) != holder
                && found.iter().all(|known| known.owner != other.owner)
            {
                found.push(other);
            }
        }
        found
    }

    /// On how many nodes it is signed so.
    pub(crate) fn count(&self, owner: &str) -> usize {
        let is_theirs = |key: &KeyView| matches!(key, KeyView::Lock(lock) if lock.owner == owner);
        self.keys.iter().filter(|(_, key)| is_theirs(key)).count()
    }

    pub(crate) fn code(&self) -> u8 {
        match self.state {
            State::Free => exit_code::SUCCESS,
            State::Held(_) => exit_code::HELD,
            State::Unusable { judgement, .. } => judgement.code(),
            State::Unclear => exit_code::NO_QUORUM,
        }
    }

    /// In full, as `status` shows it. `now` is the time since 1970.
    pub(crate) fn text(&self, now: Duration) -> String {
        let name = &self.resource;
        let mut lines = Vec::new();
        match &self.state {
            State::Free => lines.push(format!("{name:?} is free")),
            State::Unclear => lines.push(self.doubt()),
            State::Unusable { judgement, count } => {
                let judgement = judgement.sentence(self.keys.len());
                lines.push(format!("nobody holds {name:?}; {judgement}: {count}"));
            }
            State::Held(held) => {
                lines.push(format!("{name:?} is held by {}", held.holder));
                if let Some(since) = held.holder.since() {
                    lines.push(format!("  since  {}, {}", Moment(since), ago(now, since)));
                }
                let left = held.left.map_or_else(
                    || "for ever".to_owned(),
                    |left| format!("{}, unless extended", Shown(left)),
                );
                lines.push(format!("  left   {left}"));
                lines.push(format!("  owner  {}", held.owner));
            }
        }
        lines.push(String::new());
        let mut rows = vec![row(["NODE", "KEY", "LEFT"])];
        rows.extend(self.keys.iter().map(|(node, key)| self.row(node, key)));
        lines.extend(
            columns::lines(&rows)
                .into_iter()
                .map(|line| format!("  {line}")),
        );
        lines.join("\n")
    }

    /// Why it is not known who holds it.
    pub(crate) fn doubt(&self) -> String {
        let (name, quorum, nodes) = (&self.resource, self.quorum, self.keys.len());
        let is_silent = |key: &KeyView| matches!(key, KeyView::Silent(_));
        let silent = self.keys.iter().filter(|(_, key)| is_silent(key)).count();
        let answer = nodes - silent;
        if answer < quorum {
            return format!(
                "{name:?} may be held or free: {answer} of {nodes} nodes answer, {quorum} must"
            );
        }
        format!(
            "{name:?} is neither held nor free for certain: no {quorum} of {nodes} nodes have the same lock, or none"
        )
    }

    /// After which time the lock can be had, if that is known.
    fn usable_in(&self) -> Json {
        match &self.state {
            State::Unusable {
                judgement: Judgement::Later(time),
                ..
            } => Json::millis(*time),
            _ => Json::Null,
        }
    }

    fn row(&self, node: &str, key: &KeyView) -> Vec<String> {
        let holder = match &self.state {
            State::Held(held) => Some(&held.owner),
            _ => None,
        };
        match key {
            KeyView::Nothing => row([node, "none"]),
            KeyView::Other => row([node, "a key that is no lock"]),
            KeyView::Silent(why) => row([node, &format!("no answer: {why}")]),
            KeyView::Lock(lock) => {
                let whose = match holder {
                    Some(owner) if *owner == lock.owner => "the holder's".to_owned(),
                    _ => format!("left over, of {}", lock.holder),
                };
                row([node, &whose, &shown_left(lock.left)])
            }
        }
    }

    pub(crate) fn json(&self) -> Json {
        let (state, held) = match &self.state {
            State::Held(held) => ("held", Some(held)),
            State::Free => ("free", None),
            State::Unusable { .. } => ("unusable", None),
            State::Unclear => ("unclear", None),
        };
        let nodes = self.keys.iter().map(|(node, key)| {
            let (key, lock, why) = match key {
                KeyView::Nothing => ("none", None, None),
                KeyView::Other => ("other", None, None),
                KeyView::Silent(why) => ("unknown", None, Some(why.as_str())),
                KeyView::Lock(lock) => ("lock", Some(lock), None),
            };
            Json::Object(vec![
                ("node", node.as_str().into()),
                ("key", key.into()),
                ("owner", Json::or_null(lock.map(|lock| lock.owner.as_str()))),
                ("left_ms", left_json(lock)),
                ("why", Json::or_null(why)),
            ])
        });
        Json::Object(vec![
            ("resource", self.resource.as_str().into()),
            ("state", state.into()),
            (
                "holder",
                Json::or_null(held.map(|held| held.holder.to_string())),
            ),
            ("owner", Json::or_null(held.map(|held| held.owner.as_str()))),
            (
                "since_unix_s",
                Json::or_null(
                    held.and_then(|held| held.holder.since())
                        .map(|since| since.as_secs()),
                ),
            ),
            ("left_ms", left_json(held)),
            ("usable_in_ms", self.usable_in()),
            ("quorum", self.quorum.into()),
            ("nodes", Json::List(nodes.collect())),
        ])
    }
}

fn ago(now: Duration, then: Duration) -> String {
    match now.saturating_sub(then).as_secs() {
        0 => "just now".to_owned(),
        seconds => format!("{} ago", Shown(Duration::from_secs(seconds))),
    }
}

pub(crate) fn shown_left(left: Option<Duration>) -> String {
    left.map_or_else(|| "for ever".to_owned(), |left| Shown(left).to_string())
}

/// A row of text, for [`columns`].
pub(crate) fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn left_json(lock: Option<&Signature>) -> Json {
    lock.and_then(|lock| lock.left)
        .map_or(Json::Null, Json::millis)
}

fn key_view(node: &NodeKey) -> (String, KeyView) {
    let name = node.node.to_string();
    let sign = |owner: &Owner, left| Signature::new(owner, left);
    let key = match &node.key {
        Key::Free => KeyView::Nothing,
        Key::Held { holder, remaining } => KeyView::Lock(sign(holder, *remaining)),
        Key::Unknown(fault) => {
            let said = fault.to_string();
            let why = said.strip_prefix(&format!("{name}: ")).unwrap_or(&said);
            KeyView::Silent(why.to_owned())
        }
        _ => KeyView::Other,
    };
    (name, key)
}
