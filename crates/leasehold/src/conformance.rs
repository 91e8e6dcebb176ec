//! The suite that any [`Link`] must pass, for links of your own too.
//!
//! It holds a link to the promises of [`Link`] and its node to the rule of
//! [`decide`](leasehold_core::table::decide). The node may hold other keys and be in use: the suite's
//! resources begin with `leasehold-conformance/` and a fresh random number.
//!
//! Not covered, since a suite cannot bring it about from outside: a node that dies, and a connection that
//! is lost.
//!
//! # Examples
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! use leasehold::{clock::Clock, conformance, link::memory::MemoryNode};
//!
//! let node = MemoryNode::new();
//! conformance::check(|| node.link(Clock::system())).await;
//! # });
//! ```

mod fair;
mod hints;
mod keys;
mod names;
mod order;
mod peer;
mod permits;
mod readers;
mod runtime;
mod several;
mod time;
mod tokens;

use crate::{clock, link::Link};
use peer::Peer;

/// Runs all cases on links to one node, each of which `make` makes.
///
/// Takes about a second with a node that answers at once, longer with a slow one. Must be called within
/// a tokio runtime whose timers are on and not paused. One case blocks its thread for a moment, for
/// [`Link::change_runtime`].
///
/// # Panics
/// If a promise is broken: the message names the case, what came, and what was promised.
///
/// # Cancel safety
/// Dropping the future stops the suite. Its keys, which nobody else uses, live on until their TTL of at
/// most a minute ends.
pub async fn check<L: Link>(make: impl FnMut() -> L) {
    let mut suite = Suite::new(make);
    keys::check(&mut suite).await;
    names::check(&mut suite).await;
    order::check(&mut suite).await;
    runtime::check(&mut suite).await;
    time::check(&mut suite).await;
}

/// Runs all cases about counters: for links whose nodes count their grants, so that there are fencing tokens. Such a
/// link must pass [`check`] as well.
///
/// Takes about a second. The counters of a node in use grow by it, some of them to a second ahead of its clock.
///
/// # Panics
/// If a promise is broken: the message names the case, what came, and what was promised.
///
/// # Cancel safety
/// As with [`check`].
pub async fn check_tokens<L: Link>(make: impl FnMut() -> L) {
    let mut suite = Suite::new(make);
    tokens::check(&mut suite).await;
}

/// Runs all cases about hints: for links that tell of keys that others change, see
/// [`LinkEvent::Changed`](crate::link::LinkEvent::Changed). Such a link must pass [`check`] as well.
///
/// Takes about a second. A hint may come late, but not three seconds late; a node that gives hints for no reason
/// may fail, as one in use may that is short of memory.
///
/// # Panics
/// If a promise is broken: the message names the case, what came, and what was promised.
///
/// # Cancel safety
/// As with [`check`].
pub async fn check_hints<L: Link>(make: impl FnMut() -> L) {
    let mut suite = Suite::new(make);
    hints::check(&mut suite).await;
}

/// Runs all cases about fair locks: for links whose nodes keep those who wait in the order of their tickets. Such a link must
/// pass [`check`] and [`check_tokens`] as well.
///
/// Takes four seconds, since a place is kept for three.
///
/// # Panics
/// If a promise is broken: the message names the case, what came, and what was promised.
///
/// # Cancel safety
/// As with [`check`].
pub async fn check_fair<L: Link>(make: impl FnMut() -> L) {
    let mut suite = Suite::new(make);
    fair::check(&mut suite).await;
}

/// Runs all cases about [several names](leasehold_core::Resource::several) that are locked together: for links whose nodes
/// grant all of them or none. Such a link must pass [`check`] as well.
///
/// # Panics
/// If a promise is broken: the message names the case, what came, and what was promised.
///
/// # Cancel safety
/// As with [`check`].
pub async fn check_several<L: Link>(make: impl FnMut() -> L) {
    let mut suite = Suite::new(make);
    several::check(&mut suite).await;
}

/// Runs all cases about hints to those who want or have several names: for links that pass [`check_hints`] and
/// [`check_several`].
///
/// # Panics
/// If a promise is broken: the message names the case, what came, and what was promised.
///
/// # Cancel safety
/// As with [`check`].
pub async fn check_several_hints<L: Link>(make: impl FnMut() -> L) {
    let mut suite = Suite::new(make);
    several::check_hints(&mut suite).await;
}

/// Runs all cases about [shares](leasehold_core::Resource::shared) of a name: for links whose nodes let any number read, and
/// nobody write beside them. Such a link must pass [`check`] and [`check_fair`] as well.
///
/// # Panics
/// If a promise is broken: the message names the case, what came, and what was promised.
///
/// # Cancel safety
/// As with [`check`].
pub async fn check_readers<L: Link>(make: impl FnMut() -> L) {
    let mut suite = Suite::new(make);
    readers::check(&mut suite).await;
}

/// Runs all cases about hints to those who want to read or to write: for links that pass [`check_hints`] and
/// [`check_readers`].
///
/// # Panics
/// If a promise is broken: the message names the case, what came, and what was promised.
///
/// # Cancel safety
/// As with [`check`].
pub async fn check_readers_hints<L: Link>(make: impl FnMut() -> L) {
    let mut suite = Suite::new(make);
    readers::check_hints(&mut suite).await;
}

/// Runs all cases about [permits](leasehold_core::Resource::permit): for links whose nodes give each slot to one owner at a
/// time, and count its grants. Such a link must pass [`check`], [`check_tokens`] and [`check_readers`] as well.
///
/// # Panics
/// If a promise is broken: the message names the case, what came, and what was promised.
///
/// # Cancel safety
/// As with [`check`].
pub async fn check_permits<L: Link>(make: impl FnMut() -> L) {
    let mut suite = Suite::new(make);
    permits::check(&mut suite).await;
}

/// Runs all cases about hints to those who want a permit: for links that pass [`check_hints`] and [`check_permits`].
///
/// # Panics
/// If a promise is broken: the message names the case, what came, and what was promised.
///
/// # Cancel safety
/// As with [`check`].
pub async fn check_permits_hints<L: Link>(make: impl FnMut() -> L) {
    let mut suite = Suite::new(make);
    permits::check_hints(&mut suite).await;
}

/// Runs the case that brings a counter to its end. **Not for a node in use**, and after all other cases: one of its 1024
/// counters, which names share, grants nothing any more afterwards.
///
/// # Panics
/// If a promise is broken: the message names the case, what came, and what was promised.
///
/// # Cancel safety
/// As with [`check`].
pub async fn check_last_token<L: Link>(make: impl FnMut() -> L) {
    let mut suite = Suite::new(make);
    tokens::check_last(&mut suite).await;
}

/// Runs the case that brings the counter of a fair lock to its end: for links that pass [`check_fair`]. **Not for a
/// node in use:** one of its 1024 counters grants nothing any more afterwards.
///
/// # Panics
/// If a promise is broken: the message names the case, what came, and what was promised.
///
/// # Cancel safety
/// As with [`check`].
pub async fn check_last_fair_token<L: Link>(make: impl FnMut() -> L) {
    let mut suite = Suite::new(make);
    fair::check_last(&mut suite).await;
}

/// What the cases have in common: links to one node, and names that nobody else uses.
struct Suite<F> {
    make: F,
    run: String,
    case: &'static str,
}

impl<L: Link, F: FnMut() -> L> Suite<F> {
    fn new(make: F) -> Self {
        let random = clock::seed().sign(0);
        Self {
            make,
            run: leasehold_core::owner::hexadecimal(&random[..8]),
            case: "",
        }
    }

    /// Begins a case, and connects for it.
    async fn case(&mut self, case: &'static str) -> Peer<L> {
        self.case = case;
        self.peer().await
    }

    /// One more link for the case.
    async fn peer(&mut self) -> Peer<L> {
        let name = format!("leasehold-conformance/{}/{}", self.run, self.case);
        Peer::connect((self.make)(), self.case, name).await
    }
}
