//! What the command line left open, from the configuration file: flags before variables before the file.
//!
//! Which *servers* are meant is decided as a whole, since the file's options are about the file's servers: a user who
//! names nodes by `--nodes` gets nothing from it, and one who names a cluster by `--use` gets its nodes even where
//! `LEASEHOLD_NODES` names others. Two that are said in the same way contradict each other.

use crate::{
    args::{Arguments, nodes::NodesArguments},
    exit_code,
    failure::Failure,
    folder,
    node_list::NodeList,
    output, variables,
};
use clap::{ArgMatches, parser::ValueSource};
use leasehold::{SettingsError, config::Config};
use std::{env, ffi::OsStr};

/// Fills in where to lock.
pub(crate) fn resolve(arguments: &mut Arguments, matches: &ArgMatches) -> Result<(), Failure> {
    let inner = matches.subcommand().map_or(matches, |(_, inner)| inner);
    let Some(place) = arguments.command.place() else {
        return not_about_servers(inner);
    };
    variables::check(env::vars_os().map(|(name, _)| name))?;
    let matches = inner;
    let (nodes, cluster) = (Given::of(matches, "nodes"), Given::of(matches, "use"));
    not_twice(arguments.file.config.as_deref(), place.local, matches)?;
    if nodes > cluster && !place.local {
        if nodes == Given::Flag {
            warn_of_password("--nodes", place.nodes.as_ref());
        }
        return Ok(());
    }
    let name = arguments.file.cluster.as_deref();
    let config = Config::find(arguments.file.config.as_deref()).map_err(|error| wrong(&error))?;
    let of_file = config.as_ref().and_then(Config::requires_nodes);
    let required = match Given::of(matches, "require_nodes") {
        _ if !place.require_nodes => of_file,
        Given::Flag => Some("--require-nodes".to_owned()),
        _ => Some("LEASEHOLD_REQUIRE_NODES".to_owned()),
    };
    if place.local {
        place.nodes = Some(on_this_machine(required.as_deref())?);
        return Ok(());
    }
    let Some(config) = config else {
        return match name {
            None => not_refused(place.nodes.as_ref(), required.as_deref()),
            Some(name) => Err(Failure::new(
                exit_code::USAGE,
                format!("no configuration file to find the cluster {name:?} in"),
            )
            .hint(
                "--config FILE, or LEASEHOLD_CONFIG, or ~/.config/leasehold/leasehold.toml"
                    .to_owned(),
            )),
        };
    };
    take(place, &config, name)?;
    not_refused(place.nodes.as_ref(), required.as_deref())
}

/// Refuses to choose between servers that are named in two ways of which neither counts for more.
fn not_twice(file: Option<&OsStr>, is_local: bool, matches: &ArgMatches) -> Result<(), Failure> {
    let (nodes, cluster) = (Given::of(matches, "nodes"), Given::of(matches, "use"));
    // An empty name reads no file.
    let has_file = file.is_some_and(|name| !name.is_empty());
    let has_file = has_file && Given::of(matches, "config") == Given::Flag;
    match (nodes, cluster) {
        (Given::Flag, Given::Flag) => Err(twice("--nodes and --use")),
        (Given::Variable, Given::Variable) => {
            let failure = twice("LEASEHOLD_NODES and LEASEHOLD_USE");
            Err(failure.hint("unset one of them".to_owned()))
        }
        (Given::Flag, _) if has_file => Err(twice("--nodes and --config")),
        (Given::Flag, _) if is_local => Err(twice("--local and --nodes")),
        (_, Given::Flag) if is_local => Err(twice("--local and --use")),
        (Given::Variable, Given::Nowhere) if has_file && !is_local => {
            let failure = twice("LEASEHOLD_NODES and --config");
            Err(failure.hint(OF_THE_FILE.to_owned()))
        }
        _ => Ok(()),
    }
}

/// Takes what the file says, and tells what is doubtful about it.
fn take(place: &mut NodesArguments, config: &Config, name: Option<&str>) -> Result<(), Failure> {
    let settings = config.cluster(name).map_err(|error| wrong(&error))?;
    let settings = settings.map(|cluster| config.open(cluster)).transpose();
    let settings = settings.map_err(|error| wrong(&error))?;
    let warnings = match &settings {
        Some(settings) => &settings.warnings,
        None => config.warnings(),
    };
    for warning in warnings {
        output::talk(format_args!("warning: {}", warning.text));
        if let Some(hint) = &warning.hint {
            output::hint(hint);
        }
    }
    if let Some(settings) = settings {
        place.nodes = Some(settings.nodes);
        place.agreement = place.agreement.clone().or(settings.agreement);
    }
    Ok(())
}

/// This user's file, which is wanted.
fn on_this_machine(required: Option<&str>) -> Result<NodeList, Failure> {
    if let Some(required) = required {
        let text = format!("--local and {required} contradict each other");
        return Err(Failure::new(exit_code::USAGE, text).hint("use one of them".to_owned()));
    }
    let folder = folder::of_user()?;
    let name = folder.to_str().ok_or_else(|| {
        let text = format!("the name of {} is not UTF-8", folder.display());
        Failure::own(text).hint("set XDG_STATE_HOME to another folder".to_owned())
    })?;
    NodeList::parse(&format!("file://{name}")).map_err(Failure::own)
}

/// An address that was forgotten must not let every machine lock for itself.
fn not_refused(nodes: Option<&NodeList>, required: Option<&str>) -> Result<(), Failure> {
    match (nodes, required) {
        (None, Some(required)) => {
            let text =
                format!("no nodes given, and {required} refuses to lock on this machine only");
            let hint = "name them by --nodes, LEASEHOLD_NODES or a configuration file";
            Err(Failure::new(exit_code::USAGE, text).hint(hint.to_owned()))
        }
        _ => Ok(()),
    }
}

/// What is wrong with the file is the user's to change.
fn wrong(error: &SettingsError) -> Failure {
    let way_out = error.way_out().map(str::to_owned);
    Failure::new(exit_code::USAGE, error.what()).hint(way_out)
}

/// Says so, and goes on: the job that has it in its crontab must not stop for it.
pub(crate) fn warn_of_password(flag: &str, nodes: Option<&NodeList>) {
    if nodes.is_some_and(NodeList::has_password) {
        output::talk(format_args!(
            "warning: everybody on this machine can read the password in {flag}, in the list of processes"
        ));
        output::hint(
            "LEASEHOLD_NODES is not shown there; nor is a configuration file, with nodes_file or password_file",
        );
    }
}

/// What is ignored must not look as if it had been heard.
fn not_about_servers(matches: &ArgMatches) -> Result<(), Failure> {
    let flags = [("use", "--use"), ("config", "--config")];
    let said = flags
        .iter()
        .find(|(name, _)| Given::of(matches, name) == Given::Flag);
    said.map_or(Ok(()), |(_, flag)| {
        let text = format!("{flag} says nothing here: this command takes no servers from a file");
        Err(Failure::new(exit_code::USAGE, text))
    })
}

/// Where something was said; what is further down counts for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Given {
    Nowhere,
    Variable,
    Flag,
}

impl Given {
    fn of(matches: &ArgMatches, name: &str) -> Self {
        match matches.value_source(name) {
            Some(ValueSource::CommandLine) => Self::Flag,
            Some(ValueSource::EnvVariable) => Self::Variable,
            _ => Self::Nowhere,
        }
    }
}

const OF_THE_FILE: &str = "unset LEASEHOLD_NODES, or choose servers of the file by --use NAME";

fn twice(both: &str) -> Failure {
    let text = format!("{both} both say which servers are meant");
    Failure::new(exit_code::USAGE, text).hint("use one of them".to_owned())
}
