//! Why nodes were not made to use another configuration.

use super::{ConfigError, Faults, NodeFault};
use crate::link::NodeName;
use std::{error::Error, fmt};

/// Why nodes were not made to use another configuration, or not all of them.
#[derive(Clone)]
#[non_exhaustive]
pub enum ReconfigureError {
    /// The new configuration, or an address of the old one, cannot be used. Nothing was changed.
    Config(ConfigError),
    /// Too few nodes of one of the two lists can be reached. Nothing was changed.
    OutOfReach {
        /// Of which list.
        list: NodeList,
        /// How many nodes must be reached.
        needed: usize,
        /// How many nodes of the list could be.
        reached: usize,
        /// How many nodes are on it.
        nodes: usize,
        /// The others, and why not.
        faults: Vec<NodeFault>,
    },
    /// A node is of a configuration with other nodes than were given as the old ones, or with another number of them: the
    /// list of the old nodes is not the one that is in use. Nothing was changed.
    FormerNodes {
        /// The node.
        node: NodeName,
        /// How many nodes were given.
        given: usize,
        /// Its configuration.
        configuration: String,
    },
    /// A node is of a configuration that cannot be read, so nobody knows for how long its leases last. Nothing was
    /// changed.
    Unreadable {
        /// The node.
        node: NodeName,
        /// Its configuration, as far as it is told.
        configuration: String,
    },
    /// A new node is used by others, with a configuration that is not the old one. Nothing was changed.
    Foreign {
        /// The node.
        node: NodeName,
        /// Its own key, in which it keeps that.
        key: String,
        /// Its configuration.
        configuration: String,
    },
    /// An old node came with another change, which was begun and has not been finished: nobody knows for how long it has to wait.
    /// Run that change again first. Nothing was changed.
    Begun {
        /// The node.
        node: NodeName,
        /// What it says of the change.
        configuration: String,
    },
    /// The two lists are of databases of different numbers, whose locks do not exclude each other, and clients of the former could
    /// not be told. Nothing was changed.
    Databases {
        /// The number of the former.
        former: u32,
        /// The number of the new one.
        new: u32,
    },
    /// Two addresses of one list lead to the same server. Nothing was changed.
    SameServer {
        /// One of them.
        node: NodeName,
        /// The other.
        other: NodeName,
    },
    /// It was begun and could not be finished: some nodes vote for nobody until it is run again.
    Unfinished {
        /// The nodes that could not be told, and why.
        faults: Vec<NodeFault>,
    },
}

/// One of the two lists of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeList {
    /// The nodes before it.
    Former,
    /// The nodes after it.
    New,
}

impl fmt::Display for ReconfigureError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("reconfigure the nodes: ")?;
        match self {
            Self::Config(error) => error.fmt(out),
            Self::OutOfReach {
                list,
                needed,
                reached,
                nodes,
                faults,
            } => write!(
                out,
                "{reached} of {nodes} {list} nodes can be reached and {needed} are needed, or {}; nothing was changed: {}",
                list.why(),
                Faults(faults)
            ),
            Self::FormerNodes {
                node,
                given,
                configuration,
            } => write!(
                out,
                "the list of old nodes has {given}, but {node} is used with another list; give the one that is in \
                 use, or run the change again that was made last; nothing was changed: {configuration}"
            ),
            Self::Unreadable {
                node,
                configuration,
            } => write!(
                out,
                "the configuration of {node} cannot be read, so it is not known how long its leases last; nothing was \
                 changed: {configuration}"
            ),
            Self::Foreign {
                node,
                key,
                configuration,
            } => write!(
                out,
                "the new node {node} is used with a configuration that is not the old one; if nobody uses it any more, \
                 delete the key {key} there; nothing was changed: {configuration}"
            ),
            Self::Begun {
                node,
                configuration,
            } => write!(
                out,
                "at {node} {configuration}; run that change again first; nothing was changed"
            ),
            Self::Databases { former, new } => elsewhere(out, *former, *new),
            Self::SameServer { node, other } => twins(out, node, other),
            Self::Unfinished { faults } => write!(
                out,
                "it was begun and is not finished; nodes that were reached vote for nobody until it is run again: {}",
                Faults(faults)
            ),
        }
    }
}

fn twins(out: &mut fmt::Formatter<'_>, node: &NodeName, other: &NodeName) -> fmt::Result {
    write!(
        out,
        "{node} and {other} are the same server, whose vote must count once; nothing was changed"
    )
}

fn elsewhere(out: &mut fmt::Formatter<'_>, former: u32, new: u32) -> fmt::Result {
    write!(
        out,
        "the old list is of database {former} of its servers and the new one of database {new}, whose locks do not exclude \
         each other; stop all programs with the old list, and start them with the new one when the longest TTL has passed; \
         nothing was changed"
    )
}

impl fmt::Display for NodeList {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Former => "old",
            Self::New => "new",
        })
    }
}

impl NodeList {
    /// What is wrong where too few of it are told.
    const fn why(self) -> &'static str {
        match self {
            Self::Former => "the others could go on locking as before",
            Self::New => "too few would be left to lock anything",
        }
    }
}

impl Error for ReconfigureError {
    /// What is behind the error in it, whose text this one's has.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Config(error) => error.source(),
            _ => None,
        }
    }
}

leasehold_core::debug_by_sentence!(ReconfigureError {
    Config(inner),
    OutOfReach { list, needed, reached, nodes, faults },
    FormerNodes { node, given, configuration },
    Unreadable { node, configuration },
    Foreign { node, key, configuration },
    Begun { node, configuration },
    Databases { former, new },
    SameServer { node, other },
    Unfinished { faults },
});

impl From<ConfigError> for ReconfigureError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}
