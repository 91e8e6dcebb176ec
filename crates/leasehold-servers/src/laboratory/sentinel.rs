//! One running sentinel.

use crate::{
    binary::ServerBinary,
    certificates::Certificates,
    launch::{Launch, StartError},
    port,
    resp::Reply,
    scratch::Scratch,
    server::Server,
};
use rustix::process::{Pid, Signal, kill_process};
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
    tls_port: Option<u16>,
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
        let builder = Self::builder(name, master);
        builder.quorum(quorum).down_after(down_after).start()
    }

    /// A sentinel with options that calls `master` by this name.
    #[must_use]
    pub fn builder(name: &str, master: &Server) -> SentinelBuilder {
        SentinelBuilder {
            name: name.to_owned(),
            port: master.port(),
            tls_port: master.tls_port(),
            quorum: 1,
            down_after: Duration::from_secs(60),
            binary: None,
            password: None,
            tls: None,
            servers_tls: false,
            lines: String::new(),
        }
    }

    /// The port of 127.0.0.1 it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.launch.port
    }

    /// The port of 127.0.0.1 on which it speaks TLS, if it was started [with](SentinelBuilder::tls) it.
    #[must_use]
    pub fn tls_port(&self) -> Option<u16> {
        self.tls_port
    }

    /// Stops the process where it is, as a long pause of its machine would. Connections stay open.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn pause(&self) -> io::Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets a paused process go on.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn resume(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
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

/// The options of a [`Sentinel`] that is to be started.
#[derive(Clone, Debug)]
pub struct SentinelBuilder {
    name: String,
    port: u16,
    tls_port: Option<u16>,
    quorum: usize,
    down_after: Duration,
    binary: Option<ServerBinary>,
    password: Option<String>,
    tls: Option<Certificates>,
    servers_tls: bool,
    /// Further lines of its configuration.
    lines: String,
}

impl SentinelBuilder {
    /// How many sentinels must miss the master before one of them replaces it. Default: one.
    #[must_use]
    pub fn quorum(self, quorum: usize) -> Self {
        Self { quorum, ..self }
    }

    /// How long a master may be silent. Default: a minute.
    #[must_use]
    pub fn down_after(self, down_after: Duration) -> Self {
        Self { down_after, ..self }
    }

    /// The program. Default: what [`ServerBinary::find`] finds.
    #[must_use]
    pub fn binary(mut self, binary: &ServerBinary) -> Self {
        self.binary = Some(binary.clone());
        self
    }

    /// The password that its clients need (`requirepass`). Default: none. Sentinels of one master log in to each other
    /// with it as well.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        let lines = format!("requirepass {password}\nsentinel sentinel-pass {password}\n");
        self.lines(&lines)
    }

    /// A user of its own for its clients, with this password and these rights, as `ACL SETUSER` has them.
    #[must_use]
    pub fn user(self, (user, password): (&str, &str), rights: &[&str]) -> Self {
        let rights = rights.join(" ");
        self.lines(&format!("user {user} on >{password} {rights}\n"))
    }

    /// Logs in to the servers as this user. What the servers let this user do decides what the sentinel can see and
    /// change. Default: the default user, without a password.
    #[must_use]
    pub fn as_user(self, (user, password): (&str, &str)) -> Self {
        let name = self.name.clone();
        let lines =
            format!("sentinel auth-user {name} {user}\nsentinel auth-pass {name} {password}\n");
        self.lines(&lines)
    }

    /// Logs in to the servers as the default user with this password. Default: without one.
    #[must_use]
    pub fn password_of_servers(self, password: &str) -> Self {
        let name = self.name.clone();
        self.lines(&format!("sentinel auth-pass {name} {password}\n"))
    }

    /// Listens on a second port with TLS as well. Default: not.
    #[must_use]
    pub fn tls(self, certificates: &Certificates) -> Self {
        let tls = Some(certificates.clone());
        Self { tls, ..self }
    }

    /// Speaks TLS with the servers, whose TLS port it watches and announces. It needs certificates for that, as
    /// [`tls`](Self::tls) gives it. Default: not.
    #[must_use]
    pub fn servers_tls(self) -> Self {
        let servers_tls = true;
        Self {
            servers_tls,
            ..self
        }
    }

    fn lines(mut self, lines: &str) -> Self {
        self.lines += lines;
        self
    }

    /// Starts the sentinel. Waits until it answers, for twenty seconds at most.
    ///
    /// # Errors
    /// [`StartError`], with the last lines of its log where there are any.
    pub fn start(self) -> Result<Sentinel, StartError> {
        let scratch = Scratch::create()?;
        let binary = self.binary.clone().map_or_else(ServerBinary::find, Ok)?;
        let launch = Launch {
            binary,
            port: port::free()?,
            folder: scratch.path().to_owned(),
            password: self.password.clone(),
            options: Vec::new(),
            detached: false,
        };
        let tls_port = self.tls.as_ref().map(|_| port::free()).transpose()?;
        // It keeps what it learns in its own configuration.
        let file = scratch.path().join("sentinel.conf");
        fs::write(&file, self.configuration(&launch, tls_port))?;
        let log = fs::File::create(launch.log())?;
        let mut child = Command::new(launch.binary.path())
            .arg(&file)
            .arg("--sentinel")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        launch.wait_ready(&mut child)?;
        Ok(Sentinel {
            launch,
            tls_port,
            child,
            _scratch: scratch,
        })
    }

    fn configuration(&self, launch: &Launch, tls_port: Option<u16>) -> String {
        let Self {
            name,
            quorum,
            lines,
            ..
        } = self;
        let (port, folder) = (launch.port, launch.folder.display());
        let target = match self.servers_tls {
            true => self.tls_port.unwrap_or(self.port),
            false => self.port,
        };
        let down_after = self.down_after.as_millis();
        let mut text = format!(
            "bind 127.0.0.1\nport {port}\ndir {folder}\n\
             sentinel monitor {name} 127.0.0.1 {target} {quorum}\n\
             sentinel down-after-milliseconds {name} {down_after}\n\
             sentinel failover-timeout {name} 3000\n{lines}"
        );
        if let Some((certificates, port)) = self.tls.as_ref().zip(tls_port) {
            text += &certificates.lines(port);
        }
        if self.servers_tls {
            text += "tls-replication yes\n";
        }
        text
    }
}
