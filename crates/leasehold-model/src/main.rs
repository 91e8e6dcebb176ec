//! Every course that a few clients and nodes can take.
//!
//! The production engine and the production table, driven by a checker that tries every order in which
//! requests, answers, timers, wishes and faults can come, up to a horizon of a few ticks. What the simulator
//! finds by chance in large worlds, this finds for certain in small ones.
//!
//! Exhaustive within bounds that each shape states: attempts, ticks, faults, and how many links are slow at the
//! same time. There is one resource, and all clients have the same terms. Worlds are told apart by hashes of
//! 64 bits: that among ten million one is taken for another has a chance of a few in a million.
//!
//! From the ground up: `clock`, `part`, `story`, `news` and `flaw` are words; a `shape` says what is modelled;
//! `client` and `link` make up a `world`, which a `step` leads to the next; the `model` is how the checker sees
//! them; a `run` explores one shape.

#![expect(
    clippy::print_stdout,
    reason = "the results are what the command is for"
)]
#![expect(
    clippy::print_stderr,
    reason = "progress and wrong command lines are told where errors are"
)]

mod args;
mod client;
mod clock;
mod flaw;
mod link;
mod model;
mod news;
mod part;
mod run;
mod shape;
mod step;
mod story;
#[cfg(test)]
mod tests;
mod world;

use args::Command;
use run::Outcome;
use shape::{Law, Shape};
use std::process::ExitCode;

fn main() -> ExitCode {
    match args::parse(std::env::args().skip(1)) {
        Err(wrong) => {
            eprintln!("leasehold-model: {wrong}\n{}", args::USAGE);
            ExitCode::from(2)
        }
        Ok(Command::List) => {
            for shape in Shape::usual(true) {
                println!("{:<14} {}", shape.name, shape.about);
            }
            ExitCode::SUCCESS
        }
        Ok(Command::Explore(shapes)) => explore(&shapes),
    }
}

fn explore(shapes: &[&'static Shape]) -> ExitCode {
    // Failed assertions are told in the table, with the way there.
    std::panic::set_hook(Box::new(|_| {}));
    println!(
        "{:<14} {:>12} {:>12} {:>6} {:>8}  verdict",
        "shape", "states", "unique", "depth", "seconds"
    );
    let mut failed = false;
    for shape in shapes {
        let outcome = run::explore(shape, |states, unique| {
            eprintln!("{:<14} {states:>12} {unique:>12} so far", shape.name);
        });
        tell(shape, &outcome);
        failed |= !outcome.is_as_it_must_be(shape.law);
    }
    ExitCode::from(u8::from(failed))
}

fn tell(shape: &'static Shape, outcome: &Outcome) {
    let verdict = match (shape.law, &outcome.broken) {
        (Law::Kept(_), Some((property, _))) => format!("BROKEN: {property}"),
        (Law::Kept(_), None) if outcome.missing.is_empty() => "all well".to_owned(),
        (Law::Kept(_), None) => format!("NEVER: {}", outcome.missing.join(", ")),
        (Law::Broken(_), Some((property, _))) => {
            format!("control: broken as it must be: {property}")
        }
        (Law::Broken(_), None) => "control: THE CHECKER IS BLIND".to_owned(),
    };
    println!(
        "{:<14} {:>12} {:>12} {:>6} {:>8.2}  {verdict}",
        shape.name,
        outcome.states,
        outcome.unique,
        outcome.depth,
        outcome.took.as_secs_f64()
    );
    if let (Law::Kept(_), Some((_, steps))) = (shape.law, &outcome.broken) {
        let shortest = run::shortest(shape);
        run::retell(shape, shortest.as_ref().unwrap_or(steps))
            .iter()
            .for_each(|line| println!("    {line}"));
    }
}
