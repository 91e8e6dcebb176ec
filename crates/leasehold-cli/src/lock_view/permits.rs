//! Permits of a name as they are shown: each with its slot, its holder and what is left to it.

use super::{KeyView, LockView, Signature, State, ago, left_json, row, shown_left};
use crate::{columns, json::Json, whose::Whose};
use leasehold::{HeldPermit, HeldPermits};
use std::time::Duration;

/// The permits of a name that are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PermitsView {
    /// How many there are.
    pub(crate) of: usize,
    /// Who has which, in the order of the slots.
    pub(crate) taken: Vec<(u16, Signature)>,
}

impl PermitsView {
    pub(super) fn new(permits: &HeldPermits, whose: Whose) -> Self {
        let sign = |permit: &HeldPermit| {
            let left = Some(permit.remaining);
            let signature = Signature::new(permit.holder.as_bytes(), left, whose);
            (permit.slot, signature)
        };
        Self {
            of: permits.of.into(),
            taken: permits.held.iter().map(sign).collect(),
        }
    }

    /// `3 of 8 permits are taken`.
    pub(crate) fn sentence(&self) -> String {
        self.how("taken")
    }

    /// The same, but how they are.
    pub(crate) fn how(&self, how: &str) -> String {
        of_so_many(self.taken.len(), self.of, how)
    }

    /// When the last of them ends, if nobody extends it.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.taken
            .iter()
            .filter_map(|(_, signed)| signed.left)
            .max()
    }

    /// Whether a node has any of them.
    pub(crate) fn is_on(&self, key: &KeyView) -> bool {
        key.signatures().any(|signed| self.has(&signed.value))
    }

    pub(super) fn has(&self, value: &[u8]) -> bool {
        self.taken.iter().any(|(_, signed)| signed.value == value)
    }

    /// A line for each. `now` is the time since 1970.
    pub(super) fn lines(&self, now: Duration) -> Vec<String> {
        let mut rows = vec![row(["SLOT", "LEFT", "SINCE", "HOLDER", "OWNER"])];
        rows.extend(self.taken.iter().map(|(slot, signed)| {
            let since = signed.holder.since().map(|since| ago(now, since));
            row([
                &slot.to_string(),
                &shown_left(signed.left),
                &since.unwrap_or_default(),
                &signed.holder.to_string(),
                &signed.owner().unwrap_or_default(),
            ])
        }));
        columns::lines(&rows)
    }

    pub(super) fn json(&self, view: &LockView) -> Json {
        let taken = self.taken.iter().map(|(slot, signed)| {
            let since = signed.holder.since().map(|since| since.as_secs());
            let mut pairs = vec![("slot", Json::Number((*slot).into()))];
            pairs.extend([
                ("holder", signed.holder.to_string().into()),
                ("owner", Json::or_null(signed.owner())),
                ("since_unix_s", Json::or_null(since)),
                ("left_ms", left_json(Some(signed))),
                ("nodes", view.count(signed).into()),
            ]);
            Json::Object(pairs)
        });
        Json::Object(vec![
            ("of", self.of.into()),
            ("taken", Json::List(taken.collect())),
        ])
    }
}

/// What one node says of permits: those that are taken or may be, and what is left over.
pub(super) fn of_node(view: &LockView, permits: &[(u16, Signature)]) -> String {
    let is_taken = |signed: &Signature| match &view.state {
        State::Permits(permits) if permits.has(&signed.value) => true,
        _ => view.may_hold(signed),
    };
    let slots = |wanted: bool| {
        let slots = permits
            .iter()
            .filter(|(_, signed)| is_taken(signed) == wanted);
        let slots: Vec<_> = slots.map(|(slot, _)| slot.to_string()).collect();
        (slots.len(), slots.join(", "))
    };
    let named = |(count, slots): (usize, String)| match count {
        1 => format!("slot {slots}"),
        _ => format!("slots {slots}"),
    };
    match (slots(true), slots(false)) {
        (taken, (0, _)) => named(taken),
        ((0, _), others) => format!("{}, left over or under way", named(others)),
        (taken, others) => format!(
            "{}; {}, left over or under way",
            named(taken),
            named(others)
        ),
    }
}

/// The permits that one node has, for programs.
pub(super) fn json_of_node(key: &KeyView) -> Json {
    let KeyView::Permits(permits) = key else {
        return Json::Null;
    };
    let permits = permits.iter().map(|(slot, signed)| {
        Json::Object(vec![
            ("slot", Json::Number((*slot).into())),
            ("owner", Json::or_null(signed.owner())),
            ("left_ms", left_json(Some(signed))),
        ])
    });
    Json::List(permits.collect())
}

/// `3 of 8 permits are taken`, `all 4 permits are taken`, `the only permit is taken`.
pub(crate) fn of_so_many(count: usize, of: usize, how: &str) -> String {
    match (count, of) {
        (1, 1) => format!("the only permit is {how}"),
        (count, of) if count == of => format!("all {of} permits are {how}"),
        (1, of) => format!("1 of {of} permits is {how}"),
        (count, of) => format!("{count} of {of} permits are {how}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn so_many_of_so_many_is_said_as_people_say_it() {
        for (count, of, said) in [
            (1, 1, "the only permit is taken"),
            (1, 8, "1 of 8 permits is taken"),
            (3, 8, "3 of 8 permits are taken"),
            (8, 8, "all 8 permits are taken"),
        ] {
            assert_eq!(of_so_many(count, of, "taken"), said);
        }
    }

    #[test]
    fn what_a_node_has_beside_what_a_quorum_says_is_left_over() {
        let signed = |value: &[u8]| Signature::new(value, None, Whose::Ours);
        let taken = vec![(0, signed(b"a")), (2, signed(b"b"))];
        let view = LockView {
            resource: "gpu".to_owned(),
            quorum: 2,
            state: State::Permits(PermitsView { of: 4, taken }),
            keys: Vec::new(),
            refusals: BTreeMap::new(),
            forgetful: BTreeSet::new(),
        };
        let node = |permits: &[(u16, &[u8])]| {
            let permits = permits.iter().map(|(slot, value)| (*slot, signed(value)));
            of_node(&view, &permits.collect::<Vec<_>>())
        };
        assert_eq!(node(&[(0, b"a"), (2, b"b")]), "slots 0, 2");
        assert_eq!(node(&[(2, b"b")]), "slot 2");
        assert_eq!(node(&[(1, b"c")]), "slot 1, left over or under way");
        let both = "slot 0; slots 1, 2, left over or under way";
        assert_eq!(node(&[(0, b"a"), (1, b"c"), (2, b"d")]), both);
    }
}
