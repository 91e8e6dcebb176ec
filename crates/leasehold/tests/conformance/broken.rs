//! A node in memory that breaks one promise about keys or counters.

use leasehold::{
    clock::Clock,
    link::{Link, LinkEvent, Message},
};
use leasehold_core::{FencingToken, Instant, Owner, Permit, Request, Resource, Table, Ttl, Vote};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};
use tokio::runtime::{self, Handle};

/// A link that breaks one promise.
pub(crate) struct Broken {
    how: How,
    table: Arc<Mutex<Table>>,
    answers: VecDeque<LinkEvent>,
    /// Where it was polled first.
    runtime: Option<runtime::Id>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    AnyoneReleases,
    AnyoneExtends,
    RepeatingMovesTheEnd,
    VotesTwice,
    TakesOverTwice,
    RepairsNothing,
    EndsEarly,
    CutsNames,
    CutsOwners,
    AnswersTwice,
    AnswersFromTheBack,
    TellsNoHolder,
    CutsTags,
    StartsDown,
    StaysInItsRuntime,
    TellsNoCounter,
    IgnoresProposals,
    FollowsWildProposals,
    RoundsCounters,
    CountsAgain,
    CountsRefusals,
    CountsNoTransfers,
    KeepsTheCounterInTheKey,
    AnyoneRaises,
    RaisesNothing,
    GoesOnAtTheEnd,
    TakesOneByOne,
    TakesTheFirst,
    ExtendsOneByOne,
    CountsTheFirst,
    ReadsOneByOne,
    ReadsAnywhere,
    CountsPermits,
    IgnoresOtherCounts,
    ForgetsSlots,
    CountsNoPermits,
    TellsNoPermits,
}

impl Broken {
    pub(crate) fn new(how: How, table: &Arc<Mutex<Table>>) -> Self {
        Self {
            how,
            table: table.clone(),
            answers: VecDeque::from([match how {
                How::StartsDown => LinkEvent::Down("it is broken".to_owned()),
                _ => LinkEvent::Up(None),
            }]),
            runtime: None,
        }
    }

    /// Whether this node takes names that are asked for together one by one.
    fn divides(&self, request: &Request) -> bool {
        let is_mistaken = match (self.how, request) {
            (How::TakesOneByOne | How::TakesTheFirst, Request::Acquire { proposal, .. }) => {
                proposal.is_none()
            }
            (How::CountsTheFirst, Request::Acquire { proposal, .. }) => proposal.is_some(),
            (How::ExtendsOneByOne, Request::Extend { .. }) => true,
            _ => false,
        };
        is_mistaken && request.resource().is_several()
    }

    fn one_by_one(&self, now: Instant, request: &Request) -> Vote {
        let mut table = self.table.lock().expect("nobody panics with it");
        let names = match self.how {
            How::TakesTheFirst => 1,
            _ => usize::MAX,
        };
        let each = request.resource().each().take(names);
        let votes: Vec<Vote> = each
            .map(|name| {
                let mut alone = request.clone();
                if let Request::Acquire { resource, .. } | Request::Extend { resource, .. } =
                    &mut alone
                {
                    *resource = name;
                }
                table.apply(now, &alone)
            })
            .collect();
        let refused = votes.iter().find(|vote| !vote.is_granted());
        refused.unwrap_or(&votes[0]).clone()
    }

    /// The request as this node mistakes it.
    fn mistaken(&self, now: Instant, mut request: Request) -> Request {
        let holder = |resource: &Resource| {
            let table = self.table.lock().expect("nobody panics with it");
            table.key(now, resource).map(|key| key.owner.clone())
        };
        match (self.how, &mut request) {
            (
                How::AnyoneReleases,
                Request::Release {
                    resource, owner, ..
                },
            )
            | (
                How::AnyoneExtends,
                Request::Extend {
                    resource, owner, ..
                },
            ) => *owner = holder(resource).unwrap_or_else(|| owner.clone()),
            (How::ReadsOneByOne, Request::Acquire { resource, .. }) if resource.is_shared() => {
                *resource = resource.whole();
            }
            (
                How::ReadsAnywhere,
                Request::Acquire { resource, .. }
                | Request::Extend { resource, .. }
                | Request::Release { resource, .. },
            ) if resource.is_shared() => {
                let elsewhere = format!("{resource}/read");
                *resource = Resource::shared(&elsewhere).expect("still a name");
            }
            (How::EndsEarly, Request::Acquire { ttl, .. }) => {
                *ttl = Ttl::new(ttl.as_duration() / 2).expect("still in range");
            }
            (
                How::CutsNames,
                Request::Acquire { resource, .. }
                | Request::Extend { resource, .. }
                | Request::Release { resource, .. },
            ) if resource.as_str().len() == Resource::LONGEST => {
                *resource = Resource::new(&resource.as_str()[..1000]).expect("still a name");
            }
            (
                How::CutsOwners,
                Request::Acquire { owner, .. }
                | Request::Extend { owner, .. }
                | Request::Release { owner, .. },
            ) => {
                let text = owner.as_bytes().split(|byte| *byte == 0).next();
                *owner = text
                    .and_then(Owner::from_bytes)
                    .unwrap_or_else(|| owner.clone());
            }
            _ => {}
        }
        request
    }

    /// The request as this node mistakes it if it is about a permit.
    fn mistaken_permit(&self, now: Instant, mut request: Request) -> Request {
        let Request::Acquire {
            resource,
            owner,
            proposal,
            ..
        } = &mut request
        else {
            return request;
        };
        if let Some(wanted) = owner.permit() {
            let other = self.other_owner(now, &resource.whole(), wanted);
            *owner = other.unwrap_or_else(|| owner.clone());
            *proposal = proposal.filter(|_| !matches!(self.how, How::CountsNoPermits));
        }
        request
    }

    /// Whom this node takes for the owner of this permit.
    fn other_owner(&self, now: Instant, whole: &Resource, wanted: Permit) -> Option<Owner> {
        let table = self.table.lock().expect("nobody panics with it");
        let taken = table
            .readers(now, whole)
            .filter_map(|key| key.owner.permit());
        let taken: Vec<Permit> = taken.collect();
        let by = Owner::from_bytes(b"somebody").expect("a few bytes");
        let is_taken = |slot| taken.iter().any(|permit| permit.slot() == slot);
        let other = match self.how {
            How::CountsPermits if is_taken(wanted.slot()) => {
                let free = wanted.of().slots().find(|slot| !is_taken(*slot))?;
                Permit::new(free, wanted.of())?
            }
            How::IgnoresOtherCounts => Permit::new(wanted.slot(), taken.first()?.of())?,
            How::ForgetsSlots => return Some(by),
            _ => return None,
        };
        Some(Owner::of_permit(&[7; 20], other, &by))
    }

    /// The request that this node takes a vote for.
    fn mistaken_for_another(&self, now: Instant, request: Request) -> Request {
        let table = self.table.lock().expect("nobody panics with it");
        let key = table.key(now, request.resource());
        let ours = key.is_some_and(|key| Some(&key.owner) == request.owner());
        match (self.how, request) {
            (
                How::RepeatingMovesTheEnd,
                Request::Repair {
                    resource,
                    owner,
                    ttl,
                    ..
                },
            )
            | (
                How::TakesOverTwice,
                Request::Transfer {
                    resource,
                    owner,
                    ttl,
                    ..
                },
            ) if ours => Request::Extend {
                resource,
                owner,
                ttl,
            },
            (
                How::VotesTwice,
                Request::Acquire {
                    resource,
                    owner,
                    ttl,
                    proposal,
                    ..
                },
            ) => Request::Repair {
                resource,
                owner,
                ttl,
                proposal,
            },
            (
                How::RepairsNothing,
                Request::Repair {
                    resource,
                    owner,
                    ttl,
                    proposal,
                },
            ) => Request::Acquire {
                resource,
                owner,
                ttl,
                proposal,
                place: None,
            },
            (_, request) => request,
        }
    }

    /// The request as this node miscounts it.
    fn miscounted(&self, now: Instant, mut request: Request) -> Request {
        match (self.how, &mut request) {
            (
                How::AnyoneRaises,
                Request::Raise {
                    resource, owner, ..
                },
            ) => {
                let table = self.table.lock().expect("nobody panics with it");
                let key = table.key(now, resource);
                *owner = key.map_or_else(|| owner.clone(), |key| key.owner.clone());
            }
            (How::IgnoresProposals, Request::Acquire { proposal, .. }) => {
                *proposal = proposal.and(Some(FencingToken::FIRST));
            }
            _ => {}
        }
        match self.how {
            How::FollowsWildProposals => request,
            _ => request.as_seen_at(Clock::system().wall()).into_owned(),
        }
    }

    /// What this node does before it carries out a request.
    fn spoil(&self, now: Instant, request: &Request) {
        let mut table = self.table.lock().expect("nobody panics with it");
        let (resource, owner) = (request.resource().clone(), request.owner());
        let holder = table.key(now, &resource).map(|key| key.owner.clone());
        match (self.how, request, holder) {
            (How::CountsAgain, Request::Repair { .. }, Some(holder)) if Some(&holder) == owner => {
                table.apply(now, &release(resource, holder));
            }
            (
                How::CountsRefusals,
                Request::Acquire {
                    proposal: Some(token),
                    ..
                },
                Some(owner),
            ) => {
                let token = *token;
                table.apply(
                    now,
                    &Request::Raise {
                        resource,
                        owner,
                        token,
                    },
                );
            }
            (How::KeepsTheCounterInTheKey, Request::Acquire { .. }, None) => *table = Table::new(),
            _ => {}
        }
    }

    fn spoiled(&self, request: &Request, vote: Vote) -> Vote {
        match (self.how, request, vote) {
            (How::TellsNoCounter, _, Vote::Granted { .. }) => Vote::GRANTED,
            (
                How::RoundsCounters,
                _,
                Vote::Granted {
                    counter: Some(counter),
                },
            ) => Vote::Granted {
                counter: FencingToken::new(counter.get() / 100 * 100),
            },
            (
                How::CountsNoTransfers,
                Request::Transfer { .. },
                Vote::Granted {
                    counter: Some(counter),
                },
            ) => Vote::Granted {
                counter: FencingToken::new(counter.get() - 1),
            },
            (How::GoesOnAtTheEnd, Request::Acquire { .. }, Vote::Unknown(_)) => Vote::Granted {
                counter: Some(FencingToken::LAST),
            },
            (_, _, vote) => vote,
        }
    }
}

fn release(resource: Resource, owner: Owner) -> Request {
    Request::Release {
        resource,
        owner,
        keep: None,
    }
}

impl Link for Broken {
    fn send(&mut self, message: &mut Message<'_>) {
        let (mut tag, now) = (message.tag(), Clock::system().now());
        let request = self.mistaken_for_another(now, message.request().clone());
        let request = self.mistaken_permit(now, self.mistaken(now, request));
        let request = self.miscounted(now, request);
        self.spoil(now, &request);
        let vote = match (self.how, &request) {
            (How::RaisesNothing, Request::Raise { .. }) => Vote::GRANTED,
            _ if self.divides(&request) => self.one_by_one(now, &request),
            _ => self
                .table
                .lock()
                .expect("nobody panics with it")
                .apply(now, &request),
        };
        let mut vote = self.spoiled(&request, vote);
        match (self.how, &mut vote) {
            (How::TellsNoHolder, Vote::Refused(refusal)) => refusal.holder = None,
            (How::TellsNoPermits, Vote::Refused(refusal)) => refusal.permits = None,
            (How::CutsTags, _) => tag.attempt.number &= 0xffff,
            _ => {}
        }
        let reply = || LinkEvent::Reply(tag, vote.clone());
        match self.how {
            How::AnswersFromTheBack => self.answers.push_front(reply()),
            How::AnswersTwice => self.answers.extend([reply(), reply()]),
            _ => self.answers.push_back(reply()),
        }
    }

    fn poll(&mut self, _: &mut Context<'_>, events: &mut Vec<LinkEvent>, most: usize) -> Poll<()> {
        let here = Handle::current().id();
        let is_elsewhere = *self.runtime.get_or_insert(here) != here;
        let count = match self.how {
            How::StaysInItsRuntime if is_elsewhere => 0,
            _ => self.answers.len().min(most),
        };
        events.extend(self.answers.drain(..count));
        // Nothing comes later, so nobody needs to be woken.
        match count {
            0 => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }
}
