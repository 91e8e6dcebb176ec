//! The facts about a lock that is held by somebody else.

use crate::{
    error::{Names, NodeFault, Span},
    holder::Holder,
    link::NodeName,
};
use leasehold_core::{Owner, Resource, TakenPermits};
use std::{fmt, time::Duration};

/// The facts about a lock that is held by somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// What was to be locked.
    pub resource: Resource,
    /// How many nodes had refused when the vote was decided. Zero if no node did: then other callers of the same manager
    /// came first, until there was no time left in which the nodes could have answered.
    pub refused: usize,
    /// How many grants were needed.
    pub quorum: usize,
    /// How many nodes there are.
    pub nodes: usize,
    /// Who holds it, as most of the nodes that refused tell. None if [readers](crate::RwLock)
    /// share it, or if another program holds it.
    pub holder: Option<Owner>,
    /// How long it is held at most if it is not extended; none if that is not known.
    pub remaining: Option<Duration>,
    /// The nodes that refused because they carry somebody's key.
    pub held_on: Vec<NodeName>,
    /// The nodes that refused though nobody held it there, since others who wait for it come first. None unless the lock is
    /// [fair](crate::LockOptions::fair).
    pub kept_on: Vec<NodeName>,
    /// The nodes that granted, before the others made it pointless; it was given back there.
    pub granted_on: Vec<NodeName>,
    /// How many who wait for it come first, as far as the nodes that refused know; none if the lock is not fair. A waiter that
    /// tries once is told how many would come before it if it waited. A node keeps 128 places; 255 stands for more. To one that wants a
    /// permit, each that wants anything else counts for as many as there are permits.
    pub ahead: Option<u8>,
    /// Which permits are taken, as the node says that knows of most. None unless a [permit](crate::Semaphore) was wanted and others have
    /// permits.
    pub permits: Option<TakenPermits>,
    /// The nodes that did not vote.
    pub faults: Vec<NodeFault>,
    /// How many attempts there were.
    pub attempts: u32,
    /// How long they took.
    pub waited: Duration,
}

impl Held {
    pub(super) fn write_facts(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.refused == 0 {
            return out.write_str("other callers of this manager came first");
        }
        let (held, kept, quorum) = (Names(&self.held_on), Names(&self.kept_on), self.quorum);
        let comma = self.remaining.map_or("", |_| ",");
        match (self.nodes, self.held_on.is_empty(), self.kept_on.is_empty()) {
            (1, _, true) => self.write_holder(out)?,
            (1, _, false) => out.write_str("free")?,
            (nodes, false, true) => {
                self.write_holder(out)?;
                write!(out, "{comma} on {held} of {nodes} nodes")?;
            }
            (nodes, true, _) => write!(out, "free on {kept} of {nodes} nodes")?,
            (nodes, false, false) => {
                self.write_holder(out)?;
                write!(out, "{comma} on {held} and free on {kept} of {nodes} nodes")?;
            }
        }
        match (self.nodes, self.faults.len()) {
            (1, _) => {}
            (_, 0) => write!(out, " (quorum {quorum})")?,
            (_, silent) => write!(out, ", and {silent} did not vote (quorum {quorum})")?,
        }
        self.write_queue(out)
    }

    /// `done in this period by pid 4711 on db1; the next one begins in 42 min`.
    pub(super) fn write_done(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("done in this period")?;
        if let Some(holder) = &self.holder {
            write!(out, " by {}", Holder::of(holder))?;
        }
        match self.remaining {
            Some(left) => write!(out, "; the next one begins in {}", Span(left)),
            None => Ok(()),
        }
    }

    /// `held by pid 4711 on db1, whose lease ends in 9.2 s unless extended`, or as much of it as is known; `held elsewhere, by
    /// readers, permits or another program, for at most 9.2 s unless extended`.
    fn write_holder(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_done = self.holder.as_ref().and_then(Owner::done_until);
        if let Some(taken) = &self.permits {
            return self.write_permits(out, taken);
        }
        match &self.holder {
            Some(holder) if is_done.is_some() => {
                write!(
                    out,
                    "kept, since its work was done by {}",
                    Holder::of(holder)
                )?;
                return match self.remaining {
                    Some(left) => write!(out, ", for {}", Span(left)),
                    None => Ok(()),
                };
            }
            Some(holder) => write!(out, "held by {}", Holder::of(holder))?,
            None => out.write_str("held elsewhere")?,
        }
        match (&self.holder, self.remaining) {
            (_, None) => Ok(()),
            (Some(_), Some(left)) => {
                write!(out, ", whose lease ends in {} unless extended", Span(left))
            }
            // Nodes do not tell the owners of those who read.
            (None, Some(left)) => write!(
                out,
                ", by readers, permits or another program, for at most {} unless extended",
                Span(left)
            ),
        }
    }

    /// `all 4 permits are taken, the next for at most 9.2 s unless extended`.
    fn write_permits(&self, out: &mut fmt::Formatter<'_>, taken: &TakenPermits) -> fmt::Result {
        let of = usize::from(taken.of.get());
        match taken.slots.len() {
            1 if of == 1 => out.write_str("the only permit is taken")?,
            count if count == of => write!(out, "all {of} permits are taken")?,
            1 => write!(out, "1 of {of} permits is taken")?,
            count => write!(out, "{count} of {of} permits are taken")?,
        }
        match self.remaining {
            Some(left) => write!(out, ", the next for at most {} unless extended", Span(left)),
            None => Ok(()),
        }
    }

    /// A node that has nobody's key and refuses does so for them, so there must be some.
    fn write_queue(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joint = if self.kept_on.is_empty() {
            "and"
        } else {
            "but"
        };
        match self.ahead {
            None | Some(0) => Ok(()),
            Some(1) => write!(out, ", {joint} another waits and comes first"),
            Some(ahead) => write!(out, ", {joint} {ahead} others wait and come first"),
        }
    }
}
