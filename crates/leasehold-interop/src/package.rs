//! Leasehold's own packages for other languages, as `cargo xtask packages` builds them: that is where they are built, and
//! nothing of it is said here again.

use leasehold_report::root;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Whose package it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Node,
    Python,
}

/// What came of building a package.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Built {
    /// What is to be installed.
    File(PathBuf),
    /// It cannot be built, although all that it needs is there. That is a defect.
    Broken(String),
}

impl Language {
    /// How `cargo xtask packages` calls it.
    const fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Python => "python",
        }
    }

    /// How its shim is called, and the folder in which it is installed.
    pub(crate) const fn shim(self) -> &'static str {
        match self {
            Self::Node => "leasehold-node",
            Self::Python => "leasehold-python",
        }
    }

    /// Builds the package. What is said meanwhile goes to a file below `target`.
    ///
    /// # Errors
    /// Why it cannot be had here: a tool is missing.
    pub(crate) fn build(self, target: &Path) -> Result<Built, String> {
        let name = self.name();
        let log = target.join("interop").join(format!("{name}-package.log"));
        eprintln!("cargo builds the package for {name}");
        let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["run", "--quiet", "--package", "xtask", "--"])
            .args(["packages", "--pack", name])
            .current_dir(root())
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cargo cannot be run: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let words = format!("{}{said}", String::from_utf8_lossy(&output.stderr));
        let folder = target.join("interop");
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&log, words))
            .map_err(|error| format!("{} cannot be written: {error}", log.display()))?;
        self.told(&said, &log)
    }

    /// What its output says, of which the last lines count.
    fn told(self, said: &str, log: &Path) -> Result<Built, String> {
        let begin = format!("  {}: ", self.name());
        let outcome = said
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix(&begin));
        let outcome = outcome.unwrap_or("it says nothing of it");
        if let Some(file) = outcome.strip_prefix("packed ") {
            return Ok(Built::File(file.into()));
        }
        match outcome.strip_prefix("SKIPPED: ") {
            Some(why) => Err(why.to_owned()),
            None => Ok(Built::Broken(format!(
                "`cargo xtask packages --pack {}` built nothing: {outcome}; what it said: {}",
                self.name(),
                log.display()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(said: &str) -> Result<Built, String> {
        Language::Node.told(said, Path::new("a.log"))
    }

    #[test]
    fn what_was_built_is_told_by_the_last_line_of_its_language() {
        let said =
            "node: packed elsewhere\npackages: 0 skipped, 0 failed\n  node: packed /a b/c.tgz\n";
        assert_eq!(told(said), Ok(Built::File("/a b/c.tgz".into())));
    }

    #[test]
    fn a_missing_tool_is_a_reason_to_skip_and_nothing_else_is() {
        let skipped = "packages: 1 skipped, 0 failed\n  node: SKIPPED: no npm: not found\n";
        assert_eq!(told(skipped), Err("no npm: not found".to_owned()));
        let others = "  python: packed /a/b.whl\n";
        for said in ["", others, "  node: FAILED: cargo ended with 101\n"] {
            let broken = told(said).unwrap();
            assert!(
                matches!(&broken, Built::Broken(why) if why.contains("a.log")),
                "{said}: {broken:?}"
            );
        }
    }
}
