//! One leader among many: candidates campaign, the one that is elected leads in a term that nobody had before, and everybody
//! may look on.
//!
//! ```sh
//! cargo run -p leasehold --example leader              # three candidates of this process
//! cargo run -p leasehold --example leader -- redis://db1 redis://db2 redis://db3   # and of others that run it
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use leasehold::{AcquireError, Election, LeaseLost, LockManager, LockOptions};
use std::{env, error::Error, ops::ControlFlow, time::Duration};
use tokio::time::sleep;

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
    let election = manager.election_with("leader", LockOptions::new().ttl(TTL))?;
    let mut leaders = election.observe();
    let observer = tokio::spawn(async move {
        // It ends when the manager is shut down.
        while let Some(state) = leaders.next().await {
            println!("observed: {state}");
        }
    });
    let mut candidates = Vec::new();
    for name in ["Ada", "Ben", "Cleo"] {
        // What observers see of it. A service tells the address at which it is reached.
        let election = election.labelled(name)?;
        candidates.push(tokio::spawn(candidate(name.to_owned(), election)));
    }
    for candidate in candidates {
        candidate.await??;
    }
    manager.shutdown().await;
    observer.await?;
    Ok(())
}

/// Leads once for as long as it has orders to give, and campaigns again if it loses its leadership before that.
async fn candidate(name: String, election: Election) -> Result<(), AcquireError> {
    let loser = name.clone();
    // A task of tokio has to be `Send`: so the work owns what it uses, and borrows nothing.
    let work = election.lead_repeatedly(
        async move |leadership| {
            // What a leader writes carries the term, so that whatever is written to can refuse a leader who does not know yet
            // that another one was elected.
            let term = leadership.term();
            println!("{name} leads, in term {term}");
            for order in 1..=3 {
                // Dropped here when the leadership is lost.
                sleep(Duration::from_millis(100)).await;
                println!("  {name} gives order {order} of term {term}");
            }
            println!("{name} steps down");
            ControlFlow::Break(())
        },
        move |lost: LeaseLost| {
            println!("{loser} leads no more: {lost}; campaigning again");
            ControlFlow::Continue(())
        },
    );
    work.await
}
