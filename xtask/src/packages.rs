//! `cargo xtask packages`: builds the packages for other languages from what is committed, installs each into an empty project,
//! and runs its suite there, on a server that is installed if there is none.

mod node;
mod python;

use crate::{install, skips::Skips, target_folder};
use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// What building and trying a package needs, and what it leaves out.
#[derive(Debug)]
struct Build<'a> {
    root: &'a Path,
    /// Where everything is built, below the target folder.
    folder: PathBuf,
    /// The program of a server, for the suites.
    server: Option<PathBuf>,
    skips: Skips,
}

type Outcome<T> = Result<T, Trouble>;

/// Why there is no package, or it was not tried.
#[derive(Debug)]
enum Trouble {
    /// A tool that it needs is not there.
    Skipped(String),
    Failed(String),
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

#[derive(Debug)]
struct Package {
    name: &'static str,
    /// Builds it, and gives the file that is to be installed.
    pack: fn(&mut Build<'_>) -> Outcome<PathBuf>,
    /// Checks it, builds it, tries what is to be installed, and says what ran.
    test: fn(&mut Build<'_>) -> Outcome<String>,
}

const PACKAGES: &[Package] = &[
    Package {
        name: "node",
        pack: node::pack,
        test: node::build_and_test,
    },
    Package {
        name: "python",
        pack: python::pack,
        test: python::build_and_test,
    },
];

impl Build<'_> {
    fn find_server(&mut self, target: &Path) {
        match install::server(target) {
            Ok(server) => self.server = Some(server.path().to_owned()),
            Err(why) => self.skips.add(format!("no server for the packages: {why}")),
        }
    }
}

/// Builds and tries those that are named, or all of them; after `--pack`, it only builds them.
pub(crate) fn run(root: &Path, words: &[&str]) -> ExitCode {
    let (is_only_packed, names) = match words {
        ["--pack", names @ ..] => (true, names),
        names => (false, names),
    };
    let is_known = |name: &&str| PACKAGES.iter().any(|package| package.name == *name);
    if !names.iter().all(is_known) {
        let known: Vec<&str> = PACKAGES.iter().map(|package| package.name).collect();
        println!(
            "usage: cargo xtask packages [--pack] [{}]",
            known.join("] [")
        );
        return ExitCode::from(2);
    }
    match build_all(root, names, is_only_packed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("FAILED: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn build_all(root: &Path, names: &[&str], is_only_packed: bool) -> Result<(), String> {
    let target = target_folder(root);
    let folder = target.join("packages");
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    let mut build = Build {
        root,
        folder,
        server: None,
        skips: Skips::new(target.join("packages-skips.txt")),
    };
    if !is_only_packed {
        build.find_server(&target);
    }
    let (mut lines, mut failed) = (Vec::new(), 0);
    for package in PACKAGES {
        let name = package.name;
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let came_to = if is_only_packed {
            let packed = (package.pack)(&mut build);
            packed.map(|file| format!("packed {}", file.display()))
        } else {
            (package.test)(&mut build)
        };
        let line = match came_to {
            Ok(what) => what,
            Err(Trouble::Skipped(why)) => {
                build.skips.add(format!("the package `{name}`: {why}"));
                format!("SKIPPED: {why}")
            }
            Err(Trouble::Failed(why)) => {
                failed += 1;
                format!("FAILED: {why}")
            }
        };
        println!("{}", outcome(name, &line));
        lines.push(format!("{name}: {line}"));
    }
    build.skips.summary()?;
    println!("{failed} failed; {}", lines.join("; "));
    match failed {
        0 => Ok(()),
        count => Err(format!("{count} of the packages")),
    }
}

/// The line that tells what came of a package. `leasehold-interop` looks for it, to install what was packed.
fn outcome(name: &str, what: &str) -> String {
    format!("  {name}: {what}")
}

/// Runs a command, and shows what it prints.
fn run_in(folder: &Path, command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.current_dir(folder).status();
    let status = status.map_err(|error| format!("{name} cannot be run: {error}"))?;
    if status.success() {
        return Ok(());
    }
    let words = command
        .get_args()
        .map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    Err(format!("`{name} {}` ended with {status}", words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_that_installs_what_was_packed_finds_its_line() {
        let reader = "crates/leasehold-interop/src/package.rs";
        let reader = std::fs::read_to_string(crate::root().join(reader)).expect("it is there");
        for (name, what) in [
            ("node", "packed /a b/c.tgz"),
            ("node", "SKIPPED: no npm: not found"),
            ("node", "FAILED: cargo ended with 101"),
            ("python", "packed /a/b.whl"),
        ] {
            let line = outcome(name, what);
            // As the tests of the reader have it.
            let is_read = [r"\n", "\""]
                .iter()
                .any(|before| reader.contains(&format!("{before}{line}\\n")));
            assert!(is_read, "the tests of the reader know no line `{line}`");
        }
    }
}
