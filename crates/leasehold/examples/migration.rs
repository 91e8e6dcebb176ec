//! A migration at deployment: every instance of a service starts at the same time, one of them migrates the database, and the
//! others wait until it is done and find that there is nothing to do.
//!
//! ```sh
//! cargo run -p leasehold --example migration              # three instances of this process
//! cargo run -p leasehold --example migration -- redis://db1 redis://db2 redis://db3   # and of others that run it
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use leasehold::{LockManager, LockOptions, blocking::LeaseGuard};
use std::{
    env,
    error::Error,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

/// In place of a database: the version of its schema.
static SCHEMA: AtomicU32 = AtomicU32::new(4);
const WANTED: u32 = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let nodes: Vec<String> = env::args().skip(1).collect();
    let builder = LockManager::builder();
    let manager = if nodes.is_empty() {
        builder.memory(3).build()?.blocking()
    } else {
        builder.nodes(nodes).build()?.blocking()
    };
    // A migration that hangs must not stop the deployment for ever.
    let options = LockOptions::new().max_hold(Duration::from_secs(15 * 60));
    let mutex = manager.mutex_with("migration", options)?;
    thread::scope(|instances| {
        for instance in 1..=3 {
            let mutex = &mutex;
            instances.spawn(move || {
                // As long as the migration may take, and a little.
                match mutex.acquire_within(Duration::from_secs(20 * 60)) {
                    Ok(guard) => migrate(instance, &guard),
                    Err(error) => println!("instance {instance} does not start: cannot {error}"),
                }
            });
        }
    });
    manager.shutdown();
    Ok(())
}

/// What is done is looked up under the lock, not before: who waited finds what the first one did.
fn migrate(instance: u32, lease: &LeaseGuard) {
    let mut version = SCHEMA.load(Ordering::SeqCst);
    if version >= WANTED {
        println!("instance {instance} finds version {version}, and starts");
        return;
    }
    while version < WANTED {
        // Each step is a transaction of its own, and is begun only if nobody else can have begun it. A database can check
        // the token as well: see the example `fenced_write`.
        if !lease.is_valid() {
            println!("instance {instance} has lost the lock, and leaves the rest to the next");
            return;
        }
        version += 1;
        SCHEMA.store(version, Ordering::SeqCst);
        let token = lease.fencing_token();
        println!("instance {instance} migrates to version {version}, as {token}");
    }
    println!("instance {instance} starts");
}
