//! Work that is done once in each minute by whichever worker comes first, and by the next one if that fails.
//!
//! ```sh
//! cargo run -p leasehold --example once_per_minute
//! cargo run -p leasehold --example once_per_minute -- redis://db1 redis://db2 redis://db3
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use leasehold::{AcquireError, LockManager, blocking::OncePer};
use std::{env, error::Error, time::Duration};

fn main() -> Result<(), Box<dyn Error>> {
    let nodes: Vec<String> = env::args().skip(1).collect();
    let builder = LockManager::builder();
    let manager = if nodes.is_empty() {
        builder.memory(3).build()?
    } else {
        builder.nodes(nodes).build()?
    };
    let manager = manager.blocking();
    let minutely = manager.mutex("report")?.once_per(Duration::from_secs(60))?;
    for line in workers(&minutely, &[Err("the disk is full"), Ok(()), Ok(())])? {
        println!("{line}");
    }
    manager.shutdown();
    Ok(())
}

/// One worker after the other, each of which would end like this. In a program they are on different machines. Returns what each
/// of them says.
fn workers(once: &OncePer, ends: &[Result<(), &str>]) -> Result<Vec<String>, Box<dyn Error>> {
    let mut said = Vec::new();
    for end in ends {
        match once.begin() {
            Ok(turn) => match end {
                Ok(()) => {
                    said.push(format!("done, as {}", turn.fencing_token()));
                    turn.done()?;
                }
                // The guard is dropped, so another worker may try.
                Err(why) => said.push(format!("failed: {why}")),
            },
            Err(error @ AcquireError::AlreadyDone(_)) => said.push(error.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold::testing::World;

    #[test]
    fn what_fails_is_tried_again_and_what_is_done_is_not() {
        let world = World::new(3);
        let manager = world.manager().blocking();
        let mutex = manager.mutex("report").expect("a name");
        // Of a period that has just begun.
        let day = Duration::from_secs(24 * 60 * 60);
        let once = mutex.once_per(day).expect("a good period");
        let once = once.starting(world.clock().wall());
        let said = workers(&once, &[Err("no"), Ok(()), Ok(())]).expect("nothing else fails");
        assert_eq!(said[0], "failed: no");
        assert!(said[1].starts_with("done, as "), "{said:?}");
        assert!(
            said[2].starts_with("lock \"report\": done in this period by pid "),
            "{said:?}"
        );
    }
}
