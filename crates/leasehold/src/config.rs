//! Where to lock, from the variables and the file that the `leasehold` command reads: one place for all programs of a
//! machine.
//!
//! ```no_run
//! # async fn example() -> Result<(), leasehold::Error> {
//! use leasehold::LockManager;
//!
//! let manager = LockManager::from_env()?; // LEASEHOLD_NODES, or the configuration file
//! # let _ = manager;
//! # Ok(())
//! # }
//! ```
//!
//! # The variables
//!
//! | variable | what it says |
//! |---|---|
//! | `LEASEHOLD_NODES` | addresses with commas between, or `file:///folder` for locks on this machine |
//! | `LEASEHOLD_CONFIG` | the configuration file; an empty name reads none |
//! | `LEASEHOLD_USE` | which of the file's clusters is meant |
//! | `LEASEHOLD_MAX_TTL`, `LEASEHOLD_CLOCK_SKEW` | durations: `30s`, `500ms`, `1m30s` |
//! | `LEASEHOLD_RESTART_GUARD` | `quarantine`, `trust-aof` or `off` |
//! | `LEASEHOLD_NAMESPACE`, `LEASEHOLD_CLUSTER` | names |
//! | `LEASEHOLD_KEY_FORMAT` | `{}` stands for the resource's name |
//! | `LEASEHOLD_TOLERATE_FORGETFUL` | a number of servers |
//! | `LEASEHOLD_REPLICATED` | a number of replicas, with a time if wanted: `1` or `1,100ms` |
//! | `LEASEHOLD_ON_DISK` | disks: `server`, `1` for a replica's, `server+1,100ms` for both within a time |
//!
//! Which *servers* are meant is decided as a whole: where `LEASEHOLD_NODES` names them, no file is read. What all who use
//! them must agree on is taken from the variables first and from the file then. Where neither names any server, that is
//! an error, and never a store on this machine.
//!
//! # The file
//! One file, and no merging of several: what holds must be seen in one place. Without `LEASEHOLD_CONFIG` it is the first
//! that is there of `$XDG_CONFIG_HOME/leasehold/leasehold.toml` (or `~/.config/…`) and `/etc/leasehold/leasehold.toml`, and
//! *not* one in the working directory: a cron job and a shell would lock on different servers, and anyone who can write a
//! folder could choose the servers of all who work in it. `docs/COMMAND.md` of the repository shows one.

mod agreement;
mod duration;
mod environment;
mod nearest;
mod node_urls;
mod secret;
mod text;
mod trust;
mod waited;

pub use agreement::Agreement;
pub use duration::parse as parse_duration;
pub use node_urls::NodeUrls;
pub use waited::Waited;

use crate::{
    builder::ManagerBuilder,
    configuration::RestartGuard,
    error::{ConfigError, SettingsError},
    manager::LockManager,
};
use secret::Secrets;
use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
};

/// A configuration file that was read.
#[derive(Clone, Debug)]
pub struct Config {
    path: PathBuf,
    /// What is used unless another is asked for.
    default: Option<String>,
    clusters: Vec<Cluster>,
    /// Whether nobody may lock on this machine alone for want of nodes.
    require_nodes: bool,
    /// Whether a password stands in the file itself.
    has_password: bool,
    warnings: Vec<Warning>,
}

/// Servers, and what all agree on who use them, as a file has them under one name.
#[derive(Clone, Debug)]
pub struct Cluster {
    name: String,
    nodes: NodeUrls,
    secrets: Secrets,
    agreement: Agreement,
}

impl Config {
    /// Reads the file of this name; without one, the first that is there of the usual places. None if there is none, or
    /// if the name is empty.
    ///
    /// # Errors
    /// A [`SettingsError`] if it cannot be read, everybody can change it, or something in it is wrong.
    pub fn find(given: Option<&OsStr>) -> Result<Option<Self>, SettingsError> {
        Self::find_in(given, &|name: &str| env::var_os(name))
    }

    fn find_in(
        given: Option<&OsStr>,
        variable: &impl Fn(&str) -> Option<OsString>,
    ) -> Result<Option<Self>, SettingsError> {
        let found = match given {
            Some(path) if path.is_empty() => return Ok(None),
            Some(path) => Some(PathBuf::from(path)),
            None => places(variable).into_iter().find(|path| is_there(path)),
        };
        found.as_deref().map(Self::read).transpose()
    }

    /// What is meant by this name, which must be something.
    fn settings(&self, name: Option<&str>) -> Result<Settings, SettingsError> {
        match self.cluster(name)? {
            Some(cluster) => self.open(cluster),
            None => {
                let path = self.path.display();
                let text = format!("{path} has no [clusters.NAME], so it names no server");
                Err(wrong(text).hint(text::NODES))
            }
        }
    }

    /// Reads this file.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let text = fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
        let mut warnings = Vec::new();
        trust::check(path, &mut warnings)?;
        let mut config = text::parse(path, &text)?;
        if config.has_password {
            secret::warn_if_others_can_read(path, &mut warnings);
        }
        config.warnings = warnings;
        Ok(config)
    }

    /// The line of the file, if it says that nobody may lock on this machine alone for want of nodes.
    #[must_use]
    pub fn requires_nodes(&self) -> Option<String> {
        let name = format!("require_nodes in {}", self.path.display());
        self.require_nodes.then_some(name)
    }

    /// What is doubtful about the file, but no reason not to believe it.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The servers of this name; without one, those that are meant then. None if there are none at all.
    ///
    /// # Errors
    /// A [`SettingsError`] if there are several and it is not said which, or none of this name.
    pub fn cluster(&self, name: Option<&str>) -> Result<Option<&Cluster>, SettingsError> {
        let path = self.path.display();
        let (name, said) = match (name, &self.default, &self.clusters[..]) {
            (Some(name), ..) => (name, "was asked for"),
            (None, Some(name), _) => (name.as_str(), "default asks for"),
            (None, None, [only]) => return Ok(Some(only)),
            (None, None, []) => return Ok(None),
            (None, None, _) => {
                let text = format!("{path} names several clusters and none as the default");
                return Err(wrong(text).hint(format!(
                    "choose one of {}, by --use or LEASEHOLD_USE, or write default = \"…\" in the file",
                    self.names().join("|")
                )));
            }
        };
        let found = self.clusters.iter().find(|cluster| cluster.name == name);
        found.map(Some).ok_or_else(|| {
            let names = self.names();
            let hint = match (nearest::nearest(name, &names), &names[..]) {
                (Some(near), _) => format!("did you mean {near:?}?"),
                (None, []) => "it has no [clusters.NAME] at all".to_owned(),
                (None, names) => format!("it has {}", names.join(", ")),
            };
            wrong(format!("{path} has no cluster {name:?}, which {said}")).hint(hint)
        })
    }

    fn names(&self) -> Vec<&str> {
        self.clusters.iter().map(|cluster| &*cluster.name).collect()
    }

    /// The nodes of one of its clusters, with the passwords and addresses of the files that it names, and what is agreed
    /// about them.
    ///
    /// # Errors
    /// A [`SettingsError`] if one of these files cannot be read, or is wrong.
    pub fn open(&self, cluster: &Cluster) -> Result<Settings, SettingsError> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let mut warnings = self.warnings.clone();
        let nodes = cluster
            .secrets
            .open(folder, &cluster.nodes, &mut warnings)?;
        let origin = format!("[clusters.{}] of {}", cluster.name, self.path.display());
        let agreement = Agreement {
            origin: Some(origin),
            ..cluster.agreement.clone()
        };
        Ok(Settings {
            nodes,
            agreement,
            warnings,
        })
    }
}

/// Where to lock, and what all agree on who lock there.
///
/// # Examples
/// ```
/// use leasehold::config::Settings;
///
/// let settings = Settings::from_variables(|name| match name {
///     "LEASEHOLD_NODES" => Some("redis://db1,redis://db2,redis://db3".into()),
///     "LEASEHOLD_MAX_TTL" => Some("1m".into()),
///     _ => None,
/// })?;
/// let manager = settings.builder().build()?;
/// assert_eq!(manager.nodes().len(), 3);
/// # Ok::<(), leasehold::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The nodes.
    pub nodes: NodeUrls,
    /// What all who use them must agree on.
    pub agreement: Agreement,
    /// What is doubtful about the files, but no reason not to believe them: for the log.
    pub warnings: Vec<Warning>,
}

/// Something doubtful about a file, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// What is doubtful.
    pub text: String,
    /// What mends it.
    pub hint: Option<String>,
}

impl Settings {
    /// Reads the configuration file at `path`: the cluster of this name; without one, the file's default, or its only
    /// one. Reads no variables.
    ///
    /// # Errors
    /// A [`SettingsError`] that names the file and the line.
    pub fn from_file(path: impl AsRef<Path>, cluster: Option<&str>) -> Result<Self, SettingsError> {
        Config::read(path.as_ref())?.settings(cluster)
    }

    /// Options for a manager of these nodes. Opens the store if it is a folder that is named.
    pub fn builder(&self) -> ManagerBuilder {
        self.agreement.builder(&self.nodes)
    }
}

impl ManagerBuilder {
    /// Options from the variables and the file that the `leasehold` command reads: see [`config`](crate::config).
    ///
    /// # Errors
    /// [`ConfigError::Settings`], which names the variable, or the file and the line, and the way out: also if no server
    /// is named anywhere.
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Settings::from_env()?.builder())
    }

    /// Options from this configuration file: its default cluster, or its only one. For another see
    /// [`Settings::from_file`]. Reads no variables.
    ///
    /// # Errors
    /// [`ConfigError::Settings`], which names the file and the line, and the way out.
    pub fn from_config(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        Ok(Settings::from_file(path, None)?.builder())
    }
}

impl LockManager {
    /// A manager of the nodes that the variables and the configuration file of the `leasehold` command name: see
    /// [`config`](crate::config). Waits for the file system, and for no node.
    ///
    /// # Errors
    /// As [`ManagerBuilder::from_env`] and [`build`](ManagerBuilder::build).
    ///
    /// # Examples
    /// ```no_run
    /// use leasehold::LockManager;
    ///
    /// fn main() -> Result<(), leasehold::Error> {
    ///     let manager = LockManager::from_env()?.blocking();
    ///     let guard = manager.mutex("nightly")?.acquire()?;
    ///     assert!(guard.release().is_released());
    ///     Ok(())
    /// }
    /// ```
    pub fn from_env() -> Result<Self, ConfigError> {
        ManagerBuilder::from_env()?.build()
    }

    /// A manager of the nodes that this configuration file names; reads no variables.
    ///
    /// # Errors
    /// As [`ManagerBuilder::from_config`] and [`build`](ManagerBuilder::build).
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::LockManager;
    ///
    /// # let folder = std::env::temp_dir().join(format!("leasehold-from-config-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("locks.toml");
    /// std::fs::write(&path, "[clusters.main]\nnodes = ['redis://db1', 'redis://db2', 'redis://db3']\n")?;
    /// # use std::os::unix::fs::PermissionsExt;
    /// # std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    /// let manager = LockManager::from_config(&path)?;
    /// assert_eq!(manager.nodes().len(), 3);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_config(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        ManagerBuilder::from_config(path)?.build()
    }
}

/// The restart guard of this name.
fn guard(name: &str) -> Result<RestartGuard, String> {
    match name {
        "quarantine" => Ok(RestartGuard::Quarantine),
        "trust-aof" => Ok(RestartGuard::TrustAof),
        "off" => Ok(RestartGuard::Off),
        _ => Err(format!(
            "no restart guard is called {name:?}; known are quarantine, trust-aof and off"
        )),
    }
}

/// Where it may be, in order.
fn places(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    // The base directory specification: a relative path is to be ignored.
    let absolute = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let user = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    let mut places: Vec<_> = user
        .into_iter()
        .chain([PathBuf::from("/etc")])
        .map(|base| base.join("leasehold/leasehold.toml"))
        .collect();
    places.dedup();
    places
}

/// Whether there is something of this name: also what cannot be read, which must not be passed over in silence.
fn is_there(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(_) => true,
        Err(error) => !matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        ),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> SettingsError {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::InvalidData => "it is not text".to_owned(),
        _ => error.to_string(),
    };
    wrong(format!("cannot read {}: {why}", path.display()))
}

/// What is wrong is the user's to change.
fn wrong(text: String) -> SettingsError {
    SettingsError::new(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn the_users_file_comes_before_the_machines_and_the_working_directory_never() {
        let of = |variables: &[(&str, &str)]| {
            let variables: HashMap<_, _> = variables.iter().copied().collect();
            let places = places(|name| variables.get(name).map(OsString::from));
            let names = places.iter().map(|path| path.display().to_string());
            names.collect::<Vec<_>>()
        };
        let machine = "/etc/leasehold/leasehold.toml";
        assert_eq!(of(&[]), [machine]);
        assert_eq!(
            of(&[("HOME", "/h")]),
            ["/h/.config/leasehold/leasehold.toml", machine]
        );
        assert_eq!(
            of(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")]),
            ["/x/leasehold/leasehold.toml", machine]
        );
        assert_eq!(of(&[("HOME", "here"), ("XDG_CONFIG_HOME", ".")]), [machine]);
    }
}
