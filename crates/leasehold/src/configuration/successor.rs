//! A list of nodes in which another server has taken the place of one.

use super::{Configuration, fingerprint_of};
use std::collections::BTreeSet;

/// What replaces a configuration whose nodes vote all but one as they did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Successor {
    /// The name of the node that left.
    pub(crate) former: String,
    /// The name of the node that came.
    pub(crate) new: String,
    pub(crate) configuration: Configuration,
    /// Whether the node was told so by somebody who has replaced a node of this configuration. Otherwise one of the two lists may
    /// be a mistake, and nobody goes where a mistake leads.
    pub(crate) is_confirmed: bool,
}

impl Configuration {
    /// What stands on a node that goes over to this configuration from the one with that fingerprint, since a node was replaced.
    pub(crate) fn text_after(&self, former: &str) -> String {
        match former {
            "" => self.text.clone(),
            former => format!("{}{AFTER}{former}", self.text),
        }
    }

    /// What is written on a node that is not of this configuration any more: this one, and after which it comes. `former` is what
    /// stood on the node before.
    pub(crate) fn text_after_leaving(&self, former: &str) -> String {
        match bare(former) {
            // It was told before, and what it follows with it.
            ours if ours == self.text => former.to_owned(),
            former => self.text_after(&fingerprint_of(former)),
        }
    }

    /// What stands on a node as `text`, if it is this configuration with one node replaced by another.
    pub(crate) fn successor(&self, text: &str) -> Option<Successor> {
        let (text, after) = split(text);
        let (ours, rest) = parts(&self.text)?;
        let (theirs, their_rest) = parts(text)?;
        if rest != their_rest {
            return None;
        }
        let is_set = |names: &BTreeSet<&str>, text: &str| text.split(',').count() == names.len();
        let (mine, other): (BTreeSet<_>, BTreeSet<_>) =
            (ours.split(',').collect(), theirs.split(',').collect());
        if !is_set(&mine, ours) || !is_set(&other, theirs) || mine.len() != other.len() {
            return None;
        }
        let mut former = mine.difference(&other);
        let mut new = other.difference(&mine);
        let (Some(former), None, Some(new), None) =
            (former.next(), former.next(), new.next(), new.next())
        else {
            return None;
        };
        Some(Successor {
            former: (*former).to_owned(),
            new: (*new).to_owned(),
            configuration: Self {
                text: text.to_owned(),
                ..self.clone()
            },
            is_confirmed: after == Some(&*self.fingerprint()),
        })
    }
}

/// A text as a client of its configuration has it, without what it follows.
pub(crate) fn bare(text: &str) -> &str {
    split(text).0
}

/// A text, and the fingerprint of what it follows if that is told. Behind the names no space is of people's own making.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(AFTER) {
        Some((text, former)) if !former.contains(' ') => (text, Some(former)),
        _ => (text, None),
    }
}

/// What stands before the fingerprint of the configuration that was left.
const AFTER: &str = " after=";

/// Whether a configuration of so many nodes, with this text, is of others than these. That is not told by one that calls its
/// nodes together by a name, and of one node the node itself tells.
pub(crate) fn is_of_others(text: &str, count: usize, nodes: &BTreeSet<String>) -> bool {
    let names = parts(text).map(|(names, _)| names.split(',').collect::<BTreeSet<_>>());
    names.is_some_and(|names| {
        let is_listed = count > 1 && names.len() == count;
        is_listed && !names.iter().all(|name| nodes.contains(*name))
    })
}

/// The names of the nodes, and what is said behind them.
fn parts(text: &str) -> Option<(&str, &str)> {
    // From the end: only the names are of people's own making.
    text.strip_prefix("version=1 nodes=")?
        .rsplit_once(" count=")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::RestartGuard;
    use leasehold_core::{Quorum, Ttl};
    use std::time::Duration;

    fn of(names: &str, ttl_s: u64) -> Configuration {
        let quorum = Quorum::majority(names.split(',').count()).expect("few nodes");
        let ttl = Ttl::new(Duration::from_secs(ttl_s)).expect("in range");
        let (guard, skew) = (RestartGuard::Quarantine, Duration::from_secs(2));
        Configuration::new("leasehold", names, quorum, guard, ttl, skew)
    }

    #[test]
    fn one_node_in_the_place_of_another_is_a_successor() {
        let (ours, theirs) = (of("a:1,b:1,c:1", 30), of("a:1,b:1,d:1", 30));
        let successor = ours.successor(theirs.text()).expect("one was replaced");
        assert_eq!((&*successor.former, &*successor.new), ("c:1", "d:1"));
        assert_eq!(successor.configuration, theirs);
        let back = theirs.successor(ours.text()).expect("and back");
        assert_eq!(back.configuration, ours);
    }

    #[test]
    fn a_node_that_leaves_names_what_it_was_of_however_often_it_is_told() {
        let (first, ours, next) = (of("a:1,z:1", 30), of("a:1,b:1", 30), of("a:1,c:1", 30));
        let told = next.text_after(&ours.fingerprint());
        for before in [ours.text(), &ours.text_after(&first.fingerprint()), &told] {
            assert_eq!(next.text_after_leaving(before), told, "{before}");
        }
    }

    #[test]
    fn a_successor_is_confirmed_by_what_it_says_that_it_follows() {
        let (ours, theirs) = (of("a:1,b:1,c:1", 30), of("a:1,b:1,d:1", 30));
        let another = of("a:1,b:1,e:1", 30).fingerprint();
        for (former, is_confirmed) in [
            ("", false),
            (&*another, false),
            (&*ours.fingerprint(), true),
        ] {
            let text = theirs.text_after(former);
            assert_eq!(bare(&text), theirs.text());
            let successor = ours.successor(&text).expect("one was replaced");
            assert_eq!(successor.configuration, theirs, "{text}");
            assert_eq!(successor.is_confirmed, is_confirmed, "{text}");
        }
        // A name that people have chosen is no word of ours.
        let named = of("a after=b:1,c:1,d:1", 30);
        assert_eq!(bare(named.text()), named.text());
    }

    #[test]
    fn whatever_else_is_another_is_none() {
        let ours = of("a:1,b:1,c:1", 30);
        for other in [
            ours.text(),
            of("a:1,b:1,d:1", 31).text(),
            of("a:1,d:1,e:1", 30).text(),
            of("a:1,b:1", 30).text(),
            of("a:1,b:1,c:1,d:1", 30).text(),
            &ours.text().replace("b:1,c:1", "b:1,b:1"),
            "",
            "version=1 nodes=a:1,b:1,d:1",
        ] {
            assert_eq!(ours.successor(other), None, "{other}");
        }
    }
}
