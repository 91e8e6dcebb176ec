//! What the command understands. Parsing touches nothing: no file, no server, no clock.
//!
//! The arguments of each command have a room below; [`terms`] has what several of them ask for.

pub(crate) mod elect;
pub(crate) mod hold;
pub(crate) mod lock;
pub(crate) mod operator;
pub(crate) mod run;
pub(crate) mod servers;
mod terms;
pub(crate) mod warden;

use clap::{Parser, Subcommand};
use elect::ElectArguments;
use hold::{AcquireArguments, ExtendArguments, HoldArguments, ReleaseArguments};
use operator::{AdmitArguments, ReconfigureArguments};
use run::RunArguments;
use servers::ServersCommand;
use warden::WardenArguments;

/// Run a program while holding a lock.
///
/// The lock lives on Redis or Valkey servers that know nothing of each other, and is held by whoever
/// has most of them; or, with no servers given, in a file on this machine.
#[derive(Debug, Parser)]
#[command(name = "leasehold", version, disable_help_subcommand = true)]
pub(crate) struct Arguments {
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
    Admit(AdmitArguments),
    Reconfigure(ReconfigureArguments),
    #[command(subcommand)]
    Servers(ServersCommand),
    #[command(hide = true)]
    Warden(WardenArguments),
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
