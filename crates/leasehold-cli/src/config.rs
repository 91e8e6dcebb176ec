//! The configuration file: where it is looked for, and which servers it names.
//!
//! One file, and no merging of several: what holds must be seen in one place. It is looked for where the user's and
//! then the machine's configuration is, and *not* in the working directory: a cron job and a shell would lock on
//! different servers, and whoever can write a folder could choose the servers of all who work in it.
//!
//! A [`Cluster`] is one thing: the nodes and what is agreed about them. So who names other nodes on the command line
//! gets nothing from the file; `settle` decides which of them it is.

pub(crate) mod nearest;
mod secret;
mod text;
mod trust;

use crate::{agreement::Agreement, exit_code, failure::Failure, node_list::NodeList};
use secret::Secrets;
use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

pub(crate) use secret::has_password;

/// A configuration file that was read.
#[derive(Debug)]
pub(crate) struct Config {
    path: PathBuf,
    /// What is used unless another is asked for.
    default: Option<String>,
    clusters: Vec<Cluster>,
    /// Whether nobody may lock on this machine alone for want of nodes.
    require_nodes: bool,
    /// Whether a password stands in the file itself.
    has_password: bool,
}

/// Servers, and what all agree on who use them.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    name: String,
    nodes: NodeList,
    secrets: Secrets,
    agreement: Agreement,
}

impl Config {
    /// Reads the file of this name; without one, the first that is there. None if there is none, or if the name is
    /// empty.
    pub(crate) fn find(given: Option<&OsString>) -> Result<Option<Self>, Failure> {
        let found = match given {
            Some(path) if path.is_empty() => return Ok(None),
            Some(path) => Some(PathBuf::from(path)),
            None => places(|name| env::var_os(name))
                .into_iter()
                .find(|path| is_there(path)),
        };
        found.as_deref().map(Self::read).transpose()
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
        trust::check(path)?;
        let config = text::parse(path, &text)?;
        if config.has_password {
            secret::warn_if_others_can_read(path);
        }
        Ok(config)
    }

    /// The servers of this name; without one, those that are meant then. None if there are none at all.
    pub(crate) fn cluster(&self, name: Option<&str>) -> Result<Option<&Cluster>, Failure> {
        let path = self.path.display();
        let (name, said) = match (name, &self.default, &self.clusters[..]) {
            (Some(name), ..) => (name, "--use"),
            (None, Some(name), _) => (name.as_str(), "default"),
            (None, None, [only]) => return Ok(Some(only)),
            (None, None, []) => return Ok(None),
            (None, None, _) => {
                let text = format!("{path} names several clusters and none as the default");
                return Err(wrong(text).hint(format!(
                    "--use {}, or default = \"…\" in the file",
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
            wrong(format!(
                "{path} has no cluster {name:?}, which {said} asks for"
            ))
            .hint(hint)
        })
    }

    /// The file, if it says that nobody may lock on this machine alone.
    pub(crate) fn requires_nodes(&self) -> Option<String> {
        let name = format!("require_nodes in {}", self.path.display());
        self.require_nodes.then_some(name)
    }

    fn names(&self) -> Vec<&str> {
        self.clusters.iter().map(|cluster| &*cluster.name).collect()
    }

    /// The nodes of one of its clusters, with passwords, and what is agreed about them.
    pub(crate) fn open(&self, cluster: &Cluster) -> Result<(NodeList, Agreement), Failure> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let nodes = cluster.secrets.open(folder, &cluster.nodes)?;
        let origin = format!("[clusters.{}] of {}", cluster.name, self.path.display());
        let agreement = Agreement {
            origin: Some(origin),
            ..cluster.agreement.clone()
        };
        Ok((nodes, agreement))
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

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::InvalidData => "it is not text".to_owned(),
        _ => error.to_string(),
    };
    wrong(format!("cannot read {}: {why}", path.display()))
}

/// What is wrong is the user's to change.
fn wrong(text: String) -> Failure {
    Failure::new(exit_code::USAGE, text)
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
