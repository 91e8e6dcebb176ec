//! Who of this engine has its turn at a resource: one at a time, first come, first served.

use crate::{request::OperationId, resource::Resource};
use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};

/// Everybody here who wants or has a resource.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Contend(BTreeMap<Resource, Site>);

#[derive(Clone, Debug, Default, Hash)]
struct Site {
    /// The acquisition that won it.
    holder: Option<OperationId>,
    /// The first of those who wait for each other. It stands alone in most cases, and costs no queue then.
    first: Option<OperationId>,
    /// Those behind it.
    queue: VecDeque<OperationId>,
    /// Acquisitions that wait for nobody here.
    others: Vec<OperationId>,
}

impl Contend {
    /// An acquisition begins. Says whether it has its turn at once.
    pub(crate) fn join(&mut self, resource: &Resource, id: OperationId, queues: bool) -> bool {
        let site = self.0.entry(resource.clone()).or_default();
        if !queues {
            site.others.push(id);
            return true;
        }
        if site.first.is_none() {
            site.first = Some(id);
        } else {
            site.queue.push_back(id);
        }
        site.turn() == Some(id)
    }

    /// An acquisition has won. Those behind it wait until it ends the lease.
    pub(crate) fn won(&mut self, resource: &Resource, id: OperationId) {
        if let Some(site) = self.0.get_mut(resource) {
            site.remove(id);
            site.holder = Some(id);
        }
    }

    /// An acquisition ends without a lease, or its lease ends. Says whose turn it is now, if that changed.
    pub(crate) fn leave(&mut self, resource: &Resource, id: OperationId) -> Option<OperationId> {
        let site = self.0.get_mut(resource)?;
        let before = site.turn();
        site.remove(id);
        if site.holder == Some(id) {
            site.holder = None;
        }
        let turn = site.turn();
        if site.is_empty() {
            self.0.remove(resource);
        }
        turn.filter(|_| turn != before)
    }

    /// Who has won the resource.
    pub(crate) fn holder(&self, resource: &Resource) -> Option<OperationId> {
        self.0.get(resource)?.holder
    }

    /// How many wait here for each other.
    pub(crate) fn waiting(&self, resource: &Resource) -> usize {
        let waiting = |site: &Site| site.first.iter().len().saturating_add(site.queue.len());
        self.0.get(resource).map_or(0, waiting)
    }

    /// Those who ask the nodes for the resource.
    pub(crate) fn asking(&self, resource: &Resource) -> Vec<OperationId> {
        let Some(site) = self.0.get(resource) else {
            return Vec::new();
        };
        site.turn()
            .into_iter()
            .chain(site.others.iter().copied())
            .collect()
    }
}

impl Site {
    fn turn(&self) -> Option<OperationId> {
        self.first.filter(|_| self.holder.is_none())
    }

    fn remove(&mut self, id: OperationId) {
        if self.first == Some(id) {
            self.first = self.queue.pop_front();
        } else {
            self.queue.retain(|other| *other != id);
        }
        self.others.retain(|other| *other != id);
    }

    fn is_empty(&self) -> bool {
        self.holder.is_none() && self.first.is_none() && self.others.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_has_its_turn_and_the_next_when_the_lease_ends() {
        let resource = Resource::new("r").expect("a name");
        let [a, b, c, d] = [1, 2, 3, 4].map(OperationId::new);
        let mut contend = Contend::default();
        assert!(contend.join(&resource, a, true));
        assert!(!contend.join(&resource, b, true));
        assert!(!contend.join(&resource, c, true));
        assert!(contend.join(&resource, d, false));
        assert_eq!(contend.asking(&resource), [a, d]);
        contend.won(&resource, a);
        assert_eq!(
            contend.leave(&resource, b),
            None,
            "it did not have its turn"
        );
        assert_eq!(contend.asking(&resource), [d]);
        assert_eq!(contend.leave(&resource, a), Some(c));
        assert_eq!(contend.leave(&resource, a), None, "once");
        assert_eq!(contend.leave(&resource, d), None);
        assert_eq!(contend.leave(&resource, c), None);
        assert!(contend.0.is_empty(), "nothing is left behind");
    }
}
