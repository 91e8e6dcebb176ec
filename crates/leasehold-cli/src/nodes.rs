//! Where the lock lives: on servers, or on this machine alone.

use crate::{
    agreement::Agreement, departure, duration::Shown, exit_code, failure::Failure, folder,
    manager::Manager, node_list::NodeList, output,
};
use leasehold::{
    ConfigError, Inspection, Key, LockManager, ManagerBuilder, NodeKey, operate::Operator,
};
use std::path::{Path, PathBuf};

/// The nodes of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Nodes {
    /// Servers at these addresses.
    Servers(NodeList),
    /// The file store in this folder.
    ThisMachine(Folder),
}

/// A folder, and whether anybody has asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folder {
    path: PathBuf,
    is_named: bool,
}

impl Nodes {
    /// The nodes that were given; without any, this user's folder.
    pub(crate) fn choose(given: Option<&NodeList>) -> Result<Self, Failure> {
        Ok(match given {
            None => Self::ThisMachine(Folder {
                path: folder::of_user()?,
                is_named: false,
            }),
            Some(list) => list.folder().map_or_else(
                || Self::Servers(list.clone()),
                |folder| {
                    Self::ThisMachine(Folder {
                        path: folder.to_owned(),
                        is_named: true,
                    })
                },
            ),
        })
    }

    /// The folder of the file store, if it is one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Servers(_) => None,
            Self::ThisMachine(folder) => Some(&folder.path),
        }
    }

    /// For those who only look, at all of these nodes. Waits for the file system, not for the network.
    pub(crate) fn to_look_at(&self, agreement: &Agreement) -> Result<ManagerBuilder, Failure> {
        match self {
            Self::Servers(_) => Ok(self.quiet_builder(agreement)),
            Self::ThisMachine(folder) => {
                folder::prepare(&folder.path)?;
                if !folder.is_named {
                    let shown = folder.path.display();
                    output::talk(format_args!(
                        "no nodes given: looking at this machine only, in {shown}"
                    ));
                }
                Ok(self.quiet_builder(agreement))
            }
        }
    }

    /// As [`to_look_at`](Self::to_look_at), which was called before and has said what is to be said.
    pub(crate) fn quiet_builder(&self, agreement: &Agreement) -> ManagerBuilder {
        match self {
            Self::Servers(list) => agreement.builder(list),
            Self::ThisMachine(folder) => LockManager::builder().file(&folder.path),
        }
    }

    /// A manager that looks at all locks on these nodes, whose own are of the kind that the nodes can have. Says nothing to any of
    /// them.
    pub(crate) fn onlooker(&self, agreement: &Agreement) -> Result<Manager, Failure> {
        let builder = self.to_look_at(agreement)?;
        let manager = match builder.clone().build() {
            Err(ConfigError::FencedCluster { .. }) => builder.build_plain().map(Manager::Plain),
            fenced => fenced.map(Manager::Fenced),
        };
        manager.map_err(|error| self.wrong(&error))
    }

    /// What was seen, and of what is no lock also the type, which only a second look tells.
    pub(crate) async fn look_closer(
        &self,
        agreement: &Agreement,
        seen: Inspection,
    ) -> Result<Inspection, Failure> {
        let is_other = |node: &NodeKey| matches!(node.key, Key::Foreign { .. });
        if !seen.nodes().iter().any(is_other) {
            return Ok(seen);
        }
        let operator = self.operator(agreement)?;
        let look = operator.look(seen.resource().as_str()).await;
        look.map_err(|error| self.wrong(&error))
    }

    /// For those who ask the nodes themselves, quietly too.
    pub(crate) fn operator(&self, agreement: &Agreement) -> Result<Operator, Failure> {
        let operator = self.quiet_builder(agreement).operator();
        operator.map_err(|error| self.wrong(&error))
    }

    /// What is wrong with them, for those who look.
    pub(crate) fn wrong(&self, error: &ConfigError) -> Failure {
        match self {
            Self::Servers(_) => misused(error),
            Self::ThisMachine(_) => Failure::own(format!("cannot {error}")),
        }
    }

    /// A manager of locks on these nodes. Waits for the file system, not for the network.
    pub(crate) fn manager(&self, agreement: &Agreement) -> Result<LockManager, Failure> {
        match self {
            Self::Servers(list) => agreement
                .builder(list)
                .observer(departure::note)
                .build()
                .map_err(|error| misused(&error)),
            Self::ThisMachine(folder) => {
                folder::prepare(&folder.path)?;
                let shown = folder.path.display();
                // A lock that excludes fewer than its user believes is worse than none. Who named the folder knows.
                if !folder.is_named {
                    output::talk(format_args!(
                        "no nodes given: locking on this machine only, in {shown}"
                    ));
                    output::hint("--local says that this is meant");
                }
                // Not as it is shown: where that differs, it is another folder, and unchecked.
                LockManager::builder()
                    .file(&folder.path)
                    .build()
                    .map_err(|error| Failure::own(format!("cannot use {shown}: {error}")))
            }
        }
    }
}

impl Nodes {
    /// A manager of plain locks on these servers. Says nothing to any of them.
    pub(crate) fn plain_manager(&self, agreement: &Agreement) -> Result<Manager, Failure> {
        let Self::Servers(list) = self else {
            let text = "--plain is for servers: no nodes given";
            let hint = "name them by --nodes, LEASEHOLD_NODES or a configuration file; on this machine alone, leave --plain out";
            return Err(Failure::new(exit_code::USAGE, text).hint(hint.to_owned()));
        };
        let builder = agreement.builder(list).observer(departure::note);
        let manager = builder.build_plain().map_err(|error| misused(&error))?;
        Ok(Manager::Plain(manager))
    }
}

/// The servers that were given, for what is about servers alone.
pub(crate) fn servers(given: Option<&NodeList>) -> Result<&NodeList, Failure> {
    let hint = "name them by --nodes, LEASEHOLD_NODES or a configuration file";
    let missing = match given {
        Some(list) if list.folder().is_none() => return Ok(list),
        Some(_) => "this is for servers; a file on this machine has no past that it could forget",
        None => "no servers given",
    };
    Err(Failure::new(exit_code::USAGE, missing).hint(hint.to_owned()))
}

/// What is wrong with what the user gave.
pub(crate) fn misused(error: &ConfigError) -> Failure {
    let code = match error {
        ConfigError::Thread(_) => exit_code::FAILED,
        _ => exit_code::USAGE,
    };
    let failure = Failure::new(code, of_options(error));
    match error {
        ConfigError::FencedCluster { .. } => failure.hint(PLAIN_ALONE.to_owned()),
        _ => failure,
    }
}

/// The same in the words of the command line, where the library's are those of its builders.
fn of_options(error: &ConfigError) -> String {
    match error {
        ConfigError::Holds { least, most } => {
            let (least, most) = (Shown(*least), Shown(*most));
            format!("a --min-hold of {least} is longer than the --max-hold of {most}")
        }
        ConfigError::Forgetful { nodes, forgetful } => format!(
            "--tolerate-forgetful {forgetful} needs more servers than {nodes}: any two quorums must have more than \
             {forgetful} in common"
        ),
        ConfigError::UnfairTogether => error.to_string().replace("`fair`", "--fair"),
        error => error.to_string(),
    }
}

const PLAIN_ALONE: &str = "on a Redis Cluster there are `run --plain` and `hold --plain`, `status`, `list`, `wait`, `force-release`, `doctor` and \
                           `watch`; for all else name single masters, redis://db1,redis://db2,redis://db3";
