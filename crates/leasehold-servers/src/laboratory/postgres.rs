//! A PostgreSQL server, for what is to be protected by fencing tokens.

use super::database::{self, DatabaseError, Kind, User, text_of};
use crate::{binary::is_program, scratch::Scratch, wait};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Child,
    time::Duration,
};

/// A PostgreSQL server of one's own, on a Unix socket that nobody else may use. Dropping it ends the process and
/// removes its files.
///
/// It listens on no port, and keeps what it has only as long as it runs. PostgreSQL refuses to be run by root: for
/// root it is run by the user `postgres` or `nobody`.
///
/// # Examples
/// ```
/// use leasehold_servers::Postgres;
///
/// if Postgres::find().is_ok() {
///     let server = Postgres::start()?;
///     assert!(server.folder().join(".s.PGSQL.5432").exists());
/// }
/// # Ok::<(), leasehold_servers::DatabaseError>(())
/// ```
#[derive(Debug)]
pub struct Postgres {
    // Ended before the folder is removed, in which it works.
    child: Child,
    scratch: Scratch,
}

impl Postgres {
    /// Looks for the program `postgres` with `initdb` beside it: what the environment variable
    /// `LEASEHOLD_POSTGRES` names; then in the directories of `PATH`; then where Debian and others put it.
    ///
    /// # Errors
    /// [`DatabaseError::Missing`] if there is none, or if `LEASEHOLD_POSTGRES` names something else.
    pub fn find() -> Result<PathBuf, DatabaseError> {
        let is_whole =
            |path: &PathBuf| is_program(path) && is_program(&path.with_file_name("initdb"));
        if let Some(named) = env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            // A wrong name is an error, not a reason to take another server than the one that was asked for.
            let named = PathBuf::from(named);
            return if is_whole(&named) {
                Ok(named)
            } else {
                Err(KIND.missing(Some(named)))
            };
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&path).chain(installed());
        let mut programs = folders.map(|folder| folder.join("postgres"));
        programs.find(is_whole).ok_or_else(|| KIND.missing(None))
    }

    /// Starts a server with an empty database. Waits until it is ready, for half a minute at most.
    ///
    /// # Errors
    /// [`DatabaseError`], with what the programs said where they said something.
    pub fn start() -> Result<Self, DatabaseError> {
        let program = Self::find()?;
        let scratch = Scratch::create().map_err(|error| KIND.io(error))?;
        let user = User::to_run(KIND)?;
        User::give(user, scratch.path()).map_err(|error| KIND.io(error))?;
        let words = ["-D", ".", "-U", USER, "-A", "trust", "-E", "UTF8"];
        let output = KIND
            .command(user, &program.with_file_name("initdb"), scratch.path())
            .args(words)
            .args(["--no-locale", "--no-sync", "--no-instructions"])
            .output()
            .map_err(|error| KIND.io(error))?;
        if !output.status.success() {
            return Err(KIND.refused(&text_of(&output)));
        }
        let (out, err) = database::log(scratch.path()).map_err(|error| KIND.io(error))?;
        let child = KIND
            .command(user, &program, scratch.path())
            .args(["-D", ".", "-k", ".", "-F", "-c", "listen_addresses="])
            .args(["-c", "max_connections=50"])
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(|error| KIND.io(error))?;
        let mut server = Self { child, scratch };
        server.wait_ready()?;
        Ok(server)
    }

    /// The folder of its data and of its socket: the host, for a client.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// How a client connects: `host=… user=… dbname=…`.
    #[must_use]
    pub fn address(&self) -> String {
        let folder = self.folder().display();
        format!("host='{folder}' user={USER} dbname=postgres")
    }

    fn wait_ready(&mut self) -> Result<(), DatabaseError> {
        let Self { child, scratch } = self;
        // Its last line says how far it is.
        let note = scratch.path().join("postmaster.pid");
        let is_ready =
            || fs::read_to_string(&note).is_ok_and(|note| note.trim_end().ends_with("ready"));
        let ready = wait::until(PATIENCE, || match child.try_wait() {
            Ok(None) => is_ready().then_some(true),
            Ok(Some(_)) | Err(_) => Some(false),
        });
        if ready == Some(true) {
            return Ok(());
        }
        let log = fs::read_to_string(scratch.path().join(database::LOG)).unwrap_or_default();
        Err(KIND.refused(&log))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let child = &mut self.child;
        // Once it has ended, its id may be another's.
        if matches!(child.try_wait(), Ok(None)) {
            // At once, with all its processes, and without keeping anything. Nobody is left who could be told.
            let _ = kill_process(Pid::from_child(child), Signal::QUIT);
        }
        let has_ended = || (!matches!(child.try_wait(), Ok(None))).then_some(());
        let ended = wait::until(PATIENCE, has_ended);
        if ended.is_none() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// The folders of programs that distributions keep out of `PATH`, the newest version first.
fn installed() -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for (base, start, end) in FOLDERS {
        for entry in fs::read_dir(base).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let version = name.strip_prefix(start).and_then(|rest| rest.parse().ok());
            found.extend(version.map(|version| (version, entry.path().join(end))));
        }
    }
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, folder)| folder).collect()
}

const VARIABLE: &str = "LEASEHOLD_POSTGRES";

const KIND: Kind = Kind {
    name: "PostgreSQL",
    programs: "postgres with initdb",
    hint: "`apt-get install postgresql` or `brew install postgresql`",
    variable: VARIABLE,
    users: ["postgres", "nobody"],
    settings: "PG",
};

/// Debian, Red Hat, Homebrew: where versions are kept, how their folders begin, and what is in them.
const FOLDERS: [(&str, &str, &str); 4] = [
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr", "pgsql-", "bin"),
    ("/opt/homebrew/opt", "postgresql@", "bin"),
    ("/usr/local/opt", "postgresql@", "bin"),
];

const USER: &str = "leasehold";

// A loaded machine may take seconds to start a process.
const PATIENCE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{process::Process, skip};

    #[test]
    fn a_server_ends_with_its_value_and_leaves_nothing() {
        let server = match Postgres::start() {
            Ok(server) => server,
            Err(error) => return skip(&format!("no PostgreSQL: {error}")),
        };
        let process = Process::with_pid(server.child.id()).expect("it runs");
        let folder = server.folder().to_owned();
        assert!(folder.join("PG_VERSION").exists());
        drop(server);
        assert!(!process.is_running());
        assert!(!folder.exists());
    }
}
