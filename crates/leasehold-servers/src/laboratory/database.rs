//! What the databases that tests start have in common.

use rustix::process::geteuid;
use std::{
    env, fmt,
    fs::File,
    io,
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// What there is to know of a database before it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// What people call it.
    pub(crate) name: &'static str,
    /// The programs without which it does not run, for errors.
    pub(crate) programs: &'static str,
    /// How one gets them.
    pub(crate) hint: &'static str,
    /// The variable that names its program.
    pub(crate) variable: &'static str,
    /// Who runs it if root must not: the first of them that exists.
    pub(crate) users: [&'static str; 2],
    /// How the variables begin that change what its programs do.
    pub(crate) settings: &'static str,
}

impl Kind {
    pub(crate) fn missing(self, named: Option<PathBuf>) -> DatabaseError {
        DatabaseError::Missing {
            named,
            programs: self.programs,
            hint: self.hint,
            variable: self.variable,
        }
    }

    pub(crate) fn refused(self, said: &str) -> DatabaseError {
        DatabaseError::Refused {
            name: self.name,
            said: said.trim().to_owned(),
        }
    }

    pub(crate) fn io(self, error: io::Error) -> DatabaseError {
        DatabaseError::Io {
            name: self.name,
            error,
        }
    }

    /// A program of it, to be run in `folder`, by `user`.
    pub(crate) fn command(self, user: Option<User>, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(folder).stdin(Stdio::null());
        // Somebody's own settings must not change what is tested.
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with(self.settings) {
                command.env_remove(name);
            }
        }
        if let Some(user) = user {
            command.uid(user.id).gid(user.group);
        }
        command
    }
}

/// Who runs it, if this user must not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    id: u32,
    group: u32,
}

impl User {
    /// None if this user may run it.
    pub(crate) fn to_run(kind: Kind) -> Result<Option<Self>, DatabaseError> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let found = kind.users.into_iter().find_map(Self::named);
        found.map(Some).ok_or(DatabaseError::NoUser {
            name: kind.name,
            users: kind.users,
        })
    }

    /// Lets the user, if there is one, have this folder.
    pub(crate) fn give(user: Option<Self>, folder: &Path) -> io::Result<()> {
        match user {
            Some(user) => chown(folder, Some(user.id), Some(user.group)),
            None => Ok(()),
        }
    }

    fn named(name: &str) -> Option<Self> {
        let ask = |what| -> Option<u32> {
            let output = Command::new("id").args([what, name]).output().ok()?;
            String::from_utf8(output.stdout).ok()?.trim().parse().ok()
        };
        Some(Self {
            id: ask("-u")?,
            group: ask("-g")?,
        })
    }
}

/// Why there is no database server.
#[derive(Debug)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The programs are not there.
    Missing {
        /// What the variable names.
        named: Option<PathBuf>,
        /// The programs that are needed.
        programs: &'static str,
        /// How one gets them.
        hint: &'static str,
        /// The variable that may name them.
        variable: &'static str,
    },
    /// Root must not run it, and there is none of these users, who could.
    NoUser {
        /// The database.
        name: &'static str,
        /// The users.
        users: [&'static str; 2],
    },
    /// The programs ended, with this to say.
    Refused {
        /// The database.
        name: &'static str,
        /// What they said.
        said: String,
    },
    /// The operating system refused something.
    Io {
        /// The database.
        name: &'static str,
        /// What it refused.
        error: io::Error,
    },
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing {
                named: Some(path),
                programs,
                variable,
                ..
            } => {
                let path = path.display();
                write!(out, "{variable} names {path}, which is no {programs}")
            }
            Self::Missing {
                named: None,
                programs,
                hint,
                variable,
            } => write!(
                out,
                "there is no {programs} on this machine; get it by {hint}, or let {variable} name the server's program"
            ),
            Self::NoUser {
                name,
                users: [first, second],
            } => write!(
                out,
                "{name} refuses to be run by root, and there is no user {first} or {second}"
            ),
            Self::Refused { name, said } => write!(out, "{name} did not start: {said}"),
            Self::Io { name, error } => write!(out, "{name} did not start: {error}"),
        }
    }
}

impl std::error::Error for DatabaseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            Self::Missing { .. } | Self::NoUser { .. } | Self::Refused { .. } => None,
        }
    }
}

/// The file that a server in this folder writes what it has to say to, twice: for its two outputs.
pub(crate) fn log(folder: &Path) -> io::Result<(File, File)> {
    let file = File::create(folder.join(LOG))?;
    Ok((file.try_clone()?, file))
}

/// All that a program said.
pub(crate) fn text_of(output: &Output) -> String {
    let texts = [&output.stdout, &output.stderr];
    texts.map(|text| String::from_utf8_lossy(text)).concat()
}

/// The name of that file.
pub(crate) const LOG: &str = "server.log";
