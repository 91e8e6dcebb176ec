//! Programs whose clock since boot shows another time than this process's.

use std::{
    ffi::OsStr,
    process::{Command, Stdio},
};

/// A command that runs a program in a time namespace of its own, in which `CLOCK_BOOTTIME` is ahead by so many seconds
/// and `CLOCK_MONOTONIC` by none; arguments can be added. It ends with the process that is started.
///
/// # Errors
/// Why this machine or this user has no such namespaces, for [`skip`](crate::skip).
pub fn ahead_since_boot(seconds: u32, program: impl AsRef<OsStr>) -> Result<Command, String> {
    // Whoever may not do it as who they are may do it in a user namespace, unless the machine forbids that, too.
    let ways: [&[&str]; 2] = [&[], &["--user", "--map-root-user"]];
    let mut reason = String::new();
    for way in ways {
        let mut command = Command::new("unshare");
        command.args(way).args(["--time", "--fork", "--kill-child"]);
        command.args(["--monotonic", "0", "--boottime", &seconds.to_string()]);
        let mut probe = Command::new(command.get_program());
        probe
            .args(command.get_args())
            .arg("true")
            .stdin(Stdio::null());
        reason = match probe.output() {
            Ok(seen) if seen.status.success() => {
                command.arg(program);
                return Ok(command);
            }
            Ok(seen) => String::from_utf8_lossy(&seen.stderr).trim().to_owned(),
            Err(error) => format!("unshare: {error}"),
        };
    }
    Err(format!("no time namespace can be made: {reason}"))
}
