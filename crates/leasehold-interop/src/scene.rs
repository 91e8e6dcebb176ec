//! Two who want the same resource: a library of somebody else's, and leasehold.

use crate::{
    Fallible,
    ground::{Ground, NodeSet},
    install::Installed,
    mix::{Figures, Mix},
    moment::until,
    ours::{Kind, Lease, Ours, SEVERAL},
    peer::Kept,
    protocol::Answer,
    shim::Shim,
};
use leasehold::{AcquireError, Held, LockOptions};
use std::time::Duration;

/// What a check has to work with.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) installed: &'a Installed,
    pub(crate) kind: Kind,
    pub(crate) nodes: &'a NodeSet,
    pub(crate) they: &'a mut Shim,
    pub(crate) ours: &'a Ours,
    /// The name that they are given.
    pub(crate) name: String,
    /// The key that they make of it, which we lock.
    pub(crate) resource: String,
    /// How long a mix lasts.
    pub(crate) mix_for: Duration,
    pub(crate) ground: &'a Ground,
    /// What a mix counted.
    pub(crate) figures: Option<Figures>,
    /// What each side says of a lock of another kind.
    pub(crate) said: Vec<String>,
}

impl Scene<'_> {
    /// They lock, at the first try. Returns the value that they set, as the nodes tell it.
    pub(crate) fn they_lock(&mut self, ttl: Duration) -> Fallible<String> {
        let answer = self.they.lock(&self.name, ttl, 1)?;
        let Answer::Locked {
            value, validity, ..
        } = &answer
        else {
            return Err(format!("they do not get the free lock: {answer}").into());
        };
        if validity.is_some_and(|validity| validity > ttl) {
            return Err(format!("they believe in more than the TTL: {answer}").into());
        }
        let found = self.the_value()?;
        match value {
            Some(value) if *value != found => Err(format!(
                "they say that they set {value:?}, and the nodes have {found:?}"
            )
            .into()),
            _ => Ok(found),
        }
    }

    /// They are refused, and are told to be.
    pub(crate) fn they_are_refused(&mut self) -> Fallible<()> {
        let answer = self.they.lock(&self.name, LONG, 1)?;
        let peer = self.installed.peer;
        if !peer.is_refusal(&answer) {
            return Err(format!("they are not refused, but: {answer}").into());
        }
        if peer.kept == Kept::Hash {
            // The rest is what was sent, and which time it was.
            let answer = answer.to_string();
            let begin: Vec<_> = answer.split(' ').take(WORDS_SAID).collect();
            let said = format!("it says of ours `{}`", begin.join(" "));
            self.said.push(said);
        }
        Ok(())
    }

    /// They get the lock within `limit`, at one of several tries.
    pub(crate) fn they_lock_within(&mut self, limit: Duration) -> Fallible<()> {
        let (they, name) = (&mut self.they, &self.name);
        let mut last = None;
        let got = until(limit, || match they.lock(name, LONG, 1) {
            Ok(Answer::Locked { .. }) => Some(()),
            other => {
                last = Some(other);
                None
            }
        });
        got.ok_or_else(|| format!("they do not get the free lock in {limit:?}: {last:?}").into())
    }

    pub(crate) fn they_unlock(&mut self) -> Fallible<()> {
        match self.they.unlock()? {
            Answer::Unlocked => Ok(()),
            other => Err(format!("they cannot unlock what is theirs: {other}").into()),
        }
    }

    /// We lock, at the first attempt.
    pub(crate) fn we_lock(&self, options: LockOptions) -> Fallible<Lease> {
        let lease = self.ours.acquire(&self.resource, options, Duration::ZERO);
        let lease = lease.map_err(|error| format!("we do not get the free lock: {error}"))?;
        // A quorum is enough to have it. The key must be on all nodes before anybody can say that it was taken from one.
        until(SHORT / 2, || self.we_still_hold(&lease).ok());
        Ok(lease)
    }

    /// We are refused, and are told by whom.
    pub(crate) fn we_are_refused(&self) -> Fallible<Held> {
        let tried = self
            .ours
            .acquire(&self.resource, LockOptions::new(), Duration::ZERO);
        match tried {
            Err(AcquireError::Held(held)) => Ok(*held),
            Err(other) => Err(format!("we are refused for another reason: {other}").into()),
            Ok(_) => Err("we get the lock, and they have it".into()),
        }
    }

    pub(crate) fn we_unlock(&self, lease: Lease) -> Fallible<()> {
        let outcome = lease.release();
        match outcome.is_released() {
            true => Ok(()),
            false => Err(format!("we cannot unlock what is ours: {outcome}").into()),
        }
    }

    /// Our lease is whole: valid, and under the key on every node.
    pub(crate) fn we_still_hold(&self, lease: &Lease) -> Fallible<()> {
        let ours = String::from_utf8_lossy(lease.owner().as_bytes());
        let values = self.values()?;
        if values.iter().any(|value| value.as_deref() != Some(&*ours)) {
            return Err(format!("our lock was taken from us: the nodes have {values:?}").into());
        }
        match lease.is_valid() {
            true => Ok(()),
            false => Err("our lease is not valid any more".into()),
        }
    }

    /// Their key is there, and has not been touched.
    pub(crate) fn they_still_hold(&self, value: &str) -> Fallible<()> {
        let found = self.the_value()?;
        match found == value {
            true => Ok(()),
            false => {
                Err(format!("their lock was taken from them: the nodes have {found:?}").into())
            }
        }
    }

    /// The key has ended on every node.
    pub(crate) fn wait_for_the_end(&self) -> Fallible<()> {
        let ended = until(LONG, || {
            let values = self.values().ok()?;
            values.iter().all(Option::is_none).then_some(())
        });
        Ok(ended.ok_or("the key did not end with its TTL")?)
    }

    /// The value that a quorum has, while nobody else has anything.
    fn the_value(&self) -> Fallible<String> {
        let values = self.values()?;
        let mut there = values.iter().flatten();
        let first = there.clone().next();
        match first {
            // By a client for each node, which each has a name of its own.
            Some(_) if self.installed.peer.kept == Kept::Hash && self.is_quorum(&values) => {
                Ok(there.map(String::as_str).collect::<Vec<_>>().join(" "))
            }
            Some(first) if there.all(|other| other == first) && self.is_quorum(&values) => {
                Ok(first.clone())
            }
            _ => {
                let resource = &self.resource;
                Err(format!("no quorum of the nodes has `{resource}`: {values:?}").into())
            }
        }
    }

    /// What stands under the key on each node; under several, if it is not the same everywhere, all of it.
    fn values(&self) -> Fallible<Vec<Option<String>>> {
        let mut all: Option<Vec<Option<String>>> = None;
        for key in self.resource.split(SEVERAL) {
            let values = self.nodes.values(key)?;
            all = Some(match all {
                None => values,
                Some(before) => before.into_iter().zip(values).map(same).collect(),
            });
        }
        Ok(all.unwrap_or_default())
    }

    fn is_quorum(&self, values: &[Option<String>]) -> bool {
        values.iter().flatten().count() > self.nodes.urls().len() / 2
    }

    /// Another process of theirs.
    pub(crate) fn another_of_theirs(&self) -> Fallible<Shim> {
        self.installed.start(&self.nodes.urls())
    }

    pub(crate) fn mix(&mut self) -> Fallible<()> {
        let figures = self.mix_of(self.mix_for)?;
        self.figures = Some(figures);
        figures.verdict()
    }

    /// Where the long one is done elsewhere.
    pub(crate) fn short_mix(&mut self) -> Fallible<()> {
        self.mix_of(self.short())?.verdict()
    }

    /// How long what is done in short lasts.
    pub(crate) fn short(&self) -> Duration {
        (self.mix_for / 6).max(LEAST_MIX).min(self.mix_for)
    }

    fn mix_of(&self, time: Duration) -> Fallible<Figures> {
        let mix = Mix {
            installed: self.installed,
            kind: self.kind,
            nodes: self.nodes,
            counter: &self.ground.counter,
            name: &self.name,
            resource: &self.resource,
        };
        mix.run(time)
    }
}

/// What stands under two keys, if it is the same.
fn same((one, other): (Option<String>, Option<String>)) -> Option<String> {
    match one == other {
        true => one,
        false => Some(format!("{one:?} beside {other:?}")),
    }
}

/// `failed RedisException: WRONGTYPE Operation against a key holding the wrong kind of value`.
const WORDS_SAID: usize = 13;
/// In less time too few have their turns to prove anything.
const LEAST_MIX: Duration = Duration::from_secs(3);
/// A TTL that does not end while something is looked at.
pub(crate) const LONG: Duration = Duration::from_secs(10);
/// A TTL whose end is waited for. Whole seconds, since some count no smaller.
pub(crate) const SHORT: Duration = Duration::from_secs(1);
