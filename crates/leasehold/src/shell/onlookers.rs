//! Those who look on while a lock changes hands, and want to be called when it may have: each once.
//!
//! They learn of changes as waiters do, by the nodes' hints. A node tells nothing of what came by the same connection, so the
//! requests of this very manager call them as well: whoever looks then is answered behind them.

use super::{Shell, ShutdownState};
use crate::handle::Onlooker;
use leasehold_core::{Instant, Request, Resource};

/// Who is to be called.
#[derive(Debug, Default)]
pub(super) struct Onlookers(Vec<Onlooker>);

impl Onlookers {
    /// The key of this resource may be another one; any key, if none is named.
    pub(super) fn call(&mut self, resource: Option<&Resource>) {
        let is_it = |changed: &Resource, wanted: &Resource| {
            changed.names().any(|name| name == wanted.as_str())
        };
        self.call_those(|onlooker| {
            resource.is_none_or(|changed| is_it(changed, &onlooker.resource))
        });
    }

    /// This request leaves now.
    pub(super) fn note(&mut self, request: &Request) {
        if !self.0.is_empty() && changes_hands(request) {
            self.call(Some(request.resource()));
        }
    }

    /// Calls those whose time is over, and says whether there were any.
    pub(super) fn call_due(&mut self, now: Instant) -> bool {
        self.call_those(|onlooker| onlooker.by <= now)
    }

    /// When the next one is to be called whatever happens.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.iter().map(|onlooker| onlooker.by).min()
    }

    /// They are told that nothing more comes.
    pub(super) fn send_away(&mut self) {
        self.0.clear();
    }

    fn call_those(&mut self, is_called: impl Fn(&Onlooker) -> bool) -> bool {
        let mut has_called = false;
        for called in self.0.extract_if(.., |onlooker| is_called(onlooker)) {
            called.answer.give(());
            has_called = true;
        }
        has_called
    }
}

impl Shell {
    /// Somebody wants to be called. Nobody who comes after the end.
    pub(super) fn look_out(&mut self, onlooker: Onlooker) {
        let waiting = &mut self.onlookers.0;
        // Who went away need not be called.
        waiting.retain(|other| other.answer.is_wanted());
        if !matches!(self.ending, ShutdownState::ShutDown(..)) {
            waiting.push(onlooker);
        }
    }
}

/// Whether somebody else may have the lock when this request has been carried out, or nobody.
const fn changes_hands(request: &Request) -> bool {
    matches!(
        request,
        Request::Acquire { .. } | Request::Transfer { .. } | Request::Release { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Promised, promise};
    use std::{
        pin::Pin,
        task::{Context, Poll, Waker},
        time::Duration,
    };

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    fn name(name: &str) -> Resource {
        Resource::new(name).expect("a name")
    }

    fn onlooker(resource: &str, by: u64) -> (Onlooker, Promised<()>) {
        let (answer, called) = promise();
        let (resource, by) = (name(resource), at(by));
        let onlooker = Onlooker {
            resource,
            by,
            answer,
        };
        (onlooker, called)
    }

    fn is_called(called: &mut Promised<()>) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        Pin::new(called).poll(&mut cx) == Poll::Ready(Some(()))
    }

    #[test]
    fn who_looks_on_is_called_by_what_concerns_it_and_by_its_time() {
        let (one, mut one_called) = onlooker("one", 20);
        let (two, mut two_called) = onlooker("two", 10);
        let mut onlookers = Onlookers(vec![one, two]);
        assert_eq!(onlookers.next(), Some(at(10)));
        onlookers.call(Some(&name("three")));
        onlookers.note(&Request::Inspect {
            resource: name("one"),
        });
        assert!(!onlookers.call_due(at(9)));
        assert!(!is_called(&mut one_called) && !is_called(&mut two_called));
        onlookers.call(Some(&name("one")));
        assert!(is_called(&mut one_called) && !is_called(&mut two_called));
        assert!(onlookers.call_due(at(10)));
        assert!(is_called(&mut two_called));
        assert_eq!(onlookers.next(), None);
    }

    #[test]
    fn a_change_of_all_keys_concerns_everybody() {
        let (one, mut one_called) = onlooker("one", 20);
        let (two, mut two_called) = onlooker("two", 10);
        Onlookers(vec![one, two]).call(None);
        assert!(is_called(&mut one_called) && is_called(&mut two_called));
    }
}
