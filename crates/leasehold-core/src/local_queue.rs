//! Who of this engine is next at a resource: one at a time, first come, first served; and when those of other
//! processes shall have their turn before.

mod lines;
mod pool;
mod yield_rule;

use crate::{request::OperationId, resource::Resource, time::Instant};
use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};
use core::time::Duration;
use lines::Lines;
use pool::Pool;
use yield_rule::YieldRule;

pub(crate) use pool::SlotsHere;
pub(crate) use yield_rule::ContentionLevel;

/// Everybody here who wants or has a resource.
#[derive(Clone, Debug, Hash)]
pub(crate) struct LocalQueue {
    lines: Lines,
    /// Those who want or have permits of a name.
    pools: BTreeMap<Resource, Pool>,
    /// By name, the resources of several names, and the share of it, that somebody wants or has. They have lines of their
    /// own, since who wants one of the names alone need not wait for who waits for another.
    related: BTreeMap<Resource, Vec<Resource>>,
    yield_rule: YieldRule,
}

#[derive(Clone, Debug, Default, Hash)]
struct Line {
    /// The acquisition that won it.
    holder: Option<OperationId>,
    /// The first of those who wait for each other. It stands alone in most cases, and costs no queue then.
    first: Option<OperationId>,
    /// Those behind it.
    queue: VecDeque<OperationId>,
    /// Acquisitions that wait for nobody here.
    others: Vec<OperationId>,
}

/// How somebody's turn comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coming {
    /// Other processes want the resource too.
    pub(crate) is_contended: bool,
    /// It is time to let them have theirs, for so long.
    pub(crate) others_first: Option<Duration>,
}

impl LocalQueue {
    /// Nobody wants anything.
    pub(crate) fn new() -> Self {
        Self {
            lines: Lines::new(),
            pools: BTreeMap::new(),
            related: BTreeMap::new(),
            yield_rule: YieldRule::new(),
        }
    }

    /// An acquisition begins. Says whether it has its turn at once.
    pub(crate) fn join(&mut self, resource: &Resource, id: OperationId, queues: bool) -> bool {
        if is_related(resource) && !self.knows(resource) {
            for name in resource.each() {
                self.related.entry(name).or_default().push(resource.clone());
            }
        }
        if let Some(of) = resource.permits() {
            let pool = self.pools.entry(resource.clone());
            return pool.or_insert_with(|| Pool::new(of)).join(id, queues);
        }
        let spot = self.lines.find_or_insert(resource);
        let Some(line) = self.lines.get_mut(spot) else {
            return false;
        };
        if !queues {
            line.others.push(id);
            return true;
        }
        if line.first.is_none() {
            line.first = Some(id);
        } else {
            line.queue.push_back(id);
        }
        line.turn() == Some(id)
    }

    /// How the turn of the next comes now.
    pub(crate) fn coming(&mut self, now: Instant, resource: &Resource) -> Coming {
        let is_contended = self.yield_rule.is_contended(now, resource);
        let waiting = |line: &Line| line.first.iter().len().saturating_add(line.queue.len());
        let waiting = || match self.pools.get(resource) {
            Some(pool) => pool.waiting(),
            None => self.line(resource).map_or(0, waiting),
        };
        // Where nobody is in the way, it matters to nobody.
        let waiting = if is_contended { waiting() } else { 0 };
        Coming {
            is_contended,
            others_first: self.yield_rule.room(now, resource, waiting),
        }
    }

    /// An acquisition has won, and fared so with others. Those behind it wait until it ends the lease.
    pub(crate) fn won(
        &mut self,
        now: Instant,
        resource: &Resource,
        id: OperationId,
        level: ContentionLevel,
    ) {
        // Any number of callers have shares, and none of them is told of the others' coming and going.
        if resource.is_shared() {
            return;
        }
        self.yield_rule.won(now, resource, level);
        if let Some(pool) = self.pools.get_mut(resource) {
            return pool.won(id);
        }
        let spot = self.lines.find(resource);
        if let Some(line) = spot.and_then(|spot| self.lines.get_mut(spot)) {
            line.remove(id);
            line.holder = Some(id);
        }
    }

    /// An acquisition ends without a lease, or its lease ends. Says whose turn it is now, if that changed; of permits, also another's.
    pub(crate) fn leave(
        &mut self,
        resource: &Resource,
        id: OperationId,
    ) -> (Option<OperationId>, Option<OperationId>) {
        match self.pools.get_mut(resource) {
            Some(pool) => {
                let mut next = pool.leave(id).into_iter();
                if pool.is_empty() {
                    self.pools.remove(resource);
                    self.forget(resource);
                }
                (next.next(), next.next())
            }
            None => (self.leave_line(resource, id), None),
        }
    }

    fn leave_line(&mut self, resource: &Resource, id: OperationId) -> Option<OperationId> {
        let spot = self.lines.find(resource)?;
        let line = self.lines.get_mut(spot)?;
        let before = line.turn();
        line.remove(id);
        if line.holder == Some(id) {
            line.holder = None;
        }
        let turn = line.turn();
        if line.is_empty() {
            self.lines.remove(spot);
            if is_related(resource) {
                self.forget(resource);
            }
        }
        turn.filter(|_| turn != before)
    }

    /// An acquisition of a permit asks for this slot now, or for none.
    pub(crate) fn ask_for(&mut self, resource: &Resource, id: OperationId, slot: Option<u16>) {
        if let Some(pool) = self.pools.get_mut(resource) {
            pool.ask(id, slot);
        }
    }

    /// Which permits of a name are in use here, by others than this one.
    pub(crate) fn slots(&self, resource: &Resource, id: OperationId) -> SlotsHere {
        let pool = self.pools.get(resource);
        pool.map_or_else(SlotsHere::default, |pool| pool.slots(id))
    }

    /// Those who have won the resource, or one that has a name in common with it.
    pub(crate) fn holders(&self, resource: &Resource) -> impl Iterator<Item = OperationId> {
        let own = self.line(resource).and_then(|line| line.holder);
        let met = self.met(resource).into_iter();
        own.into_iter().chain(met.filter_map(|line| line.holder))
    }

    /// Those who ask the nodes for the resource, or for one that has a name in common with it; none if nobody wants or has
    /// any. Those who want a share wait for no other share.
    #[inline]
    pub(crate) fn asking(&self, resource: &Resource) -> Option<Vec<OperationId>> {
        let own = match resource.permits() {
            None => self.line(resource).filter(|_| !resource.is_shared()),
            Some(_) => return self.asking_for_permits(resource),
        };
        let own = own.map(Line::asking);
        if self.related.is_empty() && !is_related(resource) {
            return own;
        }
        self.with_related(resource, own)
    }

    /// Those, and those who ask for a resource that has a name in common with it.
    #[cold]
    fn with_related(
        &self,
        resource: &Resource,
        own: Option<Vec<OperationId>>,
    ) -> Option<Vec<OperationId>> {
        let met = self.met(resource);
        let pools = resource.each().flat_map(|name| {
            let related = self.related.get(&name).into_iter().flatten();
            related.filter(|other| *other != resource)
        });
        let pools: Vec<_> = pools.filter_map(|other| self.pools.get(other)).collect();
        if met.is_empty() && pools.is_empty() {
            return own;
        }
        let met = met.into_iter().flat_map(Line::asking);
        let pools = pools.into_iter().flat_map(Pool::asking);
        Some(own.into_iter().flatten().chain(met).chain(pools).collect())
    }

    #[cold]
    fn asking_for_permits(&self, resource: &Resource) -> Option<Vec<OperationId>> {
        let own = self.pools.get(resource).map(Pool::asking);
        self.with_related(resource, own)
    }

    /// The lines of other resources that have a name in common with this one. Most have one name, and meet nothing.
    #[inline]
    fn met(&self, resource: &Resource) -> Vec<&Line> {
        // Who gives names or a share back has left already, and others wait for it all the same.
        match self.related.is_empty() && !is_related(resource) {
            true => Vec::new(),
            false => self.met_by_names(resource),
        }
    }

    #[cold]
    fn met_by_names(&self, resource: &Resource) -> Vec<&Line> {
        let mut met: Vec<Resource> = Vec::new();
        for name in resource.each() {
            let several = self.related.get(&name).into_iter().flatten().cloned();
            met.extend(several.chain([name]).filter(|other| other != resource));
        }
        met.sort_unstable();
        met.dedup();
        met.iter().filter_map(|other| self.line(other)).collect()
    }

    /// Nobody wants or has these names together, or this share, any more.
    fn forget(&mut self, resource: &Resource) {
        for name in resource.each() {
            if let Some(several) = self.related.get_mut(&name) {
                several.retain(|other| other != resource);
                if several.is_empty() {
                    self.related.remove(&name);
                }
            }
        }
    }

    /// Whether anybody here wants or has it.
    fn knows(&self, resource: &Resource) -> bool {
        self.line(resource).is_some() || self.pools.contains_key(resource)
    }

    #[inline]
    fn line(&self, resource: &Resource) -> Option<&Line> {
        self.lines.get(self.lines.find(resource)?)
    }
}

/// Whether its keys are those of other resources.
const fn is_related(resource: &Resource) -> bool {
    resource.is_several() || resource.is_part()
}

impl Line {
    fn turn(&self) -> Option<OperationId> {
        self.first.filter(|_| self.holder.is_none())
    }

    /// Those who ask the nodes.
    fn asking(&self) -> Vec<OperationId> {
        let others = self.others.iter().copied();
        self.turn().into_iter().chain(others).collect()
    }

    fn remove(&mut self, id: OperationId) {
        if self.first == Some(id) {
            self.first = self.queue.pop_front();
        } else if !self.queue.is_empty() {
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
        let mut queue = LocalQueue::new();
        assert!(queue.join(&resource, a, true));
        assert!(!queue.join(&resource, b, true));
        assert!(!queue.join(&resource, c, true));
        assert!(queue.join(&resource, d, false));
        assert_eq!(queue.asking(&resource), Some([a, d].to_vec()));
        queue.won(Instant::ORIGIN, &resource, a, ContentionLevel::None);
        assert_eq!(queue.leave(&resource, b).0, None, "not its turn");
        assert_eq!(queue.asking(&resource), Some([d].to_vec()));
        assert_eq!(queue.leave(&resource, a), (Some(c), None));
        assert_eq!(queue.leave(&resource, a).0, None, "once");
        assert_eq!(queue.leave(&resource, d).0, None);
        assert_eq!(queue.leave(&resource, c).0, None);
        assert!(queue.lines.is_empty(), "nothing is left behind");
    }

    #[test]
    fn those_who_read_are_asked_for_by_the_name_and_hold_up_nobody() {
        let share = Resource::shared("doc").expect("a name");
        let whole = share.whole();
        let [one, two, three] = [1, 2, 3].map(OperationId::new);
        let mut queue = LocalQueue::new();
        assert!(queue.join(&share, one, false) && queue.join(&share, two, false));
        assert!(queue.join(&whole, three, true));
        assert_eq!(queue.asking(&whole), Some([three, one, two].to_vec()));
        assert_eq!(queue.asking(&share), Some([three].to_vec()));
        queue.won(Instant::ORIGIN, &share, one, ContentionLevel::None);
        assert_eq!(queue.holders(&whole).count(), 0);
        queue.won(Instant::ORIGIN, &whole, three, ContentionLevel::None);
        assert_eq!(queue.holders(&whole).collect::<Vec<_>>(), [three]);
        for (resource, id) in [(&share, one), (&share, two), (&whole, three)] {
            assert_eq!(queue.leave(resource, id).0, None);
        }
        assert!(queue.lines.is_empty() && queue.related.is_empty());
    }

    #[test]
    fn who_waits_for_a_name_is_asking_for_what_has_just_been_left() {
        let whole = Resource::new("a").expect("a name");
        let both = Resource::several(["a", "b"]).expect("names");
        let share = Resource::shared("a").expect("a name");
        let [one, two] = [1, 2].map(OperationId::new);
        for gone in [both, share] {
            let mut queue = LocalQueue::new();
            assert!(queue.join(&gone, one, false));
            assert!(queue.join(&whole, two, true));
            queue.leave(&gone, one);
            assert_eq!(queue.asking(&gone), Some([two].to_vec()), "{gone}");
            queue.leave(&whole, two);
            assert_eq!(queue.asking(&gone).unwrap_or_default(), []);
        }
    }

    #[test]
    fn who_wants_several_names_meets_all_who_want_or_have_one_of_them() {
        let named = |names: &[&str]| Resource::several(names.iter().copied()).expect("names");
        let (ab, bc, a, c) = (
            named(&["a", "b"]),
            named(&["b", "c"]),
            named(&["a"]),
            named(&["c"]),
        );
        let [one, two, three, four] = [1, 2, 3, 4].map(OperationId::new);
        let mut queue = LocalQueue::new();
        assert!(queue.join(&a, one, true));
        queue.won(Instant::ORIGIN, &a, one, ContentionLevel::None);
        // Each in a line of its own: nobody here can tell who comes first at all names.
        assert!(queue.join(&ab, two, true));
        assert!(queue.join(&bc, three, true));
        assert!(queue.join(&c, four, true));
        assert_eq!(queue.asking(&a), Some([two].to_vec()));
        assert_eq!(queue.asking(&c), Some([four, three].to_vec()));
        assert_eq!(queue.asking(&ab), Some([two, three].to_vec()));
        assert_eq!(queue.asking(&bc), Some([three, two, four].to_vec()));
        assert_eq!(queue.holders(&ab).collect::<Vec<_>>(), [one]);
        assert_eq!(queue.leave(&a, one).0, None);
        queue.won(Instant::ORIGIN, &ab, two, ContentionLevel::None);
        assert_eq!(queue.holders(&a).collect::<Vec<_>>(), [two]);
        for (resource, id) in [(&ab, two), (&bc, three), (&c, four)] {
            queue.leave(resource, id);
        }
        assert!(queue.lines.is_empty() && queue.related.is_empty());
    }
}
