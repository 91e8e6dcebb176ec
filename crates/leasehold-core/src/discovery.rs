//! Which server is the node, where sentinels name it, and whether its votes count.
//!
//! A master that is replaced need not know it: cut off from its sentinels it goes on granting, and a sentinel that is cut
//! off with it goes on naming it. Its successor abstains for the quarantine, which begins when the first client comes that a
//! majority has told of the failover. So the old master's votes must not count for longer than the quarantine covers.
//!
//! The rule that ensures it has two parts.
//!
//! **Age**, for extensions: a server is dialled, and its votes count, only while a majority of the configured sentinels
//! names it, all under one epoch. A sentinel that has switched to the successor does not switch back; a server that
//! becomes the master again does so under a larger epoch. Two majorities share a sentinel (argument S1). So once a
//! client was told of the successor by a majority, every majority that still names the old master was heard before, and
//! each of its answers carries the time at which it was asked for. A vote counts while that time is at most the bound
//! ago, and the bound fits into the quarantine: see [`room`].
//!
//! **Later word**, for new leases: extensions do not wait for the quarantine, so a lease may be carried over to the
//! successor while its key on the old master ends, and a client that still counts votes there would get the resource
//! too. So a grant counts only when a majority has been asked *after* it was heard, and still names the server
//! ([`Discovery::confirm_grant`]): then it was given before any client had left for the successor, while the key of
//! that lease was still there to refuse it.
//!
//! Which answers of the server wait for what is said by [`Need`], and [`Confirmation`] keeps those that wait.

mod confirmation;

pub use confirmation::{Confirmation, Heard, Need};

use crate::{
    quarantine::Identity,
    time::Instant,
    timing::{Drift, Ttl},
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
    /// Whether a sentinel failed to answer when it was asked last.
    is_silent: Vec<bool>,
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

/// Where a link goes that looks for the master.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a link must do all of it")]
pub enum Choice<A> {
    /// To this server, which is followed from now on.
    Follow(A),
    /// Sentinels that have yet to answer may tell.
    Wait,
    /// Nowhere: all have answered or failed to, and no server can be told to be the master.
    Nowhere,
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
    /// How recent their answers must be; zero if later than the grant.
    pub within: Duration,
}

impl<A: Clone + PartialEq> Discovery<A> {
    /// Of so many sentinels, none of which has said anything yet.
    #[must_use]
    pub fn new(sentinels: usize, rule: Rule) -> Self {
        Self {
            rule,
            answers: (0..sentinels).map(|_| None).collect(),
            is_silent: (0..sentinels).map(|_| false).collect(),
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
    /// such master.
    pub fn hear(&mut self, sentinel: usize, asked: Instant, naming: Option<Naming<A>>) {
        let Some(last) = self.answers.get_mut(sentinel) else {
            return;
        };
        if last.as_ref().is_some_and(|last| last.asked > asked) {
            return;
        }
        if let Some(is_silent) = self.is_silent.get_mut(sentinel) {
            *is_silent = false;
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

    /// A sentinel did not answer. What it said last grows old.
    pub fn miss(&mut self, sentinel: usize) {
        if let Some(is_silent) = self.is_silent.get_mut(sentinel) {
            *is_silent = true;
        }
    }

    /// The server that a majority of the sentinels names, if no sentinel has heard of a later failover.
    #[must_use]
    pub fn elected(&self, now: Instant) -> Option<&A> {
        let candidate = self.latest(now)?;
        let named_by = self.named_within(candidate, now, self.rule.bound);
        let has_majority = named_by >= self.majority();
        has_majority.then_some(&candidate.server)
    }

    /// The server to go to when every sentinel has answered or failed to.
    #[must_use]
    pub fn candidate(&self, now: Instant) -> Option<&A> {
        match self.rule.needs_majority {
            true => self.elected(now),
            false => self.latest(now).map(|latest| &latest.server),
        }
    }

    /// Where to go: as soon as a majority agrees, or when each sentinel has answered or failed to once.
    #[must_use]
    pub fn choose(&mut self, now: Instant) -> Choice<A> {
        let mut all = self.answers.iter().zip(&self.is_silent);
        let is_due = all.any(|(answer, is_silent)| answer.is_none() && !is_silent);
        let server = match is_due {
            true => self.elected(now).cloned(),
            false => self.candidate(now).cloned(),
        };
        match server {
            Some(server) => {
                self.follow(server.clone());
                Choice::Follow(server)
            }
            None if is_due => Choice::Wait,
            None => Choice::Nowhere,
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

    /// The number of the failover by which the server is the master to which the connection goes: to be told to it with
    /// the greeting (see [`Quarantine::follow`](crate::quarantine::Quarantine::follow)). None for a client that believes
    /// fewer than a majority: it may be told of a failover before any majority is.
    #[must_use]
    pub fn failover(&self) -> Option<u64> {
        let followed = self.followed.as_ref().filter(|_| self.rule.needs_majority);
        followed.map(|followed| followed.epoch)
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
        let named_by = followed.map(|followed| {
            let counts = |asked| is_recent(asked, now, within);
            self.named_by(&followed.server, followed.epoch, counts)
        });
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

    /// Whether a new lease may stand on a grant that was heard at `heard`: none while sentinels that were asked since have
    /// yet to answer.
    ///
    /// # Errors
    /// [`Unconfirmed`], if it may not.
    #[must_use]
    pub fn confirm_grant(&self, heard: Instant) -> Option<Result<(), Unconfirmed>> {
        let followed = self.followed.as_ref()?;
        if !self.rule.needs_majority {
            return Some(self.confirm(heard, None));
        }
        let asked_since = |sentinel: &usize| {
            let answer = self.answers.get(*sentinel).and_then(Option::as_ref);
            answer.is_some_and(|answer| answer.asked >= heard)
        };
        // Argument S9: it was granted before a majority had told any client of a successor.
        let named_by = self.named_by(&followed.server, followed.epoch, |asked| asked >= heard);
        let is_due = |sentinel: &usize| {
            !asked_since(sentinel) && self.is_silent.get(*sentinel) == Some(&false)
        };
        let due = (0..self.answers.len()).filter(is_due).count();
        if self.departure().is_none() {
            if named_by >= self.majority() {
                return Some(Ok(()));
            }
            if named_by.saturating_add(due) >= self.majority() {
                return None;
            }
        }
        Some(Err(Unconfirmed {
            named_by,
            needed: self.majority(),
            sentinels: self.answers.len(),
            within: Duration::ZERO,
        }))
    }

    /// Where the master is, as this sentinel said last.
    #[must_use]
    pub fn naming(&self, sentinel: usize) -> Option<&Naming<A>> {
        self.answers.get(sentinel)?.as_ref()?.naming.as_ref()
    }

    /// How many sentinels were asked at most `within` ago, and named the same server under the same epoch.
    fn named_within(&self, named: &Naming<A>, now: Instant, within: Duration) -> usize {
        self.named_by(&named.server, named.epoch, |asked| {
            is_recent(asked, now, within)
        })
    }

    /// How many sentinels name this server under this epoch, of those that were asked at such a time.
    ///
    /// One that names it under a smaller epoch has not heard that another was the master since.
    fn named_by(&self, server: &A, epoch: u64, counts: impl Fn(Instant) -> bool) -> usize {
        let names_it = |sentinel: &usize| {
            let answer = self.answers.get(*sentinel).and_then(Option::as_ref);
            answer.is_some_and(|answer| {
                let names_it =
                    |naming: &Naming<A>| naming.server == *server && naming.epoch == epoch;
                counts(answer.asked) && answer.naming.as_ref().is_some_and(names_it)
            })
        };
        let id = |sentinel| self.naming(sentinel).and_then(|naming| naming.by.as_ref());
        let named_by = || (0..self.answers.len()).filter(names_it);
        // A sentinel under two addresses is one, by whichever of them it was heard.
        let is_twin = |sentinel: &usize| {
            let mut before = named_by().take_while(|other| other < sentinel);
            id(*sentinel).is_some_and(|own| before.any(|other| id(other) == Some(own)))
        };
        named_by().filter(|sentinel| !is_twin(sentinel)).count()
    }

    /// The server of the latest failover that any sentinel has heard of; where several servers share that epoch, the one
    /// that most sentinels name.
    fn latest(&self, now: Instant) -> Option<&Naming<A>> {
        let namings = || (0..self.answers.len()).filter_map(|sentinel| self.naming(sentinel));
        let newest = namings().map(|naming| naming.epoch).max()?;
        let of_newest = namings().filter(|naming| naming.epoch == newest);
        of_newest.max_by_key(|naming| self.named_within(naming, now, self.rule.bound))
    }
}

/// Whether what was asked for at `asked` still counts at `now`.
fn is_recent(asked: Instant, now: Instant, within: Duration) -> bool {
    now.saturating_since(asked) <= within
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
