//! What is tried: the table of scenarios.

mod table;

use std::time::Duration;
use table::ALL;

/// A way to be disturbed, and whether that must be survived.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) law: Law,
    pub(crate) clients: Kind,
    pub(crate) nodes: usize,
    pub(crate) ttl: Duration,
    /// Whether nodes write everything to disk before they answer.
    pub(crate) durable: bool,
    /// What stands between clients and nodes.
    pub(crate) between: Between,
    pub(crate) node: Node,
    /// How many replicas must have heard of a vote before it counts; none if nobody asks.
    pub(crate) copies: u32,
    pub(crate) strikes: &'static [Strike],
}

/// What must come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Law {
    /// Nobody ever holds together with another. The controls show that the disturbance is strong enough
    /// for a defence to matter, and that the checker sees.
    Lawful { controls: &'static [&'static str] },
    /// A defence is off: this must be found.
    Control(Harm),
}

/// What a missing defence lets happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    /// Two hold together.
    Overlaps,
    /// A later holder has no larger token.
    Disorder,
    /// What a later holder wrote is overwritten by an earlier one.
    StaleWrites,
    /// Everybody waits for somebody else, and nobody acquires anything.
    Standstill,
}

/// What stands between clients and nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Between {
    Nothing,
    /// Proxies that can make the network bad, and lead elsewhere.
    Proxies,
    /// Proxies of ours that keep connections when the server behind them goes.
    Keepers,
    /// The proxy in production that does the same.
    Nutcracker,
}

/// What each node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// A server.
    Server,
    /// A server with a replica that can take its place.
    Pair,
    /// A master with two replicas, which sentinels tell of.
    Group,
    /// A Redis Cluster.
    Cluster,
}

/// Which program the clients are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The library, used as it is meant to be.
    Careful,
    /// The library, used as it is meant to be, with nodes that are called by their addresses: it learns which takes the place of
    /// another.
    Following,
    /// The library, told that the nodes' disks keep every vote.
    Trusting,
    /// The library without its restart guard (Argument S9).
    Unguarded,
    /// The library, told to believe any sentinel (against Argument S9).
    Credulous,
    /// The library, used as it is meant to be, by clients that want one name or two at once.
    Several,
    /// The library, used as it is meant to be, by clients that read and write.
    Readers,
    /// The library, used as it is meant to be, by clients that want one of two permits.
    Permits,
    /// The library without tokens and guard: plain Redlock.
    Plain,
    /// The library, used as it is meant to be, but for the token, which the store is not shown (Argument S4).
    Tokenless,
    /// A small client of its own without one of the library's defences.
    Reckless(Missing),
}

/// The defence that a reckless client does without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Deletes keys at its start without comparing the owner (Argument S3).
    Comparison,
    /// Never looks at its validity again (Argument S6).
    Deadline,
    /// Counts validity from the replies instead of from before the send (Argument S2).
    SendTime,
    /// Signs all its attempts with one owner (Argument S8).
    FreshOwner,
    /// Asks for one of two names, and holds both (Argument S3).
    SecondName,
    /// Locks two names one after the other, and keeps the first while it waits for the second (Argument S3).
    OneStep,
    /// Reads under a key that ends for all readers at once, as the last that came has it (Argument S7).
    OwnEnd,
    /// Takes one of two permits wherever fewer than two are taken, without a slot of its own (Argument S1).
    Slot,
}

/// What the nemesis does, over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strike {
    /// `kill -9` of clients, which are started again.
    KillClients,
    /// SIGSTOP of clients, often beyond the TTL, and SIGCONT.
    StopClients,
    /// `kill -9` of servers, started again with their data.
    RestartWithData,
    /// `kill -9` of most servers, started again at once without their data (against assumption A3).
    RestartWithoutData,
    /// `kill -9` of servers, started again without their data after the longest TTL.
    RestartDelayed,
    /// `kill -9` of one server, or of most, started again at once without their data.
    Forget,
    /// The same, and the quarantine that follows is cut to an eighth (against Argument S9).
    ForgetHastily,
    /// `kill -9` of one server, or of most, started again at once with a snapshot from some time before.
    Snapshot,
    /// FLUSHALL on one server, or on most.
    Flush,
    /// Settings and commands of an operator on one server, or on most: eviction, SWAPDB, the log, connections, scripts.
    Operate,
    /// Counters of some servers are driven ahead of all clocks, by different amounts.
    Uneven,
    /// FLUSHALL on all servers, whose counters were far ahead of the clients' clocks (against Argument S4).
    FlushAhead,
    /// `kill -9` or demotion of one server, or of most, whose places replicas take that have not heard the latest.
    Failover,
    /// A master is killed, stopped or replaced on purpose, while all replicas lag; sentinels give its place to one of them.
    Depose,
    /// A master is replaced on purpose by a replica that has lagged for long.
    DeposeForTheLate,
    /// Most sentinels lose the master, and some clients all sentinels but one, which hears nothing of the others.
    IsolateSentinel,
    /// A slot of clusters moves to another master, at once or for longer than a lease lasts.
    MoveSlots,
    /// Replicas that lag take the places of masters of one cluster, or of most, which are killed or go on.
    TakeOver,
    /// A server takes the place of a node, which was killed or goes on; the others vote on.
    Replace,
    /// The same, and the new node votes at once (against Argument S9).
    ReplaceHastily,
    /// Cuts, delays and swallows, by each proxy on its own.
    Network,
    /// SIGSTOP of servers and SIGCONT: what waits in their buffers acts late.
    HangServers,
}

impl Strike {
    /// As a person is told of it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::KillClients => "killed clients",
            Self::StopClients => "stopped clients",
            Self::RestartWithData => "restart with data",
            Self::RestartWithoutData => "restart without data",
            Self::RestartDelayed => "delayed restart",
            Self::Forget => "restart at once without data",
            Self::ForgetHastily => "restart without data and a short quarantine",
            Self::Snapshot => "restart with an old snapshot",
            Self::Flush => "flush",
            Self::Operate => "operator's hand",
            Self::Uneven => "uneven counters",
            Self::FlushAhead => "flush of counters that were ahead",
            Self::Failover => "failover",
            Self::Depose => "failover by sentinels",
            Self::DeposeForTheLate => "failover to a replica that lags",
            Self::IsolateSentinel => "isolated sentinel",
            Self::MoveSlots => "moved slot",
            Self::TakeOver => "failover in clusters",
            Self::Replace => "replaced node",
            Self::ReplaceHastily => "replaced node that votes at once",
            Self::Network => "bad network",
            Self::HangServers => "stopped servers",
        }
    }
}

impl Kind {
    pub(crate) const ALL: [(&'static str, Self); 18] = [
        ("careful", Self::Careful),
        ("following", Self::Following),
        ("trusting", Self::Trusting),
        ("unguarded", Self::Unguarded),
        ("credulous", Self::Credulous),
        ("several", Self::Several),
        ("readers", Self::Readers),
        ("permits", Self::Permits),
        ("plain", Self::Plain),
        ("tokenless", Self::Tokenless),
        ("without-comparison", Self::Reckless(Missing::Comparison)),
        ("without-deadline", Self::Reckless(Missing::Deadline)),
        ("without-send-time", Self::Reckless(Missing::SendTime)),
        ("without-fresh-owner", Self::Reckless(Missing::FreshOwner)),
        ("without-second-name", Self::Reckless(Missing::SecondName)),
        ("without-one-step", Self::Reckless(Missing::OneStep)),
        ("without-own-end", Self::Reckless(Missing::OwnEnd)),
        ("without-slot", Self::Reckless(Missing::Slot)),
    ];

    pub(crate) fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(_, kind)| *kind == self);
        named.map_or("", |(name, _)| name)
    }

    /// Whether it writes to the store.
    pub(crate) const fn writes(self) -> bool {
        !matches!(self, Self::Plain | Self::Reckless(_))
    }

    pub(crate) fn named(name: &str) -> Result<Self, String> {
        let named = Self::ALL.iter().find(|(other, _)| *other == name);
        let kind = named.map(|(_, kind)| *kind);
        kind.ok_or_else(|| "there is no such client".to_owned())
    }
}

impl Node {
    pub(crate) const ALL: [(&'static str, Self); 4] = [
        ("server", Self::Server),
        ("pair", Self::Pair),
        ("group", Self::Group),
        ("cluster", Self::Cluster),
    ];

    pub(crate) fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(_, node)| *node == self);
        named.map_or("", |(name, _)| name)
    }

    pub(crate) fn named(name: &str) -> Result<Self, String> {
        let named = Self::ALL.iter().find(|(other, _)| *other == name);
        let node = named.map(|(_, node)| *node);
        node.ok_or_else(|| "there is no such node".to_owned())
    }
}

impl Scenario {
    /// All, in the order of the table.
    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        ALL.iter()
    }

    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        Self::all().find(|scenario| scenario.name == name)
    }

    /// These scenarios and the controls of the lawful ones, in the order of the table, each once.
    pub(crate) fn with_controls(names: &[&str]) -> Vec<&'static Self> {
        let is_wanted = |scenario: &&Self| {
            names.contains(&scenario.name)
                || names.iter().any(|name| {
                    Self::find(name)
                        .is_some_and(|lawful| lawful.controls().contains(&scenario.name))
                })
        };
        Self::all().filter(is_wanted).collect()
    }

    pub(crate) const fn controls(&self) -> &'static [&'static str] {
        match self.law {
            Law::Lawful { controls } => controls,
            Law::Control(_) => &[],
        }
    }

    /// How many servers there are beside the nodes.
    pub(crate) fn spares(&self) -> usize {
        let replaces = |strike: &Strike| matches!(strike, Strike::Replace | Strike::ReplaceHastily);
        usize::from(self.strikes.iter().any(replaces))
    }

    pub(crate) const fn is_control(&self) -> bool {
        matches!(self.law, Law::Control(_))
    }

    /// How long it must run at least to prove anything: sentinels take their time, and nobody is in a hurry who waits for
    /// ever.
    pub(crate) const fn least(&self) -> Duration {
        Duration::from_secs(match (self.node, self.law) {
            (Node::Group | Node::Cluster, _) => 30,
            (_, Law::Control(Harm::Standstill)) => 5,
            _ => 1,
        })
    }

    /// Whether one of its controls does this harm, so that it must be seen that it does not.
    pub(crate) fn has_control(&self, harm: Harm) -> bool {
        let mut controls = self.controls().iter().filter_map(|name| Self::find(name));
        controls.any(|control| control.law == Law::Control(harm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lawful_scenario_names_its_control() {
        for scenario in Scenario::all() {
            assert_eq!(scenario.is_control(), scenario.controls().is_empty());
            for name in scenario.controls() {
                let control = Scenario::find(name).expect("the control is in the table");
                assert!(control.is_control());
                assert!(!matches!(scenario.clients, Kind::Reckless(_)));
            }
            // Those who wait for each other need no help.
            let stands_still = scenario.law == Law::Control(Harm::Standstill);
            assert_eq!(scenario.strikes.is_empty(), stands_still);
            assert!(!scenario.about.is_empty());
        }
    }

    #[test]
    fn every_control_belongs_to_a_lawful_scenario() {
        for control in Scenario::all().filter(|scenario| scenario.is_control()) {
            assert!(Scenario::all().any(|lawful| lawful.controls().contains(&control.name)));
        }
    }

    #[test]
    fn a_lawful_scenario_brings_its_control() {
        let names = |asked: &[&str]| -> Vec<_> {
            let chosen = Scenario::with_controls(asked);
            chosen.iter().map(|scenario| scenario.name).collect()
        };
        assert_eq!(names(&["kill-clients"]), ["kill-clients", "blind-tidying"]);
        assert_eq!(names(&["blind-tidying"]), ["blind-tidying"]);
        assert_eq!(names(&["delayed-restart", "restart-with-data"]).len(), 3);
    }

    #[test]
    fn the_control_of_a_guarded_scenario_differs_in_the_guard_alone() {
        for control in Scenario::all().filter(|scenario| scenario.name.ends_with("-off")) {
            assert_eq!(control.clients, Kind::Unguarded, "{}", control.name);
            let lawful = Scenario::all().find(|lawful| lawful.controls().contains(&control.name));
            let lawful = lawful.expect("somebody's control");
            assert_eq!(lawful.clients, Kind::Careful, "{}", control.name);
            let world = |scenario: &Scenario| {
                let Scenario {
                    nodes,
                    ttl,
                    between,
                    node,
                    copies,
                    ..
                } = *scenario;
                (nodes, ttl, between, node, copies, scenario.strikes)
            };
            assert_eq!(world(lawful), world(control), "{}", control.name);
        }
    }

    #[test]
    fn kinds_are_found_by_their_names() {
        for (name, kind) in Kind::ALL {
            assert_eq!((Kind::named(name), kind.name()), (Ok(kind), name));
        }
    }
}
