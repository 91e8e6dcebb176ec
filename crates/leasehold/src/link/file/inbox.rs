//! What a link of a store has to tell.

use crate::link::{LinkEvent, wake_later, watch::Watch};
use leasehold_core::{FaultKind, Resource, Tag, Vote};
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// What a link has to tell, and whom to wake.
#[derive(Debug)]
pub(super) struct Inbox {
    reach: Reach,
    state: Mutex<InboxState>,
}

/// Whose changes a link is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those of all processes.
    Machine,
    /// Those of this process alone.
    Process,
}

#[derive(Debug, Default)]
struct InboxState {
    events: VecDeque<LinkEvent>,
    waker: Option<Waker>,
    state: Reported,
}

/// What the link was told of the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reported {
    #[default]
    New,
    Up,
    Down,
}

impl Inbox {
    /// An empty one.
    pub(super) fn new(reach: Reach) -> Self {
        Self {
            reach,
            state: Mutex::default(),
        }
    }

    /// Puts answers in, and *up* and *down* where they tell of one.
    pub(super) fn put(&self, answers: impl IntoIterator<Item = (Tag, Vote)>) {
        let mut state = lock(&self.state);
        for (tag, vote) in answers {
            let reason = match &vote {
                Vote::Unknown(fault) if fault.kind() == FaultKind::Down => Some(fault.to_string()),
                _ => None,
            };
            if reason.is_none() && state.state != Reported::Up {
                state.state = Reported::Up;
                state.events.push_back(LinkEvent::Up(None));
                state.events.extend(self.promise());
            }
            state.events.push_back(LinkEvent::Reply(tag, vote));
            if let Some(reason) = reason.filter(|_| state.state != Reported::Down) {
                state.state = Reported::Down;
                state.events.push_back(LinkEvent::Down(reason));
            }
        }
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The hint about all keys, by which who waits takes it that there will be one for every change. A link that
    /// does not hear of other processes must never give it: its waiters have to look by the clock.
    const fn promise(&self) -> Option<LinkEvent> {
        match self.reach {
            Reach::Machine => Some(LinkEvent::Changed(None)),
            Reach::Process => None,
        }
    }

    /// Takes the oldest events, `most` at once; pending when there are no more.
    pub(super) fn poll(
        &self,
        cx: &mut Context<'_>,
        events: &mut Vec<LinkEvent>,
        most: usize,
    ) -> Poll<()> {
        let mut state = lock(&self.state);
        if state.state == Reported::New {
            state.state = Reported::Up;
            if let Some(promise) = self.promise() {
                state.events.push_front(promise);
            }
            state.events.push_front(LinkEvent::Up(None));
        }
        let count = state.events.len().min(most);
        events.extend(state.events.drain(..count));
        if state.events.is_empty() {
            wake_later(&mut state.waker, cx);
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

impl Watch for Inbox {
    fn tell(&self, resource: Option<&Resource>) {
        if resource.is_none() && self.promise().is_none() {
            return;
        }
        let mut state = lock(&self.state);
        state
            .events
            .push_back(LinkEvent::Changed(resource.cloned()));
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// No step of ours leaves the value half changed when it panics.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::{AttemptId, Fault, OperationId};
    use std::mem;

    #[test]
    fn who_does_not_hear_of_other_processes_is_never_told_of_all_keys() {
        let inbox = Inbox::new(Reach::Process);
        let mut cx = Context::from_waker(Waker::noop());
        let mut told = || {
            let mut events = Vec::new();
            let polled = inbox.poll(&mut cx, &mut events, usize::MAX);
            assert!(polled.is_pending());
            events
        };
        assert!(matches!(told()[..], [LinkEvent::Up(None)]));
        inbox.tell(None);
        assert!(told().is_empty());
        let resource = Resource::new("r").expect("a plain name");
        inbox.tell(Some(&resource));
        assert!(matches!(told()[..], [LinkEvent::Changed(Some(_))]));
    }

    #[test]
    fn a_link_is_up_once_until_it_is_down() {
        let inbox = Inbox::new(Reach::Process);
        let down = Fault::new(FaultKind::Down, &"gone");
        let attempt = AttemptId {
            operation: OperationId::new(0),
            number: 0,
        };
        let tag = Tag { attempt, step: 0 };
        for vote in [
            Vote::GRANTED,
            Vote::GRANTED,
            Vote::Unknown(down.clone()),
            Vote::Unknown(down),
            Vote::GRANTED,
        ] {
            inbox.put([(tag, vote)]);
        }
        let events = mem::take(&mut lock(&inbox.state).events);
        let words = events.iter().map(|event| match event {
            LinkEvent::Up(_) => "up",
            LinkEvent::Down(_) => "down",
            LinkEvent::Reply(..) => "reply",
            _ => "other",
        });
        let expected = "up reply reply reply down reply up reply";
        assert_eq!(words.collect::<Vec<_>>().join(" "), expected);
    }
}
