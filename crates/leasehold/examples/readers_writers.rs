//! A price list that many read at once and one changes now and then: readers share the lock, a writer has it alone, and reads
//! on what it has just written without a moment in which another writer gets in.
//!
//! ```sh
//! cargo run -p leasehold --example readers_writers
//! cargo run -p leasehold --example readers_writers -- redis://db1 redis://db2 redis://db3
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use leasehold::{
    LockManager,
    blocking::{self, RwLock},
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
    let (torn, last) = trade(&manager.blocking())?;
    println!("{torn} price lists were seen half written; the last has {last}");
    Ok(())
}

/// In place of a file: two prices that belong together, and are written one after the other.
type Prices = [AtomicI64; 2];

/// How long anybody waits.
const PATIENCE: Duration = Duration::from_secs(60);

/// Four who read and two who write. Returns how many read prices that do not belong together, and the last price.
fn trade(manager: &blocking::LockManager) -> Result<(usize, i64), String> {
    let list = manager.rwlock("prices");
    let list = list.map_err(|error| error.to_string())?;
    let prices = Prices::default();
    let ended: Result<Vec<usize>, String> = thread::scope(|scope| {
        let readers = [(); 4].map(|()| scope.spawn(|| read(&list, &prices)));
        let writers = [(); 2].map(|()| scope.spawn(|| write(&list, &prices)));
        let all = readers.into_iter().chain(writers);
        let panicked = |_| Err("a worker panicked".to_owned());
        all.map(|worker| worker.join().unwrap_or_else(panicked))
            .collect()
    });
    manager.shutdown();
    Ok((ended?.iter().sum(), prices[0].load(Ordering::SeqCst)))
}

/// Reads five times, and counts what does not belong together.
fn read(list: &RwLock, prices: &Prices) -> Result<usize, String> {
    let mut torn = 0;
    for _ in 0..5 {
        let reader = list.read_within(PATIENCE);
        let reader = reader.map_err(|error| format!("cannot {error}"))?;
        torn += usize::from(is_torn(prices));
        drop(reader.release());
    }
    Ok(torn)
}

/// Raises both prices five times, and looks at them as a reader.
fn write(list: &RwLock, prices: &Prices) -> Result<usize, String> {
    let mut torn = 0;
    for _ in 0..5 {
        let writer = list.write_within(PATIENCE);
        let writer = writer.map_err(|error| format!("cannot {error}"))?;
        println!("writing as {}", writer.fencing_token());
        for price in prices {
            price.fetch_add(1, Ordering::SeqCst);
        }
        let reader = writer.downgrade();
        let reader = reader.map_err(|error| format!("cannot {error}"))?;
        torn += usize::from(is_torn(prices));
        drop(reader.release());
    }
    Ok(torn)
}

fn is_torn([one, other]: &Prices) -> bool {
    let one = one.load(Ordering::SeqCst);
    thread::yield_now();
    one != other.load(Ordering::SeqCst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_reads_what_is_half_written_and_nothing_is_written_over() {
        let manager = LockManager::builder()
            .memory(3)
            .build()
            .expect("three nodes");
        assert_eq!(trade(&manager.blocking()), Ok((0, 10)));
    }
}
