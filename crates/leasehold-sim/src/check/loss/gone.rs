//! A holder whose keys were taken away by force is told in time.
//!
//! The time begins when a quorum of nodes can be asked and more of them than can be spared lack the key. From then on every
//! extension shows that no quorum carries it, and a lease that extends itself begins the next one within a time that the book gives
//! ([`Setting::extends_within_ns`]). What the other nodes do meanwhile must not matter: they may be down, hang, or be cut off.
//!
//! An owner whose keys were taken away is given up: others may hold the lock at once, and nothing else is expected of its lease.

use crate::{
    check::{Holder, Violation, seconds},
    setting::Setting,
    time::Moment,
};
use leasehold_core::{Lease, Owner, Resource};

#[derive(Debug, Default)]
pub(crate) struct Gone {
    needed: usize,
    spare: usize,
    nodes: usize,
    /// How long it may take, if leases extend themselves.
    bound_ns: Option<u64>,
    /// Whose keys were taken away.
    given_up: Vec<Owner>,
    followed: Vec<Followed>,
}

/// A lease whose keys were taken away on some nodes.
#[derive(Debug)]
struct Followed {
    holder: Holder,
    resource: Resource,
    owner: Owner,
    /// From when on it is looked at.
    since: Moment,
    nodes: Vec<Seen>,
}

/// What the holder could have learned of one node until now.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    way: Option<Way>,
    /// Since when the node would answer, without a break.
    answers: Option<Moment>,
    /// Since when it would answer that it has no such key.
    lacks: Option<Moment>,
}

/// What the holder could learn of one node now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    pub(crate) way: Way,
    pub(crate) answers: bool,
    pub(crate) lacks: bool,
}

/// All that comes between a client and a node, as far as it is over: another one, and questions may have been lost or late
/// since the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// Which connection it is.
    pub(crate) epoch: u32,
    /// Until when the connection was cut, the node hung or refused, and the client was stopped.
    pub(crate) troubles: [Moment; 4],
}

impl Gone {
    pub(crate) fn new(setting: &Setting) -> Self {
        let needed = setting.needed();
        Self {
            needed,
            spare: setting.nodes - needed,
            nodes: setting.nodes,
            bound_ns: setting.extends_within_ns(),
            given_up: Vec::new(),
            followed: Vec::new(),
        }
    }

    /// The keys of this owner are taken away.
    pub(crate) fn give_up(&mut self, owner: &Owner) {
        if !self.is_given_up(owner) {
            self.given_up.push(owner.clone());
        }
    }

    pub(crate) fn is_given_up(&self, owner: &Owner) -> bool {
        self.given_up.contains(owner)
    }

    /// From now on the holder of this lease must be told, if its owner's keys were taken away.
    pub(super) fn follow(&mut self, now: Moment, holder: Holder, lease: &Lease) {
        let is_new = self.followed.iter().all(|other| other.holder != holder);
        if is_new && self.bound_ns.is_some() && self.is_given_up(&lease.owner) {
            self.followed.push(Followed {
                holder,
                resource: lease.resource.clone(),
                owner: lease.owner.clone(),
                since: now,
                nodes: vec![Seen::default(); self.nodes],
            });
        }
    }

    /// The holder was told, or does not want to know any more.
    pub(super) fn ended(&mut self, holder: Holder) {
        self.followed.retain(|followed| followed.holder != holder);
    }

    pub(super) fn died(&mut self, client: usize) {
        self.followed
            .retain(|followed| followed.holder.client != client);
    }

    /// Looks at all whose keys were taken away. `sight` tells what a client could learn of a node about a key.
    pub(crate) fn look(
        &mut self,
        now: Moment,
        sight: impl Fn(usize, usize, (&Resource, &Owner)) -> Sight,
    ) -> Result<(), Violation> {
        let Some(bound_ns) = self.bound_ns else {
            return Ok(());
        };
        for followed in &mut self.followed {
            let key = (&followed.resource, &followed.owner);
            for (node, seen) in followed.nodes.iter_mut().enumerate() {
                seen.see(now, sight(followed.holder.client, node, key));
            }
            let Some(since) = followed.is_gone_since(self.needed, self.spare) else {
                continue;
            };
            if now.since_ns(since) > bound_ns {
                return Err(super::violation(format!(
                    "c{} was not told that its lease {} of {} is lost, whose keys are gone since {}",
                    followed.holder.client,
                    followed.holder.operation.number(),
                    followed.resource,
                    seconds(since)
                )));
            }
        }
        Ok(())
    }
}

impl Seen {
    fn see(&mut self, now: Moment, sight: Sight) {
        if self.way != Some(sight.way) {
            *self = Self {
                way: Some(sight.way),
                ..Self::default()
            };
        }
        let since = |is_so: bool, before: Option<Moment>| is_so.then(|| before.unwrap_or(now));
        self.answers = since(sight.answers, self.answers);
        self.lacks = since(sight.answers && sight.lacks, self.lacks);
    }
}

impl Followed {
    /// Since when the holder could know that no quorum of nodes carries the key.
    fn is_gone_since(&self, needed: usize, spare: usize) -> Option<Moment> {
        let since = |of: fn(&Seen) -> Option<Moment>, count: usize| {
            let mut all: Vec<_> = self.nodes.iter().filter_map(of).collect();
            all.sort_unstable();
            all.get(count - 1).copied()
        };
        let answered = since(|seen| seen.answers, needed)?;
        let lacking = since(|seen| seen.lacks, spare + 1)?;
        Some(self.since.max(answered).max(lacking))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check::lone, rng::Rng, time::MILLISECOND};
    use leasehold_core::{AutoRenewal, OperationId};

    const HOLDER: Holder = Holder {
        client: 0,
        operation: OperationId::new(3),
    };

    fn at(millis: u64) -> Moment {
        Moment::from_ns(millis * MILLISECOND)
    }

    /// Three nodes and a TTL of 3 s, and what is said of a lease whose keys were taken away at 0 ms.
    fn gone(renewal: AutoRenewal) -> Gone {
        let mut setting = Setting::draw(&mut Rng::new(1));
        (setting.nodes, setting.ttl_ns) = (3, 3_000 * MILLISECOND);
        setting.clocks.drift_ppm = 0;
        setting.policy.renewal = renewal;
        let (mut gone, lease) = (Gone::new(&setting), lone::lease());
        gone.follow(at(0), HOLDER, &lease);
        assert!(gone.followed.is_empty(), "nobody has taken it away");
        gone.give_up(&lease.owner);
        gone.follow(at(0), HOLDER, &lease);
        gone
    }

    /// What is seen of a node: whether it answers, has the key, and which connection it is.
    type Node = (bool, bool, u32);

    const AWAY: Node = (false, true, 0);
    const LACKS: Node = (true, false, 0);
    const HAS: Node = (true, true, 0);

    fn look(gone: &mut Gone, millis: u64, nodes: [Node; 3]) -> bool {
        let sight = |_, node: usize, _: (&Resource, &Owner)| {
            let (answers, has, epoch) = nodes[node];
            let troubles = [Moment::START; 4];
            Sight {
                way: Way { epoch, troubles },
                answers,
                lacks: !has,
            }
        };
        gone.look(at(millis), sight).is_ok()
    }

    /// A third of 2,968 ms and an eighth of it, 1 ms and the limit.
    const BOUND_MS: u64 = 989 + 371 + 1 + LIMIT_MS;

    /// A twentieth of the TTL of three seconds.
    const LIMIT_MS: u64 = 150;

    #[test]
    fn a_loss_that_is_told_too_late_is_found_although_a_node_is_down() {
        let mut gone = gone(AutoRenewal::Thirds);
        let nodes = [AWAY, LACKS, LACKS];
        assert!(look(&mut gone, 0, nodes) && look(&mut gone, BOUND_MS, nodes));
        assert!(!look(&mut gone, BOUND_MS + 2, nodes));
        gone.ended(HOLDER);
        assert!(look(&mut gone, 2 * BOUND_MS, nodes), "it was told");
    }

    #[test]
    fn nobody_is_told_what_nodes_do_not_show() {
        let others = (true, false, 1);
        for (nodes, later) in [
            // A quorum carries the key still, or may.
            ([HAS, HAS, LACKS], [HAS, HAS, LACKS]),
            // Too few can be asked.
            ([AWAY, AWAY, LACKS], [AWAY, AWAY, LACKS]),
            ([AWAY, HAS, LACKS], [AWAY, HAS, LACKS]),
            // The time begins anew.
            ([AWAY, HAS, LACKS], [AWAY, LACKS, LACKS]),
            ([AWAY, AWAY, LACKS], [AWAY, LACKS, LACKS]),
            ([AWAY, LACKS, LACKS], [AWAY, others, LACKS]),
        ] {
            let mut gone = gone(AutoRenewal::Thirds);
            assert!(look(&mut gone, 0, nodes));
            assert!(look(&mut gone, BOUND_MS + 2, later), "{nodes:?} {later:?}");
        }
        let mut gone = gone(AutoRenewal::Off);
        let nodes = [LACKS; 3];
        assert!(look(&mut gone, 0, nodes) && look(&mut gone, 2_900, nodes));
    }

    #[test]
    fn a_lease_is_lost_for_its_holder_from_when_it_has_it() {
        let mut gone = gone(AutoRenewal::Every(std::time::Duration::from_secs(60)));
        gone.ended(HOLDER);
        gone.follow(at(500), HOLDER, &lone::lease());
        let nodes = [LACKS; 3];
        // Twice in the validity, a tenth late at most.
        let bound_ms = 1_484 + 148 + LIMIT_MS;
        assert!(look(&mut gone, 500, nodes) && look(&mut gone, 500 + bound_ms, nodes));
        assert!(!look(&mut gone, 502 + bound_ms, nodes));
    }
}
