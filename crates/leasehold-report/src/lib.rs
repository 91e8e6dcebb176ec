//! What the programs that measure and explore leasehold write into its documents.
//!
//! A [`page`] has parts that a program writes, between markers. A [`Stamp`] says of which commit a result is, and of which
//! day.

pub mod page;
mod stamp;
mod time;

pub use stamp::Stamp;
pub use time::time;

use std::path::{Path, PathBuf};

/// The folder of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}
