//! What the command line left open, from the configuration file: flags before variables before the file.
//!
//! Which *servers* are meant is decided as a whole, since the file's options are about the file's servers: whoever
//! names nodes by `--nodes` gets nothing from it, and whoever names a cluster by `--use` gets its nodes even where
//! `LEASEHOLD_NODES` names others. Two that are said in the same way contradict each other.

use crate::{args::Arguments, exit_code, failure::Failure, node_list::NodeList, output};
use clap::{ArgMatches, parser::ValueSource};
use leasehold::{SettingsError, config::Config};

/// Fills in where to lock.
pub(crate) fn settle(arguments: &mut Arguments, matches: &ArgMatches) -> Result<(), Failure> {
    let inner = matches.subcommand().map_or(matches, |(_, inner)| inner);
    let Some(place) = arguments.command.place() else {
        return not_about_servers(inner);
    };
    let matches = inner;
    let (nodes, cluster) = (Said::of(matches, "nodes"), Said::of(matches, "use"));
    if nodes != Said::Nowhere && nodes == cluster {
        return Err(twice("--nodes and --use"));
    }
    if nodes == Said::Flag && Said::of(matches, "config") == Said::Flag {
        return Err(twice("--nodes and --config"));
    }
    if nodes > cluster {
        if nodes == Said::Flag {
            warn_of_password("--nodes", place.nodes.as_ref());
        }
        return Ok(());
    }
    let name = arguments.file.cluster.as_deref();
    let Some(config) =
        Config::find(arguments.file.config.as_deref()).map_err(|error| wrong(&error))?
    else {
        return match name {
            None => Ok(()),
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
        .find(|(name, _)| Said::of(matches, name) == Said::Flag);
    said.map_or(Ok(()), |(_, flag)| {
        let text = format!("{flag} says nothing here: this command takes no servers from a file");
        Err(Failure::new(exit_code::USAGE, text))
    })
}

/// Where something was said; what is further down counts for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Said {
    Nowhere,
    Variable,
    Flag,
}

impl Said {
    fn of(matches: &ArgMatches, name: &str) -> Self {
        match matches.value_source(name) {
            Some(ValueSource::CommandLine) => Self::Flag,
            Some(ValueSource::EnvVariable) => Self::Variable,
            _ => Self::Nowhere,
        }
    }
}

fn twice(both: &str) -> Failure {
    let text = format!("{both} both say which servers are meant");
    Failure::new(exit_code::USAGE, text).hint("say one of them".to_owned())
}
