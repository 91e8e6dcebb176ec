//! The `leasehold` command: run a program while holding a lock.
//!
//! [`args`] says what can be asked for and touches nothing; the rooms below [`command`] do it. One run
//! goes [`nodes`] → [`patience`] → [`tenure`] ([`child`] and [`watch`], with a [`warden`] behind them) →
//! [`giving_back`], and ends in a code of [`exit_code`] or a [`failure`] that carries one.

mod agreement;
mod args;
mod child;
mod clock_steps;
mod columns;
mod command;
mod diagnosis;
mod duration;
mod exit_code;
mod failure;
mod folder;
mod giving_back;
mod hint;
mod json;
mod judgement;
mod launch;
mod lock;
mod lock_view;
mod moment;
mod nesting;
mod node_list;
mod nodes;
mod output;
mod patience;
mod picture;
#[cfg(test)]
mod pictures_in_docs;
mod question;
mod settle;
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
use failure::Failure;
use std::{env, ffi::OsString, process::ExitCode};

fn main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().collect();
    if let Some(end) = launch::asked_for(&words) {
        return ended(end);
    }
    let (mut arguments, matches) = match Arguments::read(&words) {
        Ok(parsed) => parsed,
        Err(error) => {
            // Help and version come this way, too: they go to stdout, with 0.
            let told = usage_error::tell(&error).map(|()| match error.use_stderr() {
                true => exit_code::USAGE,
                false => exit_code::SUCCESS,
            });
            return ended(told);
        }
    };
    let settled = settle::settle(&mut arguments, &matches);
    let end = settled.and_then(|()| match &arguments.command {
        Command::Run(arguments) => command::run::run(arguments),
        Command::Hold(arguments) => command::hold::run(arguments),
        Command::Acquire(arguments) => command::acquire::run(arguments),
        Command::Extend(arguments) => command::extend::run(arguments),
        Command::Release(arguments) => command::release::run(arguments),
        Command::Elect(arguments) => command::elect::run(arguments),
        Command::Admit(arguments) => command::admit::run(arguments),
        Command::Reconfigure(arguments) => command::reconfigure::run(arguments),
        Command::Servers(command) => command::servers::run(command),
        Command::Status(arguments) => command::status::run(arguments),
        Command::List(arguments) => command::list::run(arguments),
        Command::Wait(arguments) => command::wait::run(arguments),
        Command::Watch(arguments) => command::watch::run(arguments),
        Command::Doctor(arguments) => command::doctor::run(arguments),
        Command::Bench(arguments) => command::bench::run(arguments),
        Command::ForceRelease(arguments) => command::force_release::run(arguments),
        Command::Completions(arguments) => command::completions::run(arguments.shell),
        Command::Man => command::completions::man(),
        Command::Warden(arguments) => Ok(command::warden::run(arguments)),
    });
    ended(end)
}

/// The end of the process, with what there is to say of a failure.
fn ended(end: Result<u8, Failure>) -> ExitCode {
    let code = end.unwrap_or_else(|failure| {
        failure.tell();
        failure.code
    });
    output::finish();
    ExitCode::from(code)
}
