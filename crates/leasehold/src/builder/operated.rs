//! What an operator of the nodes has to know of them.

use super::ManagerBuilder;
use crate::{
    configuration::Configuration,
    error::ConfigError,
    link::{NodeName, redis::RedisUrl},
    mode::{Fenced, Plain},
};
use leasehold_core::Quorum;
use std::fmt;

/// Nodes that an operator works on.
#[derive(Clone, Debug)]
pub(crate) struct Operated {
    pub(crate) nodes: Vec<(NodeName, Spot)>,
    pub(crate) quorum: Quorum,
    pub(crate) configuration: Configuration,
    /// A node that is a Redis Cluster: then locks are plain.
    cluster: Option<NodeName>,
}

impl Operated {
    /// The same, if its nodes can have locks with fencing tokens: others have nothing to say of themselves.
    pub(crate) fn fenced(&self) -> Result<Self, ConfigError> {
        match &self.cluster {
            None => Ok(self.clone()),
            Some(node) => Err(ConfigError::FencedCluster { node: node.clone() }),
        }
    }
}

/// Where a node is, for those who come not for locks.
#[derive(Clone)]
pub(crate) enum Spot {
    /// A server at this address.
    Server(RedisUrl),
    #[cfg(feature = "file")]
    File(crate::link::file::FileNode),
    /// In memory, or wherever its link has it.
    Elsewhere,
}

impl Spot {
    /// The address, if it is a server.
    pub(crate) fn url(self) -> Option<RedisUrl> {
        match self {
            Self::Server(url) => Some(url),
            _ => None,
        }
    }
}

/// Says what it is: addresses may contain passwords.
impl fmt::Debug for Spot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Server(_) => "Server",
            #[cfg(feature = "file")]
            Self::File(_) => "File",
            Self::Elsewhere => "Elsewhere",
        })
    }
}

impl ManagerBuilder {
    /// What an operator of the nodes has to know of them.
    pub(crate) fn into_operated(mut self) -> Result<Operated, ConfigError> {
        let cluster = self.nodes.iter().find(|node| node.is_cluster());
        let cluster = cluster.map(|node| node.name.clone());
        let (quorum, configuration) = match cluster {
            Some(_) => self.agreement::<Plain>()?,
            None => self.agreement::<Fenced>()?,
        };
        let nodes = self.nodes.into_iter();
        Ok(Operated {
            nodes: nodes.map(|node| (node.name, node.spot)).collect(),
            quorum,
            configuration,
            cluster,
        })
    }
}
