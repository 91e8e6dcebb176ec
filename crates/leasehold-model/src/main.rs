//! Every course that a few clients and nodes can take.
//!
//! The production engine and the production table, driven by a checker that tries every order in which
//! requests, answers, timers, wishes and faults can come, up to a horizon of a few ticks. What the simulator
//! finds by chance in large worlds, this finds for certain in small ones.
//!
//! Exhaustive within bounds:
//! * Each shape states its attempts, ticks and faults. Faults come one kind at a time, except in
//!   `hung-large`.
//! * One resource, the same timing for all, fixed pauses; owners are the model's, in words for people.
//! * At most one link is slow (two in `lone`): only there do request and answer travel apart, over any
//!   time. On the others a request is carried out and answered in one step, in any order with everything
//!   else, within its tick.
//! * In most shapes a release for which nothing is in the way is carried out at once. `turns`, `busy`,
//!   `changes`, `lone`, `breaks` and `disorder` let releases wait for their turn.
//! * Clients' clocks run alike; nodes' clocks run true, or as fast as the allowance permits. Slow ones only
//!   help the holder.
//! * When a course is at its end, all let go, and one way from there is taken, not all.
//! * Worlds are told apart by hashes of 64 bits: that among ten million one is taken for another has a
//!   chance of a few in a million.
//!
//! From the ground up: `clock`, `part`, `story`, `news` and `flaw` are words; a `shape` says what is modelled;
//! `client` and `link` make up a `world`, which a `step` leads to the next; the `model` is how the checker sees
//! them; a `run` explores one shape.
//!
//! Fencing tokens have a model of their own, with bounds of their own: `fencing`. A `subject` is a shape of either,
//! and a `search` is what the checker does with it.

#![expect(
    clippy::print_stdout,
    reason = "the results are what the command is for"
)]
#![expect(clippy::print_stderr, reason = "progress is told where errors are")]

mod args;
mod client;
mod clock;
mod fencing;
mod flaw;
mod link;
mod model;
mod news;
mod part;
mod run;
mod search;
mod shape;
mod step;
mod story;
mod subject;
mod table;
#[cfg(test)]
mod tests;
mod world;

use args::Args;
use clap::Parser;
use std::process::ExitCode;
use subject::{Report, Subject};

fn main() -> ExitCode {
    let args = Args::parse();
    if args.list {
        for subject in Subject::usual(true) {
            println!("{:<18} {}", subject.name(), subject.about());
        }
        return ExitCode::SUCCESS;
    }
    explore(&args.subjects(), args.write_docs)
}

fn explore(subjects: &[Subject], writes_docs: bool) -> ExitCode {
    model::quieten_panics();
    println!(
        "{:<18} {:>12} {:>12} {:>6} {:>8}  verdict",
        "shape", "states", "unique", "depth", "seconds"
    );
    let (mut failed, mut states, mut rows) = (0, 0, Vec::new());
    for subject in subjects {
        let name = subject.name();
        let report = subject.explore(|states, unique| {
            eprintln!("{name:<18} {states:>12} {unique:>12} so far");
        });
        tell(name, &report);
        states += report.unique;
        rows.push(table::row(*subject, &report));
        failed += usize::from(!report.is_as_it_must_be);
    }
    if writes_docs && let Err(error) = table::write(&rows) {
        println!("docs/SAFETY.md is as it was: {error}");
        return ExitCode::FAILURE;
    }
    match failed {
        0 => println!(
            "all {} shapes are as they must be: {states} states",
            subjects.len()
        ),
        _ => println!("FAILED: {failed} shapes are not as they must be"),
    }
    ExitCode::from(u8::from(failed > 0))
}

fn tell(name: &str, report: &Report) {
    println!(
        "{name:<18} {:>12} {:>12} {:>6} {:>8.2}  {}",
        report.states,
        report.unique,
        report.depth,
        report.took.as_secs_f64(),
        report.verdict
    );
    for line in &report.story {
        println!("    {line}");
    }
}
