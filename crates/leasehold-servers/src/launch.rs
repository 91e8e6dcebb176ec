//! Starting a server process and waiting until it answers.

use crate::{
    binary::{FindError, ServerBinary},
    resp::Connection,
    wait,
};
use std::{
    fmt, fs, io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

/// How a server is to be started.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) binary: ServerBinary,
    pub(crate) port: u16,
    pub(crate) folder: PathBuf,
    pub(crate) password: Option<String>,
    /// Further words of the command line.
    pub(crate) options: Vec<String>,
    /// Whether the server is to live on when its starter, or the starter's terminal, is interrupted.
    pub(crate) detached: bool,
}

impl Launch {
    /// Starts the process. Does not wait until it answers.
    pub(crate) fn spawn(&self) -> Result<Child, StartError> {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.log())?;
        let mut command = Command::new(self.binary.path());
        command
            .args(["--bind", "127.0.0.1", "--port", &self.port.to_string()])
            .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
            .arg("--dir")
            .arg(&self.folder)
            .args(&self.options)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        if self.detached {
            command.process_group(0);
        }
        command.spawn().map_err(|error| {
            let path = self.binary.path().display();
            StartError::Io(io::Error::new(error.kind(), format!("{path}: {error}")))
        })
    }

    /// Waits until the server answers. Kills it if it does not.
    pub(crate) fn wait_ready(&self, child: &mut Child) -> Result<(), StartError> {
        let answer = wait::until(PATIENCE, || match child.try_wait() {
            Err(error) => Some(Err(StartError::Io(error))),
            Ok(Some(status)) => Some(Err(self.exited(status))),
            Ok(None) => self.answers(child.id()).then_some(Ok(())),
        });
        answer.unwrap_or_else(|| {
            child.kill()?;
            child.wait()?;
            Err(StartError::Silent {
                port: self.port,
                waited: PATIENCE,
                log: self.last_lines(),
            })
        })
    }

    /// Whether the server answers, and is the one that was started: the port may have gone to another
    /// process that answers as well, while ours is about to give up.
    fn answers(&self, pid: u32) -> bool {
        let info = || -> io::Result<String> {
            let mut connection = self.connect()?;
            let reply = connection.command(&["INFO", "server"])?;
            Ok(reply.text().unwrap_or_default().to_owned())
        };
        match info() {
            // A server that is still loading its data may already answer INFO, but nothing else.
            Ok(info) => {
                info.lines().any(|line| line == format!("process_id:{pid}")) && self.is_loaded()
            }
            // With an ACL file the default user may be locked out, and the command may be renamed; that it says so is an
            // answer too.
            Err(error) => {
                let why = error.to_string();
                why.starts_with("NO") || why.starts_with("ERR unknown command") && self.is_loaded()
            }
        }
    }

    fn is_loaded(&self) -> bool {
        let ping = || self.connect()?.command(&["PING"]);
        ping().map_or_else(|error| !error.to_string().starts_with("LOADING"), |_| true)
    }

    /// Opens a connection and logs in.
    pub(crate) fn connect(&self) -> io::Result<Connection> {
        let mut connection = Connection::open(self.port)?;
        if let Some(password) = &self.password {
            connection.command(&["AUTH", password])?;
        }
        Ok(connection)
    }

    fn exited(&self, status: ExitStatus) -> StartError {
        let log = self.last_lines();
        if log.contains("Address already in use") || log.contains("Address in use") {
            StartError::PortTaken { port: self.port }
        } else if log.contains("Failed finding TLS support") {
            StartError::NoTls
        } else {
            StartError::Exited { status, log }
        }
    }

    /// Where the process writes what it has to say.
    pub(crate) fn log(&self) -> PathBuf {
        log_in(&self.folder)
    }

    fn last_lines(&self) -> String {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let first = lines.len().saturating_sub(LOG_LINES);
        lines.get(first..).unwrap_or_default().join("\n")
    }
}

fn log_in(folder: &Path) -> PathBuf {
    folder.join("server.log")
}

/// Why a server did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// There is no server program.
    Find(FindError),
    /// Another process listens on the port.
    PortTaken {
        /// The port.
        port: u16,
    },
    /// TLS was asked for, but the program was built without it, as many small builds are.
    NoTls,
    /// The process ended at once.
    Exited {
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its log.
        log: String,
    },
    /// The process runs but does not answer.
    Silent {
        /// The port that was asked.
        port: u16,
        /// For how long.
        waited: Duration,
        /// The last lines of its log.
        log: String,
    },
    /// The operating system refused something.
    Io(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Find(error) => error.fmt(out),
            Self::PortTaken { port } => write!(out, "port {port} is taken by another process"),
            Self::NoTls => out.write_str("the server program was built without TLS"),
            Self::Exited { status, log } => {
                write!(out, "the server ended at once ({status}); its log:\n{log}")
            }
            Self::Silent { port, waited, log } => write!(
                out,
                "the server did not answer on port {port} within {waited:?}; its log:\n{log}"
            ),
            Self::Io(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Find(error) => Some(error),
            Self::Io(error) => Some(error),
            Self::PortTaken { .. } | Self::NoTls | Self::Exited { .. } | Self::Silent { .. } => {
                None
            }
        }
    }
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<FindError> for StartError {
    fn from(error: FindError) -> Self {
        Self::Find(error)
    }
}

// A loaded machine may take seconds to start a process.
const PATIENCE: Duration = Duration::from_secs(20);
const LOG_LINES: usize = 20;
