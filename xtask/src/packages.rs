//! `cargo xtask packages`: builds the packages for other languages from what is committed, installs each into an empty project,
//! and runs its suite there.

mod node;
mod python;

use crate::target_folder;
use std::{
    path::Path,
    process::{Command, ExitCode},
};

/// What came of a package.
#[derive(Debug)]
enum Outcome {
    /// It was built and tried: this is what ran.
    Done(String),
    /// A tool that it needs is not there.
    Skipped(String),
}

type Step = fn(&Path, &Path) -> Result<Outcome, String>;

/// The packages, each with what builds and tries it, given the workspace and a folder to work in.
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
    let folder = target_folder(root).join("packages");
    let (mut lines, mut skipped, mut failed) = (Vec::new(), 0, 0);
    for (name, step) in PACKAGES {
        if !names.is_empty() && !names.contains(name) {
            continue;
        }
        lines.push(match step(root, &folder) {
            Ok(Outcome::Done(ran)) => format!("{name}: {ran}"),
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
