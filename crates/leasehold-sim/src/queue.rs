//! What happens next.

use crate::{check::store::Write, fault::Kind, network::Parcel, time::Moment};
use leasehold_core::{Identity, Reading, Resource, Tag, Vote};
use std::{cmp::Ordering, collections::BinaryHeap, rc::Rc};

/// Something that happens at a moment. Numbers, not references: a connection that broke or a process
/// that died leaves events behind that are recognised by their epoch or generation as stale.
#[derive(Debug)]
pub(crate) enum Event {
    /// The first request on its way over the connection reaches the node.
    Arrive { link: usize, epoch: u32 },
    /// The first answer on its way over the connection reaches the client.
    Return { link: usize, epoch: u32 },
    /// A request of a connection that is no more is carried out; nobody is told.
    Ghost {
        node: usize,
        parcel: Rc<Parcel>,
        met: Option<Identity>,
    },
    /// A request that travels alone reaches the node.
    Datagram {
        link: usize,
        generation: u32,
        parcel: Rc<Parcel>,
    },
    /// The answer to it reaches the client.
    Echo(Box<Echo>),
    /// A hint that travels alone reaches the client.
    Hint {
        link: usize,
        generation: u32,
        resource: Option<Resource>,
    },
    /// The connection breaks.
    Break { link: usize, epoch: u32 },
    /// The client notices that the connection broke.
    Detect { link: usize, epoch: u32 },
    /// The client tries to connect.
    Connect { link: usize, epoch: u32 },
    /// A timer of the client's engine.
    Wake { client: usize, generation: u32 },
    /// A stopped process goes on.
    Resume { client: usize, generation: u32 },
    /// A process that died is started again.
    Restart { client: usize },
    /// The application of the client does the next thing.
    Act {
        client: usize,
        slot: usize,
        ticket: u32,
    },
    /// The application of the client gets to see what it was told.
    Mail { client: usize, generation: u32 },
    /// Something goes wrong.
    Fault(Kind),
    /// Somebody writes to what a lock protects.
    Write(Box<Write>),
    /// The settings of a node's log are back, or it has been rewritten.
    Log { node: usize },
    /// A node is back.
    NodeBack { node: usize },
    /// An operator deletes what stands under a name on a node.
    Delete { node: usize, resource: usize },
    /// An operator goes on replacing a node.
    Replace,
    /// Somebody looks at those who wait, and at those whose keys are gone.
    Look,
    /// The world enters its next phase.
    Phase,
}

/// An answer that travels alone.
#[derive(Debug)]
pub(crate) struct Echo {
    pub(crate) link: usize,
    pub(crate) generation: u32,
    pub(crate) tag: Tag,
    pub(crate) vote: Vote,
    pub(crate) reading: Option<Reading>,
}

/// Events in the order of their moments; those of one moment in the order in which they were planned.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Entry>,
    planned: u64,
    taken: u64,
}

#[derive(Debug)]
struct Entry {
    at: Moment,
    number: u64,
    event: Event,
}

impl Queue {
    pub(crate) fn plan(&mut self, at: Moment, event: Event) {
        let number = self.planned;
        self.planned += 1;
        self.heap.push(Entry { at, number, event });
    }

    pub(crate) fn take(&mut self) -> Option<(Moment, Event)> {
        let Entry { at, event, .. } = self.heap.pop()?;
        self.taken += 1;
        Some((at, event))
    }

    /// How many events have happened.
    pub(crate) const fn taken(&self) -> u64 {
        self.taken
    }
}

impl Ord for Entry {
    /// The earliest is the greatest, as the heap wants it.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}
