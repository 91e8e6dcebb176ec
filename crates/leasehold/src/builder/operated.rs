//! What an operator of the nodes has to know of them.

use super::ManagerBuilder;
use crate::{
    configuration::Configuration,
    error::ConfigError,
    link::{NodeName, redis::RedisUrl},
    mode::Fenced,
};
use leasehold_core::Quorum;
use std::fmt;

/// Nodes that an operator works on.
#[derive(Clone, Debug)]
pub(crate) struct Operated {
    pub(crate) nodes: Vec<(NodeName, Spot)>,
    pub(crate) quorum: Quorum,
    pub(crate) configuration: Configuration,
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
        let (quorum, configuration) = self.agreement::<Fenced>()?;
        let nodes = self.nodes.into_iter();
        Ok(Operated {
            nodes: nodes.map(|node| (node.name, node.spot)).collect(),
            quorum,
            configuration,
        })
    }
}
