//! The proxy that hides restarts in production: nutcracker, also called twemproxy.

use crate::{port, scratch::Scratch, wait};
use std::{
    env,
    fmt::Write,
    fs::{self, File},
    io,
    net::{Ipv4Addr, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// A running nutcracker, with a port of its own for each server behind it, or one for all of them. Dropping it kills the
/// process.
#[derive(Debug)]
pub struct Nutcracker {
    ports: Vec<u16>,
    // Dropped before the folder, in which the process works.
    child: Child,
    _scratch: Scratch,
}

impl Nutcracker {
    /// The program, if it is installed.
    #[must_use]
    pub fn find() -> Option<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&path).chain(["/usr/sbin".into()]);
        let mut programs = folders.map(|folder| folder.join("nutcracker"));
        programs.find(|program| program.is_file())
    }

    /// Starts it with a port for each of these servers, and waits until it listens.
    ///
    /// # Errors
    /// If there is no such program, or it does not start.
    pub fn start(targets: &[u16]) -> io::Result<Self> {
        let pools: Vec<_> = targets.chunks(1).collect();
        Self::with_pools(&pools, KEEPING)
    }

    /// Starts it with one port for all of these servers, over which it spreads the keys, and waits until it listens.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn spreading(targets: &[u16]) -> io::Result<Self> {
        Self::with_pools(&[targets], KEEPING)
    }

    /// As [`spreading`](Self::spreading), and the keys of a server that fails once go to the others for a minute.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn ejecting(targets: &[u16]) -> io::Result<Self> {
        Self::with_pools(&[targets], EJECTING)
    }

    fn with_pools(targets: &[&[u16]], on_failure: &str) -> io::Result<Self> {
        let program = Self::find().ok_or(io::ErrorKind::NotFound)?;
        let scratch = Scratch::create()?;
        let (mut ports, mut pools) = (Vec::new(), String::new());
        for (number, targets) in targets.iter().enumerate() {
            let port = port::free()?;
            // Writing to a text cannot fail.
            let _ = write!(
                pools,
                "n{number}:\n  listen: 127.0.0.1:{port}\n  redis: true\n  hash: md5\n  \
                 distribution: ketama\n  {on_failure}\n  servers:\n"
            );
            for target in *targets {
                let _ = writeln!(pools, "   - 127.0.0.1:{target}:1");
            }
            ports.push(port);
        }
        let file = scratch.path().join("nutcracker.yml");
        fs::write(&file, pools)?;
        let log = File::create(scratch.path().join("nutcracker.log"))?;
        let mut child = Command::new(program)
            .arg("--conf-file")
            .arg(file)
            .args(["--stats-addr", "127.0.0.1", "--stats-port"])
            .arg(port::free()?.to_string())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let open = |port: &u16| TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).is_ok();
        let ready = wait::until(PATIENCE, || match child.try_wait() {
            Ok(None) => ports.iter().all(open).then_some(Ok(())),
            Ok(Some(status)) => Some(Err(io::Error::other(format!("nutcracker ended: {status}")))),
            Err(error) => Some(Err(error)),
        });
        let nutcracker = Self {
            ports,
            child,
            _scratch: scratch,
        };
        ready.unwrap_or(Err(io::ErrorKind::TimedOut.into()))?;
        Ok(nutcracker)
    }

    /// The ports of 127.0.0.1 it listens on: one for each server, or one for all.
    #[must_use]
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }
}

impl Drop for Nutcracker {
    fn drop(&mut self) {
        // It may have ended by itself; it is ours to bury in any case.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A server that fails keeps its keys.
const KEEPING: &str = "auto_eject_hosts: false\n  timeout: 5000";
const EJECTING: &str = "auto_eject_hosts: true\n  timeout: 100\n  server_failure_limit: 1\n  \
                        server_retry_timeout: 60000";

const PATIENCE: Duration = Duration::from_secs(5);
