//! How long the keys live that were set without scripts.
//!
//! An extension must not end a key sooner than an earlier one said (argument S7), and the command that extends sets
//! the key's end whatever it was. A script compares; here the link does, by what it has sent itself. It can, since
//! nobody else sends anything under an owner: the owner is fresh for each attempt, an attempt belongs to one manager, and
//! the manager has one connection to the node, on which requests take effect in their order. So:
//!
//! * An extension is for its own TTL, or for as long as is left of the longest life that was given before, if that is
//!   longer. Both are counted from when the request was given to the link, as leases count, so the key lives
//!   for at least as long as anybody relies on it. With one TTL for acquiring and extending, as leases have unless
//!   their holder asks for something else, that is the TTL itself.
//! * What is left is the order of two connections. An extension that was on its way when a connection was lost may
//!   take effect after those of the next one. It does no harm if it is for as long as they are, or longer. So no
//!   extension that is for longer than one in doubt is sent: the node does not vote on it.
//!
//! Both are known only of what was said without scripts. If rights change while a lease is held, and it has been extended to
//! different TTLs before and after, a node may cut its key short.
//!
//! The price: a node that is late keeps the key for so much longer, since what is left counts from when it gets to it.
//! Keys under other owners are never touched by the extensions of this one.

use leasehold_core::{Fault, FaultKind, Instant, Owner, Request, Resource, Ttl};
use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

/// What was said of keys that may still be there.
#[derive(Debug, Default)]
pub(in super::super) struct Lives {
    keys: HashMap<(Resource, Owner), Life>,
    /// How many there were after those that had ended were last dropped.
    kept: usize,
}

/// What was said of one key.
#[derive(Debug)]
struct Life {
    /// Until when at least, by the client's clock, it was told to live.
    until: Instant,
    /// For how many milliseconds the extensions are that are not answered yet, in their order.
    asked: VecDeque<u64>,
    /// The shortest of those that were lost with a connection, and may still take effect.
    doubted: Option<u64>,
}

impl Life {
    const fn new() -> Self {
        Self {
            until: Instant::ORIGIN,
            asked: VecDeque::new(),
            doubted: None,
        }
    }
}

impl Lives {
    /// For how many milliseconds the key shall live that `request`, given to the link at `given`, is about.
    ///
    /// # Errors
    /// The fault to answer with, if the request must not be sent.
    pub(in super::super) fn ask(
        &mut self,
        request: &Request,
        given: Instant,
    ) -> Result<u64, Fault> {
        let (Request::Acquire { ttl, .. }
        | Request::Repair { ttl, .. }
        | Request::Transfer { ttl, .. }
        | Request::Extend { ttl, .. }) = request
        else {
            return Ok(self.end(request));
        };
        self.sweep(given);
        let Some(owner) = request.owner() else {
            return Ok(0);
        };
        let lock = (request.resource().clone(), owner.clone());
        let life = self.keys.entry(lock).or_insert_with(Life::new);
        let mut life_ms = ttl.as_millis();
        if let Request::Extend { .. } = request {
            // Argument S7: what somebody may rely on is never cut short.
            life_ms = life_ms.max(millis(life.until.saturating_since(given)));
            if life.doubted.is_some_and(|doubted| doubted < life_ms) {
                return Err(Fault::new(FaultKind::Rejected, IN_DOUBT));
            }
            life.asked.push_back(life_ms);
        }
        let until = given.saturating_add(Duration::from_millis(life_ms));
        life.until = life.until.max(until);
        Ok(life_ms)
    }

    /// The node has answered `request`, and certainly does nothing more for it.
    pub(in super::super) fn answered(&mut self, request: &Request) {
        // Where scripts do it, this costs nothing.
        if self.keys.is_empty() {
            return;
        }
        if let Request::Extend {
            resource, owner, ..
        } = request
            && let Some(life) = self.keys.get_mut(&(resource.clone(), owner.clone()))
        {
            life.asked.pop_front();
        }
    }

    /// The connection is lost, and with it the answers.
    pub(in super::super) fn lose(&mut self) {
        for life in self.keys.values_mut() {
            let doubted = life.asked.drain(..).chain(life.doubted).min();
            life.doubted = doubted;
        }
    }

    /// Nobody extends what was released. Tells for how many milliseconds the key is to live on.
    fn end(&mut self, request: &Request) -> u64 {
        let Request::Release {
            resource,
            owner,
            keep,
        } = request
        else {
            return 0;
        };
        self.keys.remove(&(resource.clone(), owner.clone()));
        keep.map_or(0, Ttl::as_millis)
    }

    /// Drops what has ended, once in a while. Nobody relies on it any more, and so nobody extends it.
    fn sweep(&mut self, now: Instant) {
        if self.keys.len() >= 2 * self.kept + FEW {
            self.keys.retain(|_, life| life.until > now);
            self.kept = self.keys.len();
        }
    }
}

/// In full milliseconds, rounded up.
fn millis(span: Duration) -> u64 {
    let millis = span.as_nanos().div_ceil(1_000_000);
    u64::try_from(millis).unwrap_or(u64::MAX)
}

const FEW: usize = 64;

const IN_DOUBT: &str = "an extension to a shorter TTL, sent before the connection was lost, may still arrive, and \
                        without scripts the node cannot tell it from a later one";

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    fn lock() -> (Resource, Owner) {
        let resource = Resource::new("r").expect("a name");
        (resource, Owner::from_bytes(b"us").expect("an owner"))
    }

    fn ttl(millis: u64) -> Ttl {
        Ttl::new(Duration::from_millis(millis)).expect("in range")
    }

    fn acquire(millis: u64) -> Request {
        let (resource, owner) = lock();
        Request::Acquire {
            resource,
            owner,
            ttl: ttl(millis),
            proposal: None,
            place: None,
        }
    }

    fn extend(millis: u64) -> Request {
        let (resource, owner) = lock();
        Request::Extend {
            resource,
            owner,
            ttl: ttl(millis),
        }
    }

    fn release(keep: Option<u64>) -> Request {
        let (resource, owner) = lock();
        Request::Release {
            resource,
            owner,
            keep: keep.map(ttl),
        }
    }

    #[test]
    fn an_extension_is_for_its_ttl_or_for_what_is_left_if_that_is_longer() {
        let mut lives = Lives::default();
        for (request, given, life_ms) in [
            (acquire(10_000), 0, 10_000),
            (extend(10_000), 3_000, 10_000),
            (extend(2_000), 4_000, 9_000),
            // Of 13 s since the origin.
            (extend(2_000), 12_000, 2_000),
            (extend(60_000), 12_500, 60_000),
            (extend(2_000), 12_501, 59_999),
        ] {
            let told = lives.ask(&request, at(given));
            assert_eq!(told.ok(), Some(life_ms), "{request:?} at {given} ms");
        }
        let given = at(12_501).saturating_add(Duration::from_nanos(1));
        assert_eq!(lives.ask(&extend(10), given).ok(), Some(59_999));
    }

    #[test]
    fn no_extension_is_for_longer_than_one_that_may_still_arrive() {
        let mut lives = Lives::default();
        let ask = |lives: &mut Lives, request: &Request| lives.ask(request, at(0)).ok();
        assert_eq!(ask(&mut lives, &extend(1_000)), Some(1_000));
        assert_eq!(ask(&mut lives, &extend(2_000)), Some(2_000));
        lives.answered(&extend(1_000));
        lives.lose();
        assert_eq!(ask(&mut lives, &extend(2_000)), Some(2_000));
        assert_eq!(ask(&mut lives, &extend(2_001)), None);
        lives.answered(&extend(2_000));
        lives.lose();
        assert_eq!(ask(&mut lives, &extend(2_001)), None, "it is not forgotten");
        lives.ask(&release(None), at(0)).expect("a release is sent");
        assert_eq!(ask(&mut lives, &extend(2_001)), Some(2_001));
    }

    #[test]
    fn of_several_in_doubt_the_shortest_counts() {
        let mut lives = Lives::default();
        for millis in [1_000, 2_000] {
            let asked = lives.ask(&extend(millis), at(0));
            assert_eq!(asked.ok(), Some(millis));
        }
        lives.lose();
        let too_long = lives.ask(&extend(1_000), at(999));
        assert_eq!(too_long.ok(), None, "1,001 ms are left");
        assert_eq!(lives.ask(&extend(1_000), at(1_000)).ok(), Some(1_000));
    }

    #[test]
    fn an_extension_that_was_answered_is_in_no_doubt() {
        let mut lives = Lives::default();
        for _ in 0..2 {
            lives.ask(&extend(1_000), at(0)).expect("it is sent");
            lives.answered(&extend(1_000));
            lives.lose();
        }
        assert_eq!(lives.ask(&extend(2_000), at(0)).ok(), Some(2_000));
    }

    #[test]
    fn what_was_released_or_has_ended_is_forgotten() {
        let mut lives = Lives::default();
        lives.ask(&acquire(60_000), at(0)).expect("it is sent");
        let kept = lives.ask(&release(Some(500)), at(1));
        assert_eq!((kept.ok(), lives.keys.len()), (Some(500), 0));
        for number in 0..1_000 {
            let (_, owner) = lock();
            let request = Request::Acquire {
                resource: Resource::new(&number.to_string()).expect("a name"),
                owner,
                ttl: ttl(10),
                proposal: None,
                place: None,
            };
            lives.ask(&request, at(number)).expect("it is sent");
            assert!(lives.keys.len() <= 2 * FEW, "{}", lives.keys.len());
        }
    }
}
