//! What killed tests leave behind.

use crate::{process::Process, scratch};
use std::{fs, io, time::Duration};

/// Ends the servers, and removes the folders, of [`Server`](crate::Server)s whose starting process is
/// gone without having dropped them, as a test that was killed is. Tells how many folders there were.
///
/// A server is known by the folder it works in, whose name tells the process that started it. Servers of
/// processes that still run are left alone, and so are [`Fleet`](crate::Fleet)s.
///
/// # Errors
/// If the folder for temporary files cannot be read.
pub fn stop_leftovers() -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(scratch::base())? {
        let folder = entry?;
        let name = folder.file_name();
        let Some(maker) = scratch::maker(&name.to_string_lossy()) else {
            continue;
        };
        if maker.is_running() {
            continue;
        }
        for process in working_in(&folder.path()) {
            process.end(PATIENCE);
        }
        // Another sweep may have been faster.
        drop(fs::remove_dir_all(folder.path()));
        count += 1;
    }
    Ok(count)
}

/// The processes whose working directory is this folder.
fn working_in(folder: &std::path::Path) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| {
            let process = Process::with_pid(pid)?;
            let place = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
            (place == folder).then_some(process)
        })
        .collect()
}

const PATIENCE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ServerBinary, launch::Launch, port, require_server};
    use std::{env, process::Command};

    #[test]
    fn the_server_of_a_process_that_is_gone_is_stopped() {
        let binary: ServerBinary = require_server();
        // A starter that has ended: its id may be taken again, but not with its start time.
        let mut starter = Command::new("true").spawn().unwrap();
        let folder = env::temp_dir().join(format!("leasehold-server-{}-1-0", starter.id()));
        starter.wait().unwrap();
        fs::create_dir(&folder).unwrap();
        let launch = Launch {
            binary,
            port: port::free().unwrap(),
            folder: folder.clone(),
            password: None,
            options: Vec::new(),
            detached: false,
        };
        let mut child = launch.spawn().unwrap();
        launch.wait_ready(&mut child).unwrap();
        assert!(stop_leftovers().unwrap() >= 1);
        child.wait().unwrap();
        assert!(!folder.exists());
    }
}
