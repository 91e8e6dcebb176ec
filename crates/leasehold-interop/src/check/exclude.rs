//! Who has the lock keeps the other side out.

use crate::{
    Fallible,
    ours::Kind,
    scene::{LONG, Scene},
};
use leasehold::{LockOptions, Owner};
use std::time::Duration;

pub(super) fn theirs_keeps_us_out(scene: &mut Scene<'_>) -> Fallible<()> {
    let value = scene.they_lock(LONG)?;
    let held = scene.we_are_refused()?;
    // `SET … NX` tells a plain client only that there is a key; who looks at it is told more.
    if scene.kind == Kind::Fenced {
        is_theirs(&value, held.holder.as_ref(), held.remaining)?;
    }
    let seen = scene.ours.inspect(&scene.resource)?;
    is_theirs(&value, seen.holder(), seen.remaining())?;
    // The try that was refused has left nothing, and taken nothing.
    scene.they_still_hold(&value)?;
    scene.they_unlock()?;
    let lease = scene.we_lock(LockOptions::new())?;
    scene.we_unlock(lease)
}

pub(super) fn ours_keeps_them_out(scene: &mut Scene<'_>) -> Fallible<()> {
    let lease = scene.we_lock(LockOptions::new())?;
    scene.they_are_refused()?;
    scene.we_still_hold(&lease)?;
    scene.we_unlock(lease)?;
    scene.they_lock_within(SOON)?;
    scene.they_unlock()
}

/// Whether this holder is who set `value` just now.
fn is_theirs(value: &str, holder: Option<&Owner>, remaining: Option<Duration>) -> Fallible<()> {
    let holder = holder.map(|holder| String::from_utf8_lossy(holder.as_bytes()).into_owned());
    if holder.as_deref() != Some(value) {
        return Err(format!("they set {value:?}, and we are told that {holder:?} holds it").into());
    }
    match remaining {
        Some(left) if !left.is_zero() && left <= LONG => Ok(()),
        other => Err(format!("of a TTL of {LONG:?} we are told that {other:?} is left").into()),
    }
}

/// What is free is had at once, but for those who clean up in the background.
const SOON: Duration = Duration::from_secs(2);
