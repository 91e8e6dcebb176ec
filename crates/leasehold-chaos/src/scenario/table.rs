//! All scenarios, each with its control.

use super::{Between, Harm, Kind, Law, Missing, Node, Scenario, Strike};
use std::time::Duration;

const USUAL: Scenario = Scenario {
    name: "",
    about: "",
    law: Law::Control(Harm::Overlaps),
    clients: Kind::Careful,
    nodes: 3,
    ttl: Duration::from_millis(300),
    durable: false,
    between: Between::Nothing,
    node: Node::Server,
    copies: 0,
    strikes: &[],
};

/// Clients whose nodes vote whatever they may have forgotten.
const UNGUARDED: Scenario = Scenario {
    clients: Kind::Unguarded,
    ..USUAL
};

/// A node behind sentinels. A lease must be able to outlive the time that they take to replace a master.
const GROUP: Scenario = Scenario {
    nodes: 1,
    ttl: Duration::from_secs(3),
    node: Node::Group,
    ..USUAL
};

/// Clusters, which keep plain locks.
const CLUSTERS: Scenario = Scenario {
    clients: Kind::Plain,
    ttl: Duration::from_millis(400),
    node: Node::Cluster,
    strikes: &[Strike::MoveSlots, Strike::TakeOver, Strike::KillClients],
    ..USUAL
};

const fn with_controls(controls: &'static [&'static str]) -> Law {
    Law::Lawful { controls }
}

/// Where what happens is measured in TTLs, a short one lets more happen.
const SHORT: Duration = Duration::from_millis(200);

pub(super) static ALL: [Scenario; 51] = [
    Scenario {
        name: "kill-clients",
        about: "clients are killed with kill -9 and started again",
        law: with_controls(&["blind-tidying"]),
        strikes: &[Strike::KillClients],
        ..USUAL
    },
    Scenario {
        name: "blind-tidying",
        about: "the same; a client deletes the keys when it starts, whoever owns them",
        clients: Kind::Reckless(Missing::Comparison),
        strikes: &[Strike::KillClients],
        ..USUAL
    },
    Scenario {
        name: "stop-clients",
        about: "clients are stopped, often beyond their TTL, and go on",
        law: with_controls(&["unwatched-deadline"]),
        strikes: &[Strike::StopClients],
        ..USUAL
    },
    Scenario {
        name: "unwatched-deadline",
        about: "the same; a client that won never looks at its validity again",
        clients: Kind::Reckless(Missing::Deadline),
        strikes: &[Strike::StopClients],
        ..USUAL
    },
    Scenario {
        name: "several",
        about: "clients want one name or two at once, and are killed and stopped; servers forget",
        law: with_controls(&["one-of-several", "one-after-the-other"]),
        clients: Kind::Several,
        strikes: &[Strike::KillClients, Strike::StopClients, Strike::Forget],
        ..USUAL
    },
    Scenario {
        name: "one-of-several",
        about: "a client asks for one of two names, and holds both",
        clients: Kind::Reckless(Missing::SecondName),
        strikes: &[Strike::KillClients],
        ..USUAL
    },
    Scenario {
        name: "one-after-the-other",
        about: "a client that wants two names keeps the first while it waits for the second",
        law: Law::Control(Harm::Standstill),
        clients: Kind::Reckless(Missing::OneStep),
        ..USUAL
    },
    Scenario {
        name: "readers",
        about: "clients read and write, and are killed and stopped; servers forget",
        law: with_controls(&["one-end-for-all"]),
        clients: Kind::Readers,
        strikes: &[Strike::KillClients, Strike::StopClients, Strike::Forget],
        ..USUAL
    },
    Scenario {
        name: "one-end-for-all",
        about: "clients read and write; all who read have one end, that of the last who came",
        clients: Kind::Reckless(Missing::OwnEnd),
        strikes: &[Strike::StopClients],
        ..USUAL
    },
    Scenario {
        name: "permits",
        about: "clients want one of two permits, and are killed and stopped; servers forget, and links are slow or cut",
        law: with_controls(&["counted-permits"]),
        clients: Kind::Permits,
        between: Between::Proxies,
        strikes: &[
            Strike::KillClients,
            Strike::StopClients,
            Strike::Forget,
            Strike::Network,
        ],
        ..USUAL
    },
    Scenario {
        name: "counted-permits",
        about: "servers count two permits each for themselves, and hear of those who want one in different orders",
        clients: Kind::Reckless(Missing::Slot),
        strikes: &[Strike::KillClients],
        ..USUAL
    },
    Scenario {
        name: "restart-with-data",
        about: "servers are killed and restart at once with their data (appendfsync always), which is trusted",
        law: with_controls(&["restart-without-data"]),
        clients: Kind::Trusting,
        ttl: Duration::from_millis(400),
        durable: true,
        strikes: &[Strike::RestartWithData],
        ..USUAL
    },
    Scenario {
        name: "delayed-restart",
        about: "servers are killed and restart without data, after the longest TTL; plain Redlock, no guard",
        law: with_controls(&["restart-without-data"]),
        clients: Kind::Plain,
        nodes: 5,
        ttl: Duration::from_millis(400),
        strikes: &[Strike::RestartDelayed],
        ..USUAL
    },
    Scenario {
        name: "restart-without-data",
        about: "most servers are killed and restart at once without their data; plain Redlock, no guard",
        clients: Kind::Plain,
        ttl: Duration::from_millis(400),
        strikes: &[Strike::RestartWithoutData],
        ..USUAL
    },
    Scenario {
        name: "forgetful",
        about: "one server, or most, or all are killed and restart at once without their data",
        law: with_controls(&["forgetful-off", "short-quarantine"]),
        strikes: &[Strike::Forget],
        ..USUAL
    },
    Scenario {
        name: "forgetful-off",
        about: "the same, without the restart guard",
        strikes: &[Strike::Forget],
        ..UNGUARDED
    },
    Scenario {
        name: "short-quarantine",
        about: "the same; servers that forgot vote again after an eighth of their quarantine",
        strikes: &[Strike::ForgetHastily],
        ..USUAL
    },
    Scenario {
        name: "forgetful-five",
        about: "the same with five servers",
        law: with_controls(&["forgetful-five-off"]),
        nodes: 5,
        strikes: &[Strike::Forget],
        ..USUAL
    },
    Scenario {
        name: "forgetful-five-off",
        about: "the same, without the restart guard",
        nodes: 5,
        strikes: &[Strike::Forget],
        ..UNGUARDED
    },
    Scenario {
        name: "old-snapshot",
        about: "servers are killed and restart at once with what they had some time before",
        law: with_controls(&["old-snapshot-off"]),
        strikes: &[Strike::Snapshot],
        ..USUAL
    },
    Scenario {
        name: "old-snapshot-off",
        about: "the same, without the restart guard",
        strikes: &[Strike::Snapshot],
        ..UNGUARDED
    },
    Scenario {
        name: "flush",
        about: "servers are flushed; connections stay open",
        law: with_controls(&["flush-off"]),
        strikes: &[Strike::Flush],
        ..USUAL
    },
    Scenario {
        name: "flush-off",
        about: "the same, without the restart guard",
        strikes: &[Strike::Flush],
        ..UNGUARDED
    },
    Scenario {
        name: "operator",
        about: "servers are made to evict, swap databases, change their logs, and lose connections and scripts, while locks are in use",
        law: with_controls(&["operator-off"]),
        strikes: &[Strike::Operate, Strike::StopClients],
        ..USUAL
    },
    Scenario {
        name: "operator-off",
        about: "the same, without the restart guard",
        strikes: &[Strike::Operate, Strike::StopClients],
        ..UNGUARDED
    },
    Scenario {
        name: "replaced",
        about: "one server after the other takes the place of a node, while clients are killed and servers are stopped",
        law: with_controls(&["replaced-hastily"]),
        clients: Kind::Following,
        strikes: &[Strike::Replace, Strike::KillClients, Strike::HangServers],
        ..USUAL
    },
    Scenario {
        name: "replaced-hastily",
        about: "the same; the new node votes at once, although leases stand on the one that left",
        clients: Kind::Following,
        strikes: &[Strike::ReplaceHastily, Strike::KillClients],
        ..USUAL
    },
    Scenario {
        name: "uneven-counters",
        about: "servers' counters are ahead of all clocks, and of each other's, while clients and servers are stopped",
        law: with_controls(&["lost-counters"]),
        strikes: &[Strike::Uneven, Strike::StopClients, Strike::HangServers],
        ..USUAL
    },
    Scenario {
        name: "lost-counters",
        about: "all servers are flushed when their counters are further ahead of the clients' clocks than is allowed for",
        law: Law::Control(Harm::Disorder),
        strikes: &[Strike::FlushAhead],
        ..USUAL
    },
    Scenario {
        name: "failover",
        about: "servers are killed or demoted, and replicas that lag take their places under the same addresses",
        law: with_controls(&["failover-off"]),
        between: Between::Proxies,
        node: Node::Pair,
        strikes: &[Strike::Failover],
        ..USUAL
    },
    Scenario {
        name: "failover-off",
        about: "the same, without the restart guard",
        between: Between::Proxies,
        node: Node::Pair,
        strikes: &[Strike::Failover],
        ..UNGUARDED
    },
    Scenario {
        name: "sentinels",
        about: "sentinels replace a master that is killed, stopped or replaced on purpose, by a replica that lags",
        law: with_controls(&["sentinels-off"]),
        strikes: &[Strike::Depose],
        ..GROUP
    },
    Scenario {
        name: "sentinels-off",
        about: "the same, without the restart guard",
        clients: Kind::Unguarded,
        strikes: &[Strike::Depose],
        ..GROUP
    },
    Scenario {
        name: "late-replica",
        about: "sentinels prefer a replica that lags for long; votes count when another has heard of them (replicated)",
        law: with_controls(&["late-replica-off"]),
        copies: 1,
        strikes: &[Strike::DeposeForTheLate],
        ..GROUP
    },
    Scenario {
        name: "late-replica-off",
        about: "the same, without the restart guard",
        clients: Kind::Unguarded,
        copies: 1,
        strikes: &[Strike::DeposeForTheLate],
        ..GROUP
    },
    Scenario {
        name: "lone-sentinel",
        about: "a master that was replaced answers, and a sentinel that hears nothing of others names it to some clients",
        law: with_controls(&["believed-sentinel"]),
        between: Between::Proxies,
        strikes: &[Strike::IsolateSentinel],
        ..GROUP
    },
    Scenario {
        name: "believed-sentinel",
        about: "the same; clients believe any sentinel (dangerous_sentinel_minority)",
        clients: Kind::Credulous,
        between: Between::Proxies,
        strikes: &[Strike::IsolateSentinel],
        ..GROUP
    },
    Scenario {
        name: "clusters",
        about: "slots of three Redis Clusters move, and replicas that lag take masters' places; votes count when one has \
                heard of them (replicated); plain Redlock, no guard",
        law: with_controls(&["clusters-uncopied"]),
        copies: 1,
        ..CLUSTERS
    },
    Scenario {
        name: "clusters-uncopied",
        about: "the same; votes count at once",
        ..CLUSTERS
    },
    Scenario {
        name: "hidden",
        about: "servers restart at once without their data, behind proxies that keep the connections",
        law: with_controls(&["hidden-off"]),
        between: Between::Keepers,
        strikes: &[Strike::Forget],
        ..USUAL
    },
    Scenario {
        name: "hidden-off",
        about: "the same, without the restart guard",
        between: Between::Keepers,
        strikes: &[Strike::Forget],
        ..UNGUARDED
    },
    Scenario {
        name: "nutcracker",
        about: "the same behind nutcracker",
        law: with_controls(&["nutcracker-off"]),
        between: Between::Nutcracker,
        strikes: &[Strike::Forget],
        ..USUAL
    },
    Scenario {
        name: "nutcracker-off",
        about: "the same, without the restart guard",
        between: Between::Nutcracker,
        strikes: &[Strike::Forget],
        ..UNGUARDED
    },
    Scenario {
        name: "fenced-store",
        about: "clients are stopped between their look at the lease and their write to a store that checks tokens",
        law: with_controls(&["tokenless-store"]),
        ttl: SHORT,
        strikes: &[Strike::StopClients],
        ..USUAL
    },
    Scenario {
        name: "tokenless-store",
        about: "the same; the store is shown no tokens",
        law: Law::Control(Harm::StaleWrites),
        clients: Kind::Tokenless,
        ttl: SHORT,
        strikes: &[Strike::StopClients],
        ..USUAL
    },
    Scenario {
        name: "network",
        about: "proxies cut, delay (also beyond the TTL), swallow and refuse",
        law: with_controls(&["validity-from-reply"]),
        ttl: SHORT,
        between: Between::Proxies,
        strikes: &[Strike::Network],
        ..USUAL
    },
    Scenario {
        name: "validity-from-reply",
        about: "the same; a client counts its validity from the replies, not from before the send",
        clients: Kind::Reckless(Missing::SendTime),
        ttl: SHORT,
        between: Between::Proxies,
        strikes: &[Strike::Network],
        ..USUAL
    },
    Scenario {
        name: "hung-servers",
        about: "servers are stopped and go on, and act late on what waited",
        law: with_controls(&["reused-owner"]),
        ttl: SHORT,
        strikes: &[Strike::HangServers],
        ..USUAL
    },
    Scenario {
        name: "reused-owner",
        about: "the same; a client signs all its attempts alike, and repeats releases that hung",
        clients: Kind::Reckless(Missing::FreshOwner),
        ttl: SHORT,
        strikes: &[Strike::HangServers],
        ..USUAL
    },
    Scenario {
        name: "everything",
        about: "all of the above that must be survived, at once",
        law: with_controls(&["everything-forgotten"]),
        nodes: 5,
        durable: true,
        between: Between::Proxies,
        strikes: &[
            Strike::KillClients,
            Strike::StopClients,
            Strike::RestartWithData,
            Strike::Forget,
            Strike::Network,
            Strike::HangServers,
        ],
        ..USUAL
    },
    Scenario {
        name: "everything-forgotten",
        about: "the same, without the restart guard; most servers come back at once without their data",
        nodes: 5,
        between: Between::Proxies,
        strikes: &[
            Strike::KillClients,
            Strike::StopClients,
            Strike::RestartWithoutData,
            Strike::Network,
            Strike::HangServers,
        ],
        ..UNGUARDED
    },
];
