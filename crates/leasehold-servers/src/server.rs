//! One running server.

use crate::{
    binary::ServerBinary,
    certificates::Certificates,
    launch::{Launch, StartError},
    port,
    resp::{Connection, Reply},
    scratch::Scratch,
};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Child,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A server process of one's own on loopback. Dropping it kills the process and removes its files.
///
/// Without options it keeps nothing on disk and takes a free port.
///
/// # Examples
/// ```
/// use leasehold_servers::{Server, ServerBinary};
///
/// if ServerBinary::find().is_ok() {
///     let server = Server::start()?;
///     server.command(&["SET", "orders/42", "me", "NX", "PX", "10000"])?;
///     assert_eq!(server.command(&["GET", "orders/42"])?.text(), Some("me"));
///     server.restart()?;
///     assert_eq!(server.command(&["EXISTS", "orders/42"])?.integer(), Some(0));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Server {
    launch: Launch,
    tls_port: Option<u16>,
    unix_socket: Option<PathBuf>,
    // None after `kill`. Dropped before the folder, in which the process works.
    child: Mutex<Option<Child>>,
    scratch: Scratch,
}

impl Server {
    /// Starts a server without options. Waits until it answers, for twenty seconds at most.
    ///
    /// # Errors
    /// [`StartError`], with the last lines of the server's log where there are any.
    pub fn start() -> Result<Self, StartError> {
        Self::builder().start()
    }

    /// A server with options.
    #[must_use]
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }

    /// The port of 127.0.0.1 it listens on. It stays the same over restarts.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.launch.port
    }

    /// Its address: `redis://127.0.0.1:PORT`, with the password if it has one.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}127.0.0.1:{}", self.login(), self.port())
    }

    /// Its address for TLS, `rediss://127.0.0.1:PORT`, if it was started [with](ServerBuilder::tls) it.
    #[must_use]
    pub fn tls_url(&self) -> Option<String> {
        let port = self.tls_port?;
        Some(format!("rediss://{}127.0.0.1:{port}", self.login()))
    }

    /// The port of 127.0.0.1 on which it speaks TLS, if it was started [with](ServerBuilder::tls) it.
    #[must_use]
    pub fn tls_port(&self) -> Option<u16> {
        self.tls_port
    }

    /// Its Unix socket, if it was started [with](ServerBuilder::unix_socket) one.
    #[must_use]
    pub fn unix_socket(&self) -> Option<&Path> {
        self.unix_socket.as_deref()
    }

    /// Its process id. None while it is killed.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child().as_ref().map(Child::id)
    }

    /// The folder it works in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// Everything it has written to its log.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.launch.log()).unwrap_or_default()
    }

    /// Sends a command over a connection of its own and waits for the answer, for five seconds at most.
    ///
    /// # Errors
    /// If the server is down, paused or slow, or answers with an error: see [`Connection::command`].
    pub fn command(&self, words: &[&str]) -> io::Result<Reply> {
        self.connect()?.command(words)
    }

    /// Opens a connection, logged in if there is a password.
    ///
    /// # Errors
    /// If the server is down.
    pub fn connect(&self) -> io::Result<Connection> {
        self.launch.connect()
    }

    /// Kills the process as a power cut would, and waits until it is gone. A killed server stays killed.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn kill(&self) -> io::Result<()> {
        let mut child = self.child();
        if let Some(process) = child.as_mut() {
            process.kill()?;
            process.wait()?;
        }
        *child = None;
        Ok(())
    }

    /// Kills the process if it runs and starts it again on the same port, with what it had on disk:
    /// nothing, unless options or [`save`](Self::save) say otherwise.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn restart(&self) -> Result<(), StartError> {
        self.kill()?;
        let mut process = self.launch.spawn()?;
        self.launch.wait_ready(&mut process)?;
        *self.child() = Some(process);
        Ok(())
    }

    /// Writes the data to disk, so that the next [`restart`](Self::restart) finds it.
    ///
    /// # Errors
    /// If the server is down or cannot write.
    pub fn save(&self) -> io::Result<()> {
        self.command(&["SAVE"]).map(drop)
    }

    /// Kills the process if it runs, removes what it had on disk, and starts it again on the same port.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn restart_empty(&self) -> Result<(), StartError> {
        self.kill()?;
        for entry in fs::read_dir(self.folder())? {
            let path = entry?.path();
            if path.is_dir() {
                fs::remove_dir_all(path)?;
            } else if path != self.launch.log() {
                fs::remove_file(path)?;
            }
        }
        self.restart()
    }

    /// Stops the process where it is, as a long pause of its machine would. Connections stay open.
    ///
    /// # Errors
    /// If it is killed.
    pub fn pause(&self) -> io::Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets a paused process go on.
    ///
    /// # Errors
    /// If it is killed.
    pub fn resume(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        let child = self.child();
        let child = child.as_ref().ok_or(io::ErrorKind::NotFound)?;
        Ok(kill_process(Pid::from_child(child), signal)?)
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn login(&self) -> String {
        match &self.launch.password {
            Some(password) => format!(":{}@", percent_encode(password)),
            None => String::new(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nobody is left who could be told.
        drop(self.kill());
    }
}

/// The options of a [`Server`] that is to be started.
#[derive(Clone, Debug, Default)]
pub struct ServerBuilder {
    binary: Option<ServerBinary>,
    port: Option<u16>,
    password: Option<String>,
    unix_socket: bool,
    tls: Option<Certificates>,
    options: Vec<String>,
}

impl ServerBuilder {
    /// The program. Default: what [`ServerBinary::find`] finds.
    #[must_use]
    pub fn binary(mut self, binary: &ServerBinary) -> Self {
        self.binary = Some(binary.clone());
        self
    }

    /// The port. Default: a free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// The password of the default user (`requirepass`). Default: none.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self.option("requirepass", &[password])
    }

    /// Listens on a Unix socket in the server's folder as well. Default: not.
    #[must_use]
    pub fn unix_socket(mut self) -> Self {
        self.unix_socket = true;
        self
    }

    /// Listens on a second port with TLS as well. Default: not.
    #[must_use]
    pub fn tls(mut self, certificates: &Certificates) -> Self {
        self.tls = Some(certificates.clone());
        self
    }

    /// Makes it a replica of another server that has no password.
    #[must_use]
    pub fn replica_of(self, primary: &Server) -> Self {
        self.option("replicaof", &["127.0.0.1", &primary.port().to_string()])
    }

    /// Any line of the configuration file: `option("appendonly", &["yes"])`,
    /// `option("maxmemory", &["2mb"])`. The last one of a name counts.
    #[must_use]
    pub fn option(mut self, name: &str, values: &[&str]) -> Self {
        self.options.push(format!("--{name}"));
        self.options
            .extend(values.iter().map(|&value| value.to_owned()));
        self
    }

    /// Starts the server. Waits until it answers, for twenty seconds at most.
    ///
    /// # Errors
    /// [`StartError`], with the last lines of the server's log where there are any.
    pub fn start(self) -> Result<Server, StartError> {
        let binary = match &self.binary {
            Some(binary) => binary.clone(),
            None => ServerBinary::find()?,
        };
        let mut tries = 0;
        loop {
            tries += 1;
            match self.attempt(&binary) {
                // Somebody took the port between our look and the server's.
                Err(StartError::PortTaken { .. }) if self.port.is_none() && tries < TRIES => {}
                outcome => return outcome,
            }
        }
    }

    fn attempt(&self, binary: &ServerBinary) -> Result<Server, StartError> {
        let scratch = Scratch::create()?;
        let mut options = self.options.clone();
        let unix_socket = self.unix_socket.then(|| scratch.path().join("redis.sock"));
        if let Some(path) = &unix_socket {
            options.extend(["--unixsocket".to_owned(), path.display().to_string()]);
        }
        let mut tls_port = None;
        if let Some(certificates) = &self.tls {
            let port = port::free()?;
            options.extend(certificates.options(port));
            tls_port = Some(port);
        }
        let port = match self.port {
            Some(port) => port,
            None => port::free()?,
        };
        let launch = Launch {
            binary: binary.clone(),
            port,
            folder: scratch.path().to_owned(),
            password: self.password.clone(),
            options,
            detached: false,
        };
        let mut child = launch.spawn()?;
        launch.wait_ready(&mut child)?;
        Ok(Server {
            launch,
            tls_port,
            unix_socket,
            child: Mutex::new(Some(child)),
            scratch,
        })
    }
}

fn percent_encode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

const TRIES: u32 = 10;

#[cfg(test)]
mod tests;
