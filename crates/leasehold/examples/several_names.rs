//! Transfers between accounts, each of which needs two accounts at a time: workers lock both names together, all or none, so
//! that none waits for one while it keeps the other.
//!
//! ```sh
//! cargo run -p leasehold --example several_names
//! cargo run -p leasehold --example several_names -- redis://db1 redis://db2 redis://db3
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use leasehold::{
    LockManager,
    blocking::{self, LeaseGuard},
};
use std::{
    env,
    error::Error,
    sync::atomic::{AtomicI64, Ordering},
    thread,
    time::Duration,
};

fn main() -> Result<(), Box<dyn Error>> {
    let nodes: Vec<String> = env::args().skip(1).collect();
    let builder = LockManager::builder();
    let manager = if nodes.is_empty() {
        builder.memory(3).build()?
    } else {
        builder.nodes(nodes).build()?
    };
    println!("{:?} in the end", transfers(&manager.blocking())?);
    Ok(())
}

/// In place of a database: a balance is read, and written a moment later, which only one may do at a time.
type Accounts = [AtomicI64; 4];

/// Five workers at once, with money to move in a circle: with one lock after the other, each could have its first account and
/// wait for its second for ever. Returns the balances in the end.
fn transfers(manager: &blocking::LockManager) -> Result<Vec<i64>, String> {
    let accounts: Accounts = [const { AtomicI64::new(100) }; 4];
    let routes = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 0)];
    let outcomes: Vec<Result<(), String>> = thread::scope(|scope| {
        let accounts = &accounts;
        let workers =
            routes.map(|(from, to)| scope.spawn(move || work(manager, accounts, from, to)));
        let panicked = |_| Err("a worker panicked".to_owned());
        let ended = workers.map(|worker| worker.join().unwrap_or_else(panicked));
        ended.into()
    });
    manager.shutdown();
    outcomes.into_iter().collect::<Result<(), String>>()?;
    Ok(accounts
        .iter()
        .map(|account| account.load(Ordering::SeqCst))
        .collect())
}

/// Moves money five times.
fn work(
    manager: &blocking::LockManager,
    accounts: &Accounts,
    from: usize,
    to: usize,
) -> Result<(), String> {
    let names = [format!("account/{from}"), format!("account/{to}")];
    let mutex = manager
        .mutex_all(&names)
        .map_err(|error| error.to_string())?;
    for _ in 0..5 {
        let guard = mutex.acquire_within(Duration::from_secs(60));
        let guard = guard.map_err(|error| format!("cannot {error}"))?;
        transfer(&guard, &accounts[from], &accounts[to]);
        drop(guard.release());
    }
    Ok(())
}

fn transfer(lease: &LeaseGuard, from: &AtomicI64, to: &AtomicI64) {
    let (less, more) = (
        from.load(Ordering::SeqCst) - 1,
        to.load(Ordering::SeqCst) + 1,
    );
    println!("{} as {}", lease.resource(), lease.fencing_token());
    from.store(less, Ordering::SeqCst);
    to.store(more, Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_money_is_lost_and_nobody_waits_in_a_circle() {
        let manager = LockManager::builder()
            .memory(3)
            .build()
            .expect("three nodes");
        assert_eq!(transfers(&manager.blocking()), Ok(vec![105, 95, 100, 100]));
    }
}
