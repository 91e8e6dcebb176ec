//! Leasehold of two versions, or in two languages, which do together what other libraries cannot.

use crate::{
    Fallible,
    crowd::{self, Crowd, TWO_HELD},
    moment::{now, rest},
    protocol::{Answer, Leave, Request},
    scene::{LONG, Scene},
};
use leasehold::{Instant, LockOptions};
use std::{thread, time::Duration};

/// Their waiter asks again by itself once a second: what is sooner was told by the nodes.
pub(super) fn our_release_wakes_them(scene: &mut Scene<'_>) -> Fallible<()> {
    let mut delays = Vec::new();
    for _ in 0..ROUNDS {
        let lease = scene.we_lock(LockOptions::new())?;
        let request = Request::Wait {
            key: scene.name.clone(),
            ttl: LONG,
            patience: PATIENCE,
        };
        let they = &mut *scene.they;
        let (answer, woken, released) = thread::scope(|scope| -> Fallible<_> {
            let release = scope.spawn(|| -> (Instant, bool) {
                rest(BEFORE);
                let begun = now();
                (begun, lease.release().is_released())
            });
            let answer = they.ask(&request);
            let woken = now();
            let (released, is_released) = release.join().map_err(|_| "our holder panicked")?;
            match is_released {
                true => Ok((answer?, woken, released)),
                false => Err("we cannot unlock what is ours".into()),
            }
        })?;
        let Answer::Locked { .. } = answer else {
            return Err(format!("they wait in vain: {answer}").into());
        };
        if woken < released {
            return Err(format!("{TWO_HELD}: they have the lock before we release it").into());
        }
        delays.push(woken.saturating_since(released));
        scene.they_unlock()?;
        scene.wait_for_the_end()?;
    }
    delays.sort_unstable();
    if delays[ROUNDS / 2] > BOUND {
        let what = format!("they wake {delays:?} after a release, and not within {BOUND:?}");
        return Err(what.into());
    }
    Ok(())
}

pub(super) fn each_releases_what_the_other_handed_over(scene: &mut Scene<'_>) -> Fallible<()> {
    let value = scene.they_lock(LONG)?;
    let text = they_leave(scene, Leave::HandedOver)?;
    let adopted = scene.ours.adopt(&text);
    let lease = adopted.map_err(|error| format!("we cannot go on with what is theirs: {error}"))?;
    if lease.owner().as_bytes() == value.as_bytes() {
        return Err("a lease that was handed over has its former owner".into());
    }
    scene.they_are_refused()?;
    scene.we_unlock(lease)?;
    scene.wait_for_the_end()?;

    let text = scene.we_lock(LockOptions::new())?.hand_over()?;
    match scene.they.ask(&Request::Adopt { text })? {
        Answer::Locked { .. } => {}
        other => return Err(format!("they cannot go on with what is ours: {other}").into()),
    }
    scene.we_are_refused()?;
    scene.they_unlock()?;
    scene.wait_for_the_end()
}

pub(super) fn each_releases_what_the_other_left_to_all(scene: &mut Scene<'_>) -> Fallible<()> {
    let value = scene.they_lock(LONG)?;
    let owner = they_leave(scene, Leave::Detached)?;
    if owner != value {
        return Err(format!("they set {value:?}, and say that {owner:?} has the lock").into());
    }
    scene.we_are_refused()?;
    let outcome = scene.ours.finish(&scene.resource, &owner)?;
    if !outcome.is_released() {
        return Err(format!("we cannot release what they left: {outcome}").into());
    }
    scene.wait_for_the_end()?;

    let owner = scene.we_lock(LockOptions::new().no_renewal())?.detach()?;
    scene.they_are_refused()?;
    let key = scene.name.clone();
    match scene.they.ask(&Request::Finish { key, owner })? {
        Answer::Unlocked => {}
        other => return Err(format!("they cannot release what we left: {other}").into()),
    }
    scene.wait_for_the_end()
}

/// One after the other, without a pause: by the time alone two could have the same.
pub(super) fn tokens_grow_across_both(scene: &mut Scene<'_>) -> Fallible<()> {
    let mut last = 0;
    for _ in 0..TURNS {
        let theirs = match scene.they.lock(&scene.name, LONG, TRIES)? {
            Answer::Locked { token, .. } => token,
            other => return Err(format!("they do not get the free lock: {other}").into()),
        };
        scene.they_unlock()?;
        let options = LockOptions::new();
        let lease = scene.ours.acquire(&scene.resource, options, LONG)?;
        let ours = lease.token();
        scene.we_unlock(lease)?;
        for (whose, token) in [("their", theirs), ("our", ours)] {
            let token = token.ok_or_else(|| format!("{whose} lock has no token"))?;
            if token <= last {
                return Err(format!("{whose} token {token} comes after {last}").into());
            }
            last = token;
        }
    }
    Ok(())
}

/// So that requests of ours leave together, in calls that the version before does not know.
pub(super) fn many_locks_at_once(scene: &mut Scene<'_>) -> Fallible<()> {
    crowds(scene, scene.mix_for)
}

/// Where the long one is done elsewhere.
pub(super) fn many_locks_at_once_in_short(scene: &mut Scene<'_>) -> Fallible<()> {
    crowds(scene, scene.short())
}

/// Until calls of several locks were seen: where the machine is busy with something else, all requests of a while may leave alone.
fn crowds(scene: &mut Scene<'_>, time: Duration) -> Fallible<()> {
    let (mut turns, mut most) = ([0_usize; 2], 0);
    for _ in 0..CROWDS {
        let (now, keys) = crowd_together(scene, time)?;
        turns = [turns[0] + now[0], turns[1] + now[1]];
        most = most.max(keys);
        let counted = crowd::counted(scene.ground.counter.port(), &scene.resource)?;
        let [theirs, ours] = turns;
        if counted != theirs + ours {
            return Err(format!(
                "{TWO_HELD}: {theirs} turns of theirs and {ours} of ours count {counted}"
            )
            .into());
        }
        if most >= KEYS && theirs.min(ours) >= LEAST {
            return Ok(());
        }
    }
    let [theirs, ours] = turns;
    Err(format!(
        "proves nothing: {theirs} turns of theirs, {ours} of ours, and no call had more than {most} keys"
    )
    .into())
}

/// Tells how many turns they and we had, and how many keys the largest call had.
fn crowd_together(scene: &mut Scene<'_>, time: Duration) -> Fallible<([usize; 2], usize)> {
    let name = &scene.resource;
    let port = scene.ground.counter.port();
    let request = Request::Crowd {
        name: name.clone(),
        time,
        port,
    };
    let ours = Crowd {
        ours: scene.ours,
        name,
        port,
    };
    let kept = scene.nodes.keep_commands()?;
    let they = &mut *scene.they;
    let (theirs, ours) = thread::scope(|scope| {
        let theirs = scope.spawn(|| they.ask(&request));
        let ours = crowd::contend(ours, time);
        (theirs.join(), ours)
    });
    let most = kept.most_keys_of_a_call()?;
    drop(kept);
    let theirs = match theirs.map_err(|_| "who asks them panicked")?? {
        Answer::Crowded(turns) => turns,
        Answer::Failed(what) if what.starts_with(TWO_HELD) => return Err(what.into()),
        other => return Err(format!("their crowd fails: {other}").into()),
    };
    Ok(([theirs, ours?], most))
}

fn they_leave(scene: &mut Scene<'_>, how: Leave) -> Fallible<String> {
    match scene.they.ask(&Request::Leave(how))? {
        Answer::Left(text) => Ok(text),
        other => Err(format!("they cannot leave what is theirs: {other}").into()),
    }
}

const ROUNDS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(8);
/// In the middle of a second: a waiter looks again each second at least.
const BEFORE: Duration = Duration::from_millis(500);
const BOUND: Duration = Duration::from_millis(250);
const TURNS: usize = 50;
/// Their tries for what is free, or is being freed.
const TRIES: u32 = 20;
/// Fewer turns prove nothing.
const LEAST: usize = 50;
/// How often a crowd may prove nothing.
const CROWDS: usize = 5;
/// No call for one lock has as many keys.
const KEYS: usize = 4;
