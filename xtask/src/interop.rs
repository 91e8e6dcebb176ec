//! `cargo xtask interop`: finds or gets a server, then lets other libraries lock on it.

use crate::{install, process::cargo, target_folder};
use std::{os::unix::process::CommandExt, path::Path, process::ExitCode};

/// Runs other lock commands beside ours. `further` goes to the program.
pub(crate) fn commands(root: &Path, further: &[&str]) -> ExitCode {
    let server = match install::server(&target_folder(root)) {
        Ok(server) => server,
        Err(reason) => {
            println!("{reason}");
            return ExitCode::FAILURE;
        }
    };
    for words in [
        &["build", "--quiet", "-p", "leasehold-cli"][..],
        &[
            "run",
            "--quiet",
            "-p",
            "leasehold-interop",
            "--",
            "commands",
        ],
    ] {
        let is_build = words.contains(&"build");
        let status = cargo()
            .current_dir(root)
            .args(words)
            .args(if is_build { &[] } else { further })
            .env("LEASEHOLD_SERVER", server.path())
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(_) => return ExitCode::FAILURE,
            Err(error) => {
                println!("cargo cannot be run: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Runs the other libraries, on the server that `--server` names if it does. `further` goes to the program.
pub(crate) fn run(root: &Path, further: &[&str]) -> ExitCode {
    let target = target_folder(root);
    let (server, further) = match further {
        ["--server", name, further @ ..] => (install::named(&target, name), further),
        _ => (install::server(&target), further),
    };
    let server = match server {
        Ok(server) => server,
        Err(reason) => {
            println!("{reason}");
            return ExitCode::FAILURE;
        }
    };
    // In place of this process: who ends this command ends the run.
    let error = cargo()
        .current_dir(root)
        .args(["run", "--quiet", "--release", "-p", "leasehold-interop"])
        .arg("--")
        .args(further)
        // From where the command was typed, not from the workspace.
        .env(
            "LEASEHOLD_SERVER",
            std::path::absolute(server.path()).unwrap_or_else(|_| server.path().to_owned()),
        )
        .exec();
    println!("cargo cannot be run: {error}");
    ExitCode::FAILURE
}
