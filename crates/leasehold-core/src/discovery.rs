//! Which server is the node, where sentinels name it, and whether its votes count.
//!
//! A master that is replaced need not know it: cut off from its sentinels it goes on granting, and a sentinel that is cut
//! off with it goes on naming it. Its successor abstains for the quarantine, which begins when a client first looks
//! at it. So the old master's votes must not count for longer than the quarantine covers.
//!
//! The rule that ensures it: a server is dialled, and its votes count, only while a majority of the configured
//! sentinels names it. A sentinel that has switched to the successor does not switch back. Two majorities share a
//! sentinel (argument S1). So once a client was told of the successor by a majority, every majority that still names the
//! old master was heard before, and each of its answers carries the time at which it was asked for. A vote counts while
//! that time is at most the bound ago, and the bound fits into the quarantine: see [`room`].

use crate::{
    quarantine::Identity,
    terms::{Drift, Ttl},
    time::Instant,
};
use alloc::vec::Vec;
use core::time::Duration;

/// What the sentinels of one node have said, and what follows from it. `A` is the address of a server.
///
/// One such value serves one dial and the connection that comes of it.
#[derive(Clone, Debug)]
pub struct Discovery<A> {
    rule: Rule,
    /// The last answer of each sentinel.
    answers: Vec<Option<Answer<A>>>,
    followed: Option<Followed<A>>,
}

/// When a server counts as the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "two choices, made by options")]
pub struct Rule {
    /// How long ago a majority of the sentinels may have been asked, and have named it, at most.
    pub bound: Duration,
    /// Whether that majority is needed. Without it a deposed master is believed for as long as no sentinel is heard that
    /// knows better.
    pub needs_majority: bool,
}

impl Rule {
    /// Ten seconds, and a majority is needed.
    pub const DEFAULT: Self = Self {
        bound: Duration::from_secs(10),
        needs_majority: true,
    };
}

/// What a sentinel says about a master.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "links make it, field by field")]
pub struct Naming<A> {
    /// Where the master is.
    pub server: A,
    /// The number of the failover that made it the master. It must have been read before the address: a larger one would
    /// make a deposed master look like its successor.
    pub epoch: u64,
    /// Which sentinel says so, whatever its address; none if it does not tell.
    pub by: Option<Identity>,
}

/// An answer, and when it was asked for.
#[derive(Clone, Debug)]
struct Answer<A> {
    asked: Instant,
    /// None if the sentinel knows no such master.
    naming: Option<Naming<A>>,
}

/// The server that the connection goes to.
#[derive(Clone, Debug)]
struct Followed<A> {
    server: A,
    /// The largest epoch under which a sentinel had named it when the connection was opened.
    epoch: u64,
    /// Which sentinels have ever named it.
    named_by: Vec<bool>,
}

/// Why votes of the server do not count now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is told to people, all of it")]
pub struct Unconfirmed {
    /// How many sentinels were asked, and named it, at most `within` ago.
    pub named_by: usize,
    /// How many must have done so.
    pub needed: usize,
    /// How many sentinels there are.
    pub sentinels: usize,
    /// How recent their answers must be.
    pub within: Duration,
}

impl<A: Clone + PartialEq> Discovery<A> {
    /// Of so many sentinels, none of which has said anything yet.
    #[must_use]
    pub fn new(sentinels: usize, rule: Rule) -> Self {
        Self {
            rule,
            answers: (0..sentinels).map(|_| None).collect(),
            followed: None,
        }
    }

    /// How many sentinels must agree.
    #[must_use]
    pub fn majority(&self) -> usize {
        // Argument S1: any two majorities share a sentinel. Of the configured ones, not of those that answer.
        (self.answers.len() >> 1).saturating_add(1)
    }

    /// A sentinel has answered what it was asked at `asked`, read before the question left. No naming: it knows no
    /// such master. A sentinel that does not answer changes nothing; what it said last grows old.
    pub fn hear(&mut self, sentinel: usize, asked: Instant, naming: Option<Naming<A>>) {
        let Some(last) = self.answers.get_mut(sentinel) else {
            return;
        };
        if last.as_ref().is_some_and(|last| last.asked > asked) {
            return;
        }
        let followed = self.followed.as_mut();
        if let Some((naming, followed)) = naming.as_ref().zip(followed)
            && naming.server == followed.server
            && let Some(has_named) = followed.named_by.get_mut(sentinel)
        {
            *has_named = true;
        }
        *last = Some(Answer { asked, naming });
    }

    /// The server that a majority of the sentinels names, if no sentinel has heard of a later failover.
    #[must_use]
    pub fn elected(&self, now: Instant) -> Option<&A> {
        let candidate = self.latest(now)?;
        let has_majority = self.named_within(candidate, now, self.rule.bound) >= self.majority();
        has_majority.then_some(candidate)
    }

    /// The server to go to when every sentinel has answered or failed to.
    #[must_use]
    pub fn candidate(&self, now: Instant) -> Option<&A> {
        match self.rule.needs_majority {
            true => self.elected(now),
            false => self.latest(now),
        }
    }

    /// The connection goes to this server from now on.
    pub fn follow(&mut self, server: A) {
        let names_it = |sentinel: usize| {
            let naming = self.naming(sentinel);
            naming.is_some_and(|naming| naming.server == server)
        };
        let all = 0..self.answers.len();
        let named_by: Vec<_> = all.clone().map(names_it).collect();
        let epochs = all.filter(|sentinel| names_it(*sentinel));
        let epoch = epochs.filter_map(|sentinel| Some(self.naming(sentinel)?.epoch));
        self.followed = Some(Followed {
            epoch: epoch.max().unwrap_or(0),
            server,
            named_by,
        });
    }

    /// The sentinel by whose word another server is the master now, so that the connection is to be given up.
    ///
    /// One that has named our server and now names another has seen a failover; so has one that tells of a larger epoch,
    /// under which our own server may be the master again, after another was. Any other may be behind the times, unless
    /// a majority names other servers than ours.
    #[must_use]
    pub fn departure(&self) -> Option<usize> {
        let followed = self.followed.as_ref()?;
        let all = 0..self.answers.len();
        let knows_better = |sentinel: usize| {
            self.naming(sentinel).is_some_and(|naming| {
                let is_another = naming.server != followed.server;
                let has_named = followed.named_by.get(sentinel) == Some(&true);
                (is_another && has_named) || naming.epoch > followed.epoch
            })
        };
        let mut others = all.clone().filter(|sentinel| {
            let naming = self.naming(*sentinel);
            naming.is_some_and(|naming| naming.server != followed.server)
        });
        let by_majority = others.nth(self.majority().saturating_sub(1));
        let mut all = all;
        all.find(|sentinel| knows_better(*sentinel)).or(by_majority)
    }

    /// Whether a vote that the server has given counts if it is heard now. `room` is how long after the last
    /// confirmation such a vote may be relied on; none if nothing limits it but the bound.
    ///
    /// # Errors
    /// [`Unconfirmed`], if it does not count.
    pub fn confirm(&self, now: Instant, room: Option<Duration>) -> Result<(), Unconfirmed> {
        let within = room.map_or(self.rule.bound, |room| room.min(self.rule.bound));
        let stays = self.departure().is_none();
        let followed = self.followed.as_ref().filter(|_| stays);
        let named_by = followed.map(|followed| self.named_within(&followed.server, now, within));
        let needed = match self.rule.needs_majority {
            true => self.majority(),
            // Somebody has named it once, and nobody is heard that knows better.
            false => 0,
        };
        // Argument S9: what the old master grants after a replica has taken its place may be granted again.
        if named_by.is_some_and(|named_by| named_by >= needed) {
            return Ok(());
        }
        Err(Unconfirmed {
            named_by: named_by.unwrap_or(0),
            needed: self.majority(),
            sentinels: self.answers.len(),
            within,
        })
    }

    /// Where the master is, as this sentinel said last.
    #[must_use]
    pub fn naming(&self, sentinel: usize) -> Option<&Naming<A>> {
        self.answers.get(sentinel)?.as_ref()?.naming.as_ref()
    }

    /// How many sentinels were asked at most `within` ago, and named this server.
    fn named_within(&self, server: &A, now: Instant, within: Duration) -> usize {
        let names_it = |sentinel: &usize| {
            let answer = self.answers.get(*sentinel).and_then(Option::as_ref);
            answer.is_some_and(|answer| {
                let is_recent = now.saturating_since(answer.asked) <= within;
                is_recent && answer.naming.as_ref().is_some_and(|n| n.server == *server)
            })
        };
        let named_by = (0..self.answers.len()).filter(names_it);
        // A sentinel under two addresses is one.
        named_by.filter(|sentinel| !self.is_twin(*sentinel)).count()
    }

    /// Whether this sentinel is one that stands earlier in the list under another address.
    fn is_twin(&self, sentinel: usize) -> bool {
        let id = |sentinel| self.naming(sentinel).and_then(|naming| naming.by.as_ref());
        id(sentinel).is_some_and(|own| (0..sentinel).any(|other| id(other) == Some(own)))
    }

    /// The server of the latest failover that any sentinel has heard of; where several servers share that epoch, the one
    /// that most sentinels name.
    fn latest(&self, now: Instant) -> Option<&A> {
        let namings = || (0..self.answers.len()).filter_map(|sentinel| self.naming(sentinel));
        let newest = namings().map(|naming| naming.epoch).max()?;
        let of_newest = namings().filter(|naming| naming.epoch == newest);
        of_newest
            .map(|naming| &naming.server)
            .max_by_key(|server| self.named_within(server, now, self.rule.bound))
    }
}

/// For how long after a majority has named the master a vote for `ttl` still counts, where a successor abstains for
/// `quarantine`.
///
/// Say that the majority was asked at *a*, and that the successor was first looked at at *y*. Then *a* ≤ *y*, since the
/// client that looked had been told of it by a majority. The vote is heard at *a* + *room* at the latest and was asked for
/// before that; its lease ends *ttl* later. The successor votes from *y* + *quarantine* on, by a clock of which the drift
/// is taken off. So nobody has the resource from both masters at once if *room* + *ttl* ≤ *quarantine* − *drift*.
#[must_use]
pub fn room(quarantine: Duration, ttl: Ttl) -> Duration {
    // Argument S9: the successor abstains until every lease of the old master has ended.
    quarantine
        .saturating_sub(Drift::DEFAULT.allowed_in(quarantine))
        .saturating_sub(ttl.as_duration())
}

#[cfg(test)]
mod tests;
