//! How to test what a job does when its lock is lost: nodes that can be broken, and a time that passes when the test says so.
//! A program has `leasehold` with the feature `testing` among its dev-dependencies for that.
//!
//! ```sh
//! cargo test -p leasehold --example test_my_job
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use leasehold::{AcquireError, LockManager, LockOptions};
use std::{env, error::Error, time::Duration};

/// What became of the night's work.
#[derive(Debug, PartialEq)]
enum Night {
    Done {
        accounts: usize,
    },
    /// Somebody else may be at it: the rest is left to them.
    Stopped {
        accounts: usize,
    },
    /// Somebody else is at it.
    NotOurs,
}

/// The job: books interest on each account, and must not run twice at once.
fn book_interest(manager: &LockManager, accounts: &mut [i64]) -> Result<Night, Box<dyn Error>> {
    let options = LockOptions::new().max_hold(Duration::from_secs(3_600));
    let mutex = manager.blocking().mutex_with("interest", options)?;
    let guard = match mutex.try_acquire() {
        Err(AcquireError::Held(_)) => return Ok(Night::NotOurs),
        guard => guard?,
    };
    let mut booked = 0;
    for account in accounts.iter_mut() {
        // Before each step, and not only before the first: the lease may be over by now.
        if !guard.is_valid() {
            return Ok(Night::Stopped { accounts: booked });
        }
        *account += *account / 100;
        booked += 1;
        after_each_account();
    }
    Ok(Night::Done { accounts: booked })
}

fn main() -> Result<(), Box<dyn Error>> {
    let nodes: Vec<String> = env::args().skip(1).collect();
    let builder = LockManager::builder();
    let manager = if nodes.is_empty() {
        builder.memory(3).build()?
    } else {
        builder.nodes(nodes).build()?
    };
    let mut accounts = [1_000, 2_000, 3_000];
    let night = book_interest(&manager, &mut accounts)?;
    println!("{night:?}: {accounts:?}");
    manager.blocking().shutdown();
    Ok(())
}

#[cfg(not(test))]
const fn after_each_account() {}

#[cfg(test)]
use tests::after_each_account;

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold::testing::World;
    use std::cell::RefCell;

    type Trouble = Option<Box<dyn FnOnce()>>;

    thread_local! {
        /// What happens after the first account.
        static TROUBLE: RefCell<Trouble> = const { RefCell::new(None) };
    }

    pub(super) fn after_each_account() {
        if let Some(trouble) = TROUBLE.take() {
            trouble();
        }
    }

    /// The night in a world of three nodes, and what happens after the first account.
    fn night(trouble: impl FnOnce(&World) + 'static) -> (Night, [i64; 3]) {
        let world = World::new(3);
        let manager = world.manager();
        TROUBLE.set(Some(Box::new(move || trouble(&world))));
        let mut accounts = [100, 200, 300];
        let night = book_interest(&manager, &mut accounts).expect("the nodes answer");
        (night, accounts)
    }

    #[test]
    fn all_is_booked_on_a_quiet_night() {
        let (night, accounts) = night(|_| {});
        assert_eq!(night, Night::Done { accounts: 3 });
        assert_eq!(accounts, [101, 202, 303]);
    }

    #[test]
    fn nothing_is_booked_after_the_lock_is_lost() {
        let (night, accounts) = night(|world| world.lose("interest"));
        assert_eq!(night, Night::Stopped { accounts: 1 });
        assert_eq!(accounts, [101, 200, 300]);
    }

    #[test]
    fn a_node_that_goes_away_disturbs_nobody() {
        let (night, _) = night(|world| {
            world.node(0).down("no route");
            world.advance(Duration::from_secs(60));
        });
        assert_eq!(night, Night::Done { accounts: 3 });
    }

    #[test]
    fn nothing_is_booked_when_a_quorum_was_away_for_too_long() {
        let (night, _) = night(|world| {
            world.node(0).down("no route");
            world.node(1).hang();
            world.advance(Duration::from_secs(60));
        });
        assert_eq!(night, Night::Stopped { accounts: 1 });
    }

    #[test]
    fn a_night_that_never_ends_is_ended() {
        let (night, _) = night(|world| world.advance(Duration::from_secs(3_600)));
        assert_eq!(night, Night::Stopped { accounts: 1 });
    }

    #[test]
    fn whoever_comes_second_books_nothing() {
        let world = World::new(3);
        let other = world.manager().blocking();
        let mutex = other.mutex("interest").expect("a plain name");
        let guard = mutex.acquire().expect("it is free");
        assert!(guard.is_valid());
        let night = book_interest(&world.manager(), &mut [100]).expect("the nodes answer");
        assert_eq!(night, Night::NotOurs);
    }
}
