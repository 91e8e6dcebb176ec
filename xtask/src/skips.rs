//! What a run did not check.

use std::{env, fs, path::PathBuf};

/// The skips of a run: its own and, by way of a file, those of the tests.
#[derive(Debug)]
pub(crate) struct Skips {
    own: Vec<String>,
    file: PathBuf,
}

impl Skips {
    /// None yet. Tests will write theirs to `file`.
    pub(crate) fn new(file: PathBuf) -> Self {
        // One of an earlier run that was killed.
        drop(fs::remove_file(&file));
        Self {
            own: Vec::new(),
            file,
        }
    }

    /// The file that `LEASEHOLD_SKIPS` must name for the tests.
    pub(crate) fn file(&self) -> &PathBuf {
        &self.file
    }

    /// Notes, loudly, that something is not checked.
    pub(crate) fn add(&mut self, reason: String) {
        println!("SKIPPED: {reason}");
        self.own.push(reason);
    }

    /// Prints them all. An error if this is CI and not all of them are allowed there.
    pub(crate) fn summary(self) -> Result<(), String> {
        let tests = fs::read_to_string(&self.file).unwrap_or_default();
        drop(fs::remove_file(&self.file));
        let mut all = self.own;
        all.extend(tests.lines().map(str::to_owned));
        println!("{} skipped", all.len());
        all.iter().for_each(|skip| println!("  skipped: {skip}"));
        let forbidden = all.iter().filter(|skip| !is_allowed(skip)).count();
        if forbidden > 0 && env::var("CI").is_ok_and(|value| value == "true") {
            return Err(format!("{forbidden} of the skips are not allowed in CI"));
        }
        Ok(())
    }
}

fn is_allowed(skip: &str) -> bool {
    ALLOWED.iter().any(|(start, _)| skip.starts_with(start))
}

/// How a skip that is allowed in CI begins, and why it is.
const ALLOWED: [(&str, &str); 5] = [
    (
        "this user (root?) may write everywhere",
        "containers run as root, who lacks no right",
    ),
    (
        "no target without std",
        "the core is no_std; the target only shows it once more",
    ),
    ("no TLS", "servers that pip installs are"),
    ("no certificates", "openssl is not part of every machine"),
    ("no python3", "it is not part of every machine"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_of_tests_are_collected() {
        let name = format!("xtask-skips-{}", std::process::id());
        let mut skips = Skips::new(env::temp_dir().join(name));
        skips.add("no target without std".to_owned());
        fs::write(skips.file(), "no certificates: a\n").unwrap();
        let file = skips.file().clone();
        assert!(skips.summary().is_ok());
        assert!(!file.exists());
    }

    #[test]
    fn only_known_skips_are_allowed() {
        assert!(is_allowed("no certificates: openssl: not found"));
        assert!(is_allowed("no python3 for the program of SETNX: not found"));
        assert!(!is_allowed("no server"));
    }
}
