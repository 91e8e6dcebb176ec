//! A holder that dies.

use crate::{
    Fallible,
    moment::{now, since},
    ours::Holder,
    protocol::Answer,
    scene::{LONG, SHORT, Scene},
};
use leasehold::LockOptions;
use std::time::Duration;

pub(super) fn we_follow_their_death(scene: &mut Scene<'_>) -> Fallible<()> {
    let mut they = scene.another_of_theirs()?;
    let started = now();
    match they.lock(&scene.name, SHORT, 1)? {
        Answer::Locked { .. } => {}
        other => return Err(format!("they do not get the free lock: {other}").into()),
    }
    let set = now();
    they.kill()?;
    let lease = scene
        .ours
        .acquire(&scene.resource, LockOptions::new(), LONG);
    let (waited, elapsed) = (since(set), since(started));
    let lease = lease.map_err(|error| format!("we do not get what a dead holder left: {error}"))?;
    // A node counts the TTL from when it heard of it, which was after `started`.
    if elapsed < SHORT {
        return Err(
            format!("we get the lock {elapsed:?} after a holder with a TTL of {SHORT:?}").into(),
        );
    }
    if waited > SHORT + LATE {
        return Err(format!("we get the lock only after {waited:?}, of a TTL of {SHORT:?}").into());
    }
    scene.we_unlock(lease)
}

pub(super) fn they_follow_our_death(scene: &mut Scene<'_>) -> Fallible<()> {
    let holder = Holder::start(scene.kind, &scene.resource, OURS, &scene.nodes.urls())?;
    scene.they_are_refused()?;
    holder.kill()?;
    // It had been extended within a third of its TTL.
    scene.they_are_refused()?;
    scene.they_lock_within(OURS + LATE)?;
    scene.they_unlock()
}

/// Long enough for two refusals on a machine that has other things to do.
const OURS: Duration = Duration::from_secs(2);
const LATE: Duration = Duration::from_millis(1_500);
