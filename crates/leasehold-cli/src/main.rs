//! The `leasehold` command: run a program while holding a lock.
//!
//! [`args`] says what can be asked for and touches nothing; the rooms below [`command`] do it. One run
//! goes [`nodes`] → [`patience`] → [`tenure`] ([`child`] and [`watch`], with a [`warden`] behind them) →
//! [`giving_back`], and ends in a code of [`exit_code`] or a [`failure`] that carries one.

mod agreement;
mod args;
mod child;
mod command;
mod duration;
mod exit_code;
mod failure;
mod folder;
mod giving_back;
mod hint;
mod label;
mod lock;
mod nesting;
mod node_list;
mod nodes;
mod output;
mod patience;
mod question;
mod signals;
mod tenure;
mod terminal;
mod told_lease;
mod upkeep;
mod usage_error;
mod waiting;
mod warden;
mod watch;

use args::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version come this way, too: they go to stdout, with 0.
            usage_error::tell(&error);
            let usage = error.use_stderr();
            return ExitCode::from(if usage {
                exit_code::USAGE
            } else {
                exit_code::SUCCESS
            });
        }
    };
    let end = match &arguments.command {
        Command::Run(arguments) => command::run::run(arguments),
        Command::Hold(arguments) => command::hold::run(arguments),
        Command::Acquire(arguments) => command::acquire::run(arguments),
        Command::Extend(arguments) => command::extend::run(arguments),
        Command::Release(arguments) => command::release::run(arguments),
        Command::Elect(arguments) => command::elect::run(arguments),
        Command::Admit(arguments) => command::admit::run(arguments),
        Command::Reconfigure(arguments) => command::reconfigure::run(arguments),
        Command::Servers(command) => command::servers::run(command),
        Command::Warden(arguments) => Ok(command::warden::run(arguments)),
    };
    ExitCode::from(end.unwrap_or_else(|failure| {
        failure.tell();
        failure.code
    }))
}
