//! What is modelled: how many clients and nodes, what they do, and what goes wrong.

mod broken;
mod lawful;

use crate::{clock::Rate, flaw::Flaw, news::News, world::Faults};

/// One world in all its courses.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) nodes: usize,
    pub(crate) clients: &'static [Habit],
    /// After how many ticks all let go.
    pub(crate) horizon: u8,
    pub(crate) releases: Way,
    pub(crate) faults: Faults,
    /// The first node's clock, and all others'.
    pub(crate) rates: (Rate, Rate),
    /// Whether nodes drop keys as soon as their TTL has passed. If not, a key that is over is still seen by
    /// the next request.
    pub(crate) sweeps: bool,
    /// Whether requests that were given up with a connection may be carried out later.
    pub(crate) is_haunted: bool,
    pub(crate) rule: Rule,
    /// What the server does that takes the place of the last node; none if no node is replaced.
    pub(crate) newcomer: Option<Newcomer>,
    pub(crate) law: Law,
}

/// What an application does, and how well it keeps time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Habit {
    /// How many acquisitions it may begin, and until when.
    pub(crate) acquires: u8,
    pub(crate) begins_by: u8,
    /// How many attempts each of them may make.
    pub(crate) tries: u32,
    pub(crate) extends: u8,
    pub(crate) cancels: u8,
    /// How often it may release what it has released.
    pub(crate) releases_again: u8,
    /// For how many ticks it waits for a lease at most.
    pub(crate) patience: Option<u32>,
    /// How often the whole process may stop, for any time: it neither hears nor asks until it goes on.
    pub(crate) stops: u8,
    /// Whether it may begin an acquisition while another goes on.
    pub(crate) is_greedy: bool,
    /// Whether it queues on the nodes.
    pub(crate) is_fair: bool,
    pub(crate) wants: Wanted,
    /// Whether it was started with the list of nodes that others have to learn.
    pub(crate) knows_the_new_list: bool,
    /// Whether its timers are heard in the tick in which they are due. If not, at any time from then on.
    pub(crate) is_punctual: bool,
}

/// What a client wants of the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All of it.
    Name,
    /// Another name, or both together.
    OtherName,
    BothNames,
    /// A share.
    Share,
    /// One of two permits, or one of three.
    OneOfTwo,
    OneOfThree,
}

/// How nodes vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// As they must.
    Lawful,
    /// They count who has permits, and do not look at slots.
    Counts,
    /// Of several names they grant those that are free, and leave out the others.
    InPart,
}

/// What a server does that takes the place of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Newcomer {
    /// It votes when all leases have ended that began before enough of the others were told the new list.
    Waits,
    /// It waits for as long, but from the time before that.
    WaitsTooEarly,
    /// It votes as soon as enough of the others were told.
    VotesAtOnce,
}

/// When a release is carried out for which nothing is in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As soon as it is given. What another client does between the two could as well come before both, unless
    /// it does it because it saw the release of another node: for that, and for releases that are lost, there
    /// are shapes in which they wait for their turn.
    AtOnce,
    /// When its turn comes, as that of any other request.
    InTurn,
}

/// Whether the assumptions of the protocol hold.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Law {
    /// They do: nothing may break, and all of this must happen.
    Kept(&'static [News]),
    /// They do not: this must break, or the checker is blind.
    Broken(Flaw),
}

impl Habit {
    /// One acquisition of one attempt, begun at any time before tick 3, timers heard.
    pub(crate) const ONCE: Self = Self {
        acquires: 1,
        begins_by: 3,
        tries: 1,
        extends: 0,
        cancels: 0,
        releases_again: 0,
        patience: None,
        stops: 0,
        is_greedy: false,
        is_fair: false,
        wants: Wanted::Name,
        knows_the_new_list: false,
        is_punctual: true,
    };
}

impl Shape {
    /// Those that run without being asked for by name, the large ones only if `large`.
    pub(crate) fn usual(large: bool) -> Vec<&'static Self> {
        let small = lawful::SMALL.iter().chain(&broken::CONTROLS);
        let large = lawful::LARGE.iter().filter(|_| large);
        small.chain(large).collect()
    }

    /// How many nodes make a quorum, by the book and not by the core.
    pub(crate) const fn needed(&self) -> usize {
        self.nodes / 2 + 1
    }

    /// How many servers there are: one more than nodes where one is replaced.
    pub(crate) const fn servers(&self) -> usize {
        self.nodes + self.newcomer.is_some() as usize
    }

    /// So many nodes are in every quorum, at least one of them.
    pub(crate) const fn blocking(&self) -> usize {
        self.nodes + 1 - self.needed()
    }

    pub(crate) const fn rate(&self, node: usize) -> Rate {
        if node == 0 {
            self.rates.0
        } else {
            self.rates.1
        }
    }

    /// Whether a flaw counts. A control looks for the one that must be found and lets others pass.
    pub(crate) fn watches(&self, flaw: Flaw) -> bool {
        match self.law {
            Law::Kept(_) => true,
            Law::Broken(expected) => flaw == expected,
        }
    }
}
