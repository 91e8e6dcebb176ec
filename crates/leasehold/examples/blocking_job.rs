//! A job of a program without `async`, that must not run twice at once: it locks, works step by step, and stops between two
//! steps when the lease is lost.
//!
//! ```sh
//! cargo run -p leasehold --example blocking_job              # on nodes in memory
//! cargo run -p leasehold --example blocking_job -- redis://db1 redis://db2 redis://db3
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use leasehold::{
    AcquireError, LockManager,
    blocking::{LeaseGuard, Mutex},
};
use std::{env, error::Error, thread, time::Duration};

const STEPS: u32 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let nodes: Vec<String> = env::args().skip(1).collect();
    let builder = LockManager::builder();
    let manager = if nodes.is_empty() {
        builder.memory(3).build()?.blocking()
    } else {
        builder.nodes(nodes).build()?.blocking()
    };
    let mutex = manager.mutex("nightly-report")?;
    // Two threads want to do it; on other machines it would be the same.
    thread::scope(|threads| {
        for worker in 1..=2 {
            let mutex = mutex.clone();
            threads.spawn(move || match report(&mutex, worker) {
                Ok(()) => {}
                Err(error) => println!("worker {worker} cannot {error}"),
            });
        }
    });
    println!("releases that are not confirmed: {:?}", manager.shutdown());
    Ok(())
}

fn report(mutex: &Mutex, worker: u32) -> Result<(), AcquireError> {
    let guard = mutex.acquire_within(Duration::from_secs(60))?;
    println!(
        "worker {worker} begins, with token {}",
        guard.fencing_token()
    );
    let done = guard.run(work);
    match done.lost {
        None => println!("worker {worker} did {} steps; {}", done.work, done.release),
        Some(lost) => println!("worker {worker} stopped after {} steps: {lost}", done.work),
    }
    Ok(())
}

/// Says how many steps were done while the lease was held.
fn work(lease: &LeaseGuard) -> u32 {
    for step in 0..STEPS {
        // The rest between two steps, from which a loss wakes. Where there is none: `if !lease.is_valid()`.
        if lease.lost_within(Duration::from_millis(100)).is_some() {
            return step;
        }
    }
    STEPS
}
