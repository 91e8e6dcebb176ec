//! Every link of this crate passes the suite that it publishes.

use leasehold::{clock::Clock, conformance, link::memory::MemoryNode};

#[tokio::test]
async fn a_node_in_memory_conforms() {
    let node = MemoryNode::new();
    conformance::check(|| node.link(Clock::system())).await;
}

#[cfg(all(feature = "file", unix))]
#[tokio::test]
async fn a_node_in_a_file_conforms() {
    use leasehold::link::file::FileNode;

    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("conformance-{}", std::process::id()));
    let node = FileNode::open(&folder).expect("a folder of our own");
    // Opened anew for each link: all of them are one node.
    conformance::check(|| {
        let again = FileNode::open(&folder).expect("the store is open");
        again.link(Clock::system())
    })
    .await;
    drop(node);
    std::fs::remove_dir_all(&folder).expect("it is ours");
}
