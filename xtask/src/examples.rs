//! `cargo xtask examples`: builds and tries the examples that are crates of their own, outside of the workspace.

use crate::{process::cargo, target_folder};
use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Checks each of them as the workspace is checked, and stops at the first that fails.
pub(crate) fn run(root: &Path) -> ExitCode {
    let outcome = manifests(root).and_then(|manifests| {
        manifests
            .iter()
            .try_for_each(|manifest| check(root, manifest))?;
        Ok(manifests.len())
    });
    match outcome {
        Ok(count) => {
            println!("{count} examples: formatted, without a warning, and their tests pass");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            println!("FAILED: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// The manifests, in the order of their names.
fn manifests(root: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = root.join("examples");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let manifests = entries
        .flatten()
        .map(|entry| entry.path().join("Cargo.toml"));
    let mut manifests: Vec<_> = manifests.filter(|path| path.is_file()).collect();
    manifests.sort();
    Ok(manifests)
}

fn check(root: &Path, manifest: &Path) -> Result<(), String> {
    // Not in the workspace's folder: other versions and features of the same crates would take turns there.
    let target = target_folder(root).join("examples");
    for (command, further) in CHECKS {
        println!("{}: {command}", manifest.display());
        let status = cargo()
            .current_dir(root)
            .env("CARGO_TARGET_DIR", &target)
            .arg(command)
            .arg("--manifest-path")
            .arg(manifest)
            .args(*further)
            .status()
            .map_err(|error| format!("cargo cannot be run: {error}"))?;
        if !status.success() {
            let manifest = manifest.display();
            return Err(format!(
                "`cargo {command}` of {manifest} ended with {status}"
            ));
        }
    }
    Ok(())
}

/// Commands of cargo, and what stands behind the manifest's path.
const CHECKS: &[(&str, &[&str])] = &[
    ("fmt", &["--check"]),
    ("clippy", &["--all-targets", "--", "-D", "warnings"]),
    ("test", &[]),
];

#[cfg(test)]
mod tests {
    #[test]
    fn the_examples_outside_of_the_workspace_are_found() {
        let manifests = super::manifests(&crate::root()).expect("there are examples");
        for name in ["axum-sqlx", "opentelemetry"] {
            let ending = format!("examples/{name}/Cargo.toml");
            assert!(manifests.iter().any(|path| path.ends_with(&ending)));
        }
    }
}
