//! What a holder is told when the nodes go away: first that the lease is in danger, then that it is lost,
//! before anybody else can have the lock.
//!
//! Starts three servers of its own (needs `redis-server` or `valkey-server`), and stops two of them.
//!
//! ```sh
//! cargo run -p leasehold --example lease_loss
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use leasehold::{LeaseState, LockManager, LockOptions};
use leasehold_servers::ServerSet;
use std::{error::Error, time::Duration};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let servers = ServerSet::start(3)?;
    let options = LockOptions::new().ttl(Duration::from_secs(2));
    let builder = LockManager::builder().nodes(servers.urls());
    // New servers vote after half a minute, or when somebody says that they held no locks.
    builder.operator()?.admit_new().await?;
    let manager = builder.build()?;
    let guard = manager.mutex_with("payments", options)?.acquire().await?;
    println!("held, good for {:?}", guard.remaining());
    for server in &servers[..2] {
        server.pause()?;
    }
    println!("two of three servers hang from now on");
    loop {
        match guard.changed().await {
            LeaseState::Held => println!("held again"),
            LeaseState::InDanger(danger) => println!("in danger: {danger}"),
            LeaseState::Lost(lost) => {
                println!("{lost}");
                break;
            }
            _ => {}
        }
    }
    assert!(!guard.is_valid());
    for server in &servers[..2] {
        server.resume()?;
    }
    println!("{}", guard.release().await);
    manager.shutdown().await;
    Ok(())
}
