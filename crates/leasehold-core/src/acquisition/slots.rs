//! Which of several permits is asked for. No safety rests on it: each is locked as a name is, and this only says where to try.

use super::Acquisition;
use crate::{
    local_queue::SlotsHere,
    node_set::NodeId,
    owner::Owner,
    permit::{Permit, PermitCount, SlotSet, TakenPermits},
    request::Refusal,
    round::Round,
    time::Instant,
};
use alloc::vec::Vec;

/// What an acquisition of a permit knows of the slots.
#[derive(Clone, Debug, Hash)]
pub(super) struct SlotSearch {
    of: PermitCount,
    /// The one that it asks for now.
    slot: Option<u16>,
    /// Where it looks first.
    start: u16,
    /// What is in use by others of this engine, as of the last attempt.
    here: SlotSet,
    /// What nodes told that refused: which slots are taken, until when.
    seen: Vec<(NodeId, Vec<(u16, Instant)>)>,
    /// How often in a row it went on to another slot without a pause.
    moves: u32,
    /// Whether the next attempt goes on to another slot.
    moves_on: bool,
    /// The slot that was asked for last, in vain.
    left: Option<u16>,
}

impl SlotSearch {
    /// Callers begin at slots of their own, so that they seldom meet.
    pub(super) fn new(of: PermitCount, throw: u64) -> Self {
        let start = throw.checked_rem(u64::from(of.get())).unwrap_or_default();
        Self {
            of,
            slot: None,
            start: u16::try_from(start).unwrap_or_default(),
            here: SlotSet::default(),
            seen: Vec::new(),
            moves: 0,
            moves_on: false,
            left: None,
        }
    }

    /// All slots, the ones first at which it looks first.
    fn all(&self) -> impl Iterator<Item = u16> {
        let start = self.start.min(self.of.get());
        (start..self.of.get()).chain(0..start)
    }

    /// On how many nodes a slot is known to be taken.
    fn taken(&self, now: Instant, slot: u16) -> usize {
        let is_taken = |(other, ends): &(u16, Instant)| *other == slot && *ends > now;
        let each = self.seen.iter().map(|(_, taken)| taken.iter());
        each.filter(|taken| taken.clone().any(is_taken)).count()
    }

    /// Whether a slot can be had, as far as is known, where so many nodes can be spared.
    fn is_free(&self, now: Instant, slot: u16, spare: usize) -> bool {
        let taken = self.taken(now, slot);
        taken == 0 || (taken <= spare && taken < self.seen.len())
    }

    /// The slot to ask for.
    fn choose(&mut self, now: Instant, here: SlotsHere, spare: usize) -> u16 {
        let left = self.left.filter(|_| self.moves_on);
        let is_other = |slot: &u16| !here.in_use.contains(*slot) && Some(*slot) != left;
        let others = || self.all().filter(is_other);
        let free = || others().filter(|slot| self.is_free(now, *slot, spare));
        let least = free().min_by_key(|slot| self.taken(now, *slot));
        let first_to_end = others().min_by_key(|slot| self.ends(*slot));
        // What was given back here is free, unless others have taken it since, and its release leaves before the vote. What
        // nodes have just told is newer.
        let given_back = here.given_back.filter(|_| !self.moves_on);
        let slot = given_back.or(least).or(first_to_end);
        let slot = slot.unwrap_or(self.start);
        (self.slot, self.here) = (Some(slot), here.in_use);
        slot
    }

    /// When a slot is free on all nodes, as far as they told.
    fn ends(&self, slot: u16) -> Option<Instant> {
        let taken = self.seen.iter().flat_map(|(_, taken)| taken);
        let ends = taken.filter(|(other, _)| *other == slot);
        ends.map(|(_, ends)| *ends).max()
    }

    fn learn(&mut self, now: Instant, node: NodeId, refusal: &Refusal) {
        self.forget(node);
        let taken = refusal.permits.iter().filter(|taken| taken.of == self.of);
        let ends = |(slot, left): &(u16, _)| (*slot, now.saturating_add(*left));
        for taken in taken {
            let taken = taken.slots.iter().map(ends).collect();
            self.seen.push((node, taken));
        }
    }

    fn forget(&mut self, node: NodeId) {
        self.seen.retain(|(other, _)| *other != node);
    }
}

impl Acquisition {
    /// Whether it wants a permit.
    pub(crate) const fn wants_permit(&self) -> bool {
        self.search.is_some()
    }

    /// The slot that it asks for now, or has won.
    pub(crate) fn slot(&self) -> Option<u16> {
        self.search.as_ref()?.slot
    }

    /// The owner of an attempt, which tells its slot if it is for a permit; none if what is taken over has a slot that there is none
    /// of.
    pub(super) fn signed(
        &mut self,
        now: Instant,
        owner: Owner,
        random: &[u8; 20],
        here: SlotsHere,
    ) -> Option<Owner> {
        let former = self.from.as_ref().and_then(Owner::permit);
        let spare = self.quorum.spare();
        let Some(search) = &mut self.search else {
            return Some(owner);
        };
        let slot = match former {
            // What is taken over stays where it is.
            Some(former) => former.slot(),
            None => search.choose(now, here, spare),
        };
        search.moves_on = false;
        // Argument S3: an owner without a slot would be a reader's.
        let permit = Permit::new(slot, search.of)?;
        Some(Owner::of_permit(random, permit, &owner))
    }

    /// An attempt has failed: its slot is asked for no longer.
    pub(super) fn leave_slot(&mut self) {
        if let Some(search) = &mut self.search {
            search.slot = None;
        }
    }

    /// A node's slots may be others now.
    pub(super) fn slots_changed(&mut self, node: NodeId) {
        if let Some(search) = &mut self.search {
            search.forget(node);
        }
    }

    /// An attempt has failed. Says whether another slot is free, which is asked for without a pause: that is the same try, since
    /// it has not looked at all slots yet. Where more nodes are `silent` than can be spared, no other slot can be had either.
    pub(super) fn has_another_slot(&mut self, now: Instant, round: &Round, silent: usize) -> bool {
        let (spare, takes_over) = (self.quorum.spare(), self.takes_over());
        let Some(search) = &mut self.search else {
            return false;
        };
        for (node, refusal) in round.refusals() {
            search.learn(now, *node, refusal);
        }
        let are_enough = silent <= spare;
        search.left = search.slot.take();
        // Where a queue is in the way, another slot is of no use.
        let is_next = |(_, refusal): &(NodeId, Refusal)| refusal.is_next_permit();
        let was_told = !search.seen.is_empty() && round.refusals().iter().all(is_next);
        let can_move = |slot: u16| {
            let is_other = Some(slot) != search.left && !search.here.contains(slot);
            is_other && search.is_free(now, slot, spare)
        };
        let is_free = search.of.slots().any(can_move);
        let can_go_on = are_enough && was_told && is_free && !takes_over;
        search.moves_on = can_go_on && search.moves < MOST_MOVES;
        search.moves = if search.moves_on {
            search.moves.saturating_add(1)
        } else {
            0
        };
        search.moves_on
    }

    /// Whether the attempt that begins goes on to another slot, in the same try.
    pub(super) fn moves_on(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.moves_on)
    }

    /// The permits that others have, if nodes told that these are not as many as ours, and that is why the vote is lost: one of us
    /// is wrong. That takes more nodes than can be spared, of which some may be silent if none has granted.
    pub(super) fn other_permits<'a>(&self, round: &'a Round) -> Option<&'a TakenPermits> {
        let spare = self.quorum.spare();
        let first = self.told_others(round).next()?;
        let told = self.told_others(round).count();
        let (granted, unknown) = (round.tally().granted(), round.tally().unknown());
        let silent = if granted.is_empty() { unknown.len() } else { 0 };
        (silent <= spare && told.saturating_add(silent) > spare).then_some(first)
    }

    /// What nodes told of permits that are not as many as ours.
    pub(super) fn told_others<'a>(
        &self,
        round: &'a Round,
    ) -> impl Iterator<Item = &'a TakenPermits> {
        let of = self.search.as_ref().map(|search| search.of);
        let told = round.refusals().iter();
        let told = told.filter_map(|(_, refusal)| refusal.permits.as_deref());
        told.filter(move |taken| of.is_some_and(|of| taken.of != of))
    }
}

/// How often in a row another slot is tried without a pause: others may be as quick, and take what was seen to be free.
const MOST_MOVES: u32 = 8;

/// Which of the seed's throws says where to look first: none of those for pauses, calls and extensions, and not the waiter's.
pub(super) const START: u32 = u32::MAX - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use core::time::Duration;

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    fn node(index: usize) -> NodeId {
        NodeId::new(index).expect("a node")
    }

    fn search(of: u16, start: u64) -> SlotSearch {
        SlotSearch::new(PermitCount::new(of).expect("in range"), start)
    }

    fn taken(of: u16, slots: &[(u16, u64)]) -> Refusal {
        let slots = slots
            .iter()
            .map(|(slot, left)| (*slot, Duration::from_millis(*left)));
        Refusal {
            permits: Some(Box::new(TakenPermits {
                of: PermitCount::new(of).expect("in range"),
                slots: slots.collect(),
            })),
            ..Refusal::default()
        }
    }

    fn here(in_use: &[u16], given_back: Option<u16>) -> SlotsHere {
        SlotsHere {
            in_use: in_use.iter().copied().collect(),
            given_back,
        }
    }

    #[test]
    fn a_caller_asks_for_what_nobody_is_known_to_have() {
        let mut search = search(4, 6);
        assert_eq!(search.choose(at(0), here(&[], None), 1), 2);
        assert_eq!(search.choose(at(0), here(&[2, 3], None), 1), 0);
        assert_eq!(
            search.choose(at(0), here(&[2], Some(1)), 1),
            1,
            "it was given back"
        );
        for index in [0, 1] {
            search.learn(at(0), node(index), &taken(4, &[(2, 50), (3, 20), (1, 30)]));
        }
        assert_eq!(search.choose(at(1), here(&[], None), 1), 0);
        // All are taken: the one that ends first.
        assert_eq!(search.choose(at(1), here(&[0], None), 1), 3);
        assert_eq!(
            search.choose(at(35), here(&[0, 3], None), 1),
            1,
            "it has ended"
        );
        assert_eq!(search.choose(at(1), here(&[0, 1, 2, 3], None), 1), 2);
    }

    #[test]
    fn a_slot_that_one_node_has_kept_is_asked_for_if_nothing_else_is_free() {
        let mut search = search(2, 0);
        search.learn(at(0), node(0), &taken(2, &[(0, 50), (1, 50)]));
        assert!(!search.is_free(at(0), 0, 1), "one node alone has told");
        search.learn(at(0), node(1), &taken(2, &[(1, 50)]));
        assert!(search.is_free(at(0), 0, 1) && !search.is_free(at(0), 1, 1));
        assert!(!search.is_free(at(0), 0, 0), "none can be spared");
        search.forget(node(0));
        assert!(search.is_free(at(0), 0, 0));
        search.learn(at(0), node(1), &taken(3, &[(0, 50)]));
        assert!(search.is_free(at(0), 0, 0), "those are other permits");
    }
}
