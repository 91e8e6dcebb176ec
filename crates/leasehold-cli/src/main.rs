//! The `leasehold` command: run a program while holding a lock.
//!
//! [`args`] says what can be asked for and touches nothing; the rooms below [`command`] do it. One run
//! goes [`nodes`] → [`wait`] → [`supervised_run`] ([`child`] and [`watch`], with a [`watchdog`] behind them) →
//! [`giving_back`], and ends in an [`exit`] or a [`failure`] that carries a code of [`exit_code`].

mod agreement;
mod args;
mod child;
mod clock_steps;
mod columns;
mod command;
mod departure;
mod diagnosis;
mod difference;
mod duration;
mod exit;
mod exit_code;
mod failure;
mod folder;
mod giving_back;
mod held_lease;
mod hint;
mod hold_policy;
mod json;
mod judgement;
mod launch;
mod lock;
mod lock_view;
mod manager;
mod manual_page;
mod moment;
mod nesting;
mod node_list;
mod nodes;
mod output;
mod peer;
mod picture;
#[cfg(test)]
mod pictures_in_docs;
mod question;
mod readers;
mod resolve;
mod sight;
mod signals;
mod supervised_run;
mod terminal;
mod told_lease;
mod unheard;
mod usable;
mod usage_error;
mod variables;
mod wait;
mod waiting;
mod watch;
mod watchdog;
mod whose;

use args::{Arguments, Command};
use exit::Exit;
use failure::Failure;
use std::{env, ffi::OsString, process::ExitCode};

fn main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().collect();
    if let Some(end) = launch::asked_for(&words) {
        return ended(end.map(Exit::Code));
    }
    let (mut arguments, matches) = match Arguments::read(&words) {
        Ok(parsed) => parsed,
        Err(error) => {
            // Help and version come this way, too: they go to stdout, with 0.
            let code = match error.use_stderr() {
                true => exit_code::USAGE,
                false => exit_code::SUCCESS,
            };
            return ended(usage_error::tell(error, &words).map(|()| Exit::Code(code)));
        }
    };
    if arguments.command.is_quiet() {
        output::be_quiet();
    }
    let settled = resolve::resolve(&mut arguments, &matches);
    ended(settled.and_then(|()| run(&arguments.command)))
}

/// Does what was asked for, and tells how to end.
fn run(command: &Command) -> Result<Exit, Failure> {
    let code = match command {
        Command::Run(arguments) => return command::run::run(arguments),
        Command::Hold(arguments) => return command::hold::run(arguments),
        Command::Acquire(arguments) => return command::acquire::run(arguments),
        Command::Elect(arguments) => return command::elect::run(arguments),
        Command::Extend(arguments) => command::extend::run(arguments),
        Command::Release(arguments) => command::release::run(arguments),
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
        Command::Man(arguments) => command::completions::man(arguments),
        Command::Watchdog(arguments) => Ok(command::watchdog::run(arguments)),
    };
    code.map(Exit::Code)
}

/// The end of the process, with what there is to say of a failure.
fn ended(end: Result<Exit, Failure>) -> ExitCode {
    let exit = end.unwrap_or_else(|failure| {
        failure.tell();
        Exit::Code(failure.code)
    });
    output::finish();
    ExitCode::from(exit.or_die())
}
