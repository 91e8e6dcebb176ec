//! `cargo xtask package`: makes the packages as they would be published, builds them from what is in them, and says what
//! they lack. Nothing is published.

use crate::{process::cargo, target_folder};
use std::{fs, io, path::Path, process::ExitCode};

/// Makes and looks at all packages. `further` goes to cargo: `--allow-dirty`, for one.
pub(crate) fn run(root: &Path, further: &[&str]) -> ExitCode {
    match packages(root, further) {
        Ok(0) => {
            println!(
                "{} packages, built from what is in them, lack nothing",
                PUBLISHED.len()
            );
            ExitCode::SUCCESS
        }
        Ok(lacks) => {
            println!("FAILED: the packages lack {lacks} things");
            ExitCode::FAILURE
        }
        Err(reason) => {
            println!("FAILED: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn packages(root: &Path, further: &[&str]) -> Result<usize, String> {
    let folder = target_folder(root).join("package");
    let unpacked = PUBLISHED.map(|name| (name, folder.join(format!("{name}-{VERSION}"))));
    // What an earlier run made would pass for what this one makes.
    for (_, folder) in &unpacked {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(format!("{}: {error}", folder.display()));
            }
            _ => {}
        }
    }
    let status = cargo()
        .current_dir(root)
        .args(["publish", "--workspace", "--dry-run"])
        .args(further)
        .status()
        .map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !status.success() {
        return Err(format!("`cargo publish --dry-run` ended with {status}"));
    }
    let mut lacks = 0;
    for (name, folder) in &unpacked {
        lacks += look_at(name, folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    Ok(lacks)
}

/// Tells the size of a package and what it lacks, and counts that.
fn look_at(name: &str, folder: &Path) -> io::Result<usize> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
    let size = size(folder)?;
    println!("{name}: {} kB, unpacked", size.div_ceil(1000));
    let files = FILES.iter().filter(|file| !folder.join(file).is_file());
    let mut lacks: Vec<_> = files.copied().chain(missing_keys(&manifest)).collect();
    if size > LARGEST_BYTES {
        lacks.push("smallness; see `include` in Cargo.toml");
    }
    for lack in &lacks {
        println!("{name}: lacks {lack}");
    }
    Ok(lacks.len())
}

/// Of all files in a folder, in bytes.
fn size(folder: &Path) -> io::Result<u64> {
    fs::read_dir(folder)?.try_fold(0, |sum: u64, entry| {
        let path = entry?.path();
        let size = match path.is_dir() {
            true => size(&path)?,
            false => fs::metadata(&path)?.len(),
        };
        Ok(sum.saturating_add(size))
    })
}

/// The keys that a package should have and its manifest, as cargo wrote it, has not.
fn missing_keys(manifest: &str) -> Vec<&'static str> {
    let has = |key: &str| {
        let start = format!("{key} = ");
        manifest.lines().any(|line| line.starts_with(&start))
    };
    KEYS.iter().copied().filter(|key| !has(key)).collect()
}

/// All crates have the same version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// In the order in which they need each other. All others say `publish = false`.
pub(crate) const PUBLISHED: [&str; 4] = [
    "leasehold-core",
    "leasehold-servers",
    "leasehold",
    "leasehold-cli",
];

const FILES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// No `repository`: the project has no public address yet. It is added when there is one.
const KEYS: [&str; 6] = [
    "categories",
    "description",
    "keywords",
    "license",
    "readme",
    "rust-version",
];

/// Twice what the largest has. Pictures, or a build that slipped in, have more.
const LARGEST_BYTES: u64 = 2_500_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_is_published_or_says_that_it_is_not() {
        let root = crate::root();
        let crates = fs::read_dir(root.join("crates")).expect("there are crates");
        for folder in crates.flatten().map(|entry| entry.path()) {
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
            let name = folder.file_name().expect("a name").to_string_lossy();
            let is_kept = manifest.contains("\npublish = false\n");
            assert_ne!(is_kept, PUBLISHED.contains(&&*name), "{name}");
        }
    }

    #[test]
    fn a_key_that_is_not_there_is_missing() {
        let manifest = KEYS.map(|key| format!("{key} = \"…\"\n")).concat();
        assert_eq!(missing_keys(&manifest), [""; 0]);
        let manifest = manifest.replace("license", "# license");
        assert_eq!(missing_keys(&manifest), ["license"]);
    }
}
