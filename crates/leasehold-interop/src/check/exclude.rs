//! Who has the lock keeps the other side out.

use crate::{
    Fallible,
    ours::{Kind, block_on},
    peer::Kept,
    scene::{LONG, Scene},
};
use leasehold::{Key, LockManager, LockOptions, Owner};
use std::time::Duration;

pub(super) fn theirs_keeps_us_out(scene: &mut Scene<'_>) -> Fallible<()> {
    let value = scene.they_lock(LONG)?;
    let held = scene.we_are_refused()?;
    match scene.installed.peer.kept {
        Kept::Value => {
            // `SET … NX` tells a plain client only that there is a key; who looks at it is told more.
            if scene.kind == Kind::Fenced {
                is_theirs(&value, held.holder.as_ref(), held.remaining)?;
            }
            let seen = scene.ours.inspect(&scene.resource)?;
            is_theirs(&value, seen.holder(), seen.remaining())?;
        }
        Kept::Hash => is_seen_as_theirs(scene, &value)?,
    }
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
    is_within_the_ttl(remaining)
}

/// Whether who looks at what stands on the nodes is told that it is their lock, by the fields that they have set.
fn is_seen_as_theirs(scene: &mut Scene<'_>, fields: &str) -> Fallible<()> {
    let builder = LockManager::builder().nodes(scene.nodes.urls());
    let seen = block_on(builder.operator()?.look(&scene.resource))?;
    let (mut holders, mut said) = (Vec::new(), None);
    for node in seen.nodes() {
        if let Key::Foreign {
            redisson: Some(holder),
            remaining,
            ..
        } = &node.key
        {
            is_within_the_ttl(*remaining)?;
            let words = node.key.to_string().replace(holder, "CLIENT:THREAD");
            said = words.split(" (").next().map(str::to_owned);
            holders.push(holder.clone());
        }
    }
    if holders.join(" ") != fields {
        return Err(format!("they set {fields:?}, and who looks is told of {holders:?}").into());
    }
    scene
        .said
        .extend(said.map(|words| format!("ours is refused, and says of its `{words}`")));
    Ok(())
}

fn is_within_the_ttl(remaining: Option<Duration>) -> Fallible<()> {
    match remaining {
        Some(left) if !left.is_zero() && left <= LONG => Ok(()),
        other => Err(format!("of a TTL of {LONG:?} we are told that {other:?} is left").into()),
    }
}

/// What is free is had at once, but for those who clean up in the background.
const SOON: Duration = Duration::from_secs(2);
