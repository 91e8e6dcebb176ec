//! From which nodes to which, and what became of each.

use crate::{
    builder::check_databases,
    error::{ConfigError, Span},
    link::{NodeName, redis::RedisUrl},
};
use std::{fmt, time::Duration};

/// The nodes before a change of configuration.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Former {
    /// None: the same as after it.
    urls: Option<Vec<String>>,
}

impl Former {
    /// The same nodes as after the change: it is about something else.
    #[must_use]
    pub const fn same() -> Self {
        Self { urls: None }
    }

    /// These, all of them, by their addresses.
    #[must_use]
    pub fn nodes<U: AsRef<str>>(urls: impl IntoIterator<Item = U>) -> Self {
        let urls = urls.into_iter().map(|url| url.as_ref().to_owned());
        Self {
            urls: Some(urls.collect()),
        }
    }

    /// The addresses, if they are others than the new ones.
    pub(super) fn read(self) -> Result<Option<Vec<RedisUrl>>, ConfigError> {
        let Some(urls) = self.urls else {
            return Ok(None);
        };
        let mut read: Vec<RedisUrl> = Vec::new();
        for url in urls {
            let url: RedisUrl = url
                .parse()
                .map_err(|error| ConfigError::Node(std::sync::Arc::new(error)))?;
            if url.is_cluster() {
                return Err(ConfigError::FencedCluster { node: url.name() });
            }
            if read.iter().any(|other| other.name() == url.name()) {
                return Err(ConfigError::SameNode { node: url.name() });
            }
            read.push(url);
        }
        check_databases(read.iter())?;
        match read.is_empty() {
            true => Err(ConfigError::NoNodes),
            false => Ok(Some(read)),
        }
    }
}

/// Says how many there are: addresses may contain passwords.
impl fmt::Debug for Former {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.urls.as_ref().map(Vec::len);
        out.debug_struct("Former").field("nodes", &count).finish()
    }
}

/// A change of configuration, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reconfiguration {
    /// The configurations that the nodes had before.
    pub from: Vec<String>,
    /// The one that they have after it.
    pub to: String,
    /// For how long nodes that change do not vote.
    pub quarantine: Duration,
    /// Whether one node takes the place of another and nothing else changes: the other nodes vote on, leases go on, and clients
    /// learn the new list by themselves. Otherwise no lock can be had for that long, and clients of before lose theirs.
    pub goes_on: bool,
    /// What became of each node, old or new.
    pub nodes: Vec<Reconfigured>,
}

/// What became of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reconfigured {
    /// The node.
    pub node: NodeName,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It would be changed.
    Would,
    /// It is of the new configuration, and votes after this.
    Changed {
        /// After how long.
        left: Duration,
    },
    /// It was of the new configuration already, and was left as it is.
    Already,
    /// It votes for nobody; after this it can be told the new configuration: run it again.
    Waits {
        /// After how long.
        left: Duration,
    },
    /// It was not told. Run it again when it is back, or when it is gone for good and no client asks it any more.
    Missed {
        /// Why, as a fragment for people.
        why: String,
    },
}

impl Reconfiguration {
    /// Whether every node is of the new configuration.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let is_done = |node: &Reconfigured| {
            matches!(node.outcome, Outcome::Changed { .. } | Outcome::Already)
        };
        self.nodes.iter().all(is_done)
    }

    /// After how long it has to be run again, where the new restart guard is off.
    #[must_use]
    pub fn waits(&self) -> Option<Duration> {
        let left = self.nodes.iter().filter_map(|node| match node.outcome {
            Outcome::Waits { left } => Some(left),
            _ => None,
        });
        left.max()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Would => out.write_str("would be changed"),
            Self::Changed { left } if left.is_zero() => out.write_str("changed; votes"),
            Self::Changed { left } => write!(out, "changed; votes in {}", Span(*left)),
            Self::Already => out.write_str("of the new configuration already"),
            Self::Waits { left } => write!(
                out,
                "votes for nobody until this is run again, in {}",
                Span(*left)
            ),
            Self::Missed { why } => write!(out, "not told: {why}"),
        }
    }
}
