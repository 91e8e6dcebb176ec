//! What git knows of the checkout.

use crate::process::output_of;
use std::{path::Path, process::Command};

/// What git says to these words.
pub(crate) fn git(root: &Path, words: &[&str]) -> Result<String, String> {
    let told = output_of(root, Command::new("git").args(words))?;
    Ok(told.trim().to_owned())
}

/// The first eight digits of the commit as a number; 0 where there is none. Another commit tries other things by it, and the same
/// commit the same ones.
pub(crate) fn number_of_commit(root: &Path) -> u64 {
    let commit = git(root, &["rev-parse", "HEAD"]).unwrap_or_default();
    let digits = commit.get(..8).unwrap_or_default();
    u64::from_str_radix(digits, 16).unwrap_or(0)
}
