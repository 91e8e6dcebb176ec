//! What an operator of the nodes has to know of them.

use super::ManagerBuilder;
use crate::{
    configuration::{Configuration, Successor},
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
    /// The nodes that follow these, if so many of them say so that locks go by it: these texts are what nodes tell of the
    /// configuration that they vote for. The place of the one that was replaced as well.
    pub(crate) fn followed<'a>(
        &self,
        texts: impl Iterator<Item = &'a str>,
    ) -> Option<(usize, Self)> {
        let told = texts.filter_map(|text| self.configuration.successor(text));
        let told: Vec<_> = told.collect();
        // As a manager learns it: no quorum of the former list is left.
        let blocking = self.nodes.len() - self.quorum.needed() + 1;
        let is_told = |successor: &&Successor| {
            let same = told
                .iter()
                .filter(|other| other.configuration == successor.configuration);
            successor.is_confirmed && same.count() >= blocking
        };
        let successor = told.iter().find(is_told)?.clone();
        let mut is_former = self
            .nodes
            .iter()
            .map(|(name, _)| name.as_str() == successor.former);
        let place = is_former.position(|is_former| is_former)?;
        let Spot::Server(url) = &self.nodes[place].1 else {
            return None;
        };
        let url = url.in_place(&successor.new)?;
        let mut followed = self.clone();
        followed.nodes[place] = (url.name(), Spot::Server(url));
        followed.configuration = successor.configuration;
        Some((place, followed))
    }

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
    pub(crate) const fn server(&self) -> Option<&RedisUrl> {
        match self {
            Self::Server(url) => Some(url),
            _ => None,
        }
    }

    /// The same, for those who need nothing else of it.
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
