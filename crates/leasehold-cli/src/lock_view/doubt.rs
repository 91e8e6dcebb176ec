//! What is not known of a lock: nodes are silent, or have no key and may have forgotten one.

use super::{KeyView, LockView, Signature, State};
use leasehold::Owner;

impl LockView {
    /// Whether nodes without a key could make a difference to it, if they have forgotten one.
    pub(crate) fn can_be_doubted(&self) -> bool {
        let has_none = |(_, key): &(String, KeyView)| *key == KeyView::Nothing;
        let has_one = |(_, key): &(String, KeyView)| key.is_there();
        self.is_open() && self.keys.iter().any(has_none) && self.keys.iter().any(has_one)
    }

    /// Notes which nodes without a key may have forgotten one. What nobody seems to hold is free only by the word of a quorum that
    /// would know.
    pub(crate) fn doubt_where(&mut self, may_have_forgotten: impl Fn(&str) -> bool) {
        if !self.is_open() {
            return;
        }
        let without = self.keys.iter().filter(|(_, key)| *key == KeyView::Nothing);
        let without: Vec<_> = without.map(|(node, _)| node.clone()).collect();
        let known = without.iter().filter(|node| !may_have_forgotten(node));
        if self.state != State::Free || known.count() < self.quorum {
            let forgetful = without.into_iter().filter(|node| may_have_forgotten(node));
            self.forgetful = forgetful.collect();
        }
        // Argument S9: who had the votes of these nodes holds on, while they vote for nobody.
        if self.state == State::Free && !self.forgetful.is_empty() {
            self.state = State::Unclear;
        }
    }

    /// Whether it, or a permit of it, may be held by somebody who is not known to.
    const fn is_open(&self) -> bool {
        matches!(self.state, State::Free | State::Unclear | State::Permits(_))
    }

    /// Whether one of so many permits can be had, by the word of nodes that would know who has it.
    pub(crate) fn has_free_permit(&self, of: u16) -> bool {
        // As the nodes have it: permits of another number are in the way of all.
        let is_of = |value: &[u8], of| {
            let permit = Owner::from_bytes(value).and_then(|owner| owner.permit());
            permit.is_none_or(|permit| permit.of().get() == of)
        };
        let is_free_on = |node: &str, key: &KeyView, slot| match key {
            KeyView::Nothing => !self.forgetful.contains(node),
            KeyView::Permits(taken) => {
                { taken.iter() }.all(|(other, signed)| *other != slot && is_of(&signed.value, of))
            }
            _ => false,
        };
        (0..of).any(|slot| {
            let free = self.keys.iter();
            let free = free.filter(|(node, key)| is_free_on(node, key, slot));
            free.count() >= self.quorum
        })
    }

    /// Whether somebody who is not known to hold it may do so all the same, since too many nodes are silent or may have forgotten it.
    pub(crate) fn may_hold(&self, signed: &Signature) -> bool {
        let unknown = self.silent() + self.forgetful.len();
        match &self.state {
            State::Permits(permits) if permits.has(&signed.value) => false,
            State::Free | State::Unclear | State::Permits(_) => {
                self.count(signed) + unknown >= self.quorum
            }
            State::Unusable { .. } => true,
            State::Held(_) | State::OtherType(_) => false,
        }
    }

    /// Why it is not known who holds it.
    pub(crate) fn doubt(&self) -> String {
        let (name, quorum, nodes) = (&self.resource, self.quorum, self.keys.len());
        let twins = self.twins();
        let answer = nodes - self.silent() - twins;
        if answer < quorum {
            let what = match (self.refusals.is_empty(), twins) {
                (true, 0) => "answer",
                (true, _) => "answer and count",
                (false, 0) => "tell",
                (false, _) => "tell and count",
            };
            return format!(
                "{name:?} may be held or free: {answer} of {nodes} nodes {what}, {quorum} must"
            );
        }
        let forgetful = self.forgetful.len();
        let mut all = self.keys.iter().flat_map(|(_, key)| key.signatures());
        let is_why = forgetful + self.silent() >= quorum || all.any(|one| self.may_hold(one));
        if forgetful > 0 && is_why {
            return format!(
                "{name:?} may be held or free: {forgetful} of {nodes} nodes may have forgotten it"
            );
        }
        format!(
            "{name:?} is neither held nor free for certain: no {quorum} of {nodes} nodes have the same lock, or none"
        )
    }
}

/// What is said of a node that has no key and may have had one.
pub(super) const FORGOTTEN: &str = "may have forgotten it";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{lock_view::PermitsView, whose::Whose};
    use std::collections::{BTreeMap, BTreeSet};

    fn view(state: State, keys: &[KeyView]) -> LockView {
        let names = ["a", "b", "c", "d", "e"].map(str::to_owned);
        LockView {
            resource: "report".to_owned(),
            quorum: keys.len() / 2 + 1,
            state,
            keys: names.into_iter().zip(keys.iter().cloned()).collect(),
            refusals: BTreeMap::new(),
            forgetful: BTreeSet::new(),
        }
    }

    fn signed(value: &str) -> Signature {
        Signature::new(value.as_bytes(), None, Whose::Ours)
    }

    /// One of the owners x and y for each letter, `-` for nothing.
    fn keys(of: &str) -> Vec<KeyView> {
        let key = |owner| match owner {
            '-' => KeyView::Nothing,
            '?' => KeyView::Silent("no answer".to_owned()),
            owner => KeyView::Lock(signed(&format!("{owner}1.{owner}.1.z"))),
        };
        of.chars().map(key).collect()
    }

    #[test]
    fn a_lock_is_free_only_by_the_word_of_a_quorum_that_would_know() {
        let (free, unclear) = (State::Free, State::Unclear);
        // What nodes have, what it seems to be, which nodes may have forgotten it, what it is, and whether x may hold it.
        for (has, seems, forget, is, may_hold) in [
            ("-x-", &free, "", &free, false),
            ("-x-", &free, "a", &unclear, true),
            ("-x-", &free, "b", &free, false),
            ("-x---", &free, "a", &free, false),
            ("-x---", &free, "ac", &unclear, true),
            ("-xy--", &free, "a", &unclear, false),
            ("-x?--", &free, "a", &unclear, true),
            ("-xy", &unclear, "", &unclear, false),
            ("-xy", &unclear, "a", &unclear, true),
            ("?xy", &unclear, "", &unclear, true),
            ("---", &free, "a", &free, false),
        ] {
            let mut seen = view(seems.clone(), &keys(has));
            seen.doubt_where(|node| forget.contains(node));
            assert_eq!(&seen.state, is, "{has} {forget}");
            let x = signed("x1.x.1.z");
            assert_eq!(seen.may_hold(&x), may_hold, "{has} {forget}");
            assert_eq!(seen.forgetful.is_empty(), *is == free || forget.is_empty());
            let is_why = seen.doubt().ends_with("nodes may have forgotten it");
            assert_eq!(is_why, may_hold && !forget.is_empty(), "{has} {forget}");
        }
        // What a quorum names needs no doubt.
        let held = State::Held(signed("x1.x.1.z"));
        let mut seen = view(held.clone(), &keys("-xx"));
        seen.doubt_where(|_| true);
        assert_eq!((seen.state, seen.forgetful.len()), (held, 0));
    }

    #[test]
    fn a_permit_that_a_node_may_have_forgotten_is_not_free() {
        let has = |slots: &[u16]| {
            let taken = slots.iter().map(|slot| (*slot, signed(&format!("{slot}"))));
            KeyView::Permits(taken.collect())
        };
        let taken = vec![(0, signed("0"))];
        let state = State::Permits(PermitsView { of: 2, taken });
        let seen = view(state, &[has(&[0, 1]), has(&[0]), KeyView::Nothing]);
        let mut doubted = seen.clone();
        doubted.doubt_where(|node| node == "c");
        for (view, is_free) in [(&seen, true), (&doubted, false)] {
            assert_eq!(view.has_free_permit(2), is_free);
            assert_eq!(view.may_hold(&signed("1")), !is_free);
            assert!(!view.may_hold(&signed("0")), "it does");
        }
        assert!(doubted.has_free_permit(3), "nobody has the third");
        // Who asks for one of another number gets none from the node that has one of four.
        let owner = format!("{}+permit3/4.db1.7", "0".repeat(40));
        let of_four = KeyView::Permits(vec![(3, signed(&owner))]);
        let nothing = KeyView::Nothing;
        let mut seen = view(State::Free, &[of_four, nothing.clone(), nothing]);
        seen.doubt_where(|node| node == "c");
        assert!(seen.has_free_permit(4) && !seen.has_free_permit(2));
    }
}
