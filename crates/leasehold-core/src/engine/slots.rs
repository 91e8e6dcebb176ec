//! Everything that is under way, each thing in a slot of its own.

use super::{
    index::{Index, SlotKey},
    timers::Timers,
};
use crate::{
    acquisition::Acquisition,
    extension::Extension,
    inquiry::Inquiry,
    releasing::Releasing,
    renewal::Renewal,
    request::{AttemptId, OperationId},
    time::Instant,
};
use alloc::{boxed::Box, vec::Vec};
use core::hash::{Hash, Hasher};

/// What can be under way.
#[derive(Clone, Debug, Hash)]
pub(super) enum Work {
    Acquiring(Acquisition),
    /// A lease in somebody's hands, in the slot of the acquisition that won it.
    Held(Renewal),
    /// Of a lease in the lease's slot; of an attempt that was given up while its acquisition goes on, in a slot of its own.
    Releasing(Releasing),
    Asking(Inquiry),
    /// An extension of a lease that is nobody's here.
    Prolonging(Extension),
    /// On its way from one of these to the next.
    Between,
}

impl Work {
    /// In which order things are done that are due at the same time.
    const fn rank(&self) -> u8 {
        match self {
            Self::Acquiring(_) => 0,
            Self::Held(_) => 1,
            Self::Releasing(_) => 2,
            Self::Asking(_) => 3,
            Self::Prolonging(_) => 4,
            Self::Between => 5,
        }
    }

    pub(super) const fn is_acquiring(&self) -> bool {
        matches!(self, Self::Acquiring(_))
    }

    pub(super) const fn is_held(&self) -> bool {
        matches!(self, Self::Held(_))
    }

    pub(super) const fn releasing(&self) -> Option<&Releasing> {
        match self {
            Self::Releasing(releasing) => Some(releasing),
            _ => None,
        }
    }

    /// The attempt whose answers it wants, if it wants those of one alone.
    const fn attempt_id(&self) -> Option<AttemptId> {
        match self {
            Self::Held(renewal) => Some(renewal.attempt_id()),
            Self::Releasing(releasing) => Some(releasing.attempt_id()),
            _ => None,
        }
    }

    /// Whether it asks the nodes under this attempt now.
    fn asks_as(&self, id: AttemptId) -> bool {
        match self {
            Self::Acquiring(acquisition) => acquisition.asks_as(id),
            work => work.attempt_id() == Some(id),
        }
    }
}

/// Where something stands, until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotNumber(u32);

/// Slots by operation and attempt, and the time of each.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    slots: Vec<Option<Box<Slot>>>,
    free: Vec<u32>,
    /// Room of slots that are gone, for the next ones.
    #[expect(clippy::vec_box, reason = "the boxes are what is kept")]
    spare: Vec<Box<Slot>>,
    index: Index,
    timers: Timers<(u8, SlotKey)>,
}

#[derive(Clone, Debug, Hash)]
struct Slot {
    key: SlotKey,
    work: Work,
    wake_at: Option<Instant>,
}

impl Slots {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
            index: Index::default(),
            timers: Timers::new(),
        }
    }

    /// Something new. It sleeps until its first turn.
    #[inline]
    pub(super) fn insert(&mut self, key: SlotKey, work: Work) -> SlotNumber {
        let slot = match self.spare.pop() {
            // What is spare has no time.
            Some(mut room) => {
                room.key = key;
                room.work = work;
                room
            }
            None => Box::new(Slot {
                key,
                work,
                wake_at: None,
            }),
        };
        let number = self.free.pop().unwrap_or_else(|| {
            let number = u32::try_from(self.slots.len()).expect("memory ends before numbers do");
            self.slots.push(None);
            number
        });
        if let Some(free) = self.slots.get_mut(index(number)) {
            *free = Some(slot);
        }
        self.index.insert(key, number);
        SlotNumber(number)
    }

    /// Where the answers to this attempt belong. Slots are used again and again: it is by operation and attempt that one
    /// is found, and never by its number.
    #[inline]
    pub(super) fn of(&self, attempt: AttemptId) -> Option<SlotNumber> {
        let own = self
            .index
            .get(SlotKey::of(attempt.operation))
            .map(SlotNumber);
        let work = own.and_then(|place| self.work(place));
        if work.is_some_and(|work| work.asks_as(attempt)) {
            return own;
        }
        self.of_other(attempt, own)
    }

    /// The same, if the operation does not ask under this attempt now.
    #[inline(never)]
    fn of_other(&self, attempt: AttemptId, own: Option<SlotNumber>) -> Option<SlotNumber> {
        let given_up = || {
            self.index
                .get(SlotKey::of_given_up(attempt))
                .map(SlotNumber)
        };
        let hears_all = |place: &SlotNumber| {
            let work = self.work(*place);
            work.is_some_and(|work| work.attempt_id().is_none())
        };
        // Argument S5: what an attempt hears that was given up is for its release, while its acquisition goes on.
        // Argument S7: what is held or taken back hears what its own attempt has asked, and nothing else.
        given_up().or_else(|| own.filter(hears_all))
    }

    /// Where this operation is, if it does such work.
    pub(super) fn find(
        &self,
        operation: OperationId,
        is_it: impl Fn(&Work) -> bool,
    ) -> Option<SlotNumber> {
        let place = self.index.get(SlotKey::of(operation)).map(SlotNumber)?;
        self.work(place).is_some_and(is_it).then_some(place)
    }

    /// Where all such work is done, in the order of the operations and their attempts.
    pub(super) fn all(&self, is_it: impl Fn(&Work) -> bool) -> Vec<SlotNumber> {
        let mut all: Vec<_> = (0..)
            .zip(&self.slots)
            .filter_map(|(number, slot)| Some((slot.as_ref()?, SlotNumber(number))))
            .filter(|(slot, _)| is_it(&slot.work))
            .map(|(slot, place)| (slot.order(), place))
            .collect();
        all.sort_unstable_by_key(|(key, _)| *key);
        all.into_iter().map(|(_, place)| place).collect()
    }

    /// Whether something is true of any work.
    pub(super) fn any(&self, is_it: impl Fn(&Work) -> bool) -> bool {
        self.slots.iter().flatten().any(|slot| is_it(&slot.work))
    }

    pub(super) fn work(&self, place: SlotNumber) -> Option<&Work> {
        Some(&self.slot(place)?.work)
    }

    pub(super) fn work_mut(&mut self, place: SlotNumber) -> Option<&mut Work> {
        let slot = self.slots.get_mut(index(place.0))?.as_mut()?;
        Some(&mut slot.work)
    }

    /// Who asked for what is done here.
    pub(super) fn operation(&self, place: SlotNumber) -> Option<OperationId> {
        Some(self.slot(place)?.key.operation)
    }

    /// Wakes this then, and not before; never, if that is none.
    pub(super) fn wake(&mut self, place: SlotNumber, at: Option<Instant>) {
        let Some(slot) = self.slots.get_mut(index(place.0)).and_then(Option::as_mut) else {
            return;
        };
        // Most turns leave it as it was.
        if slot.wake_at != at {
            slot.wake_at = at;
            let key = slot.order();
            self.timers.set(place.0, at.map(|at| (at, key)));
        }
    }

    /// When the next is to be woken.
    pub(super) fn next(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// What is to be woken now. Whatever is taken has no time until its next turn.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<SlotNumber> {
        let number = self.timers.take_due(now)?;
        let slot = self.slots.get_mut(index(number))?.as_mut()?;
        slot.wake_at = None;
        Some(SlotNumber(number))
    }

    /// Takes the work out of its slot, for what follows from it. The slot stays.
    pub(super) fn take(&mut self, place: SlotNumber) -> Option<Work> {
        let work = self.work_mut(place)?;
        Some(core::mem::replace(work, Work::Between))
    }

    /// What follows from the work that was taken, and when it is to be woken.
    pub(super) fn put(&mut self, place: SlotNumber, work: Work, at: Option<Instant>) {
        if let Some(slot) = self.slots.get_mut(index(place.0)).and_then(Option::as_mut) {
            (slot.work, slot.wake_at) = (work, at);
            let key = slot.order();
            self.timers.set(place.0, at.map(|at| (at, key)));
        }
    }

    pub(super) fn remove(&mut self, place: SlotNumber) {
        self.wake(place, None);
        let slot = self.slots.get_mut(index(place.0)).and_then(Option::take);
        if let Some(mut slot) = slot {
            self.index.remove(slot.key, place.0);
            self.free.push(place.0);
            slot.work = Work::Between;
            if self.spare.len() < SPARE {
                self.spare.push(slot);
            }
        }
        // What a rush has needed is given back when nothing is under way any more.
        if self.free.len() == self.slots.len() && self.slots.len() > KEPT {
            *self = Self::new();
        }
    }

    fn slot(&self, place: SlotNumber) -> Option<&Slot> {
        self.slots.get(index(place.0))?.as_deref()
    }
}

impl Slot {
    /// Its place among those that are due at the same time.
    const fn order(&self) -> (u8, SlotKey) {
        (self.work.rank(), self.key)
    }
}

/// By what is under way alone: in which slots it stands, and which are free, changes nothing.
impl Hash for Slots {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let all = self.all(|_| true);
        all.len().hash(state);
        for place in all {
            self.slot(place).hash(state);
        }
    }
}

/// How many slots that are gone leave their room to the next ones.
const SPARE: usize = 256;

/// How many slots are kept although nothing is under way.
const KEPT: usize = 1_024;

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
