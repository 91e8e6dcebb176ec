//! The store in a file, with real processes and real damage.

#![cfg(all(feature = "file", unix))]

#[path = "link_file/client.rs"]
mod client;
#[path = "link_file/descriptors.rs"]
mod descriptors;
#[path = "link_file/files.rs"]
mod files;
#[cfg(target_os = "linux")]
#[path = "link_file/forks.rs"]
mod forks;
#[path = "link_file/hardship.rs"]
mod hardship;
#[path = "link_file/hints.rs"]
mod hints;
#[path = "link_file/namespaces.rs"]
mod namespaces;
#[path = "link_file/processes.rs"]
mod processes;
#[path = "link_file/readers.rs"]
mod readers;
