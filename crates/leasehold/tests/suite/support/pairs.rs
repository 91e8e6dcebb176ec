//! Two managers on nodes of every kind.

use leasehold::{
    LockManager, LockOptions, ManagerBuilder, RestartGuard, blocking, link::memory::MemoryNode,
};
use leasehold_servers::{Server, require_server};
use std::{
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    time::Duration,
};

/// Two that know each other by the nodes alone.
pub(crate) type Managers = [blocking::LockManager; 2];

pub(crate) fn servers(count: usize) -> Vec<Server> {
    require_server();
    let servers = (0..count).map(|_| Server::start());
    servers.collect::<Result<_, _>>().expect("they start")
}

pub(crate) fn builder(servers: &[Server]) -> ManagerBuilder {
    LockManager::builder()
        .nodes(servers.iter().map(Server::url))
        .max_ttl(Duration::from_secs(10))
        .clock_skew(Duration::ZERO)
        .restart_guard(RestartGuard::Off)
        .defaults(LockOptions::new().ttl(Duration::from_secs(5)))
}

pub(crate) fn on(servers: &[Server]) -> Managers {
    [0, 1].map(|_| {
        let manager = builder(servers).build().expect("good addresses");
        manager.blocking()
    })
}

pub(crate) fn in_memory(count: usize) -> Managers {
    let nodes: Vec<_> = (0..count).map(|_| MemoryNode::new()).collect();
    [0, 1].map(|_| {
        let builder = LockManager::builder();
        let builder = nodes.iter().fold(builder, ManagerBuilder::memory_node);
        builder.build().expect("nodes").blocking()
    })
}

/// Does this with two managers that know each other by the nodes alone, on nodes of every kind.
pub(crate) fn everywhere(test: impl Fn(&Managers)) {
    for count in [1, 3] {
        test(&in_memory(count));
        test(&on(&servers(count)));
    }
    #[cfg(feature = "file")]
    {
        static FOLDERS: AtomicU64 = AtomicU64::new(0);
        let number = FOLDERS.fetch_add(1, SeqCst);
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = folder.join(format!("pairs-{}-{number}", std::process::id()));
        test(&[0, 1].map(|_| {
            let manager = LockManager::builder().file(&folder).build();
            manager.expect("a folder of our own").blocking()
        }));
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }
}
