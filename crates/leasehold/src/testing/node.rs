//! A node that can be broken.

use super::link::{NodeLink, TestWire};
use crate::{clock::Clock, link::LinkEvent};
use leasehold_core::{
    Fault, FaultKind, Instant, Owner, Request, Resource, Table, Vote, table::Key,
};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::Waker,
    time::Duration,
};

/// A node of a [`World`](super::World), in memory. Clones are the same node.
///
/// What is done to it is done when the call returns, but the managers may not have noticed yet: they have after
/// [`World::settle`](super::World::settle), and after [`World::advance`](super::World::advance).
#[derive(Clone, Debug)]
pub struct Node {
    clock: Clock,
    state: Arc<Mutex<NodeState>>,
}

#[derive(Debug, Default)]
pub(super) struct NodeState {
    table: Table,
    /// Why it cannot be asked.
    down: Option<String>,
    is_hung: bool,
    delay: Duration,
    /// By how much its clock was set forward.
    ahead: Duration,
    wires: Vec<Weak<TestWire>>,
    /// Who is woken by the next change.
    wakers: Vec<Waker>,
}

impl Node {
    pub(super) fn new(clock: Clock) -> Self {
        let state = Arc::default();
        Self { clock, state }
    }

    /// A link to this node, for a manager whose clock is that of the node's world.
    #[must_use]
    pub fn link(&self) -> NodeLink {
        let mut state = self.lock();
        let wire = Arc::new(TestWire::default());
        match &state.down {
            None => wire.open(),
            Some(reason) => wire.tell(LinkEvent::Down(reason.clone())),
        }
        state.wires.push(Arc::downgrade(&wire));
        drop(state);
        NodeLink::new(self.clone(), self.clock, wire)
    }

    /// The node cannot be reached any more, for this reason. What it was asked and has not answered is lost with the
    /// connections; whether it was done, nobody knows. Its keys and its clock go on.
    ///
    /// # Examples
    /// ```
    /// use leasehold::{NodeConnection, testing::World};
    ///
    /// let world = World::new(3);
    /// let manager = world.manager();
    /// world.node(2).down("connection refused");
    /// world.settle();
    /// let reason = "connection refused".to_owned();
    /// assert_eq!(manager.health()[2].connection, NodeConnection::Down(reason));
    /// ```
    pub fn down(&self, reason: &str) {
        let mut state = self.lock();
        if state.down.is_some() {
            return;
        }
        state.down = Some(reason.to_owned());
        let wires = state.wires();
        drop(state);
        for wire in wires {
            let lost = Fault::new(FaultKind::Disconnected, reason);
            wire.cut(&Vote::Unknown(lost), reason);
        }
    }

    /// The node can be reached again, with the keys that it had.
    pub fn up(&self) {
        let mut state = self.lock();
        if state.down.take().is_some() {
            let wires = state.wires();
            drop(state);
            wires.iter().for_each(|wire| wire.open());
        }
    }

    /// The node does nothing any more and answers nothing, without a word: as a server whose process is stopped. Its clock
    /// goes on.
    pub fn hang(&self) {
        self.lock().is_hung = true;
    }

    /// The node goes on, with what it was asked meanwhile.
    pub fn resume(&self) {
        let mut state = self.lock();
        state.is_hung = false;
        let wires = state.wires();
        drop(state);
        wires.iter().for_each(|wire| wire.wake());
    }

    /// From now on the node does what it is asked after this time, and answers then.
    pub fn answer_after(&self, delay: Duration) {
        self.lock().delay = delay;
    }

    /// The key of this resource is gone from the node, whosever it was, and the node tells of it.
    ///
    /// # Panics
    /// If the node has no such key, so that a name that is misspelt is no test that passes; or if the name is not one that
    /// a resource can have.
    pub fn lose_key(&self, resource: &str) {
        let resource = name(resource);
        if !self.is_held(&resource) {
            // A manager may be about to set it: the guard needs a quorum of keys and not all.
            self.settle();
        }
        assert!(
            self.is_held(&resource),
            "this node has {}",
            nothing(&resource, &self.locked())
        );
        self.forget(&resource);
        self.hint(Some(&resource));
    }

    /// The node has forgotten all keys and all that fencing tokens are counted by, as a server that was restarted without a
    /// disk, and votes on at once.
    pub fn lose_everything(&self) {
        self.lock().table = Table::new();
        self.hint(None);
    }

    /// The node's clock is set forward: its keys end sooner. The managers notice with its next answer.
    pub fn set_clock_forward(&self, by: Duration) {
        let mut state = self.lock();
        state.ahead = state.ahead.saturating_add(by);
    }

    /// The key is gone, and nobody is told.
    pub(super) fn forget(&self, resource: &Resource) {
        let share = Resource::shared(resource.as_str());
        let share = share.expect("what a name is, is one of a share");
        let holder = self.holder(resource).map(|owner| (resource, owner));
        let readers = self.readers(resource);
        let readers = readers.into_iter().map(|owner| (&share, owner));
        for (resource, owner) in holder.into_iter().chain(readers) {
            let (resource, keep) = (resource.clone(), None);
            let request = Request::Release {
                resource,
                owner,
                keep,
            };
            let mut state = self.lock();
            let now = state.now(self.clock);
            state.table.apply(now, &request);
        }
    }

    /// Whether anybody holds or reads it here.
    pub(super) fn is_held(&self, resource: &Resource) -> bool {
        self.holder(resource).is_some() || !self.readers(resource).is_empty()
    }

    /// Who reads it here.
    pub(super) fn readers(&self, resource: &Resource) -> Vec<Owner> {
        let state = self.lock();
        let now = state.now(self.clock);
        let readers = state.table.readers(now, resource);
        readers.map(|reader| reader.owner.clone()).collect()
    }

    /// Who has the key of this resource here.
    pub(super) fn holder(&self, resource: &Resource) -> Option<Owner> {
        let state = self.lock();
        let now = state.now(self.clock);
        let key = state.table.key(now, resource);
        key.map(|key| key.owner.clone())
    }

    /// What has a key here.
    pub(super) fn locked(&self) -> BTreeSet<Resource> {
        let state = self.lock();
        let now = state.now(self.clock);
        state.table.locked(now).cloned().collect()
    }

    /// Wakes this waker when a key changes here.
    pub(super) fn watch(&self, waker: &Waker) {
        let wakers = &mut self.lock().wakers;
        if !wakers.iter().any(|other| other.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }

    fn settle(&self) {
        if let Some(timeline) = self.clock.timeline() {
            timeline.settle();
        }
    }

    /// Tells everybody that a key may have changed.
    pub(super) fn hint(&self, resource: Option<&Resource>) {
        for wire in self.lock().wires() {
            wire.tell(LinkEvent::Changed(resource.cloned()));
        }
    }

    /// Time stops at this moment, so that the node can do what is due then.
    pub(super) fn ring_at(&self, due: Instant) {
        if let Some(timeline) = self.clock.timeline() {
            timeline.ring_at(due);
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, NodeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NodeState {
    pub(super) const fn down(&self) -> Option<&String> {
        self.down.as_ref()
    }

    /// When what was given at `given` is done; none if nothing is done.
    pub(super) fn due(&self, given: Instant) -> Option<Instant> {
        (!self.is_hung).then(|| given.saturating_add(self.delay))
    }

    /// The time as the node's clock has it.
    pub(super) fn now(&self, clock: Clock) -> Instant {
        clock.now().saturating_add(self.ahead)
    }

    /// Does what is asked, and tells the others of a change.
    pub(super) fn carry_out(
        &mut self,
        clock: Clock,
        by: &Arc<TestWire>,
        request: &Request,
    ) -> Vote {
        let wall = clock.wall().saturating_add(self.ahead);
        let request = request.as_seen_at(wall);
        let names: Vec<Resource> = request.resource().each().collect();
        let now = self.now(clock);
        let keys = |table: &Table| names.iter().map(|name| keys_of(table, now, name)).collect();
        let before: Vec<_> = keys(&self.table);
        let vote = self.table.apply(now, &request);
        let after: Vec<_> = keys(&self.table);
        for ((name, before), after) in names.iter().zip(before).zip(after) {
            if before != after {
                self.changed(name, by);
            }
        }
        vote
    }

    /// Tells of a change that came `by` this link.
    fn changed(&mut self, name: &Resource, by: &Arc<TestWire>) {
        self.wakers.drain(..).for_each(Waker::wake);
        for wire in self.wires() {
            // What came by the same link is no news.
            if !Arc::ptr_eq(&wire, by) {
                wire.tell(LinkEvent::Changed(Some(name.clone())));
            }
        }
    }

    fn wires(&mut self) -> Vec<Arc<TestWire>> {
        self.wires.retain(|wire| wire.strong_count() > 0);
        self.wires.iter().filter_map(Weak::upgrade).collect()
    }
}

/// What there is of a name: the key of who holds it, or those of all who read it.
fn keys_of(table: &Table, now: Instant, name: &Resource) -> Vec<Key> {
    let readers = table.readers(now, name);
    table
        .key(now, name)
        .into_iter()
        .chain(readers)
        .cloned()
        .collect()
}

/// The end of a sentence about what has no key called `resource`.
pub(super) fn nothing(resource: &Resource, locked: &BTreeSet<Resource>) -> String {
    let names: Vec<_> = locked
        .iter()
        .map(|name| format!("{:?}", name.as_str()))
        .collect();
    let others = match names.is_empty() {
        true => "nothing is locked at all".to_owned(),
        false => format!("what is locked is {}", names.join(", ")),
    };
    format!(
        "no key of the lock {:?} to lose: {others}. Acquire it first, or mend the name",
        resource.as_str()
    )
}

pub(super) fn name(resource: &str) -> Resource {
    Resource::new(resource).expect("a test names a resource by a name that one can have")
}
