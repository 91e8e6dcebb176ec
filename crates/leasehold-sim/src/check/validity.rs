//! No guard is valid for longer than the votes that it stands on.
//!
//! Recomputed from the messages alone: which distinct nodes granted which request of which attempt, and
//! when the first of its requests left. A lease needs a quorum of grants of one request and ends, by the
//! client's clock, a TTL less the allowance after that request left. An extension needs its quorum before
//! the old end. And by true time, a quorum of keys must outlive the lease. Behind the first vote a quorum is of
//! addresses, of which two may lead to one server where nobody knows it.

use super::{Property, Violation};
use crate::{
    clock::Clock,
    node::Node,
    setting::{Guard, Setting},
    time::{MILLISECOND, Moment},
};
use leasehold_core::{Instant, Lease, NodeId, NodeSet, OperationId, Request, Send, Tag, Vote};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Validity {
    needed: usize,
    setting: Setting,
    watched: Vec<Watched>,
}

/// An acquisition with its votes.
#[derive(Debug)]
struct Watched {
    client: usize,
    operation: OperationId,
    attempt: u32,
    /// When the attempt began.
    began: Moment,
    rounds: Vec<Votes>,
    /// The lease, once it is won.
    lease: Option<Lease>,
}

/// One request to all nodes.
#[derive(Debug)]
struct Votes {
    step: u32,
    /// Until when a lease may be relied upon that stands on these votes.
    limit: Instant,
    granted: NodeSet,
    /// When the last one that a quorum needs was heard.
    quorum_at: Option<Instant>,
}

impl Validity {
    pub(crate) fn new(setting: &Setting) -> Self {
        Self {
            needed: setting.needed(),
            setting: setting.clone(),
            watched: Vec::new(),
        }
    }

    /// A request leaves.
    pub(crate) fn sent(&mut self, client: usize, now: Instant, at: Moment, send: &Send) {
        let (ttl, is_first) = match &send.request {
            Request::Acquire { ttl, .. } | Request::Transfer { ttl, .. } if send.tag.step == 0 => {
                (ttl, true)
            }
            Request::Extend { ttl, .. } => (ttl, false),
            // What repairs or releases supports no lease.
            _ => return,
        };
        let key_ttl_ns = ttl.as_millis() * MILLISECOND;
        let relied_on = Duration::from_nanos(self.setting.relied_on_ns(key_ttl_ns));
        let attempt = send.tag.attempt;
        let votes = Votes {
            step: send.tag.step,
            limit: now.saturating_add(relied_on),
            granted: NodeSet::EMPTY,
            quorum_at: None,
        };
        match self.find(client, attempt.operation) {
            Some(watched) if watched.attempt == attempt.number => watched.rounds.push(votes),
            Some(watched) => {
                watched.attempt = attempt.number;
                watched.began = at;
                watched.rounds.clear();
                watched.rounds.push(votes);
            }
            None if is_first => self.watched.push(Watched {
                client,
                operation: attempt.operation,
                attempt: attempt.number,
                began: at,
                rounds: vec![votes],
                lease: None,
            }),
            None => {}
        }
    }

    /// An answer of this server reaches the client. Servers are counted, not addresses.
    pub(crate) fn heard(
        &mut self,
        client: usize,
        now: Instant,
        server: NodeId,
        tag: Tag,
        vote: &Vote,
    ) {
        if !vote.is_granted() {
            return;
        }
        let needed = match tag.step {
            0 => self.needed,
            _ => self.setting.standing(),
        };
        let Some(watched) = self.find(client, tag.attempt.operation) else {
            return;
        };
        if watched.attempt != tag.attempt.number {
            return;
        }
        if let Some(votes) = watched
            .rounds
            .iter_mut()
            .find(|votes| votes.step == tag.step)
        {
            votes.granted.insert(server);
            if votes.granted.len() >= needed {
                votes.quorum_at.get_or_insert(now);
            }
        }
    }

    /// Another server is this node of a client from now on: what the one before has granted in a vote that is not decided counts
    /// for nothing.
    pub(crate) fn replaced(&mut self, client: usize, node: NodeId, other: usize) {
        let other = NodeId::new(other).expect("there are few nodes");
        let watched = self.watched.iter_mut();
        let open = watched
            .filter(|watched| watched.client == client)
            .flat_map(|watched| &mut watched.rounds)
            .filter(|votes| votes.quorum_at.is_none());
        for votes in open {
            votes.granted.remove(node);
            votes.granted.remove(other);
        }
    }

    /// The engine says that the lease was won at `now`.
    pub(crate) fn acquired(
        &mut self,
        client: usize,
        now: Instant,
        operation: OperationId,
        lease: &Lease,
    ) -> Result<(), Violation> {
        let needed = self.needed;
        let Some(watched) = self.find(client, operation) else {
            return Err(violation(format!("c{client} acquired without asking")));
        };
        watched.lease = Some(lease.clone());
        let first = watched.rounds.first();
        let Some(votes) = first.filter(|votes| votes.quorum_at.is_some()) else {
            let granted = first.map(|votes| votes.granted);
            return Err(violation(format!(
                "c{client} acquired by the grants of {granted:?}, needed are {needed}"
            )));
        };
        let limit = votes.limit;
        if lease.valid_until > limit || now >= lease.valid_until {
            return Err(too_long(client, lease.valid_until, limit, now));
        }
        Ok(())
    }

    /// The engine says that the lease of `operation` was extended at `now`. Which lease it is, the
    /// caller knows from its own books.
    pub(crate) fn extended(
        &mut self,
        client: usize,
        now: Instant,
        operation: OperationId,
        valid_until: Instant,
    ) -> Result<(), Violation> {
        let Some(watched) = self.find(client, operation) else {
            return Err(violation(format!(
                "c{client} extended what it does not hold"
            )));
        };
        let lease = watched
            .lease
            .as_mut()
            .expect("an extended lease was acquired before");
        if valid_until == lease.valid_until {
            // Two callers shared the vote.
            return Ok(());
        }
        let old = std::mem::replace(&mut lease.valid_until, valid_until);
        // The latest vote that had its quorum in time is the most that can be relied upon.
        let in_time = |votes: &&Votes| votes.quorum_at.is_some_and(|at| at < old);
        let limit = watched
            .rounds
            .iter()
            .filter(in_time)
            .map(|votes| votes.limit)
            .max();
        if limit.is_none_or(|limit| valid_until > limit) || now >= old {
            let limit = limit.unwrap_or(Instant::ORIGIN);
            return Err(too_long(client, valid_until, limit, now));
        }
        Ok(())
    }

    /// The engine tells a caller that the lease was extended: to what it told the guard.
    pub(crate) fn stands(
        &self,
        client: usize,
        operation: OperationId,
        valid_until: Instant,
    ) -> Result<(), Violation> {
        match self.lease(client, operation) {
            Some(lease) if lease.valid_until == valid_until => Ok(()),
            lease => Err(violation(format!(
                "c{client} is told an end of {valid_until:?}, its lease is {lease:?}"
            ))),
        }
    }

    /// The lease ends sooner than was said.
    pub(crate) fn cut(
        &mut self,
        client: usize,
        operation: OperationId,
        valid_until: Instant,
    ) -> Result<(), Violation> {
        let watched = self.find(client, operation);
        let Some(lease) = watched.and_then(|watched| watched.lease.as_mut()) else {
            return Err(violation(format!("c{client} is cut what it does not hold")));
        };
        let old = std::mem::replace(&mut lease.valid_until, valid_until);
        if valid_until < old {
            return Ok(());
        }
        Err(violation(format!(
            "the lease of c{client} until {old:?} is cut to {valid_until:?}"
        )))
    }

    /// When the attempt began that this acquisition is at, or won by.
    pub(crate) fn began(&self, client: usize, operation: OperationId) -> Option<Moment> {
        let mut watched = self.watched.iter();
        watched
            .find(|watched| watched.client == client && watched.operation == operation)
            .map(|watched| watched.began)
    }

    /// Whether enough keys outlive the lease, by true time. A node that is down cannot give the
    /// resource to somebody else; nor can one that has forgotten the key, as long as it does not vote: that
    /// is for another checker.
    pub(crate) fn backed(
        &self,
        clock: &Clock,
        now: Moment,
        nodes: &[Node],
        lease: &Lease,
    ) -> Result<(), Violation> {
        let ends = clock.when(lease.valid_until);
        let is_guarded = matches!(self.setting.guard, Guard::Marker { .. });
        let abstains = |at: Moment| at.after(self.setting.longest_life_ns()) >= ends;
        let outlives = |node: &&Node| {
            let ours = node.key_of(now, &lease.resource, &lease.owner);
            !node.is_up
                || ours.is_some_and(|key| node.clock.when(key.expires_at) >= ends)
                || (is_guarded && node.forgot.is_some_and(abstains))
        };
        let backing = nodes.iter().filter(outlives).count();
        // Where nodes may forget, quorums are larger by as many.
        let needed = self.setting.standing() - self.setting.forgetful.unwrap_or(0);
        if backing >= needed {
            return Ok(());
        }
        Err(violation(format!(
            "a lease of {} stands on {backing} keys that outlive it, needed are {needed}",
            lease.resource
        )))
    }

    /// The lease as it stands by the checker's own books.
    pub(crate) fn lease(&self, client: usize, operation: OperationId) -> Option<&Lease> {
        let mut watched = self.watched.iter();
        watched
            .find(|watched| watched.client == client && watched.operation == operation)
            .and_then(|watched| watched.lease.as_ref())
    }

    /// Nothing will be heard of this acquisition any more.
    pub(crate) fn forget(&mut self, client: usize, operation: OperationId) {
        self.watched
            .retain(|watched| watched.client != client || watched.operation != operation);
    }

    pub(crate) fn died(&mut self, client: usize) {
        self.watched.retain(|watched| watched.client != client);
    }

    fn find(&mut self, client: usize, operation: OperationId) -> Option<&mut Watched> {
        self.watched
            .iter_mut()
            .find(|watched| watched.client == client && watched.operation == operation)
    }
}

fn too_long(client: usize, valid_until: Instant, limit: Instant, now: Instant) -> Violation {
    violation(format!(
        "c{client} relies on a lease until {valid_until:?}, the votes carry to {limit:?}, it is {now:?}"
    ))
}

fn violation(what: String) -> Violation {
    Violation {
        property: Property::Validity,
        what,
    }
}

#[cfg(test)]
mod tests;
