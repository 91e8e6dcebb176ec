//! Two workers that must not do the same thing at once, over three nodes in memory.
//!
//! `cargo run -p leasehold --example first_lock`; with addresses of real servers behind it, over those.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use leasehold::{AcquireError, LockManager};
use std::{env, time::Duration};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let nodes: Vec<String> = env::args().skip(1).collect();
    let builder = LockManager::builder();
    let builder = if nodes.is_empty() {
        builder.memory(3)
    } else {
        builder.nodes(nodes)
    };
    let manager = builder.build()?;
    let mutex = manager.mutex("orders/42")?;

    let guard = mutex.acquire().await?;
    println!(
        "worker 1 has {} for another {:?}",
        guard.resource(),
        guard.remaining()
    );

    match mutex.acquire_within(Duration::from_millis(200)).await {
        Err(error @ AcquireError::TimedOut { .. }) => println!("worker 2 cannot {error}"),
        other => return Err(format!("worker 2 should have had to wait: {other:?}").into()),
    }

    println!("worker 1 gives it back: {}", guard.release().await);
    let guard = mutex.acquire().await?;
    println!("worker 2 has it now, as {}", guard.owner());
    drop(guard);

    let unconfirmed = manager.shutdown().await;
    println!("releases that are not confirmed: {unconfirmed:?}");
    Ok(())
}
