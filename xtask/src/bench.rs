//! `cargo xtask bench`: finds or gets a server, then measures on it.

use crate::{install, process::cargo, target_folder};
use std::{os::unix::process::CommandExt, path::Path, process::ExitCode};

/// Runs the benchmark. `further` goes to it.
pub(crate) fn run(root: &Path, further: &[&str]) -> ExitCode {
    let server = match install::server(&target_folder(root)) {
        Ok(server) => server,
        Err(reason) => {
            println!("{reason}");
            return ExitCode::FAILURE;
        }
    };
    if further.contains(&"--peers") || further.contains(&"peers") {
        // It has the libraries of other languages, and is looked for beside the benchmark.
        let mut build = cargo();
        build.args(["build", "--quiet", "--release", "-p", "leasehold-interop"]);
        if !build.status().is_ok_and(|status| status.success()) {
            println!(
                "leasehold-interop, which has the libraries of other languages, cannot be built"
            );
            return ExitCode::FAILURE;
        }
    }
    // A name of a file is meant from where the command was typed, and the workspace is named by cargo.
    let arguments = ["run", "--release", "-p", "leasehold-bench", "--"];
    // In place of this process: who ends this command ends the benchmark.
    let error = cargo()
        .arg("--quiet")
        .args(arguments)
        .args(further)
        .env("LEASEHOLD_SERVER", server.path())
        .exec();
    println!("cargo cannot be run: {error}");
    ExitCode::FAILURE
}
