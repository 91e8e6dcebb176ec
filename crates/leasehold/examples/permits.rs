//! Jobs that share two GPUs: each waits for a permit, and its slot says which GPU is its own.
//!
//! ```sh
//! cargo run -p leasehold --example permits
//! cargo run -p leasehold --example permits -- redis://db1 redis://db2 redis://db3
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use leasehold::{
    LockManager,
    blocking::{self, Semaphore},
};
use std::{
    env,
    error::Error,
    sync::atomic::{AtomicUsize, Ordering},
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
    let jobs = render(&manager.blocking())?;
    println!("the GPUs have done {jobs:?} jobs");
    Ok(())
}

/// How many GPUs there are.
const GPUS: usize = 2;

/// How long a job waits.
const PATIENCE: Duration = Duration::from_secs(60);

/// Six jobs. Returns how many each GPU has done.
fn render(manager: &blocking::LockManager) -> Result<[usize; GPUS], String> {
    let gpus = manager.semaphore("gpu", GPUS);
    let gpus = gpus.map_err(|error| error.to_string())?;
    let busy: [AtomicUsize; GPUS] = Default::default();
    let ended: Result<Vec<usize>, String> = thread::scope(|scope| {
        let jobs = [0, 1, 2, 3, 4, 5].map(|number| {
            scope.spawn({
                let (gpus, busy) = (&gpus, &busy);
                move || job(number, gpus, busy)
            })
        });
        let panicked = |_| Err("a job panicked".to_owned());
        let ended = jobs
            .into_iter()
            .map(|job| job.join().unwrap_or_else(panicked));
        ended.collect()
    });
    manager.shutdown();
    let ended = ended?;
    Ok(std::array::from_fn(|gpu| {
        ended.iter().filter(|slot| **slot == gpu).count()
    }))
}

/// Uses the GPU of its slot. Returns which one that was.
fn job(number: usize, gpus: &Semaphore, busy: &[AtomicUsize; GPUS]) -> Result<usize, String> {
    let done = gpus.hold_within(PATIENCE, |permit| {
        let slot = permit.slot();
        println!("job {number} on GPU {slot}");
        assert_eq!(
            busy[slot].fetch_add(1, Ordering::SeqCst),
            0,
            "it is used by one job at a time"
        );
        (0..100).for_each(|_| thread::yield_now());
        busy[slot].fetch_sub(1, Ordering::SeqCst);
        slot
    });
    Ok(done.map_err(|error| format!("cannot {error}"))?.work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_gpu_has_two_jobs_at_a_time_and_all_are_done() {
        let manager = LockManager::builder().memory(3).build();
        let jobs = render(&manager.expect("three nodes").blocking()).expect("all are done");
        assert_eq!(jobs.iter().sum::<usize>(), 6);
    }
}
