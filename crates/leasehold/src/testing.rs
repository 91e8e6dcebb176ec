//! For the tests of programs that lock: nodes in memory that can be broken, and a time that passes when the test says so.
//!
//! What a program does when its lease is lost is the part that is rarely tried, since it takes dead servers and waiting. Here it
//! takes a line, and no time at all:
//!
//! ```
//! use leasehold::{LockManager, testing::World};
//! use std::cell::Cell;
//!
//! #[derive(Debug, PartialEq)]
//! enum Report {
//!     Printed,
//!     Stopped,
//! }
//!
//! /// Somebody's job.
//! async fn nightly(manager: &LockManager, printed: &Cell<u32>) -> Report {
//!     let mutex = manager.mutex("report").expect("a plain name");
//!     let done = mutex.hold(async |_| {
//!         while printed.get() < 100 {
//!             printed.set(printed.get() + 1);
//!             tokio::task::yield_now().await;
//!         }
//!     });
//!     match done.await.expect("nobody else prints").work {
//!         Ok(()) => Report::Printed,
//!         Err(_) => Report::Stopped,
//!     }
//! }
//!
//! # fn main() { tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let world = World::new(3); // three nodes
//! let (manager, printed) = (world.manager(), Cell::new(0));
//! let job = nightly(&manager, &printed);
//! let test = async {
//!     world.until_held("report").await; // fails with a sentence if the job has failed
//!     world.lose("report"); // now
//! };
//! let (report, ()) = tokio::join!(job, test);
//! assert_eq!(report, Report::Stopped);
//! assert!(printed.get() < 3, "nothing is printed without the lock");
//! # }) }
//! ```
//!
//! # Time
//! The clock of a [`World`]'s managers stands still: no lease ends, and no wait either, until the test calls
//! [`advance`](World::advance). Then time jumps from one thing that is to be done to the next, extensions, pauses between
//! attempts, slow answers, and the managers have done all of it before `advance` returns. So a lease that its nodes extend
//! lives through any number of hours, and one that they do not is lost, at the same moment in every run.
//!
//! It is the time of the managers alone. What the program itself does with timers is up to the runtime's; tokio has a
//! paused time of its own, which can be advanced beside this one. And a waiter is woken by `advance`, but runs when
//! the runtime lets it: in a test on one thread, that is at the next `await`.
//!
//! A test that waits for what cannot come, since nobody lets time pass while it waits, or since its task never runs, fails
//! with a sentence that says for what it waits, after 10 s ([`World::give_up_after`]). Wait for the job by
//! [`World::until_held`], which fails so as well; a loop of your own that asks [`World::holder`] again and again does not.
//!
//! **No `start_paused`.** Under `#[tokio::test(start_paused = true)]` tokio's time jumps to the next timer whenever the
//! runtime is idle, and it is idle while a manager's thread works: `timeout(…, mutex.acquire())` ends at once, with a lock
//! that is free. Write `#[tokio::test]` and call `tokio::time::pause()` where tokio's time is to stand still and nobody waits
//! for a lock.
//!
//! # Faults
//! [`World::node`] gives one of the nodes: [`down`](Node::down) and [`up`](Node::up), [`hang`](Node::hang) and
//! [`resume`](Node::resume), [`answer_after`](Node::answer_after), [`lose_key`](Node::lose_key) and
//! [`lose_everything`](Node::lose_everything), [`set_clock_forward`](Node::set_clock_forward).
//! [`World::lose`] takes a lock from its holder. A lock that nobody holds cannot be lost: that fails the test.
//!
//! Another holder is another manager of the same world, by [`World::manager`].
//!
//! # What it is not
//! These nodes have no servers' habits: nothing is encoded, no password is wrong, and a node that lost everything votes
//! again at once, with no restart guard. It tries what *your* program does. What leasehold does is tried elsewhere, on real
//! servers and in a simulator.

mod link;
mod node;
mod world;

pub use link::NodeLink;
pub use node::Node;
pub use world::World;
