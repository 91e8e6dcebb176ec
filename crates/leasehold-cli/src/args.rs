//! What the command understands. Parsing touches nothing: no file, no server, no clock.
//!
//! The arguments of each command have a room below; [`values`] has what several of them ask for.

pub(crate) mod elect;
pub(crate) mod hold;
pub(crate) mod lock;
pub(crate) mod names;
pub(crate) mod nodes;
pub(crate) mod operator;
pub(crate) mod run;
pub(crate) mod servers;
mod values;
pub(crate) mod views;
pub(crate) mod watchdog;

use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use elect::ElectArguments;
use hold::{AcquireArguments, ExtendArguments, HoldArguments, ReleaseArguments};
use nodes::NodesArguments;
use operator::{AdmitArguments, ReconfigureArguments};
use run::RunArguments;
use servers::ServersCommand;
use std::ffi::OsString;
use views::{
    BenchArguments, CompletionsArguments, DoctorArguments, ForceReleaseArguments, ListArguments,
    ManArguments, StatusArguments, WaitArguments, WatchArguments,
};
use watchdog::WatchdogArguments;

/// Run a program while holding a lock.
///
/// The lock is on independent Redis or Valkey servers, and is held by the process that has a majority of them. Without
/// servers, it is in a file on this machine.
#[derive(Debug, Parser)]
#[command(name = "leasehold", version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What in the configuration file is meant, and which one.
#[derive(Debug, Args)]
pub(crate) struct FileArguments {
    /// The configuration file to read; an empty name reads none [default: the first of
    /// $XDG_CONFIG_HOME/leasehold/leasehold.toml, ~/.config/leasehold/leasehold.toml,
    /// /etc/leasehold/leasehold.toml that is there]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "LEASEHOLD_CONFIG",
        help_heading = "Configuration file"
    )]
    pub(crate) config: Option<OsString>,

    /// Use the servers that the configuration file has as [clusters.NAME] [default: its `default`, or
    /// the only one there is]
    #[arg(
        id = "use",
        long = "use",
        global = true,
        value_name = "NAME",
        env = "LEASEHOLD_USE",
        help_heading = "Configuration file"
    )]
    pub(crate) cluster: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(RunArguments),
    Hold(HoldArguments),
    Acquire(AcquireArguments),
    Extend(ExtendArguments),
    Release(ReleaseArguments),
    Elect(ElectArguments),
    Status(StatusArguments),
    List(ListArguments),
    Wait(WaitArguments),
    Watch(WatchArguments),
    Doctor(DoctorArguments),
    Bench(BenchArguments),
    ForceRelease(ForceReleaseArguments),
    Admit(AdmitArguments),
    Reconfigure(ReconfigureArguments),
    #[command(subcommand)]
    Servers(ServersCommand),
    Completions(CompletionsArguments),
    Man(ManArguments),
    #[command(hide = true)]
    Watchdog(WatchdogArguments),
}

/// `leasehold run` and nothing else: what cron and scripts say again and again, without the description of all other
/// commands, which takes longer than reading the line does.
#[derive(Debug, Parser)]
#[command(name = "leasehold", disable_help_subcommand = true)]
struct Hurried {
    #[command(flatten)]
    file: FileArguments,

    #[command(subcommand)]
    command: HurriedCommand,
}

#[derive(Debug, Subcommand)]
enum HurriedCommand {
    Run(RunArguments),
}

impl Arguments {
    /// Reads a line of words, the first of which is the program's name.
    ///
    /// # Errors
    /// With what is to be told the user, which need not be about a mistake: help comes this way, too.
    pub(crate) fn read(words: &[OsString]) -> Result<(Self, ArgMatches), clap::Error> {
        // Whatever is odd, or asks for help, is read again by those who can say all about it.
        if words.get(1).is_some_and(|word| word == "run")
            && let Ok((hurried, matches)) = parse::<Hurried>(words)
        {
            let Hurried { file, command } = hurried;
            let HurriedCommand::Run(run) = command;
            let command = Command::Run(run);
            return Ok((Self { file, command }, matches));
        }
        parse(words)
    }
}

fn parse<T: CommandFactory + FromArgMatches>(
    words: &[OsString],
) -> Result<(T, ArgMatches), clap::Error> {
    let matches = T::command().try_get_matches_from(words)?;
    Ok((T::from_arg_matches(&matches)?, matches))
}

const EXAMPLES: &str = "\
Examples:
    leasehold run deploy -- make deploy    run under the lock, among your programs on this machine
    leasehold status deploy                who holds it?
    leasehold doctor                       do the nodes work?

With five servers to try it out:
    export LEASEHOLD_NODES=\"$(leasehold servers start -n 5)\"

Every command has a --help with examples and exit codes.";

impl Command {
    /// Whether the user is to be told of nothing but errors.
    pub(crate) fn is_quiet(&self) -> bool {
        match self {
            Self::Run(run) => run.lock.quiet,
            Self::Hold(hold) => hold.lock.quiet,
            Self::Acquire(acquire) => acquire.lock.quiet,
            Self::Elect(elect) => elect.lock.quiet,
            Self::Wait(wait) => wait.quiet,
            _ => false,
        }
    }

    /// Where it locks or looks, for the configuration file to fill in. None for what is not about such a place.
    pub(crate) fn place(&mut self) -> Option<&mut NodesArguments> {
        Some(match self {
            Self::Run(run) => &mut run.lock.place,
            Self::Hold(hold) => &mut hold.lock.place,
            Self::Acquire(acquire) => &mut acquire.lock.place,
            Self::Extend(extend) => &mut extend.held.place,
            Self::Release(release) => &mut release.held.place,
            Self::Elect(elect) => &mut elect.lock.place,
            Self::Admit(admit) => &mut admit.place,
            Self::Reconfigure(change) => &mut change.place,
            Self::Status(status) => &mut status.place,
            Self::List(list) => &mut list.place,
            Self::Wait(wait) => &mut wait.place,
            Self::Watch(watch) => &mut watch.place,
            Self::Doctor(doctor) => &mut doctor.place,
            Self::Bench(bench) => &mut bench.place,
            Self::ForceRelease(release) => &mut release.place,
            Self::Servers(_) | Self::Completions(_) | Self::Man(_) | Self::Watchdog(_) => {
                return None;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
        Hurried::command().debug_assert();
    }

    #[test]
    fn a_hurried_reader_understands_a_run_as_the_patient_one_does() {
        let all = "run --config c --use u -n -E 7 --ttl 9s --nodes redis://a,redis://b --on-loss kill --max-ttl 20s \
                   --label l -v r -- make -j 2 --use x";
        for (line, is_run) in [
            ("run r -- true", true),
            ("run -w 3s r --min-hold 2s -- env -n", true),
            (all, true),
            ("run r -- ", false),
            ("run --help", false),
            ("run --version r -- true", false),
            ("run -n -w 3s r -- true", false),
            ("run --ttl never r -- true", false),
            ("runs r -- true", false),
        ] {
            let words = ["leasehold"].into_iter().chain(line.split_whitespace());
            let words: Vec<OsString> = words.map(OsString::from).collect();
            let said = |read: Result<(Arguments, ArgMatches), clap::Error>| match read {
                Ok((arguments, matches)) => Ok(format!("{arguments:?} {:?}", matches.subcommand())),
                Err(error) => Err(error.render().to_string()),
            };
            let patient = said(parse::<Arguments>(&words));
            assert_eq!(patient.is_ok(), is_run, "{line}: {patient:?}");
            assert_eq!(said(Arguments::read(&words)), patient, "{line}");
        }
    }
}
