//! What the command understands. Parsing touches nothing: no file, no server, no clock.
//!
//! The arguments of each command have a room below; [`terms`] has what several of them ask for.

pub(crate) mod elect;
pub(crate) mod hold;
pub(crate) mod lock;
pub(crate) mod operator;
pub(crate) mod place;
pub(crate) mod run;
pub(crate) mod servers;
mod terms;
pub(crate) mod views;
pub(crate) mod warden;

use clap::{Parser, Subcommand};
use elect::ElectArguments;
use hold::{AcquireArguments, ExtendArguments, HoldArguments, ReleaseArguments};
use operator::{AdmitArguments, ReconfigureArguments};
use place::Place;
use run::RunArguments;
use servers::ServersCommand;
use std::ffi::OsString;
use views::{
    BenchArguments, CompletionsArguments, DoctorArguments, ForceReleaseArguments, ListArguments,
    StatusArguments, WaitArguments, WatchArguments,
};
use warden::WardenArguments;

/// Run a program while holding a lock.
///
/// The lock lives on Redis or Valkey servers that know nothing of each other, and is held by whoever
/// has most of them; or, with no servers given, in a file on this machine.
#[derive(Debug, Parser)]
#[command(name = "leasehold", version, disable_help_subcommand = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
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
    /// the only ones]
    #[arg(
        id = "use",
        long = "use",
        global = true,
        value_name = "NAME",
        env = "LEASEHOLD_USE",
        help_heading = "Configuration file"
    )]
    pub(crate) cluster: Option<String>,

    #[command(subcommand)]
    pub(crate) command: Command,
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
    /// Print the page of the manual: `leasehold man | man -l -`
    Man,
    #[command(hide = true)]
    Warden(WardenArguments),
}

const EXAMPLES: &str = "\
Examples:
    leasehold run deploy -- make deploy    run under the lock, among your programs on this machine
    leasehold status deploy                who holds it?
    leasehold doctor                       are the nodes well?

With five servers for a try:
    export LEASEHOLD_NODES=\"$(leasehold servers start -n 5)\"

Every command has a --help with examples and exit codes.";

impl Command {
    /// Where it locks or looks, for the configuration file to fill in. None for what is not about such a place.
    pub(crate) fn place(&mut self) -> Option<&mut Place> {
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
            Self::Servers(_) | Self::Completions(_) | Self::Man | Self::Warden(_) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }
}
