//! Readers of ours, whom a library that knows nothing of readers meets as a key of another type.

use crate::{
    Fallible,
    ours::block_on,
    scene::{LONG, Scene},
};
use leasehold::{LockManager, ReadGuard, RwLock};
use std::time::Duration;

pub(super) fn our_readers_keep_them_out(scene: &mut Scene<'_>) -> Fallible<()> {
    let lock = ours(scene)?;
    let read = || block_on(lock.try_read()).map_err(|error| format!("we cannot read: {error}"));
    let (one, other) = (read()?, read()?);
    scene.they_are_refused()?;
    still_read(&one)?;
    still_read(&other)?;
    leave(one)?;
    // The last of them keeps them out as well.
    scene.they_are_refused()?;
    still_read(&other)?;
    leave(other)?;
    scene.they_lock_within(SOON)?;
    scene.they_unlock()
}

pub(super) fn theirs_keeps_our_readers_out(scene: &mut Scene<'_>) -> Fallible<()> {
    let lock = ours(scene)?;
    let value = scene.they_lock(LONG)?;
    match block_on(lock.try_read()) {
        Ok(_) => return Err("we read what they have".into()),
        Err(error) if !error.is_contention() => {
            return Err(format!("we are refused for another reason: {error}").into());
        }
        Err(_) => {}
    }
    scene.they_still_hold(&value)?;
    scene.they_unlock()?;
    let guard = block_on(lock.read_within(SOON));
    leave(guard.map_err(|error| format!("we cannot read what is free: {error}"))?)
}

/// The resource as readers have it. Only fenced locks have them.
fn ours(scene: &Scene<'_>) -> Fallible<RwLock> {
    let builder = LockManager::builder().nodes(scene.nodes.urls());
    Ok(builder.build()?.rwlock(&scene.resource)?)
}

/// Every node is asked: what they have taken away from a quorum is noticed.
fn still_read(guard: &ReadGuard) -> Fallible<()> {
    let extended = block_on(guard.extend());
    extended.map_err(|error| format!("our share was taken from us: {error}"))?;
    Ok(())
}

fn leave(guard: ReadGuard) -> Fallible<()> {
    let outcome = block_on(guard.release());
    match outcome.is_released() {
        true => Ok(()),
        false => Err(format!("we cannot give back our share: {outcome}").into()),
    }
}

/// What is free is had at once, but for those who clean up in the background.
const SOON: Duration = Duration::from_secs(2);
