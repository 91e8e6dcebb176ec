//! How the links of one manager learn that a server has taken the place of a node.
//!
//! Nodes of the new list say so instead of voting. When so many say it that the former list has no quorum any more, the link
//! to the node that left goes to its successor; then the others speak as the new list does. Each gives its connection up for that,
//! so that nothing of the former list is under way behind it.

use super::url::RedisUrl;
use crate::{
    configuration::{Configuration, Successor},
    link::NodeName,
};
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// What the nodes of a list have said of the list that follows it; `S` is what speaks as a list does.
pub(crate) struct Succession<S> {
    configuration: Configuration,
    /// So many nodes are in every quorum of the list, at least one of them.
    blocking: usize,
    /// Whether enough was said; looked at whenever a link is polled.
    is_decided: AtomicBool,
    hearsay: Mutex<Hearsay<S>>,
}

enum Hearsay<S> {
    /// What each node has said, and whether it was told so by who has replaced a node.
    Open(HashMap<NodeName, (String, bool)>),
    /// The link to the node that left comes first.
    Decided(Box<Successor>),
    /// The others follow.
    Done(Box<S>),
    /// The new node cannot be reached as the former one is. People have to change the list.
    Refused,
}

/// What a link has to do.
pub(super) enum Change<S> {
    /// To go to another server, and to speak so.
    GoTo(RedisUrl, S),
    /// To speak so.
    Speak(S),
}

impl<S: Clone> Succession<S> {
    /// Of the nodes of `configuration`, `blocking` of which are so many that no quorum is without one of them.
    pub(crate) fn new(configuration: &Configuration, blocking: usize) -> Arc<Self> {
        Arc::new(Self {
            configuration: configuration.clone(),
            blocking,
            is_decided: AtomicBool::new(false),
            hearsay: Mutex::new(Hearsay::Open(HashMap::new())),
        })
    }

    /// A node says that it is of another configuration. Says whether that follows ours, so that it is only to be learned.
    pub(super) fn told(&self, node: &NodeName, text: &str) -> bool {
        let Some(successor) = self.configuration.successor(text) else {
            return false;
        };
        let mut hearsay = self.lock();
        let told = match &mut *hearsay {
            Hearsay::Open(told) => told,
            Hearsay::Decided(_) | Hearsay::Done(_) => return true,
            Hearsay::Refused => return false,
        };
        let text = successor.configuration.text();
        told.insert(node.clone(), (text.to_owned(), successor.is_confirmed));
        let same = || told.values().filter(|(said, _)| said == text);
        // A node that has forgotten it has the list from the first client that came, and nobody's word that one follows ours.
        let is_confirmed = same().any(|(_, is_confirmed)| *is_confirmed);
        // Argument S9: from here on no quorum of the former list is left, so nothing is lost with it.
        if is_confirmed && same().count() >= self.blocking {
            *hearsay = Hearsay::Decided(Box::new(successor));
            self.is_decided.store(true, Ordering::Release);
        }
        is_confirmed
    }

    /// Whether the links have something to do.
    #[inline]
    pub(super) fn is_decided(&self) -> bool {
        self.is_decided.load(Ordering::Acquire)
    }

    /// What the link to the node at `url` has to do: nothing before the link to the node that left has done its part.
    /// `speak` makes what speaks as the new list does, which may be followed by another.
    pub(super) fn step(
        &self,
        url: &RedisUrl,
        speak: impl FnOnce(&Configuration, Arc<Self>) -> S,
    ) -> Option<Change<S>> {
        let mut hearsay = self.lock();
        match &*hearsay {
            Hearsay::Open(_) | Hearsay::Refused => None,
            Hearsay::Done(speaker) => Some(Change::Speak((**speaker).clone())),
            Hearsay::Decided(successor) => {
                if successor.former != url.name().as_str() {
                    return None;
                }
                let Some(url) = url.in_place(&successor.new) else {
                    *hearsay = Hearsay::Refused;
                    // Nobody has anything to do, and nobody looks again.
                    self.is_decided.store(false, Ordering::Release);
                    return None;
                };
                let after = Self::new(&successor.configuration, self.blocking);
                let speaker = speak(&successor.configuration, after);
                *hearsay = Hearsay::Done(Box::new(speaker.clone()));
                Some(Change::GoTo(url, speaker))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Hearsay<S>> {
        self.hearsay.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> fmt::Debug for Succession<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Succession")
            .field("configuration", &self.configuration.text())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::RestartGuard;
    use leasehold_core::{Quorum, Ttl};
    use std::time::Duration;

    fn of(names: &str) -> Configuration {
        let quorum = Quorum::majority(names.split(',').count()).expect("few nodes");
        let ttl = Ttl::new(Duration::from_secs(30)).expect("in range");
        let (guard, skew) = (RestartGuard::Quarantine, Duration::from_secs(2));
        Configuration::new("leasehold", names, quorum, guard, ttl, skew)
    }

    fn node(name: &str) -> NodeName {
        NodeName::new(name)
    }

    /// What stands on a node that goes over from the old list to the new one.
    fn after(old: &Configuration, new: &Configuration) -> String {
        new.text_after(&old.fingerprint())
    }

    fn speak(_: &Configuration, _: Arc<Succession<()>>) {}

    fn url(name: &str) -> RedisUrl {
        format!("redis://:secret@{name}/2")
            .parse()
            .expect("an address")
    }

    /// Argument S9: with fewer nodes the former list may have a quorum still, and who leaves it loses that.
    #[test]
    fn a_list_is_left_when_it_has_no_quorum_any_more() {
        let (old, new) = (of("a:1,b:1,c:1"), of("a:1,b:1,d:1"));
        let (succession, new) = (Succession::<()>::new(&old, 2), after(&old, &new));
        assert!(succession.told(&node("a:1"), &new));
        assert!(succession.told(&node("a:1"), &new), "a node counts once");
        assert!(!succession.is_decided());
        let others = after(&old, &of("a:1,d:1,e:1"));
        assert!(!succession.told(&node("b:1"), &others));
        assert!(!succession.is_decided(), "two nodes were replaced at once");
        assert!(succession.told(&node("b:1"), &new));
        assert!(succession.is_decided());
    }

    /// A mistaken address would get the login of the one whose place it takes.
    #[test]
    fn a_list_that_nobody_says_follows_ours_may_be_a_mistake_and_is_not_followed() {
        let (old, new) = (of("a:1,b:1,c:1"), of("a:1,b:1,d:1"));
        let elsewhere = after(&of("a:1,b:1,e:1"), &new);
        let succession = Succession::<()>::new(&old, 2);
        for (name, text) in [("a:1", new.text()), ("b:1", &elsewhere)] {
            assert!(!succession.told(&node(name), text), "{text}");
        }
        assert!(!succession.is_decided());
        // One that has been told so is enough: another may have forgotten it.
        assert!(succession.told(&node("b:1"), &after(&old, &new)));
        assert!(succession.is_decided());
    }

    #[test]
    fn nodes_that_tell_of_two_lists_tell_of_none() {
        let old = of("a:1,b:1,c:1");
        let succession = Succession::<()>::new(&old, 2);
        for (name, new) in [("a:1", "a:1,b:1,d:1"), ("b:1", "a:1,b:1,e:1")] {
            assert!(succession.told(&node(name), &after(&old, &of(new))));
        }
        assert!(!succession.is_decided());
    }

    /// Argument S9: a vote of the new list must not meet one that the node that left has given.
    #[test]
    fn the_link_to_the_node_that_left_goes_first() {
        let (old, new) = (of("a:1,b:1,c:1"), of("a:1,b:1,d:1"));
        let succession = Succession::<()>::new(&old, 2);
        for name in ["a:1", "b:1"] {
            succession.told(&node(name), &after(&old, &new));
        }
        assert!(succession.step(&url("a:1"), speak).is_none());
        let Some(Change::GoTo(to, _)) = succession.step(&url("c:1"), speak) else {
            panic!("it is another server now");
        };
        assert_eq!(to, url("d:1"), "with the same login and database");
        assert!(matches!(
            succession.step(&url("a:1"), speak),
            Some(Change::Speak(_))
        ));
    }

    #[test]
    fn a_node_without_an_address_is_not_followed() {
        let old = of("/run/c.sock,a:1,b:1");
        let new = after(&old, &of("a:1,b:1,d:1"));
        let succession = Succession::<()>::new(&old, 2);
        for name in ["a:1", "b:1"] {
            assert!(succession.told(&node(name), &new));
        }
        let url: RedisUrl = "unix:///run/c.sock".parse().expect("an address");
        assert!(succession.step(&url, speak).is_none());
        assert!(!succession.is_decided(), "nobody waits for it");
        assert!(!succession.told(&node("a:1"), &new), "people are told");
    }
}
