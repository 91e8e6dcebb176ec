//! A node, and what is under way between it and the attempts.

use super::shape::Way;
use crate::client::RESOURCE;
use leasehold_core::{FencingToken, Instant, Owner, Request, Table, Ttl, Vote};
use std::{sync::LazyLock, time::Duration};

/// A node with its table. Counted along, and known to nobody: how often its key was set.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Site {
    table: Table,
    turns: u8,
    desks: Vec<Desk>,
}

/// What there is between the node and one attempt.
#[derive(Clone, Copy, Debug, Hash)]
struct Desk {
    /// In which turn the attempt had the key last.
    turn: u8,
    legs: [Leg; Message::ALL.len()],
}

/// One request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Leg {
    /// Nothing is under way.
    Idle,
    /// The request was sent.
    Asked,
    /// The node has carried it out.
    Told(Answer),
    /// The node has refused it.
    Refused,
}

/// What a node tells when it has done what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Answer {
    pub(crate) counter: FencingToken,
    /// In which turn, which is not told.
    pub(crate) turn: u8,
}

/// The requests of an attempt to one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Acquire,
    /// The same, carried out for a second time by a node that grants what it finds: as a repair, which may find its key. A
    /// first vote that finds it is told so, and can do less.
    AcquireAgain,
    Raise(FencingToken),
    RaiseAgain(FencingToken),
}

impl Message {
    const ALL: [Self; 4] = [
        Self::Acquire,
        Self::AcquireAgain,
        Self::Raise(FencingToken::FIRST),
        Self::RaiseAgain(FencingToken::FIRST),
    ];

    const fn leg(self) -> usize {
        match self {
            Self::Acquire => 0,
            Self::AcquireAgain => 1,
            Self::Raise(_) => 2,
            Self::RaiseAgain(_) => 3,
        }
    }
}

impl Site {
    pub(crate) fn new(attempts: usize) -> Self {
        let desk = Desk {
            turn: 0,
            legs: [Leg::Idle; Message::ALL.len()],
        };
        Self {
            table: Table::new(),
            turns: 0,
            desks: vec![desk; attempts],
        }
    }

    /// An attempt sends a request.
    pub(crate) fn ask(&mut self, attempt: usize, message: Message) {
        *self.leg_mut(attempt, message) = Leg::Asked;
    }

    pub(crate) fn is_asked(&self, attempt: usize, message: Message) -> bool {
        self.leg(attempt, message) == Leg::Asked
    }

    /// Whether the network may bring the request for a second time: the first one was carried out.
    pub(crate) fn may_repeat(&self, attempt: usize, message: Message) -> bool {
        let first = match message {
            Message::Acquire | Message::Raise(_) => return false,
            Message::AcquireAgain => {
                return self.has_had(attempt) && self.is_idle(attempt, message);
            }
            Message::RaiseAgain(token) => self.leg(attempt, Message::Raise(token)),
        };
        matches!(first, Leg::Told(_) | Leg::Refused) && self.is_idle(attempt, message)
    }

    pub(crate) fn is_idle(&self, attempt: usize, message: Message) -> bool {
        self.leg(attempt, message) == Leg::Idle
    }

    fn has_had(&self, attempt: usize) -> bool {
        self.desks[attempt].turn > 0
    }

    /// Carries out a request. None if it was refused.
    pub(crate) fn carry_out(
        &mut self,
        way: Way,
        attempt: usize,
        message: Message,
        proposal: FencingToken,
    ) -> Option<Answer> {
        let owner = OWNERS[attempt].clone();
        let request = match message {
            Message::Acquire => Request::Acquire {
                resource: RESOURCE.clone(),
                owner,
                ttl: Ttl::DEFAULT,
                proposal: Some(proposal),
                place: None,
            },
            Message::AcquireAgain => Request::Repair {
                resource: RESOURCE.clone(),
                owner,
                ttl: Ttl::DEFAULT,
                proposal: Some(proposal),
            },
            Message::Raise(token) | Message::RaiseAgain(token) => Request::Raise {
                resource: RESOURCE.clone(),
                // Who does not look whose key it is acts as if it were everybody's.
                owner: self
                    .holder()
                    .cloned()
                    .filter(|_| way == Way::RaisesAnybody)
                    .unwrap_or(owner),
                token,
            },
        };
        let before = self.holder().cloned();
        let vote = self.table.apply(NOW, &request);
        let now_held = self.holder() == Some(&OWNERS[attempt]);
        if now_held && before.as_ref() != Some(&OWNERS[attempt]) {
            self.turns += 1;
            self.desks[attempt].turn = self.turns;
        }
        let is_fooled = way == Way::CountsBeyond && now_held;
        let counter = match vote {
            Vote::Granted { counter } => counter,
            _ if is_fooled => None,
            _ => {
                *self.leg_mut(attempt, message) = Leg::Refused;
                return None;
            }
        };
        let answer = Answer {
            counter: counter.or_else(|| self.counter()).expect("it has granted"),
            turn: self.desks[attempt].turn,
        };
        *self.leg_mut(attempt, message) = Leg::Told(answer);
        Some(answer)
    }

    /// Takes the answer to a request.
    pub(crate) fn take_answer(&mut self, attempt: usize, message: Message) -> Option<Answer> {
        let answer = self.answer(attempt, message)?;
        *self.leg_mut(attempt, message) = Leg::Idle;
        Some(answer)
    }

    /// The answer to a request, if it is on its way.
    pub(crate) fn answer(&self, attempt: usize, message: Message) -> Option<Answer> {
        match self.leg(attempt, message) {
            Leg::Told(answer) => Some(answer),
            _ => None,
        }
    }

    /// Drops the answers that an attempt does not wait for any more. What it asked may be carried out yet.
    pub(crate) fn drop_answers(&mut self, attempt: usize) {
        for leg in &mut self.desks[attempt].legs {
            if matches!(leg, Leg::Told(_)) {
                *leg = Leg::Idle;
            }
        }
    }

    pub(crate) fn has_answers(&self, attempt: usize) -> bool {
        let mut legs = self.desks[attempt].legs.iter();
        legs.any(|leg| matches!(leg, Leg::Told(_)))
    }

    /// The key is gone.
    pub(crate) fn vanish(&mut self, way: Way) {
        match way {
            Way::CounterInKey => self.table = Table::new(),
            _ => self.table.sweep(LONG_AFTER),
        }
    }

    /// Everything is gone, the counter as well.
    pub(crate) fn forget(&mut self) {
        self.table = Table::new();
    }

    /// Whose the key is.
    pub(crate) fn holder(&self) -> Option<&Owner> {
        self.table.key(NOW, &RESOURCE).map(|key| &key.owner)
    }

    pub(crate) fn counter(&self) -> Option<FencingToken> {
        self.table.counter(&RESOURCE)
    }

    pub(crate) fn has_refused_a_raise(&self) -> bool {
        let raise = Message::Raise(FencingToken::FIRST).leg();
        self.desks
            .iter()
            .any(|desk| desk.legs[raise] == Leg::Refused)
    }

    /// Whether a key was set by a request that arrived twice.
    pub(crate) fn has_set_again(&self) -> bool {
        let had = self.desks.iter().filter(|desk| desk.turn > 0).count();
        usize::from(self.turns) > had
    }

    fn leg(&self, attempt: usize, message: Message) -> Leg {
        self.desks[attempt].legs[message.leg()]
    }

    fn leg_mut(&mut self, attempt: usize, message: Message) -> &mut Leg {
        &mut self.desks[attempt].legs[message.leg()]
    }
}

/// What attempts sign with, and are called.
pub(crate) const NAMES: [&str; 3] = ["a", "b", "c"];

static OWNERS: LazyLock<[Owner; 3]> = LazyLock::new(|| {
    NAMES.map(|name| Owner::from_bytes(name.as_bytes()).expect("a name is not empty"))
});

/// Time stands still, and keys end when the model says so.
const NOW: Instant = Instant::from_origin(Duration::ZERO);
const LONG_AFTER: Instant = Instant::from_origin(Duration::MAX);
