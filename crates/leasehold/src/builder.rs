//! Options in, a running manager out.

use crate::{
    clock::Clock,
    error::ConfigError,
    handle::Handle,
    link::{Link, NodeName, memory::MemoryNode},
    manager::LockManager,
    options::LockOptions,
    shell::{self, MakeLink},
};
use std::{collections::HashSet, fmt};

/// Options of a new [`LockManager`]: its nodes, and the default options of its locks.
#[derive(Default)]
#[must_use = "call build to get a manager"]
pub struct ManagerBuilder {
    nodes: Vec<Node>,
    defaults: LockOptions,
    /// The first thing that was wrong, told by `build`.
    wrong: Option<ConfigError>,
}

struct Node {
    name: NodeName,
    connect: MakeLink,
}

impl ManagerBuilder {
    /// Adds `count` nodes in the memory of this process, of which nobody else knows.
    pub fn memory(mut self, count: usize) -> Self {
        for _ in 0..count {
            self = self.memory_node(&MemoryNode::new());
        }
        self
    }

    /// Adds a node in the memory of this process. Managers that share it exclude each other.
    pub fn memory_node(self, node: &MemoryNode) -> Self {
        let (name, node) = (format!("memory #{}", self.nodes.len()), node.clone());
        self.link(NodeName::new(&name), move |clock| node.link(clock))
    }

    /// Adds Redis or Valkey servers by their addresses: `redis://`, `rediss://`, `unix://`, or
    /// `host:port`. See [`RedisUrl`](crate::link::redis::RedisUrl).
    ///
    /// An address that cannot be used is told by [`build`](Self::build).
    #[cfg(feature = "redis")]
    pub fn nodes<U: AsRef<str>>(mut self, urls: impl IntoIterator<Item = U>) -> Self {
        use crate::link::redis::{RedisLink, RedisUrl};
        for url in urls {
            match url.as_ref().parse::<RedisUrl>() {
                Ok(url) => {
                    self = self.link(url.name(), move |clock| RedisLink::new(url, clock));
                }
                Err(error) => {
                    self.wrong.get_or_insert(ConfigError::Node(error.into()));
                }
            }
        }
        self
    }

    /// Adds the store in the folder `path`, shared by the processes of this machine; makes it if it is not
    /// there. See [`FileNode`](crate::link::file::FileNode).
    ///
    /// Opens the folder before it returns; what is wrong with it is told by [`build`](Self::build).
    #[cfg(feature = "file")]
    pub fn file(mut self, path: impl AsRef<std::path::Path>) -> Self {
        let path = path.as_ref();
        match crate::link::file::FileNode::open(path) {
            Ok(node) => self.link(NodeName::new(&path.display().to_string()), move |clock| {
                node.link(clock)
            }),
            Err(error) => {
                self.wrong.get_or_insert(ConfigError::Node(error.into()));
                self
            }
        }
    }

    /// Adds a node of a kind of your own: `connect` makes its link, on the manager's thread.
    pub fn link<L: Link>(
        mut self,
        name: NodeName,
        connect: impl FnOnce(Clock) -> L + Send + 'static,
    ) -> Self {
        let connect: MakeLink = Box::new(move |clock| Box::new(connect(clock)));
        self.nodes.push(Node { name, connect });
        self
    }

    /// The options of locks that are made without options of their own.
    pub fn defaults(self, defaults: LockOptions) -> Self {
        Self { defaults, ..self }
    }

    /// Starts the manager's thread, which begins to connect. Waits for nothing: nodes that are not there
    /// yet are told by the first lock that needs them.
    ///
    /// # Errors
    /// A [`ConfigError`] if there are no nodes, too many, or one twice, if the default options do not go
    /// together, or if the thread cannot be started.
    pub fn build(self) -> Result<LockManager, ConfigError> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        self.defaults.plan()?;
        let (names, links): (Vec<_>, Vec<_>) = self
            .nodes
            .into_iter()
            .map(|node| (node.name, node.connect))
            .unzip();
        let mut seen = HashSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
            return Err(ConfigError::SameNode {
                node: twice.clone(),
            });
        }
        let clock = Clock::system();
        let (handle, commands) = Handle::new(clock, names)?;
        shell::spawn(clock, handle.downgrade(), handle.quorum(), commands, links)
            .map_err(ConfigError::Thread)?;
        Ok(LockManager::new(handle, self.defaults))
    }
}

impl fmt::Debug for ManagerBuilder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self
            .nodes
            .iter()
            .map(|node| node.name.to_string())
            .collect();
        out.debug_struct("ManagerBuilder")
            .field("nodes", &names)
            .field("defaults", &self.defaults)
            .finish_non_exhaustive()
    }
}
