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

/// Says what ran. `None` where a tool is missing, which is among the skips.
type Step = fn(&mut Build<'_>) -> Result<Option<String>, String>;

/// The packages, each with what builds and tries it.
const PACKAGES: &[(&str, Step)] = &[
    ("node", node::build_and_test),
    ("python", python::build_and_test),
];

/// Builds and tries those that are named, or all of them.
pub(crate) fn run(root: &Path, names: &[&str]) -> ExitCode {
    let is_known = |name: &&str| PACKAGES.iter().any(|(known, _)| known == name);
    if !names.iter().all(is_known) {
        let known: Vec<&str> = PACKAGES.iter().map(|(name, _)| *name).collect();
        println!("usage: cargo xtask packages [{}]", known.join("] ["));
        return ExitCode::from(2);
    }
    match build_and_test(root, names) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("FAILED: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn build_and_test(root: &Path, names: &[&str]) -> Result<(), String> {
    let target = target_folder(root);
    let folder = target.join("packages");
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    let mut skips = Skips::new(target.join("packages-skips.txt"));
    let server = install::server(&target).map(|server| server.path().to_owned());
    let server = server
        .map_err(|why| skips.add(format!("no server for the packages: {why}")))
        .ok();
    let mut build = Build {
        root,
        folder,
        server,
        skips,
    };
    let (mut lines, mut failed) = (Vec::new(), 0);
    for (name, step) in PACKAGES {
        if !names.is_empty() && !names.contains(name) {
            continue;
        }
        let line = step(&mut build).unwrap_or_else(|why| {
            failed += 1;
            Some(format!("FAILED: {why}"))
        });
        lines.push(format!("{name}: {}", line.as_deref().unwrap_or("skipped")));
    }
    println!("packages: {failed} failed");
    lines.iter().for_each(|line| println!("  {line}"));
    build.skips.summary()?;
    match failed {
        0 => Ok(()),
        count => Err(format!("{count} of the packages")),
    }
}

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
