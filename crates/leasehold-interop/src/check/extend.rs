//! Extensions, in time and too late.

use crate::{
    Fallible,
    moment::rest,
    protocol::Answer,
    scene::{LONG, SHORT, Scene},
};
use leasehold::LockOptions;

pub(super) fn their_extended_lease_keeps_us_out(scene: &mut Scene<'_>) -> Fallible<()> {
    scene.they_lock(SHORT)?;
    match scene.they.extend(LONG)? {
        Answer::Extended => {}
        other => return Err(format!("they cannot extend what is theirs: {other}").into()),
    }
    rest(SHORT * 3 / 2);
    scene.we_are_refused()?;
    scene.they_unlock()
}

pub(super) fn our_extended_lease_keeps_them_out(scene: &mut Scene<'_>) -> Fallible<()> {
    // Extended by itself, thrice while we rest.
    let lease = scene.we_lock(LockOptions::new().ttl(SHORT))?;
    rest(SHORT * 3 / 2);
    scene.they_are_refused()?;
    scene.we_still_hold(&lease)?;
    scene.we_unlock(lease)
}

pub(super) fn their_late_extension_spares_ours(scene: &mut Scene<'_>) -> Fallible<()> {
    scene.they_lock(SHORT)?;
    scene.wait_for_the_end()?;
    let lease = scene.we_lock(LockOptions::new())?;
    let answer = scene.they.extend(LONG)?;
    scene.we_still_hold(&lease)?;
    if answer == Answer::Extended {
        return Err("they believe that they extended a lease that is ours".into());
    }
    scene.we_unlock(lease)
}

pub(super) fn our_late_extension_spares_theirs(scene: &mut Scene<'_>) -> Fallible<()> {
    let lease = scene.we_lock(LockOptions::new().ttl(SHORT).no_renewal())?;
    scene.wait_for_the_end()?;
    let value = scene.they_lock(LONG)?;
    if lease.extend().is_ok() {
        return Err("we believe that we extended a lease that is theirs".into());
    }
    scene.they_still_hold(&value)?;
    scene.they_unlock()
}
