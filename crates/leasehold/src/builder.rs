//! Options in, a running manager out.

mod common;
mod copies;
#[cfg(feature = "redis")]
mod databases;
#[cfg(feature = "redis")]
mod operated;

#[cfg(feature = "redis")]
pub(crate) use databases::check_databases;
#[cfg(feature = "redis")]
pub(crate) use operated::{Operated, Spot};

use crate::{
    clock::Clock,
    configuration::{Configuration, KeyFormat, RestartGuard},
    error::ConfigError,
    guardian::GuardianHandle,
    handle::Handle,
    link::{Link, NodeName, memory::MemoryNode},
    manager::LockManager,
    mode::{Mode, Plain},
    observe::Observer,
    options::LockOptions,
    shell::{self, MakeLink, Observers, Runner},
};
use common::Common;
use copies::CopyOptions;
use leasehold_core::{Quorum, Ttl};
use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

/// Options of a new [`LockManager`]: its nodes, and the default options of its locks.
///
/// A clone has the same options, and means the same nodes: each manager that is built of one has connections of its own,
/// and tells the same observers. What an operator can do with the nodes is in `operate`.
///
/// # Examples
/// ```
/// use leasehold::LockManager;
///
/// let builder = LockManager::builder().memory(3);
/// let (one, other) = (builder.clone().build()?.blocking(), builder.build()?.blocking());
/// let guard = one.mutex("report")?.acquire()?;
/// assert!(other.mutex("report")?.try_acquire().is_err());
/// # drop(guard);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
#[must_use = "call build to get a manager"]
pub struct ManagerBuilder {
    nodes: Vec<NodeSource>,
    defaults: LockOptions,
    agreed: Agreed,
    copies: CopyOptions,
    runner: Runner,
    clock: Clock,
    observers: Vec<Arc<dyn Observer>>,
    /// The first thing that was wrong, told by `build`.
    wrong: Option<ConfigError>,
}

#[derive(Clone)]
struct NodeSource {
    name: NodeName,
    /// Whether it has a past that it may forget.
    is_guarded: bool,
    #[cfg(feature = "redis")]
    spot: Spot,
    connect: Connect,
}

#[cfg(feature = "redis")]
impl NodeSource {
    fn is_cluster(&self) -> bool {
        self.spot
            .server()
            .is_some_and(crate::link::redis::RedisUrl::is_cluster)
    }
}

/// Makes the link, where the manager's work is done.
type Connect = Arc<dyn Fn(Clock, &Common) -> Box<dyn Link> + Send + Sync>;

/// What all who use the nodes must agree on, as far as it was chosen.
#[derive(Clone)]
struct Agreed {
    namespace: String,
    names: Option<String>,
    guard: RestartGuard,
    max_ttl: Duration,
    skew: Duration,
    forgetful: usize,
    key_format: KeyFormat,
    /// Whether nodes that do not forget have a maximum too, as those of a test that stand for servers.
    #[cfg(any(test, feature = "testing"))]
    is_limited: bool,
}

impl Default for Agreed {
    fn default() -> Self {
        Self {
            namespace: "leasehold".to_owned(),
            names: None,
            guard: RestartGuard::default(),
            max_ttl: Duration::from_secs(30),
            skew: Duration::from_secs(2),
            forgetful: 0,
            key_format: KeyFormat::raw(),
            #[cfg(any(test, feature = "testing"))]
            is_limited: false,
        }
    }
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

    /// Adds Redis or Valkey servers by their addresses: `redis://`, `rediss://`, `unix://`, `redis+sentinel://`,
    /// `redis+cluster://` (for [plain](Self::build_plain) locks), or `host:port`. See [`RedisUrl`](crate::link::redis::RedisUrl).
    ///
    /// An address that cannot be used is told by [`build`](Self::build), and so is one of another database number than the others.
    #[cfg(feature = "redis")]
    pub fn nodes<U: AsRef<str>>(mut self, urls: impl IntoIterator<Item = U>) -> Self {
        use crate::link::redis::RedisUrl;
        for url in urls {
            match url.as_ref().parse::<RedisUrl>() {
                Ok(url) => {
                    self.nodes.push(NodeSource {
                        name: url.name(),
                        is_guarded: true,
                        spot: Spot::Server(url.clone()),
                        connect: Arc::new(move |clock, common| common.link_to(url.clone(), clock)),
                    });
                }
                Err(error) => {
                    self.wrong.get_or_insert(ConfigError::Node(Arc::new(error)));
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
            Ok(node) => {
                let name = NodeName::new(&path.display().to_string());
                #[cfg(feature = "redis")]
                let spot = Spot::File(node.clone());
                let built = self.link(name, move |clock| node.link(clock));
                #[cfg(feature = "redis")]
                let built = built.last_is_at(spot);
                built
            }
            Err(error) => {
                self.wrong.get_or_insert(ConfigError::Node(Arc::new(error)));
                self
            }
        }
    }

    /// Adds a node of a kind of your own: `connect` makes its link, where the manager's work is done, once for each manager
    /// that is built: in its task on the runtime within which it is built, or on its thread.
    pub fn link<L: Link>(
        mut self,
        name: NodeName,
        connect: impl Fn(Clock) -> L + Send + Sync + 'static,
    ) -> Self {
        self.nodes.push(NodeSource {
            name,
            is_guarded: false,
            #[cfg(feature = "redis")]
            spot: Spot::Elsewhere,
            connect: Arc::new(move |clock, _| Box::new(connect(clock))),
        });
        self
    }

    /// Tells this observer what the manager does and notices. More than one may be given; each is told of everything. It
    /// is called where the manager's work is done, as a task of the runtime or on its thread, and must be quick: see [`observe`](crate::observe).
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::{LockManager, Observation};
    ///
    /// let builder = LockManager::builder().memory(3);
    /// let manager = builder.observer(|observation: &Observation<'_>| {
    ///     if let Observation::Lost { resource, cause, held, .. } = observation {
    ///         eprintln!("lost {resource} after {held:?}: {cause}");
    ///     }
    /// }).build()?;
    /// # let _ = manager;
    /// # Ok(())
    /// # }
    /// ```
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// The clock by which the manager holds leases.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// The nodes take no longer TTL than servers would.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn limited(mut self) -> Self {
        self.agreed.is_limited = true;
        self
    }

    #[cfg(all(feature = "file", feature = "redis"))]
    fn last_is_at(mut self, spot: Spot) -> Self {
        if let Some(node) = self.nodes.last_mut() {
            node.spot = spot;
        }
        self
    }

    /// What happens when a node may have forgotten votes. All who use the same nodes must say the same. Quarantine
    /// by default.
    pub fn restart_guard(mut self, guard: RestartGuard) -> Self {
        self.agreed.guard = guard;
        self
    }

    /// How long the TTL of any lock on these nodes may be at most, with what is added to it; 30 s by default. A node
    /// that may have forgotten locks waits for so long, so do not choose more than is needed. All who use the same
    /// nodes must say the same. Nodes in memory and in files do not forget, and have no maximum; those of a test's
    /// `World` stand for servers, and have it.
    pub fn max_ttl(mut self, max_ttl: Duration) -> Self {
        self.agreed.max_ttl = max_ttl;
        self
    }

    /// By how much the wall clocks of clients and nodes may differ: nodes that may have forgotten locks wait for so
    /// much longer, so that fencing tokens still grow where counters were lost. 2 s by default. All who use the same
    /// nodes must say the same.
    pub fn clock_skew(mut self, skew: Duration) -> Self {
        if skew > LARGEST_SKEW {
            self.wrong.get_or_insert(ConfigError::ClockSkew { skew });
        }
        self.agreed.skew = skew;
        self
    }

    /// Locks are safe even if so many nodes forget votes, or have their clocks set, at the wrong moment: more nodes
    /// than a majority must agree, and fewer may be away. 0 by default. With five nodes and 2 four must agree.
    ///
    /// # Source
    /// Two quorums of q out of n share at least 2q − n nodes (argument [S1](crate::safety#s1)).
    pub fn tolerate_forgetful(mut self, nodes: usize) -> Self {
        self.agreed.forgetful = nodes;
        self
    }

    /// Under which name the nodes keep what they know of themselves: `leasehold` by default, which makes the key
    /// `leasehold:node`. Another name makes another world with counters and a configuration of its own; the locks'
    /// keys are the same in all of them, so no resource may be locked in two. Plain locks keep nothing there, but stay away
    /// from the keys of those who do.
    pub fn namespace(mut self, namespace: &str) -> Self {
        if namespace.is_empty() || namespace.len() > 64 || namespace.contains(char::is_control) {
            let wrong = ConfigError::Namespace(namespace.to_owned());
            self.wrong.get_or_insert(wrong);
        }
        namespace.clone_into(&mut self.agreed.namespace);
        self
    }

    /// Under which keys nodes that are servers keep the locks: the resources' names as they are by default. For sharing
    /// locks with a library that puts something before or behind them. All who use the same nodes must say the same;
    /// nodes that are not servers have resources and no keys.
    ///
    /// # Examples
    /// ```no_run
    /// use leasehold::{KeyFormat, LockManager};
    ///
    /// let nodes = ["redis://db1", "redis://db2", "redis://db3"];
    /// let builder = LockManager::builder().nodes(nodes);
    /// let manager = builder.key_format(KeyFormat::pottery()).build_plain()?;
    /// // Kept as `redlock:orders/42`, and called `orders/42` by everything but the nodes.
    /// let mutex = manager.mutex("orders/42")?;
    /// # Ok::<(), leasehold::ConfigError>(())
    /// ```
    pub fn key_format(mut self, format: KeyFormat) -> Self {
        self.agreed.key_format = format;
        self
    }

    /// What the set of nodes is called in the configuration that all agree on, instead of the addresses. For clients
    /// that reach the same nodes under different addresses. Managers with the same name must mean the same nodes.
    pub fn cluster(mut self, name: &str) -> Self {
        if name.is_empty() || name.len() > 256 || name.contains(char::is_control) {
            let wrong = ConfigError::Cluster(name.to_owned());
            self.wrong.get_or_insert(wrong);
        }
        self.agreed.names = Some(name.replace(char::is_whitespace, "_"));
        self
    }

    /// Does the manager's work as a task of this runtime, and not of the one in which [`build`](Self::build) is called.
    ///
    /// The runtime needs its I/O and its timers enabled ([`enable_all`](tokio::runtime::Builder::enable_all)).
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let runtime = tokio::runtime::Runtime::new()?;
    /// let builder = leasehold::LockManager::builder().memory(3);
    /// let manager = builder.on_runtime(runtime.handle().clone()).build()?.blocking();
    /// let guard = manager.mutex("orders/42")?.acquire()?;
    /// assert!(guard.release().is_released());
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_runtime(mut self, runtime: tokio::runtime::Handle) -> Self {
        self.runner = Runner::Runtime(runtime);
        self
    }

    /// Does the manager's work on a thread of its own from the start, wherever [`build`](Self::build) is called.
    ///
    /// A lock costs some wakes of threads more then. For a runtime whose timers are not the machine's, as in a test that pauses
    /// tokio's time after it has built the manager, and for one whose tasks often block it.
    pub fn own_thread(mut self) -> Self {
        self.runner = Runner::Thread;
        self
    }

    /// The options of locks that are made without options of their own.
    pub fn defaults(self, defaults: LockOptions) -> Self {
        Self { defaults, ..self }
    }

    /// Starts the manager, which begins to connect. Waits for nothing: nodes that are not there
    /// yet are told by the first lock that needs them.
    ///
    /// Where a tokio runtime runs, the manager's work is a task of it, so that a lock wakes no other thread. Nothing depends on
    /// that task: when it does not get its turn in time, because other tasks block the runtime, or nobody polls it, or it
    /// was dropped, the work goes on on a thread of its own, over the same connections, and stays there. Elsewhere it has
    /// such a thread from the start.
    ///
    /// # Errors
    /// A [`ConfigError`] if there are no nodes, too many, one twice, or databases of two numbers, if the default options do not go
    /// together, or if the thread cannot be started.
    pub fn build(self) -> Result<LockManager, ConfigError> {
        self.start()
    }

    /// As [`build`](Self::build), but for locks as Redlock has them and no more; see [`Plain`].
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_plain(self) -> Result<LockManager<Plain>, ConfigError> {
        self.start()
    }

    fn start<M: Mode>(mut self) -> Result<LockManager<M>, ConfigError> {
        let (quorum, configuration) = self.agreement::<M>()?;
        let configuration = Arc::new(configuration);
        let defaults = Arc::new(self.defaults.checked_for::<M>(&configuration)?);
        let (copies, runner) = (self.copies, self.runner);
        copies.check(defaults.lock_config().timing.node_limit())?;
        // Names that are not addresses do not tell where another node is.
        let follows = configuration.is_fenced() && self.agreed.names.is_none();
        let blocking = follows.then(|| quorum.spare() + 1);
        let common = Arc::new(Common::new(&configuration, copies, blocking));
        let (names, links): (Vec<_>, Vec<_>) = self
            .nodes
            .into_iter()
            .map(|node| {
                let common = Arc::clone(&common);
                let make: MakeLink = Box::new(move |clock| (node.connect)(clock, &common));
                (node.name, make)
            })
            .unzip();
        let clock = self.clock;
        let runtime = runner.runtime(clock);
        // In a test's time nothing is late.
        let is_guarded = runtime.is_some() && clock.passes();
        let guardian = is_guarded.then(GuardianHandle::start).transpose()?;
        let (handle, commands) = Handle::new(clock, &names, quorum, configuration, guardian);
        let observers = Observers(self.observers);
        shell::spawn(&handle, commands, links, observers, runtime)?;
        Ok(LockManager::new(handle, defaults))
    }

    /// What all who use the nodes must agree on.
    fn agreement<M: Mode>(&mut self) -> Result<(Quorum, Configuration), ConfigError> {
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong);
        }
        let (forgetful, count) = (self.agreed.forgetful, self.nodes.len());
        let quorum = match count {
            0 => return Err(ConfigError::NoNodes),
            nodes => Quorum::majority(nodes).ok_or(ConfigError::TooManyNodes { nodes })?,
        };
        let quorum = match forgetful {
            0 => quorum,
            _ => {
                let nodes = count;
                Quorum::tolerate_forgetful(nodes, forgetful)
                    .ok_or(ConfigError::Forgetful { nodes, forgetful })?
            }
        };
        let mut seen = HashSet::new();
        if let Some(twice) = self.nodes.iter().find(|node| !seen.insert(&node.name)) {
            let node = twice.name.clone();
            return Err(ConfigError::SameNode { node });
        }
        #[cfg(feature = "redis")]
        if let Some(cluster) = self.nodes.iter().find(|node| node.is_cluster())
            && M::IS_FENCED
        {
            let node = cluster.name.clone();
            return Err(ConfigError::FencedCluster { node });
        }
        #[cfg(feature = "redis")]
        check_databases(self.nodes.iter().filter_map(|node| node.spot.server()))?;
        let configuration = configuration::<M>(&self.agreed, &self.nodes, quorum)?;
        Ok((quorum, configuration))
    }
}

/// Clocks that differ by more are not set at all.
const LARGEST_SKEW: Duration = Duration::from_secs(24 * 60 * 60);

fn configuration<M: Mode>(
    agreed: &Agreed,
    nodes: &[NodeSource],
    quorum: Quorum,
) -> Result<Configuration, ConfigError> {
    let format = agreed.key_format.clone();
    let plain = || Configuration::plain().with_key_format(format.clone());
    if !nodes.iter().any(|node| node.is_guarded) {
        #[cfg(any(test, feature = "testing"))]
        if agreed.is_limited && agreed.guard != RestartGuard::Off {
            return Ok(plain().limited(Ttl::new(agreed.max_ttl)?));
        }
        return Ok(plain());
    }
    if !M::IS_FENCED {
        return Ok(plain().beside(&agreed.namespace));
    }
    let names = agreed.names.clone().unwrap_or_else(|| {
        let mut names: Vec<_> = nodes.iter().map(|node| node.name.to_string()).collect();
        names.sort_unstable();
        names.join(",")
    });
    let configuration = Configuration::new(
        &agreed.namespace,
        &names,
        quorum,
        agreed.guard,
        Ttl::new(agreed.max_ttl)?,
        agreed.skew,
    );
    #[cfg(feature = "redis")]
    let configuration = configuration.with_sentinels(
        nodes
            .iter()
            .any(|node| matches!(&node.spot, Spot::Server(url) if url.is_named())),
    );
    Ok(configuration.with_key_format(format))
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
