//! `cargo xtask packages`: builds the packages for other languages from what is committed, installs each into an empty project,
//! and runs its suite there.

mod node;
mod python;

use crate::target_folder;
use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// What came of a package.
#[derive(Debug)]
enum Outcome {
    /// What was asked for was done: what it came to.
    Done(String),
    /// A tool that it needs is not there.
    Skipped(String),
}

/// Given the workspace and a folder to work in.
type Step = fn(&Path, &Path) -> Result<Outcome, String>;

#[derive(Debug)]
struct Package {
    name: &'static str,
    /// Builds it and tells which file is to be installed, for `leasehold-interop`.
    pack: Step,
    /// Checks it, builds it, and tries what is to be installed.
    test: Step,
}

const PACKAGES: &[Package] = &[
    Package {
        name: "node",
        pack: |root, folder| Ok(node::pack(root, folder)?.told()),
        test: node::build_and_test,
    },
    Package {
        name: "python",
        pack: |root, folder| Ok(python::pack(root, folder)?.told()),
        test: python::build_and_test,
    },
];

/// What came of packing.
#[derive(Debug)]
enum Packed {
    /// The file that is to be installed.
    File(PathBuf),
    /// A tool that it needs is not there.
    Skipped(String),
}

impl Packed {
    fn told(self) -> Outcome {
        match self {
            Self::File(file) => Outcome::Done(format!("packed {}", file.display())),
            Self::Skipped(why) => Outcome::Skipped(why),
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
    let folder = target_folder(root).join("packages");
    let (mut lines, mut skipped, mut failed) = (Vec::new(), 0, 0);
    for package in PACKAGES {
        let name = package.name;
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let step = if is_only_packed {
            package.pack
        } else {
            package.test
        };
        lines.push(match step(root, &folder) {
            Ok(Outcome::Done(what)) => format!("{name}: {what}"),
            Ok(Outcome::Skipped(why)) => {
                skipped += 1;
                format!("{name}: SKIPPED: {why}")
            }
            Err(why) => {
                failed += 1;
                format!("{name}: FAILED: {why}")
            }
        });
    }
    println!("packages: {skipped} skipped, {failed} failed");
    lines.iter().for_each(|line| println!("  {line}"));
    ExitCode::from(u8::from(failed > 0))
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

/// Runs a command, and gives what it prints.
fn output_of(folder: &Path, command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.current_dir(folder).output();
    let output = output.map_err(|error| format!("{name} cannot be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!(
                "{name} ended with {}:\n{text}{said}",
                output.status
            ))
        }
    }
}
