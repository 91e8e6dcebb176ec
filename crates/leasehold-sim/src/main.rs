//! A simulated world in which the production engine of leasehold is attacked.
//!
//! A discrete-event simulation: clients that run the whole engine, nodes that run the production table,
//! links that break, clocks that drift, machines that crash. One seed is one run, the same to the byte
//! every time, so a failure is a number that can be kept.
//!
//! From the ground up: `time`, `rng`, `clock` and `trace` are tools; `scenario` draws a `setting` from a
//! seed; a `world` is `node`s, a `network`, `client`s with their `application`s, and the `fault`s that
//! strike them, on one event `queue`, through the phases of a `course`. Two other worlds are `small`, and share clients and a
//! queue: a `group`, servers that sentinels look after; and `clusters`, servers among which slots move. The rooms under `check` know what
//! must be true, and `verdict` asks them. A `campaign` runs many.

#![expect(
    clippy::print_stdout,
    reason = "the results are what the command is for"
)]
#![expect(
    clippy::print_stderr,
    reason = "a wrong command line is told where errors are"
)]

mod application;
mod args;
mod campaign;
mod check;
mod client;
mod clock;
mod clusters;
mod course;
mod detached;
mod fault;
mod force;
mod group;
mod network;
mod node;
mod queue;
mod replacement;
mod rng;
mod scenario;
mod setting;
mod small;
#[cfg(test)]
mod tests;
mod time;
mod trace;
mod verdict;
mod vigil;
mod waits;
mod world;

use args::Args;
use campaign::Summary;
use check::{Property, Violation, seconds};
use clap::Parser as _;
use scenario::{Law, Scenario};
use std::{
    io::{Write as _, stdout},
    process::ExitCode,
};
use trace::Trace;

fn main() -> ExitCode {
    let args = Args::parse();
    let (scenarios, only) = (args.scenarios(), args.only);
    match (args.seed, args.seeds, &scenarios[..]) {
        (Some(seed), _, [scenario]) => one(scenario, seed, only, args.trace),
        (_, Some(count), _) => {
            let lua = args.lua_seeds.unwrap_or(count);
            many(&scenarios, args.from, (count, lua), only)
        }
        (Some(_), ..) => {
            eprintln!("a seed is a world of one scenario: `--list` shows all");
            ExitCode::from(2)
        }
        (None, None, _) => {
            let line = |scenario: &Scenario| format!("{:<24} {}\n", scenario.name, scenario.about);
            let list: String = Scenario::named().map(line).collect();
            // Who has read enough of it has closed the pipe.
            drop(stdout().write_all(list.as_bytes()));
            ExitCode::SUCCESS
        }
    }
}

fn one(scenario: &'static Scenario, seed: u64, only: Option<Property>, trace: bool) -> ExitCode {
    let trace = if trace { Trace::Print } else { Trace::Off };
    let report = campaign::one(scenario, seed, only, trace);
    println!(
        "{} seed {seed}: {} events, {} leases",
        scenario.name, report.events, report.leases
    );
    match report.violation {
        None => ExitCode::SUCCESS,
        Some((at, violation)) => {
            println!(
                "violation at {}: {:?}: {}",
                seconds(at),
                violation.property,
                violation.what
            );
            ExitCode::FAILURE
        }
    }
}

/// Runs the first count of seeds of each scenario, and the second of those whose nodes run the scripts.
fn many(
    scenarios: &[&'static Scenario],
    from: u64,
    (count, lua): (u64, u64),
    only: Option<Property>,
) -> ExitCode {
    campaign::quieten_panics();
    println!(
        "{:<24} {:>8} {:>11} {:>9} {:>10} {:>8} {:>11}",
        "scenario", "seeds", "events", "leases", "violations", "seconds", "events/s"
    );
    let mut faults = Vec::new();
    let (mut seeds, mut events, mut leases) = (0, 0, 0);
    for scenario in scenarios {
        let count = if scenario.is_scripted() { lua } else { count };
        let summary = campaign::run(scenario, from, count, only, |done| {
            if done < count {
                eprintln!("{:<24} {done:>8} of {count} seeds", scenario.name);
            }
        });
        tell(scenario, &summary);
        seeds += summary.seeds;
        events += summary.events;
        leases += summary.leases;
        faults.extend(fault(scenario, &summary).map(|fault| (scenario, fault)));
    }
    if faults.is_empty() {
        println!(
            "all {} scenarios are as they must be: {seeds} seeds, {events} events, {leases} leases",
            scenarios.len()
        );
        return ExitCode::SUCCESS;
    }
    // Once more, together: of a long log, the end is what is read.
    println!("FAILED: {} scenarios are not as they must be", faults.len());
    for (scenario, fault) in faults {
        println!("  {}: {fault}", scenario.name);
    }
    ExitCode::FAILURE
}

fn tell(scenario: &Scenario, summary: &Summary) {
    let took = summary.took.as_secs_f64();
    let millis = summary.took.as_millis().max(1);
    println!(
        "{:<24} {:>8} {:>11} {:>9} {:>10} {took:>8.2} {:>11}",
        scenario.name,
        summary.seeds,
        summary.events,
        summary.leases,
        summary.violations.len(),
        u128::from(summary.events) * 1_000 / millis,
    );
    if let Law::Broken(property) = scenario.law
        && summary.count(property) > 0
    {
        let (found, seeds) = (summary.count(property), summary.seeds);
        println!("    control: {found} of {seeds} seeds violated ({property:?}), as they must");
    }
    if let Some(fault) = fault(scenario, summary) {
        println!("    {fault}");
    }
}

/// What is not as it must be, and how it is seen again. `cargo xtask mutants` reads the seed.
fn fault(scenario: &Scenario, summary: &Summary) -> Option<String> {
    if summary.is_as_it_must_be(scenario.law) {
        return None;
    }
    let name = scenario.name;
    if let Law::Broken(property) = scenario.law {
        return Some(format!(
            "no seed violated {property:?}: THE CHECKERS ARE BLIND"
        ));
    }
    let Some((seed, at, violation)) = summary.violations.first() else {
        return Some("nobody ever held anything: nothing is proved".to_owned());
    };
    let Violation { property, what } = violation;
    let at = seconds(*at);
    Some(format!(
        "seed {seed}, at {at}: {property:?}: {what}\n    \
         cargo xtask sim --seed {seed} --scenario {name} --trace"
    ))
}
