//! What stands in the way of who waits: the holder of the lock, those who have parts of it, and the waiters that come first.

use super::{Wait, in_line::read_for};
use crate::{duration::Shown, lock_view::of_so_many, manager::Manager, readers::Readers};
use leasehold::{AcquireError, Holder, Inspection, Key, NodeKey, Owner, TakenPermits};
use std::{fmt, time::Duration};

/// What stands in the way.
#[derive(Debug)]
pub(super) enum Barrier {
    /// `held by pid 4711 on db1, …`: it begins with its state.
    Lock(String),
    /// So many permits of so many, and what there is to say of them.
    Permits(usize, usize, String),
}

impl Barrier {
    /// The same for somebody who has waited so long.
    pub(super) fn still(&self, wait: Duration) -> String {
        let wait = Shown(wait);
        match self {
            Self::Lock(text) => {
                let (state, rest) = text.split_once(' ').unwrap_or((text, ""));
                format!("still {state} after {wait} {rest}")
            }
            Self::Permits(taken, of, rest) => {
                let taken = of_so_many(*taken, *of, "still taken");
                format!("{taken} after {wait}{rest}")
            }
        }
    }
}

impl fmt::Display for Barrier {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lock(text) => out.write_str(text),
            Self::Permits(taken, of, rest) => {
                write!(out, "{}{rest}", of_so_many(*taken, *of, "taken"))
            }
        }
    }
}

impl Wait<'_> {
    /// What this refusal says, and what the nodes do, if it does not say who holds the lock, or which of its names.
    pub(super) async fn barrier(&self, error: &AcquireError) -> Barrier {
        if let Some(permits) = error.held().and_then(|held| held.permits.as_ref()) {
            return of_permits(permits, error);
        }
        match self.untold(error).await {
            Some(barrier) => barrier,
            None => {
                let names = self.names_of_holder(error).await;
                Barrier::Lock(barrier(error) + &names + self.stay(error).await)
            }
        }
    }

    /// The error of who did not wait.
    pub(super) async fn refused(&self, error: &AcquireError) -> String {
        match self.untold(error).await {
            Some(barrier) => format!("cannot lock {}: {barrier}", self.lock.resource().quoted()),
            None => {
                let names = self.names_of_holder(error).await;
                format!("cannot {error}{names}{}", self.stay(error).await)
            }
        }
    }

    /// What is in the way where a refusal does not tell: permits, that of who wants all of the name; the holder, that of a plain
    /// lock, which is a `SET NX`.
    async fn untold(&self, error: &AcquireError) -> Option<Barrier> {
        let held = error.held().filter(|held| !held.held_on.is_empty())?;
        if held.holder.is_some() || held.permits.is_some() {
            return None;
        }
        let resource = self.lock.resource();
        match self.manager {
            Manager::Plain(_) => self.first_holder().await,
            Manager::Fenced(_) if resource.is_several() => None,
            Manager::Fenced(_) => match self.taken_permits(resource.as_str()).await {
                None => self.readers(resource.as_str()).await,
                permits => permits,
            },
        }
    }

    /// Who has the first of these names that anybody has.
    async fn first_holder(&self) -> Option<Barrier> {
        let seen = self.look_at_all().await;
        let held = |seen: &&Inspection| seen.holder().is_some() || read_for(seen).is_some();
        let first = seen.iter().find(held)?;
        let (holder, left) = (first.holder(), first.remaining());
        let left = left.or_else(|| read_for(first));
        let names = self.which(holder, &seen);
        let stay = if is_endless(first) { STAY } else { "" };
        Some(Barrier::Lock(held_by(holder, left) + &names + stay))
    }

    /// The names that the holder has of which this refusal tells.
    async fn names_of_holder(&self, error: &AcquireError) -> String {
        match error.holder() {
            Some(holder) if self.lock.resource().is_several() => {
                self.which(Some(holder), &self.look_at_all().await)
            }
            _ => String::new(),
        }
    }

    /// `; of these names it has "a"`: which of several this owner has. Nothing if there is one alone.
    fn which(&self, holder: Option<&Owner>, seen: &[Inspection]) -> String {
        let is_its = |seen: &&Inspection| holder.is_some() && seen.holder() == holder;
        let names = seen.iter().filter(is_its);
        let names: Vec<_> = names
            .map(|seen| seen.resource().quoted().to_string())
            .collect();
        match names.is_empty() || !self.lock.resource().is_several() {
            true => String::new(),
            false => format!("; of these names it has {}", names.join(", ")),
        }
    }

    /// What the nodes have under each name.
    async fn look_at_all(&self) -> Vec<Inspection> {
        let names = self.lock.resource().names();
        self.manager.look_at_all(names).await
    }

    /// What there is to say of a key that does not end.
    async fn stay(&self, error: &AcquireError) -> &'static str {
        match self.is_endless(error).await {
            true => STAY,
            false => "",
        }
    }

    /// Whether what is in the way does not end by itself.
    pub(super) async fn is_endless(&self, error: &AcquireError) -> bool {
        let is_timeless = error.is_contention() && error.remaining().is_none();
        is_timeless && self.look_at_all().await.iter().any(is_endless)
    }

    /// The processes that read this name, in a store on this machine.
    pub(super) async fn readers(&self, name: &str) -> Option<Barrier> {
        let Readers { signer, left } = Readers::of(self.nodes, name).await?;
        let left = Shown(left);
        let text = format!("held by {signer}, for at most {left} unless extended");
        Some(Barrier::Lock(text))
    }

    /// The permits of this name that are taken.
    pub(super) async fn taken_permits(&self, name: &str) -> Option<Barrier> {
        let operator = self.nodes.operator(&self.lock.place.agreement).ok()?;
        let permits = operator.look(name).await.ok()?.permits()?;
        let ends = permits.held.iter().map(|permit| permit.remaining);
        let last = ends.max().map_or_else(String::new, |left| {
            format!(", the last for at most {} unless extended", Shown(left))
        });
        let taken = permits.held.len();
        Some(Barrier::Permits(taken, permits.of.into(), last))
    }
}

/// Whether so many nodes have a text without a TTL there that the others are no quorum.
fn is_endless(seen: &Inspection) -> bool {
    let is_so = |node: &&NodeKey| {
        let key = &node.key;
        key.holder().is_some()
            && !matches!(
                key,
                Key::Held {
                    remaining: Some(_),
                    ..
                }
            )
    };
    let endless = seen.nodes().iter().filter(is_so).count();
    seen.nodes().len() - endless < seen.quorum()
}

const STAY: &str = "; its key has no TTL, and stays until somebody deletes it";

/// `all 4 permits are taken, the next for at most 9.2 s unless extended`.
fn of_permits(permits: &TakenPermits, error: &AcquireError) -> Barrier {
    let next = error.remaining().map(|left| {
        let left = Shown(left);
        format!(", the next for at most {left} unless extended")
    });
    let ahead = error.held().and_then(|held| held.ahead);
    let ahead = match ahead {
        None | Some(0) => String::new(),
        Some(1) => "; another comes first".to_owned(),
        Some(ahead) => format!("; {ahead} others come first"),
    };
    let rest = next.unwrap_or_default() + &ahead;
    Barrier::Permits(permits.slots.len(), permits.of.get().into(), rest)
}

/// The holder of the lock, and the waiters that come first.
fn barrier(error: &AcquireError) -> String {
    let held = held_by(error.holder(), error.remaining());
    let facts = error.held();
    let is_free = facts.is_some_and(|facts| !facts.kept_on.is_empty() && facts.holder.is_none());
    match (is_free, facts.and_then(|facts| facts.ahead)) {
        (true, None | Some(0 | 1)) => "kept for another who waits".to_owned(),
        (true, Some(ahead)) => format!("kept for {ahead} others who wait"),
        (false, None | Some(0)) => held,
        (false, Some(1)) => format!("{held}; another comes first"),
        (false, Some(ahead)) => format!("{held}; {ahead} others come first"),
    }
}

/// `held by pid 4711 on db1, whose lease ends in 9.2 s unless extended`, or as much of it as is known.
pub(super) fn held_by(holder: Option<&Owner>, remaining: Option<Duration>) -> String {
    if let (Some(owner), Some(left)) = (holder, remaining.map(Shown))
        && owner.done_until().is_some()
    {
        let by = Holder::of(owner);
        return format!("kept, since its work was done by {by}, for {left}");
    }
    let by = holder.map_or_else(
        || "held elsewhere".to_owned(),
        |owner| format!("held by {}", Holder::of(owner)),
    );
    match (holder, remaining.map(Shown)) {
        (_, None) => by,
        (Some(_), Some(left)) => format!("{by}, whose lease ends in {left} unless extended"),
        (None, Some(left)) => {
            format!(
                "{by}, by readers, permits or another program, for at most {left} unless extended"
            )
        }
    }
}
