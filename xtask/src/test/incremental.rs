//! Whether the tests are built incrementally.

use std::{env, fs, path::Path};

/// A first incremental build takes a fifth longer, which pays only if the same crates are edited and built again. So the tests
/// are built incrementally if an earlier build was, or if the environment says so.
pub(super) fn is_incremental(target: &Path) -> bool {
    // Cargo obeys this variable by itself.
    env::var_os("CARGO_INCREMENTAL").is_some() || was_incremental(target)
}

/// Each build of this tool is incremental, so another crate has to tell.
fn was_incremental(target: &Path) -> bool {
    let folders = fs::read_dir(target.join("debug/incremental"));
    let mut folders = folders.into_iter().flatten().flatten();
    folders.any(|folder| {
        let name = folder.file_name();
        name.to_string_lossy().starts_with("leasehold_core-")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_build_of_a_crate_that_is_tested_tells() {
        let target = env::temp_dir().join(format!("xtask-incremental-{}", std::process::id()));
        assert!(!was_incremental(&target), "an empty clone");
        let folder = target.join("debug/incremental");
        fs::create_dir_all(folder.join("xtask-1abc")).expect("a temporary folder");
        assert!(!was_incremental(&target), "this tool is always built");
        fs::create_dir_all(folder.join("leasehold_core-1abc")).expect("a temporary folder");
        assert!(was_incremental(&target));
        fs::remove_dir_all(target).expect("it is ours");
    }
}
