//! Who reads, in a store on this machine.
//!
//! Servers do not tell the owners of shares. A store lists each as if it had the lock alone, so that one of several readers would
//! be shown as the holder, and could be taken for somebody whose lock can be taken away. What a manager sees tells them apart:
//! it names a holder, and no reader.

use crate::{
    lock_view::{LockView, State},
    nodes::Nodes,
    whose::Signer,
};
use leasehold::{
    Holder, Inspection, Key, LockManager, Resource,
    clock::Clock,
    link::file::{FileNode, HeldKey},
};
use std::{collections::BTreeMap, path::Path, time::Duration};

/// Those who read one name.
#[derive(Debug)]
pub(crate) struct Readers {
    pub(crate) signer: Signer,
    /// The time until the last share ends, if nobody extends it.
    pub(crate) left: Duration,
}

impl Readers {
    /// Those who read this name; none if these nodes are servers, or nobody does.
    pub(crate) async fn of(nodes: &Nodes, name: &str) -> Option<Self> {
        Store::open(nodes.folder()?)?.readers(name).await
    }
}

/// The same locks, with readers in the place of one of them.
pub(crate) async fn named(nodes: &Nodes, mut views: Vec<LockView>) -> Vec<LockView> {
    let is_held = |view: &LockView| matches!(view.state, State::Held(_));
    let Some(folder) = nodes.folder().filter(|_| views.iter().any(is_held)) else {
        return views;
    };
    // Whatever is wrong with the store has been told.
    let Some(store) = Store::open(folder) else {
        return views;
    };
    for view in views.iter_mut().filter(|view| is_held(view)) {
        if let Some(readers) = store.readers(&view.resource).await {
            view.be_read_by(&readers);
        }
    }
    views
}

/// As [`named`], of one lock.
pub(crate) async fn named_one(nodes: &Nodes, view: LockView) -> LockView {
    let mut views = named(nodes, vec![view]).await;
    views.remove(0)
}

/// What is held in a store.
struct Store {
    manager: LockManager,
    held: BTreeMap<Resource, Vec<HeldKey>>,
}

impl Store {
    fn open(folder: &Path) -> Option<Self> {
        let manager = LockManager::builder().file(folder).build().ok()?;
        let contents = FileNode::open(folder).ok()?.contents(Clock::system());
        let mut held: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for key in contents.ok()?.held {
            if let Some(name) = key.resource.clone() {
                held.entry(name).or_default().push(key);
            }
        }
        Some(Self { manager, held })
    }

    async fn readers(&self, name: &str) -> Option<Readers> {
        let seen = self.manager.inspect(name).await.ok()?;
        let shares = self.held.get(seen.resource()).filter(|_| is_read(&seen))?;
        let shares = shares.iter().filter(|key| key.owner.permit().is_none());
        let shares: Vec<_> = shares.collect();
        let left = shares.iter().map(|key| key.remaining).max()?;
        let processes = shares.into_iter().map(process).collect();
        let signer = Signer::Readers { processes };
        Some(Readers { signer, left })
    }
}

fn is_read(seen: &Inspection) -> bool {
    let mut keys = seen.nodes().iter().map(|node| &node.key);
    keys.any(|key| matches!(key, Key::Foreign { .. }))
}

/// The process that has a share, as messages name it.
fn process(share: &HeldKey) -> String {
    match Holder::of(&share.owner) {
        holder @ Holder::Process { .. } => holder.to_string(),
        _ => format!("pid {}", share.process),
    }
}
