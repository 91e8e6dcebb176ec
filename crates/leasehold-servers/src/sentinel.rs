//! One running sentinel.

use crate::{
    binary::ServerBinary,
    launch::{Launch, StartError},
    port,
    resp::Reply,
    scratch::Scratch,
    server::Server,
};
use std::{
    fs, io,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// A Sentinel process of one's own on loopback that watches one master. Dropping it kills the process and removes
/// its files. It is the server program itself, so whoever has that has this.
///
/// # Examples
/// ```
/// use leasehold_servers::{Sentinel, Server, ServerBinary};
/// use std::time::Duration;
///
/// if ServerBinary::find().is_ok() {
///     let master = Server::start()?;
///     let sentinel = Sentinel::start("locks", &master, 1, Duration::from_secs(1))?;
///     assert_eq!(sentinel.master("locks")?, Some(master.port()));
///     assert_eq!(sentinel.master("lock")?, None);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Sentinel {
    launch: Launch,
    child: Child,
    // Removed after the process that works in it.
    _scratch: Scratch,
}

impl Sentinel {
    /// Starts a sentinel that calls `master` by this name, and replaces it when `quorum` sentinels have not heard of
    /// it for `down_after`. Waits until it answers, for twenty seconds at most.
    ///
    /// # Errors
    /// [`StartError`], with the last lines of its log where there are any.
    pub fn start(
        name: &str,
        master: &Server,
        quorum: usize,
        down_after: Duration,
    ) -> Result<Self, StartError> {
        Self::with_lines(name, master, quorum, down_after, None, "")
    }

    /// As [`start`](Self::start), and clients need this password.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn with_password(
        name: &str,
        master: &Server,
        quorum: usize,
        down_after: Duration,
        password: &str,
    ) -> Result<Self, StartError> {
        Self::with_lines(name, master, quorum, down_after, Some(password), "")
    }

    /// As [`start`](Self::start), and logs in to the servers as this user. What the servers let this user do decides
    /// what the sentinel can see and change.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn as_user(
        name: &str,
        master: &Server,
        quorum: usize,
        down_after: Duration,
        (user, password): (&str, &str),
    ) -> Result<Self, StartError> {
        let lines =
            format!("sentinel auth-user {name} {user}\nsentinel auth-pass {name} {password}\n");
        Self::with_lines(name, master, quorum, down_after, None, &lines)
    }

    fn with_lines(
        name: &str,
        master: &Server,
        quorum: usize,
        down_after: Duration,
        password: Option<&str>,
        more: &str,
    ) -> Result<Self, StartError> {
        let scratch = Scratch::create()?;
        let launch = Launch {
            binary: ServerBinary::find()?,
            port: port::free()?,
            folder: scratch.path().to_owned(),
            password: password.map(str::to_owned),
            options: Vec::new(),
            detached: false,
        };
        let (port, folder) = (launch.port, launch.folder.display());
        let (target, down_after) = (master.port(), down_after.as_millis());
        let mut lines = format!(
            "bind 127.0.0.1\nport {port}\ndir {folder}\n\
             sentinel monitor {name} 127.0.0.1 {target} {quorum}\n\
             sentinel down-after-milliseconds {name} {down_after}\n\
             sentinel failover-timeout {name} 3000\n{more}"
        );
        if let Some(password) = password {
            lines += &format!("requirepass {password}\n");
        }
        // It keeps what it learns in its own configuration.
        let file = scratch.path().join("sentinel.conf");
        fs::write(&file, lines)?;
        let log = fs::File::create(launch.log())?;
        let mut child = Command::new(launch.binary.path())
            .arg(&file)
            .arg("--sentinel")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        launch.wait_ready(&mut child)?;
        Ok(Self {
            launch,
            child,
            _scratch: scratch,
        })
    }

    /// The port of 127.0.0.1 it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.launch.port
    }

    /// Sends a command over a connection of its own and waits for the answer, for five seconds at most.
    ///
    /// # Errors
    /// If it answers with an error: see [`Connection::command`](crate::Connection::command).
    pub fn command(&self, words: &[&str]) -> io::Result<Reply> {
        self.launch.connect()?.command(words)
    }

    /// On which port it says that the master of this name is. None if it knows none.
    ///
    /// # Errors
    /// As [`command`](Self::command).
    pub fn master(&self, name: &str) -> io::Result<Option<u16>> {
        let told = self.command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name])?;
        let port = told.texts().get(1).copied();
        Ok(port.and_then(|port| port.parse().ok()))
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        // Nobody is left who could be told.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
