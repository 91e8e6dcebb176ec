//! What is wrong with options and addresses.

#[cfg(feature = "config")]
use super::SettingsError;
use super::Span;
use crate::{
    configuration::{KeyFormatError, ReservedFor},
    disks::Disks,
    link::NodeName,
};
use leasehold_core::{NodeId, Owner, PermitCount, Resource, ResourceError, TimingError};
use std::{error::Error, fmt, io, sync::Arc, time::Duration};

/// What is wrong with options, addresses or names. Told before anything is sent.
#[derive(Clone)]
#[non_exhaustive]
pub enum ConfigError {
    /// No node was given.
    NoNodes,
    /// More nodes were given than can be counted.
    TooManyNodes {
        /// How many.
        nodes: usize,
    },
    /// The same node was given twice: its vote would count twice.
    SameNode {
        /// Which one.
        node: NodeName,
    },
    /// Nodes are databases of different numbers: clients that have other numbers would lock beside each other.
    Databases {
        /// Which one.
        node: NodeName,
        /// Its number.
        database: u32,
        /// One with another number.
        other: NodeName,
        /// That number.
        of_other: u32,
    },
    /// A node's address cannot be used, or its store cannot be opened. The source says more.
    Node(Arc<dyn Error + Send + Sync>),
    /// A resource's name cannot be used.
    Resource(ResourceError),
    /// Nobody queues for several names that are locked together: a fair lock has one name.
    UnfairTogether,
    /// Nodes use the key themselves that a lock of this name would have, also beside plain locks.
    Reserved {
        /// The name.
        resource: Resource,
        /// The key.
        key: String,
        /// For what they use it.
        by: ReservedFor,
    },
    /// There are too few nodes to tolerate so many forgetful ones.
    Forgetful {
        /// How many nodes there are.
        nodes: usize,
        /// How many of them may be forgetful.
        forgetful: usize,
    },
    /// Clocks that differ by so much are not set at all.
    ClockSkew {
        /// What was asked for.
        skew: Duration,
    },
    /// A master that sentinels name could be relied on for too short a time after they did so: its successor waits for the
    /// maximum TTL and the clock skew, and most of that may be needed for a lease.
    Room {
        /// How long the keys of the lock live.
        ttl: Duration,
        /// How long the master could be relied on.
        room: Duration,
        /// How long it must be.
        least: Duration,
    },
    /// Replicas cannot be waited for in this way.
    Replicas {
        /// How many should have heard of a vote.
        replicas: u32,
        /// Within what time.
        within: Duration,
        /// How long a vote is waited for at most.
        limit: Duration,
    },
    /// Disks cannot be waited for in this way.
    Disks {
        /// On which disks a vote should be.
        disks: Disks,
        /// Within what time.
        within: Duration,
        /// How long a vote is waited for at most.
        limit: Duration,
    },
    /// Locks with fencing tokens were to be kept on a Redis Cluster, whose servers keep some slots each: what a node knows of
    /// itself, which the counters and the restart guard are, has no place there that all locks could reach.
    FencedCluster {
        /// Which node.
        node: NodeName,
    },
    /// The name of the cluster cannot be used: empty, too long, or with control characters.
    Cluster(String),
    /// The namespace cannot be used: empty, too long, or with control characters.
    Namespace(String),
    /// The key format cannot be used.
    KeyFormat(KeyFormatError),
    /// TTL, drift and time limit do not go together.
    Timing(TimingError),
    /// The shortest pause is longer than the longest.
    Pause {
        /// The shortest.
        least: Duration,
        /// The longest.
        most: Duration,
    },
    /// The owner source drops some of the random bytes: two attempts could sign alike.
    OwnerSource,
    /// A label cannot stand beside host and process: see [`Holder::is_label`](crate::Holder::is_label).
    Label(String),
    /// Zero tries were asked for.
    NoTries,
    /// An option that is a time was given none.
    NoTime {
        /// Which one.
        option: &'static str,
    },
    /// The timeout of a timestamp lock cannot be written in whole seconds, or is too long.
    Timeout {
        /// What was asked for.
        timeout: Duration,
    },
    /// The shortest hold is longer than the longest.
    Holds {
        /// The shortest.
        least: Duration,
        /// The longest.
        most: Duration,
    },
    /// Work cannot be done once in each period of this length.
    Period {
        /// What was asked for.
        period: Duration,
    },
    /// Work for which several names are locked together cannot be done once in each period.
    OnceTogether,
    /// A plain lock was to be fair, but its nodes keep no queue.
    Unfair,
    /// Plain locks were to have readers, but their nodes keep neither readers nor a queue.
    PlainReaders,
    /// A semaphore cannot have so many permits.
    Permits {
        /// How many.
        permits: usize,
    },
    /// Plain locks were to have permits, but their nodes keep one holder for each name.
    PlainPermits,
    /// A lease that is to be acted for as a permit is none: its owner tells no slot.
    NoPermit {
        /// The owner.
        owner: Owner,
    },
    /// A variable or a configuration file is wrong, or none names a server.
    #[cfg(feature = "config")]
    Settings(SettingsError),
    /// The manager's thread could not be started.
    Thread(Arc<io::Error>),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNodes => out.write_str("no node was given; give one, three or five"),
            Self::TooManyNodes { nodes } => too_many(out, *nodes),
            Self::SameNode { node } => twice(out, node),
            Self::Databases {
                node,
                database,
                other,
                of_other,
            } => mixed(out, [(node, *database), (other, *of_other)]),
            Self::Node(error) => error.fmt(out),
            Self::Resource(error) => error.fmt(out),
            Self::Reserved { resource, key, by } => reserved(out, resource, key, *by),
            Self::Forgetful { nodes, forgetful } => write!(
                out,
                "with {nodes} nodes, {forgetful} forgetful ones cannot be tolerated: more than {forgetful} nodes must \
                 be in any two quorums"
            ),
            Self::ClockSkew { skew } => skewed(out, *skew),
            Self::Room { ttl, room, least } => no_room(out, *ttl, *room, *least),
            Self::Replicas {
                replicas,
                within,
                limit,
            } => unwaited(out, *replicas, *within, *limit),
            Self::Disks {
                disks,
                within,
                limit,
            } => unwritten(out, *disks, *within, *limit),
            Self::FencedCluster { node } => {
                write!(out, "the node {node} is a Redis Cluster, {FENCED_CLUSTER}")
            }
            Self::Cluster(name) => unusable(out, "cluster's name", name, 256),
            Self::Namespace(name) => unusable(out, "namespace", name, 64),
            Self::KeyFormat(error) => error.fmt(out),
            Self::Timing(error) => error.fmt(out),
            Self::Pause { least, most } => {
                crossed(out, "the shortest pause", *least, "the longest", *most)
            }
            Self::OwnerSource => out.write_str(FORGETFUL_OWNERS),
            Self::Label(label) => illegible(out, label),
            Self::NoTries => out.write_str("zero tries cannot acquire anything; give at least one"),
            Self::NoTime { option } => no_time(out, option),
            Self::Timeout { timeout } => no_timeout(out, *timeout),
            Self::Holds { least, most } => crossed(out, SHORTEST_HOLD, *least, LONGEST_HOLD, *most),
            Self::Period { period } => no_period(out, *period),
            Self::OnceTogether => out.write_str(ONCE_TOGETHER),
            Self::Unfair => unfair(out),
            Self::UnfairTogether => out.write_str(UNFAIR_TOGETHER),
            Self::PlainReaders => out.write_str(PLAIN_READERS),
            Self::Permits { permits } => no_permits(out, *permits),
            Self::PlainPermits => out.write_str(PLAIN_PERMITS),
            Self::NoPermit { owner } => no_permit(out, owner),
            #[cfg(feature = "config")]
            Self::Settings(error) => error.fmt(out),
            Self::Thread(error) => write!(out, "the lock manager's thread did not start: {error}"),
        }
    }
}

fn no_timeout(out: &mut fmt::Formatter<'_>, timeout: Duration) -> fmt::Result {
    write!(
        out,
        "a timeout of {timeout:?} cannot be used: timestamps are whole seconds; give 1 s to 30 days"
    )
}

fn no_time(out: &mut fmt::Formatter<'_>, option: &str) -> fmt::Result {
    write!(out, "{option} is zero; leave it out if it shall not count")
}

fn too_many(out: &mut fmt::Formatter<'_>, nodes: usize) -> fmt::Result {
    let most = NodeId::MOST;
    write!(out, "{nodes} nodes were given, at most {most} are possible")
}

fn no_permit(out: &mut fmt::Formatter<'_>, owner: &Owner) -> fmt::Result {
    write!(out, "the owner {owner} is of no permit: it tells no slot")
}

fn no_permits(out: &mut fmt::Formatter<'_>, permits: usize) -> fmt::Result {
    let most = PermitCount::MOST;
    write!(
        out,
        "a semaphore of {permits} permits cannot be used: give 1 to {most}"
    )
}

fn no_period(out: &mut fmt::Formatter<'_>, period: Duration) -> fmt::Result {
    write!(
        out,
        "a period of {period:?} cannot be used: give 1 s to 30 days"
    )
}

fn illegible(out: &mut fmt::Formatter<'_>, label: &str) -> fmt::Result {
    write!(
        out,
        "the label {label:?} cannot be used: give 1 to 64 ASCII letters, digits, spaces and `._-:/@+`"
    )
}

fn unfair(out: &mut fmt::Formatter<'_>) -> fmt::Result {
    out.write_str(
        "a plain lock cannot be fair: its nodes keep nothing but its key; build the manager with `build`, or leave \
         `fair` out",
    )
}

fn unusable(out: &mut fmt::Formatter<'_>, what: &str, name: &str, most: usize) -> fmt::Result {
    write!(
        out,
        "the {what} {name:?} cannot be used: give 1 to {most} bytes without control characters"
    )
}

fn no_room(
    out: &mut fmt::Formatter<'_>,
    ttl: Duration,
    room: Duration,
    least: Duration,
) -> fmt::Result {
    write!(
        out,
        "a lock with a TTL of {} could rely on a master for only {} after sentinels have named it, and needs {}; choose \
         a maximum TTL that is longer than the TTL, or a larger clock skew",
        Span(ttl),
        Span(room),
        Span(least)
    )
}

fn reserved(
    out: &mut fmt::Formatter<'_>,
    resource: &Resource,
    key: &str,
    by: ReservedFor,
) -> fmt::Result {
    let name = resource.as_str();
    write!(out, "the name {name:?} cannot be used: ")?;
    if name != key {
        write!(out, "its key would be {key:?}, and ")?;
    }
    out.write_str(match by {
        ReservedFor::Node => "under this key nodes keep what they know of themselves",
        ReservedFor::Queue => "under this key nodes keep who waits for a fair lock",
    })?;
    out.write_str("; choose another name, or another namespace for all who use these nodes")
}

fn unwaited(
    out: &mut fmt::Formatter<'_>,
    replicas: u32,
    within: Duration,
    limit: Duration,
) -> fmt::Result {
    let (within, limit) = (Span(within), Span(limit));
    write!(
        out,
        "{replicas} replicas cannot be waited for within {within}; ask for one at least, and for a time from 1 ms to \
         the node limit, {limit}"
    )
}

fn twice(out: &mut fmt::Formatter<'_>, node: &NodeName) -> fmt::Result {
    write!(
        out,
        "the node {node} was given twice; its vote must count once"
    )
}

fn mixed(out: &mut fmt::Formatter<'_>, nodes: [(&NodeName, u32); 2]) -> fmt::Result {
    let [(node, database), (other, of_other)] = nodes;
    write!(
        out,
        "the node {node} is database {database} of its server, and {other} is database {of_other}; clients with other numbers \
         would lock beside each other: give all nodes one number"
    )
}

fn skewed(out: &mut fmt::Formatter<'_>, skew: Duration) -> fmt::Result {
    let skew = Span(skew);
    write!(
        out,
        "a clock skew of {skew} is more than a day; set the clocks"
    )
}

fn unwritten(
    out: &mut fmt::Formatter<'_>,
    disks: Disks,
    within: Duration,
    limit: Duration,
) -> fmt::Result {
    let (within, limit) = (Span(within), Span(limit));
    write!(
        out,
        "votes cannot be waited for on disks ({disks}) within {within}; ask for the server's or those of one replica at \
         least, and for a time from 1 ms to the node limit, {limit}"
    )
}

fn crossed(
    out: &mut fmt::Formatter<'_>,
    shorter: &str,
    least: Duration,
    longer: &str,
    most: Duration,
) -> fmt::Result {
    let (least, most) = (Span(least), Span(most));
    write!(
        out,
        "{shorter} of {least} is longer than {longer} of {most}"
    )
}

impl Error for ConfigError {
    /// What is behind the error in it, whose text this one's has.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Node(error) => error.source(),
            Self::Resource(error) => error.source(),
            Self::KeyFormat(error) => error.source(),
            Self::Timing(error) => error.source(),
            #[cfg(feature = "config")]
            Self::Settings(error) => error.source(),
            Self::Thread(error) => error.source(),
            _ => None,
        }
    }
}

const FENCED_CLUSTER: &str = "on which locks with fencing tokens are not kept: a script reaches one slot, and the counters and the \
                              memory of the restart guard are one hash for all locks of a node; give single masters \
                              (redis://), or have a program ask for plain locks there (`build_plain`)";
const SHORTEST_HOLD: &str = "the shortest time for which the lock is held (min_hold)";
const LONGEST_HOLD: &str = "the longest (max_hold)";
const FORGETFUL_OWNERS: &str =
    "the owner source does not keep all of the random bytes; put labels behind them";
const PLAIN_READERS: &str = "plain locks have no readers: their nodes keep one holder for each name, and no queue of those who \
                             wait; build the manager with `build`, or take a mutex";
const PLAIN_PERMITS: &str = "plain locks have no permits: their nodes keep one holder for each name; build the manager with \
                             `build`, or take a mutex";
const ONCE_TOGETHER: &str = "work for which several names are locked together cannot be done once in each period: lock one \
                             name that stands for all of them";
const UNFAIR_TOGETHER: &str = "nobody queues for several names that are locked together: leave `fair` out, or queue for one \
                               name that stands for all of them";

leasehold_core::debug_by_sentence!(ConfigError {
    NoNodes,
    TooManyNodes { nodes },
    SameNode { node },
    Databases { node, database, other, of_other },
    Node(inner),
    Resource(inner),
    Reserved { resource, key, by },
    Forgetful { nodes, forgetful },
    ClockSkew { skew },
    Room { ttl, room, least },
    Replicas { replicas, within, limit },
    Disks { disks, within, limit },
    FencedCluster { node },
    Cluster(inner),
    Namespace(inner),
    KeyFormat(inner),
    Timing(inner),
    Pause { least, most },
    OwnerSource,
    Label(inner),
    NoTries,
    NoTime { option },
    Timeout { timeout },
    Period { period },
    OnceTogether,
    Holds { least, most },
    Unfair,
    PlainReaders,
    Permits { permits },
    PlainPermits,
    NoPermit { owner },
    UnfairTogether,
    #[cfg(feature = "config")]
    Settings(inner),
    Thread(inner),
});

#[cfg(feature = "config")]
impl From<SettingsError> for ConfigError {
    fn from(error: SettingsError) -> Self {
        Self::Settings(error)
    }
}

impl From<ResourceError> for ConfigError {
    fn from(error: ResourceError) -> Self {
        Self::Resource(error)
    }
}

impl From<KeyFormatError> for ConfigError {
    fn from(error: KeyFormatError) -> Self {
        Self::KeyFormat(error)
    }
}

impl From<io::Error> for ConfigError {
    fn from(error: io::Error) -> Self {
        Self::Thread(Arc::new(error))
    }
}

impl From<TimingError> for ConfigError {
    fn from(error: TimingError) -> Self {
        Self::Timing(error)
    }
}
