//! A lease whose extension has failed is extended again in time.
//!
//! By the book, an extension has failed when so many nodes have refused it, or are known not to answer, that no quorum is left.
//! The others may still tell why, within their time limit. Then it is over, and the next one begins after a pause. So a node that
//! hangs holds up nothing for longer than that.

use crate::{
    check::{Holder, Violation},
    setting::Setting,
};
use leasehold_core::{Instant, NodeId, NodeSet, Request, Send, Tag, Vote};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Tries {
    spare: usize,
    /// How long a node may take, and the longest pause between two tries, if leases extend themselves.
    law: Option<(Duration, Duration)>,
    /// The last extension of each lease.
    votes: Vec<Votes>,
}

#[derive(Debug)]
struct Votes {
    holder: Holder,
    /// The request; none before the first one.
    tag: Option<Tag>,
    heard: NodeSet,
    granted: NodeSet,
    /// Since when no quorum can be had any more.
    lost: Option<Instant>,
    /// When it was over, at the latest.
    over: Option<Instant>,
}

impl Tries {
    pub(crate) fn new(setting: &Setting) -> Self {
        let span = Duration::from_nanos;
        Self {
            spare: setting.nodes - setting.needed(),
            law: setting.extends_within_ns().map(|_| {
                let limit_ns = setting.node_limit_ns();
                (span(limit_ns), span(setting.longest_rest_ns()))
            }),
            votes: Vec::new(),
        }
    }

    pub(super) fn acquired(&mut self, holder: Holder) {
        if self.law.is_some() {
            self.votes.push(Votes::of(holder, None));
        }
    }

    /// The lease is over, or nobody wants it any more.
    pub(super) fn ended(&mut self, holder: Holder) {
        self.votes.retain(|votes| votes.holder != holder);
    }

    pub(super) fn died(&mut self, client: usize) {
        self.votes.retain(|votes| votes.holder.client != client);
    }

    /// A request leaves.
    pub(crate) fn sent(&mut self, client: usize, send: &Send) {
        if !matches!(send.request, Request::Extend { .. }) {
            return;
        }
        if let Some(votes) = self.find(client, send.tag) {
            *votes = Votes::of(votes.holder, Some(send.tag));
        }
    }

    /// A node's answer reaches the client.
    pub(crate) fn heard(
        &mut self,
        client: usize,
        now: Instant,
        node: NodeId,
        tag: Tag,
        vote: &Vote,
    ) {
        let spare = self.spare;
        let Some(votes) = self.find(client, tag) else {
            return;
        };
        if votes.tag != Some(tag) || votes.heard.contains(node) {
            return;
        }
        votes.heard.insert(node);
        if vote.is_granted() {
            votes.granted.insert(node);
        }
        if votes.heard.without(votes.granted).len() > spare {
            votes.lost.get_or_insert(now);
        }
    }

    /// The client has done what there was to do.
    pub(super) fn all_go_on(&mut self, client: usize, now: Instant) -> Result<(), Violation> {
        let Some((limit, rest)) = self.law else {
            return Ok(());
        };
        let mine = |votes: &&mut Votes| votes.holder.client == client;
        for votes in self.votes.iter_mut().filter(mine) {
            let is_over = |lost: &Instant| now >= lost.saturating_add(limit);
            if votes.lost.as_ref().is_some_and(is_over) {
                votes.over.get_or_insert(now);
            }
            if votes
                .over
                .is_some_and(|over| now > over.saturating_add(rest))
            {
                return Err(super::violation(format!(
                    "c{client} has not extended its lease {} again, though the last try has failed at {:?}, it is {now:?}",
                    votes.holder.operation.number(),
                    votes.lost
                )));
            }
        }
        Ok(())
    }

    fn find(&mut self, client: usize, tag: Tag) -> Option<&mut Votes> {
        let operation = tag.attempt.operation;
        let holder = Holder { client, operation };
        self.votes.iter_mut().find(|votes| votes.holder == holder)
    }
}

impl Votes {
    const fn of(holder: Holder, tag: Option<Tag>) -> Self {
        Self {
            holder,
            tag,
            heard: NodeSet::EMPTY,
            granted: NodeSet::EMPTY,
            lost: None,
            over: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check::lone, rng::Rng, time::MILLISECOND};
    use leasehold_core::{AutoRenewal, Fault, FaultKind, OperationId, Refusal, Ttl};

    const HOLDER: Holder = Holder {
        client: 0,
        operation: OperationId::new(3),
    };

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    /// An extension of a lease, of the request with this number.
    fn extend(step: u32) -> Send {
        let mut send = lone::acquire(HOLDER.operation);
        let lease = lone::lease();
        send.tag.step = step;
        send.request = Request::Extend {
            resource: lease.resource,
            owner: lease.owner,
            ttl: Ttl::DEFAULT,
        };
        send
    }

    /// Three nodes and a TTL of 3 s: a node may take 150 ms, and no pause is longer than 372 ms.
    fn tries(renewal: AutoRenewal) -> Tries {
        let mut setting = Setting::draw(&mut Rng::new(1));
        (setting.nodes, setting.ttl_ns) = (3, 3_000 * MILLISECOND);
        setting.policy.renewal = renewal;
        let mut tries = Tries::new(&setting);
        tries.acquired(HOLDER);
        tries.sent(0, &extend(1));
        tries
    }

    fn heard(tries: &mut Tries, millis: u64, node: usize, step: u32, vote: &Vote) {
        let node = NodeId::new(node).expect("below 32");
        tries.heard(0, at(millis), node, extend(step).tag, vote);
    }

    fn down() -> Vote {
        Vote::Unknown(Fault::new(FaultKind::Down, "down"))
    }

    fn refused() -> Vote {
        Vote::Refused(Refusal::default())
    }

    fn goes_on(tries: &mut Tries, millis: u64) -> bool {
        tries.all_go_on(0, at(millis)).is_ok()
    }

    #[test]
    fn a_lease_that_is_not_extended_again_is_found() {
        let mut tries = tries(AutoRenewal::Thirds);
        heard(&mut tries, 0, 0, 1, &down());
        assert!(goes_on(&mut tries, 900), "two nodes may confirm it");
        heard(&mut tries, 1_000, 1, 1, &refused());
        assert!(goes_on(&mut tries, 1_150) && goes_on(&mut tries, 1_522));
        assert!(!goes_on(&mut tries, 1_523));
        tries.sent(0, &extend(2));
        assert!(goes_on(&mut tries, 1_523), "it was extended again");
    }

    #[test]
    fn who_comes_late_to_the_end_of_a_try_has_its_pause_all_the_same() {
        let mut tries = tries(AutoRenewal::Thirds);
        heard(&mut tries, 0, 0, 1, &down());
        heard(&mut tries, 0, 1, 1, &refused());
        assert!(goes_on(&mut tries, 5_000) && goes_on(&mut tries, 5_372));
        assert!(!goes_on(&mut tries, 5_373));
        tries.ended(HOLDER);
        assert!(goes_on(&mut tries, 5_373), "it is over");
    }

    #[test]
    fn what_may_still_succeed_or_need_not_is_left_alone() {
        let silent = |renewal, answers: &[(usize, u32, Vote)]| {
            let mut tries = tries(renewal);
            for (node, step, vote) in answers {
                heard(&mut tries, 0, *node, *step, vote);
            }
            goes_on(&mut tries, 0) && goes_on(&mut tries, 200) && goes_on(&mut tries, 2_900)
        };
        let lost = [(0, 1, down()), (1, 1, refused())];
        assert!(!silent(AutoRenewal::Thirds, &lost));
        assert!(silent(AutoRenewal::Off, &lost));
        for answers in [
            [(0, 1, down()), (1, 1, Vote::GRANTED)],
            // One node's second answer, and one to another request.
            [(0, 1, down()), (0, 1, refused())],
            [(0, 1, down()), (1, 0, refused())],
        ] {
            assert!(silent(AutoRenewal::Thirds, &answers), "{answers:?}");
        }
    }
}
