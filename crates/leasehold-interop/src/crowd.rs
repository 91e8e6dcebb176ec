//! Many who contend for many locks at once by one manager, so that its requests leave together.
//!
//! Who has a lock counts, by reading, a pause and writing, and leaves its fencing token for the next one, which must have a
//! larger one. All that is on a server that no lock is on. This file is compiled twice, as `leasehold_library` is.

use crate::{
    Fallible,
    moment::{now, rest, uneven},
    ours::{Lease, Ours},
};
use leasehold::LockOptions;
use leasehold_servers::Connection;
use std::{thread, time::Duration};

/// Who contends for what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crowd<'a> {
    pub(crate) ours: &'a Ours,
    /// What the names of the locks begin with.
    pub(crate) name: &'a str,
    /// Where it is counted.
    pub(crate) port: u16,
}

/// Lets them contend for so long. Tells how many turns they had.
///
/// # Errors
/// That two had a lock at once, that a token was not larger than the one before, or what else went wrong.
pub(crate) fn contend(crowd: Crowd<'_>, time: Duration) -> Fallible<usize> {
    let end = now().saturating_add(time);
    let turns: Fallible<Vec<usize>> = thread::scope(|scope| {
        let members = (0..MEMBERS).map(|member| {
            scope.spawn(move || -> Fallible<usize> {
                let (mut there, mut turns) = (Connection::open(crowd.port)?, 0);
                // Each begins elsewhere.
                let mut lock = member;
                while now() < end {
                    lock = (lock + 1) % LOCKS;
                    turns += usize::from(crowd.turn(&mut there, lock)?);
                    rest(uneven(REST_MS));
                }
                Ok(turns)
            })
        });
        let members: Vec<_> = members.collect();
        let ended = members.into_iter().map(thread::ScopedJoinHandle::join);
        ended
            .map(|ended| ended.unwrap_or_else(|_| Err("a member of the crowd panicked".into())))
            .collect()
    });
    Ok(turns?.into_iter().sum())
}

/// How often somebody had one of the locks, by what they have counted.
pub(crate) fn counted(port: u16, name: &str) -> Fallible<usize> {
    let mut there = Connection::open(port)?;
    let mut sum = 0;
    for lock in 0..LOCKS {
        sum += number(&mut there, &format!("{name}/{lock}/turns"))?;
    }
    Ok(usize::try_from(sum)?)
}

impl Crowd<'_> {
    /// True if the lock was had.
    fn turn(&self, there: &mut Connection, lock: usize) -> Fallible<bool> {
        let resource = format!("{}/{lock}", self.name);
        // With pauses of its own choice, and hints.
        match self.ours.acquire(&resource, LockOptions::new(), A_WHILE) {
            Ok(lease) => {
                let done = count(there, &resource, &lease);
                let outcome = lease.release();
                done?;
                match outcome.is_released() {
                    true => Ok(true),
                    false => Err(format!("{resource} cannot be unlocked: {outcome}").into()),
                }
            }
            Err(error) if error.is_contention() => Ok(false),
            Err(error) => Err(format!("{resource} cannot be locked: {error}").into()),
        }
    }
}

/// Counts, as one who is alone may.
fn count(there: &mut Connection, resource: &str, lease: &Lease) -> Fallible<()> {
    let (inside, turns) = (format!("{resource}/inside"), format!("{resource}/turns"));
    let found = there.command(&["INCR", &inside])?.integer();
    let before = number(there, &turns)?;
    if let Some(token) = lease.token() {
        let key = format!("{resource}/token");
        let last = u64::try_from(number(there, &key)?)?;
        if token <= last {
            return Err(format!("{resource}: token {token} comes after {last}").into());
        }
        there.command(&["SET", &key, &token.to_string()])?;
    }
    rest(THINKING);
    there.command(&["SET", &turns, &(before + 1).to_string()])?;
    there.command(&["DECR", &inside])?;
    match found {
        // Who stood still for so long may not be alone any more, and should not have gone on.
        _ if !lease.is_valid() => Err("proves nothing: the machine stood still".into()),
        Some(1) => Ok(()),
        _ => Err(format!("{TWO_HELD}: somebody was inside who had {resource}").into()),
    }
}

fn number(there: &mut Connection, key: &str) -> Fallible<i64> {
    Ok(there
        .command(&["GET", key])?
        .text()
        .unwrap_or("0")
        .parse()?)
}

/// How a flaw begins that nothing excuses.
pub(crate) const TWO_HELD: &str = "TWO HELD AT ONCE";
/// As many locks as one call may be for, at most.
const LOCKS: usize = 32;
const MEMBERS: usize = 24;
const REST_MS: u64 = 2;
const THINKING: Duration = Duration::from_millis(1);
/// For how long somebody waits for one of the locks.
const A_WHILE: Duration = Duration::from_millis(300);

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

    #[test]
    fn crowds_of_all_languages_are_alike() {
        let (thinking, while_ms) = (THINKING.as_millis(), A_WHILE.as_millis());
        for shim in ["leasehold-node.shim.mjs", "leasehold-python.shim.py"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shims");
            let text = fs::read_to_string(folder.join(shim)).unwrap();
            let lines = text.lines().map(|line| line.trim_start_matches("const "));
            let lines: Vec<&str> = lines.map(|line| line.trim_end_matches(';')).collect();
            for line in [
                format!("LOCKS = {LOCKS}"),
                format!("MEMBERS = {MEMBERS}"),
                format!("REST_MS = {REST_MS}"),
                format!("THINKING_MS = {thinking}"),
                format!("A_WHILE_MS = {while_ms}"),
                format!("TWO_HELD = \"{TWO_HELD}\""),
            ] {
                assert!(lines.contains(&line.as_str()), "{shim}: {line}");
            }
        }
    }
}
