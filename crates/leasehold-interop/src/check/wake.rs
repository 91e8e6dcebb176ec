//! A waiter of ours, and a release of theirs.

use crate::{
    Fallible,
    moment::{now, rest, since},
    scene::{LONG, Scene},
};
use leasehold::LockOptions;
use std::{thread, time::Duration};

/// Our waiter would not ask again by itself for longer than the bound: so it was the nodes who told it.
pub(super) fn their_release_wakes_us(scene: &mut Scene<'_>) -> Fallible<()> {
    let mut delays = Vec::new();
    for _ in 0..ROUNDS {
        scene.they_lock(LONG)?;
        let (ours, resource) = (scene.ours.clone(), scene.resource.clone());
        let waiter = thread::spawn(move || {
            let options = LockOptions::new().pause(PAUSE..=PAUSE);
            let lease = ours.acquire(&resource, options, PATIENCE);
            lease.map(|lease| (lease, now()))
        });
        rest(BEFORE);
        let released = now();
        scene.they_unlock()?;
        let delay = since(released);
        let waited = waiter.join().map_err(|_| "our waiter panicked")?;
        let (lease, woken) = waited.map_err(|error| format!("we wait in vain: {error}"))?;
        // They may answer later than they release.
        delays.push(woken.saturating_since(released).saturating_sub(delay));
        scene.we_unlock(lease)?;
        // Known to a quorum so far: what is left on the others would refuse them.
        scene.wait_for_the_end()?;
    }
    delays.sort_unstable();
    let median = delays[ROUNDS / 2];
    if median > BOUND {
        return Err(format!("we wake {delays:?} after a release, and not within {BOUND:?}").into());
    }
    Ok(())
}

const ROUNDS: usize = 3;
/// Longer than the whole scene.
const PAUSE: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(8);
/// In the middle of a second: a waiter looks again each second at least.
const BEFORE: Duration = Duration::from_millis(500);
const BOUND: Duration = Duration::from_millis(250);
