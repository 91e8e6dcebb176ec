//! A lock as programs are told of it.

use super::{FORGOTTEN, KeyView, LockView, Signature, State, TWIN, permits};
use crate::{json::Json, judgement::Judgement};

impl LockView {
    pub(crate) fn json(&self) -> Json {
        let (state, held) = match &self.state {
            State::Held(held) if held.is_done() => ("done", Some(held)),
            State::Held(held) => ("held", Some(held)),
            State::Permits(_) => ("permits", None),
            State::Free => ("free", None),
            State::Unusable { .. } => ("unusable", None),
            State::OtherType(_) => ("other", None),
            State::Unclear => ("unclear", None),
        };
        let nodes = self.keys.iter().map(|(node, said)| {
            let (key, kind, lock, why) = match said {
                KeyView::Nothing => ("none", None, None, None),
                KeyView::Other(kind) => ("other", kind.as_deref(), None, None),
                KeyView::Silent(why) => ("unknown", None, None, Some(why.as_str())),
                KeyView::Twin => ("unknown", None, None, Some(TWIN)),
                KeyView::Lock(lock) if lock.is_shown() => ("lock", None, Some(lock), None),
                KeyView::Lock(lock) => ("other", Some("string"), Some(lock), None),
                KeyView::Permits(_) => ("permits", None, None, None),
            };
            let why = self.why(node).or(why.map(str::to_owned));
            Json::Object(vec![
                ("node", node.as_str().into()),
                ("key", key.into()),
                ("type", Json::or_null(kind)),
                ("owner", Json::or_null(lock.and_then(Signature::owner))),
                ("left_ms", left_json(lock)),
                ("permits", permits::json_of_node(said)),
                ("why", Json::or_null(why)),
            ])
        });
        let permits = match &self.state {
            State::Permits(permits) => permits.json(self),
            _ => Json::Null,
        };
        Json::Object(vec![
            ("resource", self.resource.as_str().into()),
            ("state", state.into()),
            (
                "holder",
                Json::or_null(held.map(|held| held.holder.to_string())),
            ),
            ("owner", Json::or_null(held.and_then(Signature::owner))),
            (
                "since_unix_s",
                Json::or_null(
                    held.and_then(|held| held.holder.since())
                        .map(|since| since.as_secs()),
                ),
            ),
            ("left_ms", left_json(held)),
            ("permits", permits),
            ("usable_in_ms", self.usable_in()),
            ("quorum", self.quorum.into()),
            ("nodes", Json::List(nodes.collect())),
        ])
    }

    /// Why what a node says counts for less than that of others, beside what it says.
    fn why(&self, node: &str) -> Option<String> {
        let refusal = self.refusals.get(node);
        match (self.forgetful.contains(node), refusal) {
            (true, Some(why)) => Some(format!("{FORGOTTEN}; does not vote: {why}")),
            (true, None) => Some(FORGOTTEN.to_owned()),
            (false, why) => why.cloned(),
        }
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
}

pub(super) fn left_json(lock: Option<&Signature>) -> Json {
    lock.and_then(|lock| lock.left)
        .map_or(Json::Null, Json::millis)
}
