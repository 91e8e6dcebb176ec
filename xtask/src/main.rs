//! Everything a contributor types: `cargo xtask test`, `sim`, `model`, `mutants`, `chaos`, `bench`, `fuzz`, `interop`,
//! `compare-commands`, `versions`, `examples`, `package`, `packages`, `picture`, `nightly` and `tidy`.

#![expect(clippy::print_stdout, reason = "this is what its output is for")]

mod bench;
mod chaos;
mod dist;
mod examples;
mod fuzz;
mod git;
mod install;
mod interop;
mod mutants;
mod nightly;
mod oldest;
mod package;
mod packages;
mod picture;
mod process;
mod sample;
mod signals;
mod skips;
mod test;
mod tidy;
mod took;
mod versions;

use process::cargo;
use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// What runs tests that send signals.
const SENDERS: [&str; 6] = [
    "test",
    "mutants",
    "versions",
    "packages",
    "interop",
    "compare-commands",
];

fn main() -> ExitCode {
    let words = env::args_os().skip(1);
    let arguments: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // All others go on where the user who typed `nohup` has left.
    if { SENDERS.iter() }.any(|name| words.first() == Some(name)) {
        signals::heed();
    }
    match words.as_slice() {
        ["test"] => test::run(&root(), &[]),
        ["test", "--", further @ ..] => test::run(&root(), further),
        ["sim", further @ ..] => simulate(further),
        ["model", further @ ..] => run_fast("leasehold-model", further),
        ["mutants", further @ ..] => mutants::run(&root(), further),
        ["chaos", further @ ..] => chaos::run(&root(), further),
        ["bench", further @ ..] => bench::run(&root(), further),
        ["fuzz", further @ ..] => fuzz::run(&root(), further),
        ["interop", further @ ..] => interop::run(&root(), further),
        ["compare-commands", further @ ..] => interop::commands(&root(), further),
        ["versions", further @ ..] => versions::run(&root(), further),
        ["nightly", further @ ..] => nightly::run(&root(), further),
        ["examples"] => examples::run(&root()),
        ["picture"] => picture::run(&root()),
        ["dist", further @ ..] => dist::run(&root(), further),
        ["oldest", further @ ..] => oldest::run(&root(), further),
        ["sample", names @ ..] => sample::run(&root(), names),
        ["package", further @ ..] => package::run(&root(), further),
        ["packages", further @ ..] => packages::run(&root(), further),
        ["tidy"] => {
            let findings = tidy::run(&root());
            findings.iter().for_each(|finding| println!("{finding}"));
            println!("tidy: {} findings", findings.len());
            ExitCode::from(u8::from(!findings.is_empty()))
        }
        _ => {
            let asked = matches!(words.as_slice(), ["help" | "--help" | "-h"]);
            if !asked && !words.is_empty() {
                println!("there is no command `{}`\n", words.join(" "));
            }
            println!("{USAGE}");
            ExitCode::from(if asked { 0 } else { 2 })
        }
    }
}

/// Runs the simulator.
fn simulate(further: &[&str]) -> ExitCode {
    let further = if further.is_empty() {
        &["--seeds", "2000", "--scenario", "all"]
    } else {
        further
    };
    run_fast("leasehold-sim", further)
}

/// Runs a program of the workspace, built for speed, and ends as it does.
fn run_fast(program: &str, arguments: &[&str]) -> ExitCode {
    let status = cargo()
        .current_dir(root())
        .args(["run", "--release", "-p", program, "--"])
        .args(arguments)
        .status();
    match status {
        Ok(status) => {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            code.map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Err(error) => {
            println!("cargo cannot be run: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The folder of the workspace.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .expect("xtask is a folder of the workspace")
        .to_owned()
}

/// Where cargo builds.
fn target_folder(root: &Path) -> PathBuf {
    root.join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [-- ARGUMENTS]   set up what is missing and check everything; ARGUMENTS go to `cargo test`
  sim [ARGUMENTS]       run the simulator, built for speed; without arguments, 2000 seeds of everything
  model [ARGUMENTS]     explore every course of small worlds; `--large` for larger ones
  mutants [NAME ...]    spoil one line after the other, and see that the checks notice; by name, by argument
                        (`S5`), or all of them; --list names them, --table tells what each spoils and who notices
  sample [core] [links] spoil a sample of the core and of the links as cargo-mutants does, which must be installed
  chaos [ARGUMENTS]     break real servers and clients for six minutes; `--servers redis-8.2,valkey-9.1`
                        gets what is missing; `--help` tells more
  versions [ARGUMENTS]  run the tests that start servers on every kind and version of server that can be had;
                        `--servers redis-8.6,valkey-9.1` on these
  bench [ARGUMENTS]     measure beside other libraries, in one run; `--quick` for less than five minutes;
                        `--help` tells more
  fuzz [--for TIME] [TARGET ...]
                        give what reads addresses, answers, configurations and so on what nobody would write; each
                        target for a minute, or so long; needs a C++ compiler
  interop [ARGUMENTS]   lock the same resources with other people's libraries, which it installs; `--quick` for
                        mixes of seconds; `--help` tells more
  compare-commands      run other people's lock commands, as far as they are here, beside `leasehold run`;
                        `--write-docs` writes what was seen into docs/COMPARE.md
  examples              build and try the examples that are crates of their own, below examples/
  picture               draw the terminal that the README shows, from a run of the command
  package [ARGUMENTS]   make the packages as they would be published, build them, and say what they lack;
                        ARGUMENTS go to `cargo publish --dry-run`
  oldest                compile what is published with the oldest Rust that the manifest promises, which rustup gets
  dist                  make what operators install: one static program in an archive, a Debian package and a container
                        image, and try each
  packages [NAME ...]   build the packages for other languages, and run their suites; by name, or all of them; with
                        `--pack` before the names it only builds them
  nightly [ARGUMENTS]   everything above, and all of it in full, with a page about it: docs/NIGHTLY.md; `--night 1/3` for a
                        third of it; `--list` names the steps
  tidy                  check the rules of the house that no compiler checks";
