//! The load balancer HAProxy.

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

/// A running HAProxy before servers on loopback, which passes bytes on (`mode tcp`) and takes turns with the servers that it
/// holds to be up. Dropping it kills the process.
#[derive(Debug)]
pub struct HaProxy {
    port: u16,
    program: PathBuf,
    // Dropped before the folder, in which the process works.
    child: Child,
    scratch: Scratch,
}

/// How an HAProxy will be set up.
#[derive(Clone, Debug)]
pub struct HaProxyBuilder {
    targets: Vec<u16>,
    idle: Duration,
    finds_master: bool,
}

impl HaProxy {
    /// The program, if it is installed.
    #[must_use]
    pub fn find() -> Option<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&path).chain(["/usr/sbin".into()]);
        let mut programs = folders.map(|folder| folder.join("haproxy"));
        programs.find(|program| program.is_file())
    }

    /// One before these servers. A connection on which nobody says anything for an hour is closed; servers are not asked
    /// how they are.
    #[must_use]
    pub fn before(targets: &[u16]) -> HaProxyBuilder {
        HaProxyBuilder {
            targets: targets.to_vec(),
            idle: Duration::from_secs(60 * 60),
            finds_master: false,
        }
    }

    /// The port of 127.0.0.1 it listens on. It stays the same over restarts.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Its address: `redis://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Kills the process, and with it all connections, and starts it again. Waits until it listens.
    ///
    /// # Errors
    /// If it does not start.
    pub fn restart(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        self.child = spawn(&self.program, &self.scratch)?;
        self.wait_ready()
    }

    fn wait_ready(&mut self) -> io::Result<()> {
        let port = self.port;
        let ready = wait::until(PATIENCE, || match self.child.try_wait() {
            Ok(None) => TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                .is_ok()
                .then_some(Ok(())),
            Ok(Some(status)) => Some(Err(io::Error::other(format!(
                "haproxy ended: {status}: {}",
                fs::read_to_string(self.scratch.path().join(LOG)).unwrap_or_default()
            )))),
            Err(error) => Some(Err(error)),
        });
        ready.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl HaProxyBuilder {
    /// Closes connections on which one side says nothing for so long.
    #[must_use]
    pub const fn idle(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// Asks the servers ten times a second for their role (`option tcp-check`), and passes connections on to masters alone.
    /// Connections to a server that is none any more are closed.
    #[must_use]
    pub const fn to_master(mut self) -> Self {
        self.finds_master = true;
        self
    }

    /// Starts it, and waits until it listens.
    ///
    /// # Errors
    /// If there is no such program, or it does not start.
    pub fn start(self) -> io::Result<HaProxy> {
        let program = HaProxy::find().ok_or(io::ErrorKind::NotFound)?;
        let (scratch, port) = (Scratch::create()?, port::free()?);
        fs::write(scratch.path().join(SETTINGS), self.settings(port))?;
        let mut haproxy = HaProxy {
            port,
            child: spawn(&program, &scratch)?,
            program,
            scratch,
        };
        haproxy.wait_ready()?;
        Ok(haproxy)
    }

    fn settings(&self, port: u16) -> String {
        let idle = self.idle.as_millis();
        let mut settings = format!(
            "global\n  nbthread 1\ndefaults\n  mode tcp\n  timeout connect 1s\n  timeout check 1s\n  \
             timeout client {idle}ms\n  timeout server {idle}ms\nlisten locks\n  \
             bind 127.0.0.1:{port}\n  balance roundrobin\n"
        );
        let check = match self.finds_master {
            true => {
                settings.push_str(CHECK);
                " check inter 100ms fall 1 rise 1 on-marked-down shutdown-sessions"
            }
            false => "",
        };
        for (number, target) in self.targets.iter().enumerate() {
            // Writing to a text cannot fail.
            let _ = writeln!(settings, "  server s{number} 127.0.0.1:{target}{check}");
        }
        settings
    }
}

impl Drop for HaProxy {
    fn drop(&mut self) {
        // It may have ended by itself; it is ours to bury in any case.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn spawn(program: &PathBuf, scratch: &Scratch) -> io::Result<Child> {
    let log = File::create(scratch.path().join(LOG))?;
    Command::new(program)
        .args(["-db", "-f"])
        .arg(scratch.path().join(SETTINGS))
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}

const SETTINGS: &str = "haproxy.cfg";
const LOG: &str = "haproxy.log";

/// As HAProxy's users ask servers for their role.
const CHECK: &str = "  option tcp-check
  tcp-check connect
  tcp-check send info\\ replication\\r\\n
  tcp-check expect string role:master
  tcp-check send QUIT\\r\\n
  tcp-check expect string +OK
";

const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Connection, Server, require_server, skip};

    #[test]
    fn it_passes_requests_on_and_is_there_again_at_the_same_port_after_a_restart() {
        require_server();
        if HaProxy::find().is_none() {
            return skip("no haproxy");
        }
        let server = Server::start().unwrap();
        let mut haproxy = HaProxy::before(&[server.port()]).start().unwrap();
        let ping = |port| Connection::open(port)?.command(&["PING"]);
        assert_eq!(ping(haproxy.port()).unwrap().text(), Some("PONG"));
        let mut connection = Connection::open(haproxy.port()).unwrap();
        haproxy.restart().unwrap();
        assert!(connection.command(&["PING"]).is_err());
        assert_eq!(ping(haproxy.port()).unwrap().text(), Some("PONG"));
    }
}
