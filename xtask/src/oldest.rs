//! `cargo xtask oldest`: compiles what is published with the oldest Rust that the manifest promises, which rustup gets if it is
//! missing. Tests are not for users, and are not compiled.

use crate::{package::PUBLISHED, target_folder};
use std::{
    path::Path,
    process::{Command, ExitCode},
};

/// Compiles all of it, with every feature and with none.
pub(crate) fn run(root: &Path, words: &[&str]) -> ExitCode {
    let outcome = match words {
        [] => all(root),
        ["--can"] => carried_out(Command::new("rustup").arg("--version")),
        _ => Err(format!(
            "`{}` is not known: `cargo xtask oldest` takes no arguments",
            words.join(" ")
        )),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("FAILED: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn all(root: &Path) -> Result<(), String> {
    carried_out(Command::new("rustup").args([
        "toolchain",
        "install",
        OLDEST,
        "--profile",
        "minimal",
    ]))?;
    for features in ["--all-features", "--no-default-features"] {
        let mut check = Command::new("rustup");
        check
            .current_dir(root)
            .args(["run", OLDEST, "cargo", "check", "--locked", features]);
        check
            .arg("--target-dir")
            .arg(target_folder(root).join("oldest"));
        check.args(PUBLISHED.iter().flat_map(|name| ["--package", name]));
        // That of the cargo that runs this would be taken instead.
        check
            .env_remove("RUSTC")
            .env_remove("CARGO")
            .env_remove("RUSTUP_TOOLCHAIN");
        carried_out(&mut check)?;
    }
    println!("{} compile with Rust {OLDEST}", PUBLISHED.join(", "));
    Ok(())
}

fn carried_out(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status();
    let status = status.map_err(|error| format!("{name} cannot be run: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{name} ended with {status}")),
    }
}

const OLDEST: &str = env!("CARGO_PKG_RUST_VERSION");
