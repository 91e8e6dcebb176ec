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
        if forbidden > 0 && is_ci() {
            return Err(format!("{forbidden} of the skips are not allowed in CI"));
        }
        Ok(())
    }
}

fn is_allowed(skip: &str) -> bool {
    ALLOWED.iter().any(|(start, _)| skip.starts_with(start))
}

/// Whether this is a run of CI.
pub(crate) fn is_ci() -> bool {
    env::var("CI").is_ok_and(|value| value == "true")
}

/// How a skip that is allowed in CI begins, and why it is.
///
/// Not among them is what somebody else would miss: TLS, the certificates that it is tried with, and the program in Python
/// with which timestamp locks are shared. CI has them, or fails.
const ALLOWED: [(&str, &str); 5] = [
    (
        "this user (root?) may write everywhere",
        "containers run as root, who lacks no right",
    ),
    (
        "no target without std",
        "the core is no_std; the target only shows it once more",
    ),
    (
        "no systemd-analyze",
        "what the units run is run without it; few containers have it",
    ),
    (
        "no server without WAITAOF",
        "a machine whose servers are all newer; what an older one says is tried by unit tests too",
    ),
    (
        ARGUMENTS,
        "a run with arguments is a part of the tests, chosen by the caller",
    ),
];

/// What a run with arguments for `cargo test` skips.
pub(crate) const ARGUMENTS: &str =
    "the killers of mutants were not compared with the tests: arguments were given";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_of_tests_are_collected() {
        let name = format!("xtask-skips-{}", std::process::id());
        let mut skips = Skips::new(env::temp_dir().join(name));
        skips.add("no target without std".to_owned());
        fs::write(skips.file(), "this user (root?) may write everywhere\n").unwrap();
        let file = skips.file().clone();
        assert!(skips.summary().is_ok());
        assert!(!file.exists());
    }

    #[test]
    fn only_known_skips_are_allowed() {
        assert!(is_allowed(
            "no target without std is installed, of thumbv7m-none-eabi"
        ));
        assert!(is_allowed(ARGUMENTS));
        for missed in [
            "no server",
            "no TLS: the server was built without it",
            "no certificates: openssl: not found",
            "no python3 for the program of SETNX: not found",
        ] {
            assert!(!is_allowed(missed), "{missed}");
        }
    }
}
