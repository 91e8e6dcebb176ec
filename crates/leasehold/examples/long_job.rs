//! A job that takes longer than the TTL: the lease extends itself while the work goes on, and the work is
//! dropped if the lease is lost.
//!
//! ```sh
//! cargo run -p leasehold --example long_job              # on nodes in memory
//! cargo run -p leasehold --example long_job -- redis://db1 redis://db2 redis://db3
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use leasehold::{LockManager, LockOptions};
use std::{env, error::Error, time::Duration};

const STEPS: u32 = 8;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let nodes: Vec<String> = env::args().skip(1).collect();
    let builder = LockManager::builder();
    let manager = if nodes.is_empty() {
        builder.memory(3).build()?
    } else {
        builder.nodes(nodes).build()?
    };
    // A holder that hangs loses the lock after half a second without a step.
    let options = LockOptions::new()
        .ttl(Duration::from_secs(1))
        .max_hold(Duration::from_secs(60))
        .progress_within(Duration::from_millis(500));
    let mutex = manager.mutex_with("nightly-report", options)?;
    let done = mutex
        .hold(async |lease| {
            for step in 1..=STEPS {
                tokio::time::sleep(Duration::from_millis(300)).await;
                lease.heartbeat();
                println!(
                    "step {step} of {STEPS}, lease good for {:?}",
                    lease.remaining()
                );
            }
            STEPS
        })
        .await?;
    match done.work {
        Ok(steps) => println!("all {steps} steps done; {}", done.release),
        Err(lost) => println!("stopped in the middle: {lost}"),
    }
    manager.shutdown().await;
    Ok(())
}
