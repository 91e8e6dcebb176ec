//! Chaos on real servers: processes that lock, a nemesis that kills, stops, restarts and cuts, and a check
//! that no two of them held the same resource at the same time.
//!
//! Each lawful scenario has a control in which one defence is off. There overlaps *must* be found: what
//! cannot fail proves nothing.
//!
//! From the ground up: `moment`, `draw` and `bell` are tools; a `client` (or a `reckless` one) writes a
//! `journal`, and writes to a `store`; the `checker` reads them all, and looks at the `tokens`. A `scenario` says what is on a `site`, where the `nemesis`
//! strikes the `worker`s and servers and keeps its `chronicle`; a `trial` is one scenario from start to
//! verdict, a `campaign` is all of them on each server, and the `report` tells it.

#![expect(
    clippy::print_stdout,
    reason = "the results are what the command is for"
)]
#![expect(
    clippy::print_stderr,
    reason = "a wrong command line is told where errors are"
)]

mod args;
mod bell;
mod campaign;
mod checker;
mod chronicle;
mod client;
mod cluster;
mod deposition;
mod draw;
mod forgetting;
mod group;
mod journal;
mod moment;
mod nemesis;
mod operating;
mod pair;
mod reckless;
mod replacing;
mod report;
mod scenario;
mod site;
mod store;
mod tokens;
mod trial;
mod worker;

use args::{Args, Part};
use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(Part::Client(orders)) = &args.part {
        return client::run(orders);
    }
    if args.list {
        print!("{}", report::list());
        return ExitCode::SUCCESS;
    }
    let tell = |why: &dyn std::fmt::Display| eprintln!("leasehold-chaos: {why}");
    match args.scenarios() {
        Err(wrong) => {
            tell(&wrong);
            ExitCode::from(2)
        }
        Ok(scenarios) => campaign::run(&args, &scenarios).unwrap_or_else(|why| {
            tell(&why);
            ExitCode::FAILURE
        }),
    }
}
