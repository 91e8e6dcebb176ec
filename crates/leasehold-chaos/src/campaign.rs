//! All scenarios on each server program.

use crate::{
    args::Args,
    bell,
    moment::Moment,
    report,
    scenario::{Law, Node, Scenario},
    trial::{self, Outcome, Verdict},
};
use leasehold_servers::{ServerBinary, stop_leftovers};
use std::{
    collections::BTreeMap,
    env, fmt, fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

/// Runs everything that was asked for.
///
/// # Errors
/// If nothing could be run.
pub(crate) fn run(args: &Args, scenarios: &[&'static Scenario]) -> Result<ExitCode, String> {
    let binaries = binaries(&args.servers)?;
    bell::note_interrupts().map_err(|error| error.to_string())?;
    // What an earlier run left behind when it was killed would take time from this one.
    stop_leftovers().map_err(|error| error.to_string())?;
    let seed = args
        .seed
        .unwrap_or_else(|| Moment::now().nanos() % 1_000_000);
    let folder = target()
        .join("chaos")
        .join(format!("{seed}-{}", std::process::id()));
    println!(
        "seed {seed}, {:?} on each of: {}",
        args.time,
        names(&binaries)
    );
    let mut summary = Vec::new();
    for (name, binary) in &binaries {
        println!(
            "\n{name}, {}\n{}",
            binary.path().display(),
            report::heading()
        );
        let outcomes = each(
            (scenarios, args.time),
            binary,
            seed,
            &folder.join(name.replace(' ', "-")),
        );
        let is_interrupted = outcomes.last().is_some_and(is_interrupted);
        summary.push((name, outcomes));
        // Only if it is empty: the journals of what failed stay.
        drop(fs::remove_dir(&folder));
        if is_interrupted {
            // As the shell has it for a program that SIGINT ended.
            println!("interrupted");
            return Ok(ExitCode::from(130));
        }
    }
    println!();
    let mut is_good = true;
    for (name, outcomes) in &summary {
        is_good &= Tally::of(outcomes).is_good(is_ci());
        println!("{name:<15} {}", came_to(outcomes));
    }
    let outcomes = summary.iter().flat_map(|(_, outcomes)| outcomes);
    println!("{:<15} {}", "all", came_to(outcomes));
    Ok(ExitCode::from(u8::from(!is_good)))
}

/// What these came to, in a line.
fn came_to<'a>(outcomes: impl IntoIterator<Item = &'a Outcome> + Clone) -> String {
    let tally = Tally::of(outcomes.clone());
    let (mut acquisitions, mut strikes) = (0, 0);
    for outcome in outcomes {
        acquisitions += outcome.findings.acquisitions;
        strikes += { outcome.strikes.iter() }
            .map(|struck| struck.count)
            .sum::<usize>();
    }
    format!("{tally}; {acquisitions} acquisitions, {strikes} strikes")
}

/// How many scenarios came to what.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    good: usize,
    run: usize,
    /// How many were not run, for each reason.
    skipped: BTreeMap<&'static str, usize>,
}

impl Tally {
    fn of<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Self {
        Self::of_verdicts(outcomes.into_iter().map(|outcome| &outcome.verdict))
    }

    fn of_verdicts<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Self {
        let mut tally = Self::default();
        for verdict in verdicts {
            if let Some(why) = verdict.why_skipped() {
                *tally.skipped.entry(why).or_default() += 1;
            } else {
                tally.run += 1;
                tally.good += usize::from(verdict.is_good());
            }
        }
        tally
    }

    /// What was not run proves nothing. A person may go without it, but not without everything; CI must not.
    fn is_good(&self, is_strict: bool) -> bool {
        self.run > 0 && self.good == self.run && (self.skipped.is_empty() || !is_strict)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { good, run, skipped } = self;
        write!(out, "{good} of {run} scenarios as they must be")?;
        for (why, count) in skipped {
            write!(out, ", {count} NOT RUN ({why})")?;
        }
        Ok(())
    }
}

fn is_ci() -> bool {
    env::var("CI").is_ok_and(|value| value == "true")
}

/// Runs all scenarios on one server program and prints what comes of each.
fn each(
    (scenarios, time): (&[&'static Scenario], Duration),
    binary: &ServerBinary,
    seed: u64,
    folder: &Path,
) -> Vec<Outcome> {
    let end = Moment::now().plus(time);
    let mut outcomes = Vec::new();
    // First that the checks see, then that there is nothing to see. The controls end early, which leaves
    // the more time to the others.
    let is_control = |scenario: &&&Scenario| scenario.is_control();
    let scenarios = scenarios.iter();
    let lawful = scenarios.clone().filter(|scenario| !is_control(scenario));
    let ordered: Vec<&Scenario> = scenarios
        .filter(is_control)
        .chain(lawful)
        .copied()
        .collect();
    for (number, scenario) in ordered.iter().enumerate() {
        let left: u32 = ordered[number..]
            .iter()
            .map(|scenario| weight(scenario))
            .sum();
        let share = end.since(Moment::now()) * weight(scenario) / left;
        let time = match scenario.law {
            // Whether it meets its moment is a matter of luck, which may be late. Most end long before their time.
            Law::Control(_) if number + 1 < ordered.len() => share * 4,
            _ => share,
        };
        outcomes.push(one(scenario, binary, time, seed, folder));
        if outcomes.last().is_some_and(is_interrupted) {
            break;
        }
    }
    drop(fs::remove_dir(folder));
    outcomes
}

/// How much more of the time it needs than others: where strikes of many kinds meet, each comes more rarely.
fn weight(scenario: &Scenario) -> u32 {
    match scenario.node {
        Node::Group => WEIGHT_OF_GROUPS,
        Node::Cluster => WEIGHT_OF_CLUSTERS,
        Node::Server | Node::Pair => {
            u32::try_from(scenario.strikes.len().div_ceil(2).max(1)).unwrap_or(1)
        }
    }
}

/// Sentinels take seconds to replace a master, and the guard some more.
const WEIGHT_OF_GROUPS: u32 = 10;
/// Servers take seconds to become clusters, and a restarted one some to find its place.
const WEIGHT_OF_CLUSTERS: u32 = 5;

fn one(
    scenario: &'static Scenario,
    binary: &ServerBinary,
    time: Duration,
    seed: u64,
    folder: &Path,
) -> Outcome {
    let folder = folder.join(scenario.name);
    let outcome = trial::run(scenario, binary, time, seed, &folder);
    println!("{}", report::line(&outcome));
    if outcome.verdict.is_good() || is_interrupted(&outcome) {
        drop(fs::remove_dir_all(&folder));
    } else {
        print!("{}", report::story(&outcome, &folder));
    }
    outcome
}

fn is_interrupted(outcome: &Outcome) -> bool {
    outcome.verdict == Verdict::Interrupted
}

/// The programs, each with its name and version.
fn binaries(paths: &[PathBuf]) -> Result<Vec<(String, ServerBinary)>, String> {
    let mut binaries: Vec<ServerBinary> = paths.iter().map(ServerBinary::at).collect();
    if binaries.is_empty() {
        binaries.push(ServerBinary::find().map_err(|error| error.to_string())?);
    }
    let named = binaries.into_iter().map(|binary| {
        let path = binary.path().display().to_string();
        let version = binary
            .version()
            .map_err(|error| format!("{path}: {error}"))?;
        Ok((version.to_string(), binary))
    });
    named.collect()
}

fn names(binaries: &[(String, ServerBinary)]) -> String {
    let names: Vec<&str> = binaries.iter().map(|(name, _)| name.as_str()).collect();
    names.join(", ")
}

/// Where what is built goes, and what is kept of a failed run.
fn target() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let here = Path::new(env!("CARGO_MANIFEST_DIR"));
            here.ancestors().nth(2).unwrap_or(here).join("target")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_run_is_not_counted_as_right() {
        let skipped = || Verdict::Skipped("nutcracker is not installed");
        let mixed = [Verdict::Safe, skipped(), Verdict::Caught, skipped()];
        let tally = Tally::of_verdicts(mixed.iter());
        assert_eq!(
            tally.to_string(),
            "2 of 2 scenarios as they must be, 2 NOT RUN (nutcracker is not installed)"
        );
        assert!(tally.is_good(false));
        assert!(!tally.is_good(true), "CI wants all of them");
        let nothing = Tally::of_verdicts([skipped()].iter());
        assert!(!nothing.is_good(false), "nothing was tried");
        let bad = Tally::of_verdicts([Verdict::Safe, Verdict::Blind].iter());
        assert_eq!(bad.to_string(), "1 of 2 scenarios as they must be");
        assert!(!bad.is_good(false));
    }
}
