//! Telling observers what the shell sees. What they want to know and nobody else does, how long and how often, is kept
//! here.

use super::ByNumber;
use crate::{
    error::{Danger, LossCause},
    link::{LinkEvent, NodeName},
    observe::{Answer, Observation, Observer, Obstacle, RequestKind},
    outcome::ReleaseOutcome,
};
use leasehold_core::{
    AcquireFailure, ClockStep, Event, Instant, Lease, NodeId, NodeSet, Operation, OperationId,
    Owner, Request, Resource, Tag, Vote,
};
use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// The observers of a manager.
pub(crate) struct Observers(pub(crate) Vec<Arc<dyn Observer>>);

pub(super) struct Instrumentation {
    audience: Vec<Subscriber>,
    nodes: Vec<NodeName>,
    wishes: ByNumber<OperationId, UnderWay>,
    /// By the acquisitions that won them.
    leases: ByNumber<OperationId, ObservedLease>,
    ending: ByNumber<OperationId, EndingLease>,
    asked: ByNumber<(NodeId, Tag), (RequestKind, Instant)>,
}

struct Subscriber {
    observer: Arc<dyn Observer>,
    has_panicked: bool,
}

/// An acquisition that is under way.
struct UnderWay {
    resource: Resource,
    begun: Instant,
    attempts: u32,
}

struct ObservedLease {
    resource: Resource,
    owner: Owner,
    since: Instant,
    /// When the extension that is not confirmed yet was begun.
    extending: Option<Instant>,
}

/// A lease that is being given back.
struct EndingLease {
    held: ObservedLease,
    begun: Instant,
}

/// What is to be known of an operation when the engine has given it its number.
pub(super) enum Note {
    Acquire(Resource),
    /// The end of this lease.
    End(OperationId),
    Other,
}

impl Note {
    pub(super) fn of(operation: &Operation) -> Self {
        match operation {
            Operation::Acquire(acquire) => Self::Acquire(acquire.resource.clone()),
            Operation::Release(lease) | Operation::HandOver(lease) => Self::End(*lease),
            _ => Self::Other,
        }
    }
}

impl Instrumentation {
    /// None if nobody observes.
    pub(super) fn new(observers: Observers, nodes: &[NodeName]) -> Option<Box<Self>> {
        let listeners = observers.0.into_iter().map(|observer| Subscriber {
            observer,
            has_panicked: false,
        });
        let audience: Vec<_> = listeners.collect();
        (!audience.is_empty()).then(|| {
            Box::new(Self {
                audience,
                nodes: nodes.to_vec(),
                wishes: ByNumber::default(),
                leases: ByNumber::default(),
                ending: ByNumber::default(),
                asked: ByNumber::default(),
            })
        })
    }

    /// An operation was begun.
    pub(super) fn begun(&mut self, now: Instant, id: OperationId, note: Note) {
        match note {
            Note::Acquire(resource) => {
                let wished = UnderWay {
                    resource,
                    begun: now,
                    attempts: 0,
                };
                self.wishes.insert(id, wished);
            }
            Note::End(lease) => {
                if let Some(held) = self.leases.remove(&lease) {
                    self.ending.insert(id, EndingLease { held, begun: now });
                }
            }
            Note::Other => {}
        }
    }

    /// Nodes were asked something.
    pub(super) fn asked(&mut self, now: Instant, nodes: NodeSet, tag: Tag, request: &Request) {
        let (operation, kind) = (tag.attempt.operation, RequestKind::of(request));
        // Inquiries, and places that are left, have numbers of their own.
        let is_attempt = matches!(kind, RequestKind::Acquire | RequestKind::Transfer);
        if let Some(wished) = self.wishes.get_mut(&operation).filter(|_| is_attempt) {
            wished.attempts = wished.attempts.max(tag.attempt.number.saturating_add(1));
        }
        if kind == RequestKind::Extend
            && let Some(held) = self.leases.get_mut(&operation)
        {
            held.extending.get_or_insert(now);
        }
        for node in nodes.iter() {
            // A link that forgets to answer must not take the memory of all.
            if self.asked.len() < MOST_ASKED {
                self.asked.insert((node, tag), (kind, now));
            }
            tell(
                &mut self.audience,
                &Observation::Asked {
                    node: &self.nodes[node.index()],
                    request: kind,
                },
            );
        }
    }

    /// A node or its link had something to tell.
    pub(super) fn heard(&mut self, now: Instant, node: NodeId, event: &LinkEvent) {
        match event {
            LinkEvent::Reply(tag, vote) => self.answered(now, node, *tag, vote),
            LinkEvent::Up(_) => {
                let node = &self.nodes[node.index()];
                tell(&mut self.audience, &Observation::Up { node });
            }
            LinkEvent::Down(reason) => {
                let node = &self.nodes[node.index()];
                tell(&mut self.audience, &Observation::Down { node, reason });
            }
            LinkEvent::Replaced(name) => {
                let former = mem::replace(&mut self.nodes[node.index()], name.clone());
                let node = &self.nodes[node.index()];
                let former = &former;
                tell(&mut self.audience, &Observation::Replaced { node, former });
            }
            LinkEvent::Clock(_) | LinkEvent::Changed(_) => {}
        }
    }

    /// A node has answered.
    fn answered(&mut self, now: Instant, node: NodeId, tag: Tag, vote: &Vote) {
        let asked = self.asked.remove(&(node, tag));
        let node = &self.nodes[node.index()];
        if let Some((request, given)) = asked {
            let (answer, took) = (Answer::of(vote), now.saturating_since(given));
            let answered = Observation::Answered {
                node,
                request,
                answer,
                took,
            };
            tell(&mut self.audience, &answered);
        }
        if let Vote::Unknown(fault) = vote
            && let Some(abstention) = fault.abstention()
        {
            let abstained = Observation::Abstained { node, abstention };
            tell(&mut self.audience, &abstained);
        }
    }

    /// A node's clock was set.
    pub(super) fn stepped(&mut self, node: NodeId, step: ClockStep) {
        let node = &self.nodes[node.index()];
        tell(
            &mut self.audience,
            &Observation::ClockStepped { node, step },
        );
    }

    /// An operation has ended.
    pub(super) fn ended(&mut self, now: Instant, id: OperationId, event: &Event) {
        match event {
            Event::Acquired(lease) => self.acquired(now, id, lease),
            Event::NotAcquired(failure) => self.not_acquired(id, failure),
            Event::Released(outcome) => self.released(now, id, Some(outcome.clone())),
            Event::HandedOver(true) => {
                if let Some(ending) = self.ending.remove(&id) {
                    let handed_over = Observation::HandedOver {
                        resource: &ending.held.resource,
                        owner: &ending.held.owner,
                        held: ending.begun.saturating_since(ending.held.since),
                    };
                    tell(&mut self.audience, &handed_over);
                }
            }
            Event::HandedOver(false) => {
                let expired = leasehold_core::ReleaseOutcome::AlreadyExpired;
                self.released(now, id, Some(expired));
            }
            Event::Extended(_)
            | Event::NotExtended(_)
            | Event::Inspected(_)
            | Event::Changed(_) => {}
        }
    }

    fn acquired(&mut self, now: Instant, id: OperationId, lease: &Lease) {
        let Some(wished) = self.wishes.remove(&id) else {
            return;
        };
        let acquired = Observation::Acquired {
            resource: &lease.resource,
            owner: &lease.owner,
            token: lease.token,
            waited: now.saturating_since(wished.begun),
            attempts: wished.attempts,
            valid_for: lease.valid_until.saturating_since(now),
        };
        tell(&mut self.audience, &acquired);
        let held = ObservedLease {
            resource: wished.resource,
            owner: lease.owner.clone(),
            since: now,
            extending: None,
        };
        self.leases.insert(id, held);
    }

    fn not_acquired(&mut self, id: OperationId, failure: &AcquireFailure) {
        if let Some(wished) = self.wishes.remove(&id) {
            let not_acquired = Observation::NotAcquired {
                resource: &wished.resource,
                obstacle: Obstacle::of(&failure.cause),
                waited: failure.waited,
                attempts: failure.attempts,
            };
            tell(&mut self.audience, &not_acquired);
        }
    }

    fn released(
        &mut self,
        now: Instant,
        id: OperationId,
        outcome: Option<leasehold_core::ReleaseOutcome>,
    ) {
        if let Some(EndingLease { held, begun }) = self.ending.remove(&id) {
            let released = Observation::Released {
                resource: &held.resource,
                owner: &held.owner,
                outcome: &ReleaseOutcome::from_core(outcome, || self.nodes.as_slice().into()),
                held: begun.saturating_since(held.since),
                took: now.saturating_since(begun),
            };
            tell(&mut self.audience, &released);
        }
    }

    /// A quorum has confirmed a lease of which `before` was the end.
    pub(super) fn confirmed(
        &mut self,
        now: Instant,
        id: OperationId,
        before: Instant,
        until: Instant,
    ) {
        if let Some(held) = self.leases.get_mut(&id) {
            let begun = held.extending.take().unwrap_or(now);
            let extended = Observation::Extended {
                resource: &held.resource,
                owner: &held.owner,
                took: now.saturating_since(begun),
                left: before.saturating_since(now),
                valid_for: until.saturating_since(now),
            };
            tell(&mut self.audience, &extended);
        }
    }

    pub(super) fn endangered(&mut self, id: OperationId, danger: &Danger) {
        if let Some(held) = self.leases.get(&id) {
            let in_danger = Observation::InDanger {
                resource: &held.resource,
                owner: &held.owner,
                danger,
            };
            tell(&mut self.audience, &in_danger);
        }
    }

    /// A lease is over. Its release, which comes later, is told to nobody.
    pub(super) fn lost(&mut self, now: Instant, id: OperationId, cause: &LossCause) {
        if let Some(held) = self.leases.remove(&id) {
            let lost = Observation::Lost {
                resource: &held.resource,
                owner: &held.owner,
                cause,
                held: now.saturating_since(held.since),
            };
            tell(&mut self.audience, &lost);
        }
    }
}

/// An observer that panics must not take the leases with it, and is not asked again.
fn tell(audience: &mut [Subscriber], observation: &Observation<'_>) {
    for listener in audience {
        if !listener.has_panicked {
            let told = catch_unwind(AssertUnwindSafe(|| listener.observer.observe(observation)));
            listener.has_panicked = told.is_err();
        }
    }
}

/// So many answers are waited for at most.
const MOST_ASKED: usize = 65_536;
