//! A MariaDB server, for what is to be protected by fencing tokens.

use super::database::{self, DatabaseError, Kind, User, text_of};
use crate::{binary::is_program, process::Process, scratch::Scratch, wait};
use std::{
    env,
    fs::{self, Permissions},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::{Path, PathBuf},
    process::Child,
    time::Duration,
};

/// A MariaDB server of one's own, on a Unix socket that nobody else may use. Dropping it ends the process and removes
/// its files.
///
/// It listens on no port, and has one user, `root`, without a password, and one empty database, `leasehold`. MariaDB
/// refuses to be run by root: for root it is run by the user `mysql` or `nobody`.
///
/// # Examples
/// ```
/// use leasehold_servers::MariaDb;
///
/// if MariaDb::find().is_ok() {
///     let server = MariaDb::start()?;
///     assert!(server.socket().exists());
/// }
/// # Ok::<(), leasehold_servers::DatabaseError>(())
/// ```
#[derive(Debug)]
pub struct MariaDb {
    // Ended before the folder is removed, in which it works.
    child: Child,
    scratch: Scratch,
}

impl MariaDb {
    /// Looks for the program `mariadbd`, and `mariadb-install-db` beside it, in the folder `bin` next to its own, or in
    /// `PATH`: what the environment variable `LEASEHOLD_MARIADB` names; then in the directories of `PATH`; then where
    /// Debian and others put it.
    ///
    /// # Errors
    /// [`DatabaseError::Missing`] if there is none, or if `LEASEHOLD_MARIADB` names something else.
    pub fn find() -> Result<PathBuf, DatabaseError> {
        let is_whole = |path: &PathBuf| is_program(path) && installer(path).is_some();
        if let Some(named) = env::var_os(KIND.variable).filter(|value| !value.is_empty()) {
            let named = PathBuf::from(named);
            return if is_whole(&named) {
                Ok(named)
            } else {
                Err(KIND.missing(Some(named)))
            };
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&path).chain(FOLDERS.map(PathBuf::from));
        let mut programs = folders.map(|folder| folder.join("mariadbd"));
        programs.find(is_whole).ok_or_else(|| KIND.missing(None))
    }

    /// Starts a server with an empty database. Waits until it is ready, for a minute at most.
    ///
    /// # Errors
    /// [`DatabaseError`], with what the programs said where they said something.
    pub fn start() -> Result<Self, DatabaseError> {
        let program = Self::find()?;
        let installer = installer(&program).ok_or_else(|| KIND.missing(None))?;
        let io = |error| KIND.io(error);
        let scratch = Scratch::create().map_err(io)?;
        let folder = scratch.path();
        // What is in it, the socket not least, is for root and for who runs it.
        fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(io)?;
        let user = User::to_run(KIND)?;
        User::give(user, folder).map_err(io)?;
        let data = format!("--datadir={}", folder.join("data").display());
        // Temporary tables have the same names in every server that begins.
        let temporary = format!("--tmpdir={}", folder.display());
        let output = KIND
            .command(user, &installer, folder)
            .arg("--no-defaults")
            .args([&data, &temporary, "--skip-test-db", "--skip-name-resolve"])
            .arg("--auth-root-authentication-method=normal")
            .output()
            .map_err(io)?;
        if !output.status.success() {
            return Err(KIND.refused(&text_of(&output)));
        }
        let (out, err) = database::log(folder).map_err(io)?;
        let begin = folder.join(BEGIN);
        fs::write(&begin, "CREATE DATABASE leasehold;\n").map_err(io)?;
        fs::set_permissions(&begin, Permissions::from_mode(0o644)).map_err(io)?;
        let child = KIND
            .command(user, &program, folder)
            .args(["--no-defaults", "--skip-networking", &data, &temporary])
            .arg(format!("--socket={}", folder.join(SOCKET).display()))
            .arg(format!("--pid-file={}", folder.join("pid").display()))
            .arg(format!("--init-file={}", begin.display()))
            .args([
                "--innodb-flush-log-at-trx-commit=0",
                "--innodb-buffer-pool-size=16M",
            ])
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(io)?;
        let mut server = Self { child, scratch };
        server.wait_ready()?;
        Ok(server)
    }

    /// Its socket, for a client. The user is `root`, the database `leasehold`.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.scratch.path().join(SOCKET)
    }

    fn wait_ready(&mut self) -> Result<(), DatabaseError> {
        let socket = self.socket();
        // It answers when it has carried out its first file, and keeps who comes earlier waiting.
        let database = self.scratch.path().join("data/leasehold");
        let is_ready = || database.exists() && UnixStream::connect(&socket).is_ok();
        let ready = wait::until(PATIENCE, || match self.child.try_wait() {
            Ok(None) => is_ready().then_some(true),
            Ok(Some(_)) | Err(_) => Some(false),
        });
        if ready == Some(true) {
            return Ok(());
        }
        let log = self.scratch.path().join(database::LOG);
        Err(KIND.refused(&fs::read_to_string(log).unwrap_or_default()))
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        // Kindly: it is one process, and has children for moments only.
        if matches!(self.child.try_wait(), Ok(None))
            && let Some(process) = Process::with_pid(self.child.id())
        {
            process.end(PATIENCE);
        }
        drop(self.child.wait());
    }
}

/// The program that makes the folder of its data.
fn installer(program: &Path) -> Option<PathBuf> {
    let own = program.parent()?;
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [own.to_owned(), own.join("../bin")];
    let mut folders = folders.into_iter().chain(env::split_paths(&path));
    folders.find_map(|folder| {
        let installer = folder.join("mariadb-install-db");
        is_program(&installer).then_some(installer)
    })
}

const KIND: Kind = Kind {
    name: "MariaDB",
    programs: "mariadbd with mariadb-install-db",
    hint: "`apt-get install mariadb-server` or `brew install mariadb`",
    variable: "LEASEHOLD_MARIADB",
    users: ["mysql", "nobody"],
    settings: "MYSQL_",
};

/// Where it may be if it is not in `PATH`.
const FOLDERS: [&str; 4] = [
    "/usr/sbin",
    "/usr/libexec",
    "/opt/homebrew/opt/mariadb/bin",
    "/usr/local/opt/mariadb/bin",
];

const SOCKET: &str = "socket";
const BEGIN: &str = "begin.sql";

// A loaded machine may take seconds to start a process.
const PATIENCE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip;

    #[test]
    fn a_server_ends_with_its_value_and_leaves_nothing() {
        let server = match MariaDb::start() {
            Ok(server) => server,
            Err(error) => return skip(&format!("no MariaDB: {error}")),
        };
        let process = Process::with_pid(server.child.id()).expect("it runs");
        let folder = server.scratch.path().to_owned();
        assert!(folder.join("data/leasehold").exists());
        drop(server);
        assert!(!process.is_running());
        assert!(!folder.exists());
    }
}
