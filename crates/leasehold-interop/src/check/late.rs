//! Releases that come too late.

use crate::{
    Fallible,
    scene::{LONG, SHORT, Scene},
};
use leasehold::{LockOptions, ReleaseOutcome};

pub(super) fn their_late_release_spares_ours(scene: &mut Scene<'_>) -> Fallible<()> {
    scene.they_lock(SHORT)?;
    scene.wait_for_the_end()?;
    let lease = scene.we_lock(LockOptions::new())?;
    // Whatever they say to it: some tell that it was too late, some do not.
    scene.they.unlock()?;
    scene.we_still_hold(&lease)?;
    scene.we_unlock(lease)
}

pub(super) fn our_late_release_spares_theirs(scene: &mut Scene<'_>) -> Fallible<()> {
    let lease = scene.we_lock(LockOptions::new().ttl(SHORT).no_renewal())?;
    scene.wait_for_the_end()?;
    let value = scene.they_lock(LONG)?;
    match lease.release() {
        ReleaseOutcome::AlreadyExpired => {}
        ReleaseOutcome::TakenByAnother { holder }
            if String::from_utf8_lossy(holder.as_bytes()) == value => {}
        other => return Err(format!("they hold {value:?}, and our release says: {other}").into()),
    }
    scene.they_still_hold(&value)?;
    scene.they_unlock()
}
