//! Who waits for a resource, in the order of their tickets: what a node knows of those who want a fair lock.
//!
//! A ticket is drawn once and stays the same on all nodes, so that they agree on who is next. It only adds reasons to
//! refuse: a waiter that is not next gets nothing, and the next gets what it would have got without a queue. So no
//! safety rests on any of this, and a queue that is lost, late or wrong costs order and time and nothing else.
//!
//! A waiter that dies in the queue would keep all others waiting. So a place is kept for [`Queue::LIFE`] by the
//! node's own clock, and a waiter that is still there asks again before that: nobody's clock is compared with another's.

use crate::{permit::PermitCount, resource::Wanted, time::Instant};
use alloc::vec::Vec;
use core::{fmt, time::Duration};

/// The number of the request to leave, where those of attempts begin at 0.
pub(crate) const LEAVING: u32 = u32::MAX;

/// One who waits: the same over all its attempts, and no secret. Two that share a number share a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Waiter(u64);

impl Waiter {
    /// The waiter with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The waiter with this number, but for its two highest bits, which say what it wants.
    pub(crate) const fn wanting(number: u64, what: Wanted) -> Self {
        let what = match what {
            Wanted::Name => 0,
            Wanted::Permit => PERMITS,
            Wanted::Share => READS,
        };
        Self(number & !(READS | PERMITS) | what)
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Whether it wants a share: those who do wait only for those who do not.
    #[must_use]
    pub const fn reads(self) -> bool {
        self.0 & READS != 0
    }

    /// Whether it wants a permit: as many of these as there are permits left are next at the same time.
    const fn wants_permit(self) -> bool {
        self.0 & (READS | PERMITS) == PERMITS
    }
}

/// The highest bits, so that they show in the first of a waiter's digits: 8 or more, and 4 to 7.
const READS: u64 = 1 << 63;
const PERMITS: u64 = 1 << 62;

/// Sixteen hexadecimal digits, as it stands on the nodes.
impl fmt::Display for Waiter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:016x}", self.0)
    }
}

/// When somebody came, as a number: the smaller is served first. Of two that are alike, the smaller [`Waiter`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

impl Ticket {
    /// The largest: the last whole number that a double keeps apart from its neighbours.
    pub const LAST: Self = Self((1 << 53) - 1);

    /// The ticket of this number; none if it is beyond [`LAST`](Self::LAST).
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        if number <= Self::LAST.0 {
            Some(Self(number))
        } else {
            None
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The ticket of a waiter that comes behind `largest` and proposes `proposal`: the rule by which counters grow. A clock
    /// that is slow does not come before those who wait already.
    fn behind(largest: Option<Self>, proposal: u64) -> Self {
        let next = largest.map_or(0, |largest| largest.0.saturating_add(1));
        Self(next.max(proposal).min(Self::LAST.0))
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// What a caller that asks for a fair lock says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a link carries both fields")]
pub struct Place {
    /// Who asks.
    pub waiter: Waiter,
    /// Its ticket; none if it has not drawn one yet.
    pub ticket: Option<Ticket>,
}

/// What a node tells a caller that it puts into the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "links make it, field by field")]
pub struct Queued {
    /// Its ticket on this node.
    pub ticket: Ticket,
    /// How many come before it.
    pub ahead: u32,
    /// What it waits for.
    pub barrier: Barrier,
}

/// Why somebody in the queue is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "there is a key, or somebody comes before"
)]
pub enum Barrier {
    /// The key is there.
    Key,
    /// There is none, but others come first. The first of them keeps its place for the remaining time that is told.
    Queue,
}

/// Those who wait for one resource on one node, in no order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Queue(Vec<Entry>);

/// Somebody's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_structs,
    reason = "stores write it down and read it back"
)]
pub struct Entry {
    /// Whose.
    pub waiter: Waiter,
    /// Its ticket.
    pub ticket: Ticket,
    /// Until when it is kept, by the node's clock.
    pub ends: Instant,
}

/// Where somebody stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) ticket: Ticket,
    pub(crate) ahead: u32,
    /// For how long the first of those before it keeps its place.
    pub(crate) first_left: Option<Duration>,
}

impl Queue {
    /// For how long a place is kept unless its waiter asks again.
    pub const LIFE: Duration = Duration::from_secs(3);

    /// How many have a place. A caller that comes when all are taken draws a ticket all the same, and gets a place by it when
    /// there is one.
    pub const MOST: usize = 128;

    /// The queue of these.
    #[must_use]
    pub fn new(entries: Vec<Entry>) -> Self {
        Self(entries)
    }

    /// All places, those that are over included.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// Whether nobody waits at `now`.
    #[must_use]
    pub fn is_over(&self, now: Instant) -> bool {
        self.living(now).next().is_none()
    }

    /// Where `place` stands, of which `proposal` is the smallest ticket that a newcomer wants. To one that wants one of so many
    /// `permits`, each that wants anything else counts for all of these: it needs that nobody has one.
    pub(crate) fn position(
        &self,
        now: Instant,
        place: Place,
        proposal: u64,
        permits: Option<PermitCount>,
    ) -> Position {
        let own = |entry: &Entry| entry.waiter == place.waiter;
        let before = self.living(now).find(|entry| own(entry));
        let largest = self.living(now).map(|entry| entry.ticket).max();
        let ticket = place
            .ticket
            .or(before.map(|entry| entry.ticket))
            .unwrap_or_else(|| Ticket::behind(largest, proposal));
        let others = || {
            self.living(now).filter(|entry| {
                let both_read = place.waiter.reads() && entry.waiter.reads();
                let comes_before = (entry.ticket, entry.waiter) < (ticket, place.waiter);
                comes_before && !both_read && !own(entry)
            })
        };
        let first = others().min_by_key(|entry| (entry.ticket, entry.waiter));
        let counts_for = |entry: &Entry| match permits {
            Some(of) if !entry.waiter.wants_permit() => u32::from(of.get()),
            _ => 1,
        };
        Position {
            ticket,
            ahead: others().map(counts_for).sum(),
            first_left: first.map(|first| first.ends.saturating_since(now)),
        }
    }

    /// The queue with this waiter in it, if there is room, and without those that are over.
    pub(crate) fn with(&self, now: Instant, waiter: Waiter, ticket: Ticket) -> Self {
        let mut queue = self.without(now, waiter);
        if queue.0.len() < Self::MOST {
            let ends = now.saturating_add(Self::LIFE);
            queue.0.push(Entry {
                waiter,
                ticket,
                ends,
            });
        }
        queue
    }

    /// The queue without this waiter, and without those that are over.
    pub(crate) fn without(&self, now: Instant, waiter: Waiter) -> Self {
        let others = self.living(now).filter(|entry| entry.waiter != waiter);
        Self(others.copied().collect())
    }

    fn living(&self, now: Instant) -> impl Iterator<Item = &Entry> {
        // A clock that was set back would keep a place for as long as it was set back.
        let longest = now.saturating_add(Self::LIFE);
        self.0
            .iter()
            .filter(move |entry| entry.ends > now && entry.ends <= longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    fn ticket(number: u64) -> Ticket {
        Ticket::new(number).expect("in range")
    }

    fn place(waiter: u64, number: Option<u64>) -> Place {
        Place {
            waiter: Waiter::new(waiter),
            ticket: number.map(ticket),
        }
    }

    /// Puts somebody in, and tells its ticket and how many come before it.
    fn enter(queue: &mut Queue, now: Instant, place: Place, proposal: u64) -> (u64, u32) {
        let position = queue.position(now, place, proposal, None);
        *queue = queue.with(now, place.waiter, position.ticket);
        (position.ticket.get(), position.ahead)
    }

    #[test]
    fn whoever_comes_later_has_a_larger_ticket_whatever_its_clock_says() {
        let mut queue = Queue::default();
        assert_eq!(enter(&mut queue, at(0), place(9, None), 50), (50, 0));
        assert_eq!(enter(&mut queue, at(0), place(1, None), 7), (51, 1));
        assert_eq!(enter(&mut queue, at(0), place(5, None), 90), (90, 2));
        assert_eq!(enter(&mut queue, at(0), place(1, None), 99), (51, 1));
        assert_eq!(enter(&mut queue, at(0), place(5, Some(51)), 99), (51, 2));
        assert_eq!(enter(&mut queue, at(0), place(0, Some(51)), 99), (51, 1));
    }

    #[test]
    fn the_last_ticket_and_none_behind_it_is_told_from_its_neighbours_by_a_double() {
        assert_eq!(Ticket::LAST.get(), 0x1f_ffff_ffff_ffff, "53 bits");
        assert_eq!(Ticket::new(Ticket::LAST.get() + 1), None);
    }

    #[test]
    fn a_place_is_kept_for_its_life_unless_its_waiter_asks_again() {
        let mut queue = Queue::default();
        enter(&mut queue, at(0), place(1, None), 1);
        enter(&mut queue, at(2_000), place(2, None), 1);
        let position = queue.position(at(2_999), place(2, None), 1, None);
        assert_eq!(position.ahead, 1);
        assert_eq!(position.first_left, Some(Duration::from_millis(1)));
        assert_eq!(queue.position(at(3_000), place(2, None), 1, None).ahead, 0);
        enter(&mut queue, at(2_999), place(1, None), 1);
        assert_eq!(queue.position(at(4_999), place(2, None), 1, None).ahead, 1);
        assert!(!queue.is_over(at(5_998)));
        assert!(queue.is_over(at(5_999)));
    }

    #[test]
    fn a_clock_that_was_set_back_keeps_no_place() {
        let mut queue = Queue::default();
        enter(&mut queue, at(100_000), place(1, None), 1);
        assert_eq!(queue.position(at(99_999), place(2, None), 9, None).ahead, 0);
        assert_eq!(queue.with(at(5), Waiter::new(2), ticket(9)).0.len(), 1);
    }

    #[test]
    fn a_queue_that_is_full_takes_nobody_in_and_gives_tickets_all_the_same() {
        let mut queue = Queue::default();
        let most = u64::try_from(Queue::MOST).expect("a small number");
        for waiter in 0..most {
            enter(&mut queue, at(0), place(waiter, None), 0);
        }
        assert_eq!(enter(&mut queue, at(0), place(most, None), 0), (most, 128));
        assert_eq!(queue.entries().len(), Queue::MOST);
        queue = queue.without(at(0), Waiter::new(7));
        assert_eq!(
            enter(&mut queue, at(0), place(most, Some(most)), 0),
            (most, 127)
        );
        assert_eq!(queue.entries().len(), Queue::MOST);
    }

    #[test]
    fn those_who_read_wait_for_those_who_do_not_and_not_for_each_other() {
        let [one, two] = [1, 2].map(|number| Waiter::wanting(number, Wanted::Share).number());
        let mut queue = Queue::default();
        assert_eq!(enter(&mut queue, at(0), place(one, None), 10), (10, 0));
        assert_eq!(enter(&mut queue, at(0), place(3, None), 0), (11, 1));
        assert_eq!(enter(&mut queue, at(0), place(two, None), 0), (12, 1));
        assert_eq!(enter(&mut queue, at(0), place(4, None), 0), (13, 3));
        queue = queue.without(at(0), Waiter::new(3));
        assert_eq!(enter(&mut queue, at(0), place(two, None), 0), (12, 0));
        assert!(!Waiter::wanting(u64::MAX, Wanted::Name).reads());
    }

    #[test]
    fn whoever_wants_a_permit_comes_behind_all_who_want_anything_else() {
        let waiter = |number, what| Waiter::wanting(number, what).number();
        let of = PermitCount::new(5);
        let mut queue = Queue::default();
        enter(
            &mut queue,
            at(0),
            place(waiter(1, Wanted::Permit), None),
            10,
        );
        enter(&mut queue, at(0), place(waiter(2, Wanted::Permit), None), 0);
        let third = place(waiter(3, Wanted::Permit), None);
        let ahead = |queue: &Queue| queue.position(at(0), third, 90, of).ahead;
        assert_eq!(ahead(&queue), 2);
        for (number, what) in [(4, Wanted::Name), (5, Wanted::Share)] {
            enter(&mut queue, at(0), place(waiter(number, what), None), 0);
        }
        assert_eq!(ahead(&queue), 2 + 5 + 5);
        assert!(!Waiter::wanting(u64::MAX, Wanted::Share).wants_permit());
    }

    #[test]
    fn the_numbers_end_where_doubles_do() {
        let mut queue = Queue::default();
        enter(&mut queue, at(0), place(1, Some(Ticket::LAST.get())), 0);
        let (last, ahead) = enter(&mut queue, at(0), place(2, None), u64::MAX);
        assert_eq!((last, ahead), (Ticket::LAST.get(), 1));
    }
}
