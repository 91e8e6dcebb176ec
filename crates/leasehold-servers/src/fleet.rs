//! Servers that outlive the process that started them.

use crate::{
    binary::ServerBinary,
    launch::{Launch, StartError},
    port,
    process::Process,
    resp::Connection,
};
use rustix::fs::{FlockOperation, flock};
use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    process::Child,
    time::Duration,
};

/// Long-lived servers on loopback, for trying things by hand: started by one command, stopped by another.
///
/// What is known about them is in a file of their folder: one line per server with its process id, when
/// that process started, and its port. A process that merely has the same id is never touched.
#[derive(Debug)]
pub struct Fleet {
    folder: PathBuf,
    servers: Vec<(Process, u16)>,
}

impl Fleet {
    /// Starts `count` servers that keep their data below `folder`, which is made if need be. Waits until
    /// all answer, for twenty seconds each at most.
    ///
    /// An interrupt from the terminal does not reach them.
    ///
    /// # Errors
    /// [`Running`](FleetError::Running) if servers of this folder still run. If one does not start, the
    /// others are stopped again.
    pub fn start(folder: &Path, count: usize, binary: &ServerBinary) -> Result<Self, FleetError> {
        if Process::with_pid(std::process::id()).is_none() {
            // Without start times the servers could never be stopped safely: better not to have them.
            return Err(io::Error::other("cannot tell processes apart without /proc").into());
        }
        fs::create_dir_all(folder)?;
        let folder = folder.canonicalize()?;
        let _lock = lock(&folder)?;
        match Self::load(&folder) {
            Ok(fleet)
                if fleet
                    .servers
                    .iter()
                    .any(|(process, _)| process.is_running()) =>
            {
                return Err(FleetError::Running { folder });
            }
            // All are gone, as after a reboot: only their files are left.
            Ok(fleet) => fleet.remove_files()?,
            Err(FleetError::None { .. }) => {}
            Err(error) => return Err(error),
        }
        let mut fleet = Self {
            folder,
            servers: Vec::new(),
        };
        match fleet.launch(count, binary) {
            Ok(()) => Ok(fleet),
            Err(error) => {
                fleet.end_all()?;
                Err(error)
            }
        }
    }

    /// The servers that were started in `folder`, whether they still run or not.
    ///
    /// # Errors
    /// [`None`](FleetError::None) if none were, or they have been stopped.
    pub fn load(folder: &Path) -> Result<Self, FleetError> {
        let path = folder.join(STATE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = folder.to_owned();
                return Err(FleetError::None { folder });
            }
            answer => answer?,
        };
        let servers = text
            .lines()
            .map(parse)
            .collect::<Option<_>>()
            .ok_or(FleetError::Garbled { path })?;
        Ok(Self {
            folder: folder.canonicalize()?,
            servers,
        })
    }

    /// Their addresses, separated by commas, also of those that do not run any more.
    #[must_use]
    pub fn nodes(&self) -> String {
        let urls: Vec<String> = self.status().iter().map(Member::url).collect();
        urls.join(",")
    }

    /// Who runs at this moment.
    #[must_use]
    pub fn status(&self) -> Vec<Member> {
        self.servers
            .iter()
            .map(|&(process, port)| Member {
                pid: process.pid,
                port,
                running: process.is_running(),
            })
            .collect()
    }

    /// Stops those that run, by force where five seconds are not enough, and removes all their files.
    /// Tells how many ran.
    ///
    /// # Errors
    /// [`Unstoppable`](FleetError::Unstoppable) if one lives on; then its files stay as well.
    pub fn stop(self) -> Result<usize, FleetError> {
        let _lock = lock(&self.folder)?;
        // Somebody may have stopped them, and started others, since this was loaded.
        match Self::load(&self.folder) {
            Ok(fleet) => fleet.end_all(),
            Err(FleetError::None { .. }) => Ok(0),
            Err(error) => Err(error),
        }
    }

    fn launch(&mut self, count: usize, binary: &ServerBinary) -> Result<(), FleetError> {
        let mut starting = Vec::new();
        for _ in 0..count {
            starting.push(self.launch_one(binary)?);
        }
        for (launch, child) in &mut starting {
            launch.wait_ready(child)?;
        }
        Ok(())
    }

    fn launch_one(&mut self, binary: &ServerBinary) -> Result<(Launch, Child), FleetError> {
        let port = self.free_port()?;
        let folder = self.folder_of(port);
        fs::create_dir(&folder)?;
        let launch = Launch {
            binary: binary.clone(),
            port,
            folder,
            password: None,
            options: Vec::new(),
            detached: true,
        };
        let mut child = launch.spawn()?;
        let Some(process) = Process::with_pid(child.id()) else {
            // It has ended already; this tells why.
            launch.wait_ready(&mut child)?;
            return Err(io::Error::other("the server ended at once").into());
        };
        self.servers.push((process, port));
        // After each one: an interrupt between two must not leave a server that nobody knows of.
        self.write()?;
        Ok((launch, child))
    }

    /// A port that none of the servers before was given, which may not listen yet.
    fn free_port(&self) -> io::Result<u16> {
        loop {
            let port = port::free()?;
            if !self.servers.iter().any(|&(_, taken)| taken == port) {
                return Ok(port);
            }
        }
    }

    fn write(&self) -> io::Result<()> {
        let lines: String = self
            .servers
            .iter()
            .map(|(process, port)| format!("{} {} {port}\n", process.pid, process.started))
            .collect();
        // Under another name first, so that no reader ever sees half of it.
        let draft = self.folder.join(format!("{STATE}.new"));
        fs::write(&draft, lines)?;
        fs::rename(draft, self.folder.join(STATE))
    }

    fn end_all(&self) -> Result<usize, FleetError> {
        let mut count = 0;
        for &(process, port) in &self.servers {
            count += usize::from(process.is_running());
            if !process.end(PATIENCE) {
                let pid = process.pid;
                return Err(FleetError::Unstoppable { pid, port });
            }
        }
        self.remove_files()?;
        Ok(count)
    }

    fn remove_files(&self) -> io::Result<()> {
        for &(_, port) in &self.servers {
            remove(fs::remove_dir_all(self.folder_of(port)))?;
        }
        // The lock stays: another process may be waiting for it.
        remove(fs::remove_file(self.folder.join(STATE)))
    }

    fn folder_of(&self, port: u16) -> PathBuf {
        self.folder.join(format!("port-{port}"))
    }
}

/// One server of a [`Fleet`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// Its process id.
    pub pid: u32,
    /// Its port of 127.0.0.1.
    pub port: u16,
    /// Whether it still runs.
    pub running: bool,
}

impl Member {
    /// Its address: `redis://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Whether it answers a question (`PING`), also by refusing it. Blocks for a quarter of a second at most for the
    /// answer.
    #[must_use]
    pub fn answers(&self) -> bool {
        let ask = || {
            let mut connection = Connection::open(self.port)?;
            connection.set_patience(Duration::from_millis(250))?;
            connection.command(&["PING"])
        };
        // The server's own words come as this kind: it wants a password, or loads its data.
        ask().map_or_else(
            |error: io::Error| error.kind() == io::ErrorKind::Other,
            |_| true,
        )
    }
}

/// What can be wrong with a [`Fleet`].
#[derive(Debug)]
#[non_exhaustive]
pub enum FleetError {
    /// Servers of this folder run already.
    Running {
        /// The folder.
        folder: PathBuf,
    },
    /// No servers were started in this folder.
    None {
        /// The folder.
        folder: PathBuf,
    },
    /// The file about the servers is not one that this program writes.
    Garbled {
        /// The file.
        path: PathBuf,
    },
    /// A server lives on even though it was killed.
    Unstoppable {
        /// Its process id.
        pid: u32,
        /// Its port.
        port: u16,
    },
    /// A server did not start.
    Start(StartError),
    /// The operating system refused something.
    Io(io::Error),
}

impl fmt::Display for FleetError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running { folder } => {
                let folder = folder.display();
                write!(out, "servers of {folder} run already; stop them first")
            }
            Self::None { folder } => {
                write!(out, "no servers were started in {}", folder.display())
            }
            Self::Garbled { path } => {
                write!(
                    out,
                    "{} is not a list of servers; remove it",
                    path.display()
                )
            }
            Self::Unstoppable { pid, port } => {
                write!(
                    out,
                    "the server on port {port} (process {pid}) does not stop"
                )
            }
            Self::Start(error) => error.fmt(out),
            Self::Io(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for FleetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Start(error) => Some(error),
            Self::Io(error) => Some(error),
            Self::Running { .. }
            | Self::None { .. }
            | Self::Garbled { .. }
            | Self::Unstoppable { .. } => None,
        }
    }
}

impl From<io::Error> for FleetError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<StartError> for FleetError {
    fn from(error: StartError) -> Self {
        Self::Start(error)
    }
}

/// Waits until no other process starts or stops servers of this folder. Until the file is dropped.
fn lock(folder: &Path) -> io::Result<fs::File> {
    let file = fs::File::options()
        .create(true)
        .append(true)
        .open(folder.join("lock"))?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

fn parse(line: &str) -> Option<(Process, u16)> {
    let mut words = line.split(' ');
    let process = Process {
        pid: words.next()?.parse().ok()?,
        started: words.next()?.parse().ok()?,
    };
    let port = words.next()?.parse().ok()?;
    words.next().is_none().then_some((process, port))
}

fn remove(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

const STATE: &str = "servers";
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;
