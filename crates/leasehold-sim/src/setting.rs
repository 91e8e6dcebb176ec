//! What a seed has drawn: the world before anything happens.

use crate::{
    clusters::Clusters,
    course::Course,
    fault::Kind,
    group::Group,
    node::broken::Sharing,
    replacement::Newcomer,
    rng::{Ppm, Rng},
    time::{MICROSECOND, MILLISECOND, SECOND},
    waits::Waits,
};
use leasehold_core::{AutoRenewal, RenewalPolicy};

/// A world without faults, to which a scenario adds its own.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) nodes: usize,
    pub(crate) clients: usize,
    /// How many operations each client's application has under way at once.
    pub(crate) slots: usize,
    pub(crate) resources: usize,
    pub(crate) ttl_ns: u64,
    pub(crate) tries: Option<u32>,
    pub(crate) pause_ns: (u64, u64),
    /// How callers wait.
    pub(crate) waits: Waits,
    /// How leases are kept.
    pub(crate) policy: RenewalPolicy,
    /// Taken off every lease.
    pub(crate) margin_ns: u64,
    /// By how much the nodes' clocks may be set forward, or none counts.
    pub(crate) step_margin_ns: u64,
    /// For how long keys outlive a lease that was lost.
    pub(crate) delay_ns: u64,
    pub(crate) habits: Habits,
    pub(crate) links: Links,
    pub(crate) clocks: Clocks,
    /// What goes wrong, and how often on average.
    pub(crate) faults: Vec<(Kind, u64)>,
    pub(crate) crash: Crash,
    /// A foreign key of another type stands under the first resource on as many nodes as a quorum can
    /// do without.
    pub(crate) foreign_type: bool,
    /// Whether a paused or suspended machine's clock counts on.
    pub(crate) clock_counts_in_suspend: bool,
    /// Whether the leases have fencing tokens.
    pub(crate) is_fenced: bool,
    /// By how much the clients' wall clocks are wrong at most.
    pub(crate) skew_ns: u64,
    /// Which scripts the nodes run, if they are servers.
    #[cfg(feature = "lua")]
    pub(crate) texts: Option<crate::node::scripted::Texts>,
    /// Who keeps nodes from voting that may have forgotten votes.
    pub(crate) guard: Guard,
    /// Whether nodes begin as somebody's who was told to admit them, or as new ones.
    pub(crate) is_admitted: bool,
    /// Whether a proxy stands before the nodes, so that connections outlive what they lead to.
    pub(crate) hides_restarts: bool,
    /// How many nodes may forget votes without a guard: only these ever do, and quorums are larger for it.
    pub(crate) forgetful: Option<usize>,
    /// The world is another one: a group of servers that sentinels look after.
    pub(crate) group: Option<Group>,
    /// Likewise: nodes that are Redis Clusters.
    pub(crate) clusters: Option<Clusters>,
    /// Whether the last node is another address of the first one's server.
    pub(crate) twin: Twin,
    /// Whether connections do not tell which process they lead to.
    pub(crate) hides_identities: bool,
    /// Whether nodes take one of several names, and grant all.
    pub(crate) divides: bool,
    /// Whether nodes say yes to every extension.
    pub(crate) extends_blindly: bool,
    /// What nodes do with those who read, or want permits.
    pub(crate) sharing: Sharing,
    /// What the server does that takes the place of the last node; none if no node is replaced.
    pub(crate) newcomer: Option<Newcomer>,
    /// How many permits a name has.
    pub(crate) permits: u16,
    /// How long it goes on.
    pub(crate) course: Course,
}

/// Whether the last node is another address of the first one's server, and what that server does with a second vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twin {
    /// Each node is a server of its own.
    None,
    /// It says that it has voted.
    Tells,
    /// It grants once more.
    GrantsAgain,
}

/// Who keeps nodes from voting that may have forgotten votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    Nobody,
    /// The client, by the time for which the node has been up, when its connection opens.
    Uptime {
        span_ns: u64,
    },
    /// The node, by a marker among its data.
    Marker {
        span_ns: u64,
        trusts_disk: bool,
        /// Whether the look at the process includes what it may evict, and has evicted.
        tells_evictions: bool,
    },
}

/// How the applications use their locks. Rates in millionths, times in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Habits {
    pub(crate) idle_ns: u64,
    pub(crate) hold_ns: (u64, u64),
    /// How often a lease is extended while it is held, as a share of the leases.
    pub(crate) extends: Ppm,
    pub(crate) extend_every_ns: u64,
    /// How many of the extensions ask for another TTL.
    pub(crate) other_ttls: Ppm,
    /// How many of the leases are handed over to another process.
    pub(crate) hands_over: Ppm,
    /// How many of those that are handed over are left to all, to be extended and released by owner alone.
    pub(crate) detaches: Ppm,
    /// How many of those who want a lock want several names.
    pub(crate) several: Ppm,
    /// How many of those who want one name want to read it.
    pub(crate) reads: Ppm,
    /// How many of those who want one name want a permit of it, and how many of these take it that there is one more than the
    /// others do.
    pub(crate) permits: Ppm,
    pub(crate) misled: Ppm,
    /// How many of those who hand a name over leave a share of it.
    pub(crate) downgrades: Ppm,
    /// How often a holder reports progress, if anybody wants to know.
    pub(crate) heartbeats: Ppm,
    pub(crate) cancels: Ppm,
    pub(crate) patience: Ppm,
}

/// How requests and answers travel.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    /// Whether each message travels alone: may be lost, doubled, overtaken. Otherwise the link's promise
    /// holds: in order or not at all.
    pub(crate) lawless: bool,
    pub(crate) delay_ns: (u64, u64),
    /// How many messages take up to `tail_ns` longer.
    pub(crate) tail: Ppm,
    pub(crate) tail_ns: u64,
    /// How many messages break their connection; how many are lost, if they travel alone.
    pub(crate) loss: Ppm,
    /// How many answers are lost after the node has acted, together with the connection.
    pub(crate) lost_replies: Ppm,
    pub(crate) doubles: Ppm,
    /// Whether a node may carry out what stands in the buffer of a dead connection after what comes over
    /// the next one.
    pub(crate) ghosts: bool,
    /// How long it takes at most until a client notices that a connection is dead.
    pub(crate) detect_ns: u64,
    /// How many unanswered requests a link takes.
    pub(crate) room: usize,
}

/// How clocks differ from true time.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    /// By how many millionths they are fast or slow at most.
    pub(crate) drift_ppm: u64,
    /// How far a node's clock is stepped at most.
    pub(crate) step_ns: u64,
}

/// What a node's crash means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crash {
    pub(crate) keeps: Keeps,
    /// Whether the node is kept away until every lease that it may have forgotten has ended: the delayed
    /// restart of the Redlock page.
    pub(crate) delayed: bool,
    /// Whether a node may come back on its last snapshot, without the log that its clients rely on, which somebody turns on again.
    pub(crate) may_miss_log: bool,
}

/// What a node still knows after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// Every vote was on disk before it was told.
    All,
    /// What the last snapshot had.
    Snapshot,
    Nothing,
}

impl Clocks {
    /// Off, as all clocks are, and never set.
    const CALM: Self = Self {
        drift_ppm: 1_000,
        step_ns: 0,
    };
}

impl Links {
    /// More than anybody needs.
    pub(crate) const ROOM: usize = 1_000;
}

impl Crash {
    /// Nothing is lost.
    const HARMLESS: Self = Self {
        keeps: Keeps::All,
        delayed: false,
        may_miss_log: false,
    };
}

impl Habits {
    /// Those of a calm world.
    fn draw(rng: &mut Rng, ttl_ns: u64) -> Self {
        Self {
            idle_ns: rng.between(MILLISECOND, ttl_ns),
            hold_ns: (MILLISECOND, rng.between(ttl_ns / 4, ttl_ns * 3 / 2)),
            extends: rng.pick(&[0, 200_000, 500_000]),
            extend_every_ns: ttl_ns / 3,
            other_ttls: 0,
            hands_over: 0,
            detaches: 0,
            several: 0,
            reads: 0,
            permits: 0,
            misled: 0,
            downgrades: 0,
            heartbeats: 0,
            cancels: rng.pick(&[0, 50_000]),
            patience: rng.pick(&[0, 300_000]),
        }
    }
}

/// A node has carried out all that stood in the buffer of a dead connection after so long. It is a queue, and nothing is between
/// the node and what is first in it.
pub(crate) const GHOSTS_NS: u64 = SECOND;

impl Setting {
    /// Whether locks are plain: without tokens, queues and a guard, and their nodes keep nothing of their own.
    pub(crate) fn is_plain(&self) -> bool {
        let is_guarded = matches!(self.guard, Guard::Marker { .. });
        let is_fair = (0..self.clients).any(|client| self.waits.is_fair(client));
        !self.is_fenced && !is_guarded && !is_fair
    }

    /// A calm world. Clocks are off, as all clocks are, up to what the default drift allowance covers.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let ttl_ns = rng.pick(&[400, 1_000, 2_000, 3_000, 5_000]) * MILLISECOND;
        Self {
            nodes: rng.pick(&[3, 3, 3, 5]),
            clients: 3,
            slots: rng.pick(&[1, 1, 2]),
            resources: rng.pick(&[1, 1, 2]),
            ttl_ns,
            tries: rng.pick(&[None, Some(1), Some(8), Some(32)]),
            waits: Waits::draw(&mut Rng::new(rng.clone().next())),
            policy: RenewalPolicy::default(),
            margin_ns: 0,
            step_margin_ns: 0,
            delay_ns: 0,
            pause_ns: (ttl_ns / 16, ttl_ns / 16 + rng.between(ttl_ns / 8, ttl_ns)),
            habits: Habits::draw(rng, ttl_ns),
            links: Links {
                lawless: false,
                delay_ns: (50 * MICROSECOND, rng.pick(&[200, 2_000]) * MICROSECOND),
                tail: 0,
                tail_ns: 0,
                loss: 0,
                lost_replies: 0,
                doubles: 0,
                ghosts: false,
                detect_ns: rng.pick(&[2 * MILLISECOND, 100 * MILLISECOND, 2 * SECOND]),
                room: Links::ROOM,
            },
            clocks: Clocks::CALM,
            faults: Vec::new(),
            crash: Crash::HARMLESS,
            foreign_type: false,
            clock_counts_in_suspend: true,
            is_fenced: false,
            skew_ns: 100 * MILLISECOND,
            #[cfg(feature = "lua")]
            texts: None,
            guard: Guard::Nobody,
            is_admitted: true,
            hides_restarts: false,
            forgetful: None,
            group: None,
            clusters: None,
            twin: Twin::None,
            hides_identities: false,
            divides: false,
            extends_blindly: false,
            sharing: Sharing::EachAlone,
            newcomer: None,
            permits: 1,
            course: Course::LONG,
        }
    }

    /// Lets this go wrong every `least_ns` to `most_ns` on average, by the seed.
    pub(crate) fn add(&mut self, rng: &mut Rng, kind: Kind, least_ns: u64, most_ns: u64) {
        self.faults.push((kind, rng.between(least_ns, most_ns)));
    }

    pub(crate) fn has(&self, kind: Kind) -> bool {
        self.faults.iter().any(|(other, _)| *other == kind)
    }

    /// Whether links misbehave, callers give up all the time, or more than one kind of fault strikes.
    pub(crate) fn has_several_faults(&self) -> bool {
        let links = &self.links;
        self.faults.len() > 1
            || links.loss + links.lost_replies + links.tail > 0
            || self.habits.cancels > 100_000
    }

    /// How many servers there are behind the nodes.
    pub(crate) const fn servers(&self) -> usize {
        match self.twin {
            Twin::None if self.newcomer.is_some() => self.nodes + 1,
            Twin::None => self.nodes,
            Twin::Tells | Twin::GrantsAgain => self.nodes - 1,
        }
    }

    /// The server behind a node.
    pub(crate) const fn server(&self, node: usize) -> usize {
        if node < self.servers() { node } else { 0 }
    }

    /// A quorum by the book, not by the core's word.
    pub(crate) const fn needed(&self) -> usize {
        match self.forgetful {
            None => self.nodes / 2 + 1,
            Some(forgetful) => (self.nodes + forgetful) / 2 + 1,
        }
    }

    /// How many servers stand for a lease at least that is extended. Argument S1: where no identity is known, an address whose
    /// vote was lost may lead to a server that counts already.
    pub(crate) const fn standing(&self) -> usize {
        let loses_votes = self.links.loss + self.links.lost_replies > 0;
        match self.hides_identities && loses_votes {
            true => self.needed() - self.nodes.saturating_sub(self.servers()),
            false => self.needed(),
        }
    }

    /// For how long a client may rely on a key that is set for `key_ttl_ns`: less 1 % of the TTL and 2 ms,
    /// and the margin, by the book.
    pub(crate) const fn relied_on_ns(&self, key_ttl_ns: u64) -> u64 {
        let ttl_ns = key_ttl_ns - self.delay_ns - self.step_margin_ns;
        ttl_ns - ttl_ns.div_ceil(100) - 2 * MILLISECOND - self.margin_ns
    }

    /// How long a node may take to answer, by the book: 5 % of the TTL, from 20 to 500 ms.
    pub(crate) fn node_limit_ns(&self) -> u64 {
        (self.ttl_ns / 20).clamp(20 * MILLISECOND, 500 * MILLISECOND)
    }

    /// How long a lease that extends itself rests at most when an extension has failed and the nodes have had their time, by the
    /// book: for an eighth of the time that is left.
    pub(crate) fn longest_rest_ns(&self) -> u64 {
        self.relied_on_ns(self.longest_ttl_ns()) / 8 + MILLISECOND
    }

    /// How long it takes at most until nodes have been asked for an extension, and have answered in time, if leases extend
    /// themselves without end.
    ///
    /// By the book: the next extension begins after a third of the TTL, or as often as was said, a tenth late at most. Another one
    /// may be under way, to which some nodes said yes while they could: it is left to those that are silent for a third of the time
    /// that is left, and then rests.
    pub(crate) fn extends_within_ns(&self) -> Option<u64> {
        let policy = &self.policy;
        let is_limited = policy.most_extensions.is_some() || policy.most_hold.is_some();
        if is_limited || policy.heartbeat.is_some() {
            return None;
        }
        let valid_ns = self.relied_on_ns(self.longest_ttl_ns());
        let pace_ns = match policy.renewal {
            AutoRenewal::Off => return None,
            AutoRenewal::Thirds => self.longest_ttl_ns() / 3,
            AutoRenewal::Every(every) => {
                let every_ns = u64::try_from(every.as_nanos()).expect("a few seconds");
                every_ns.min(valid_ns / 2)
            }
        };
        let next_ns = pace_ns + pace_ns / 10;
        let under_way_ns = valid_ns / 3 + self.longest_rest_ns();
        let by_true_time = |ns: u64| ns + ns * self.clocks.drift_ppm / 1_000_000;
        Some(by_true_time(next_ns.max(under_way_ns)) + self.node_limit_ns())
    }

    /// The longest TTL that a key is set for.
    pub(crate) fn longest_ttl_ns(&self) -> u64 {
        let most = if self.habits.other_ttls > 0 { 2 } else { 1 };
        let kept_ns = self.policy.least_hold.map_or(0, |least| {
            u64::try_from(least.as_nanos()).expect("a few seconds")
        });
        (self.ttl_ns * most + self.delay_ns + self.step_margin_ns).max(kept_ns)
    }

    /// After how long a key set now is gone, by true time, whatever its node's clock does.
    pub(crate) fn longest_life_ns(&self) -> u64 {
        let ttl_ns = self.longest_ttl_ns();
        ttl_ns + ttl_ns * (self.clocks.drift_ppm + 1_000) / 1_000_000 + 5 * MILLISECOND
    }

    /// For how long a node does not vote that may have forgotten votes.
    pub(crate) const fn quarantine_ns(&self) -> u64 {
        match self.guard {
            Guard::Nobody => 0,
            Guard::Uptime { span_ns } | Guard::Marker { span_ns, .. } => span_ns,
        }
    }

    /// Whether nodes that forget votes serve again before the leases that stand on these have ended.
    pub(crate) fn forgets(&self) -> bool {
        let crashes = self.has(Kind::Crash) && !self.crash.delayed;
        (crashes && self.crash.keeps != Keeps::All)
            || self.has(Kind::Flush)
            || self.has(Kind::Failover)
            || self.has(Kind::Evict)
    }

    /// Whether keys come back that were deleted.
    pub(crate) fn resurrects(&self) -> bool {
        self.forgets() && self.has(Kind::Snapshot) || self.has(Kind::Unlog)
    }

    /// Whether keys stay on purpose when their owner has let go.
    pub(crate) const fn keeps_keys(&self) -> bool {
        self.delay_ns > 0 || self.policy.least_hold.is_some()
    }

    /// Whether a client can take back all that it set: it hears of every grant, however late, and its
    /// releases are not lost without its knowing.
    pub(crate) fn can_be_tidy(&self) -> bool {
        let silent = [Kind::Partition, Kind::Crash]
            .iter()
            .any(|kind| self.has(*kind));
        let links = &self.links;
        // Who is told by a proxy that the node is away asks later and later.
        let is_kept_waiting = self.hides_restarts && self.has(Kind::Crash);
        // What was set by an address that led elsewhere is released where it leads now.
        let is_out_of_reach = self.has(Kind::Reroute);
        if self.keeps_keys() || self.resurrects() || is_kept_waiting || is_out_of_reach {
            return false;
        }
        // Where messages travel alone, a lost answer is not told by the end of a connection.
        let loses = links.loss + links.lost_replies + links.doubles > 0;
        !links.lawless || (!loses && !silent)
    }
}
