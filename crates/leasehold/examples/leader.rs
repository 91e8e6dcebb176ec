//! One leader among many: whoever holds the lock leads, for as long as the lease lasts, and the fencing token is the term.
//!
//! ```sh
//! cargo run -p leasehold --example leader              # three candidates of this process
//! cargo run -p leasehold --example leader -- redis://db1 redis://db2 redis://db3   # and of others that run it
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use leasehold::{AcquireError, LockManager, LockOptions, Mutex};
use std::{env, error::Error, time::Duration};

/// How long the nodes keep a leader who has died.
const TTL: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let nodes: Vec<String> = env::args().skip(1).collect();
    let builder = LockManager::builder();
    let manager = if nodes.is_empty() {
        builder.memory(3).build()?
    } else {
        builder.nodes(nodes).build()?
    };
    // A candidate waits for ever, and a leader leads until told otherwise.
    let options = LockOptions::new()
        .ttl(TTL)
        .tries_unlimited()
        .max_hold_unlimited();
    let mutex = manager.mutex_with("leader", options)?;
    let candidates: Vec<_> = ["Ada", "Ben", "Cleo"]
        .into_iter()
        .map(|name| tokio::spawn(candidate(name, mutex.clone())))
        .collect();
    for candidate in candidates {
        candidate.await??;
    }
    manager.shutdown().await;
    Ok(())
}

/// Leads once. A real candidate would begin again afterwards.
async fn candidate(name: &str, mutex: Mutex) -> Result<(), AcquireError> {
    let guard = mutex.acquire().await?;
    // What a leader writes carries the term, so that whatever is written to can refuse a leader who does not know yet that
    // another one was elected.
    let term = guard.fencing_token();
    println!("{name} leads, in term {term}");
    // Dropped at its last `await` when the lease is lost.
    let done = guard.run(async {
        for order in 1..=3 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            println!("  {name} gives order {order} of term {term}");
        }
    });
    match done.await.work {
        Ok(()) => println!("{name} steps down"),
        Err(lost) => println!("{name} leads no more: {lost}"),
    }
    Ok(())
}
