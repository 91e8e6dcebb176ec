//! Names that are locked together, by a library that can: whoever has some of them keeps out all who want one of these.

use crate::{
    Fallible,
    ours::SEVERAL,
    scene::{LONG, Scene},
};
use leasehold::LockOptions;
use std::time::Duration;

pub(super) fn theirs_keeps_us_out(scene: &mut Scene<'_>) -> Fallible<()> {
    let base = scene.name.clone();
    both_want(scene, &base, &["a", "b"]);
    let value = scene.they_lock(LONG)?;
    for names in [&["b"][..], &["b", "c"], &["b", "a"]] {
        both_want(scene, &base, names);
        scene.we_are_refused()?;
    }
    // The tries that were refused have left nothing, and taken nothing.
    both_want(scene, &base, &["c"]);
    let lease = scene.we_lock(LockOptions::new())?;
    scene.we_unlock(lease)?;
    both_want(scene, &base, &["a", "b"]);
    scene.they_still_hold(&value)?;
    scene.they_unlock()?;
    both_want(scene, &base, &["c", "b"]);
    let lease = scene.we_lock(LockOptions::new())?;
    scene.we_unlock(lease)
}

pub(super) fn ours_keeps_them_out(scene: &mut Scene<'_>) -> Fallible<()> {
    let base = scene.name.clone();
    both_want(scene, &base, &["a", "b"]);
    let lease = scene.we_lock(LockOptions::new())?;
    for names in [&["b"][..], &["b", "c"], &["c", "a"]] {
        both_want(scene, &base, names);
        scene.they_are_refused()?;
        both_want(scene, &base, &["a", "b"]);
        scene.we_still_hold(&lease)?;
    }
    both_want(scene, &base, &["c"]);
    scene.they_lock_within(SOON)?;
    scene.they_unlock()?;
    scene.we_unlock(lease)?;
    both_want(scene, &base, &["c", "b"]);
    scene.they_lock_within(SOON)?;
    scene.they_unlock()
}

/// Theirs want other names than ours, but for one.
pub(super) fn no_increment_is_lost(scene: &mut Scene<'_>) -> Fallible<()> {
    let base = scene.name.clone();
    both_want(scene, &base, &["c", "b"]);
    let ours = scene.resource.clone();
    both_want(scene, &base, &["a", "b"]);
    scene.resource = ours;
    scene.short_mix()
}

/// From now on the scene is about these names.
fn both_want(scene: &mut Scene<'_>, base: &str, names: &[&str]) {
    let names: Vec<_> = names.iter().map(|name| format!("{base}/{name}")).collect();
    let keys = names.iter().map(|name| scene.installed.peer.key_of(name));
    scene.resource = keys.collect::<Vec<_>>().join(SEVERAL);
    scene.name = names.join(SEVERAL);
}

/// What is free is had at once, but for those who clean up in the background.
const SOON: Duration = Duration::from_secs(2);
