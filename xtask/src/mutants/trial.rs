//! Mutants against their checks.

use super::{
    Mutant,
    check::Check,
    mutant::Killer,
    report::{self, Trouble},
    tree::Tree,
};
use crate::{
    install,
    process::{self, End},
    target_folder,
    took::{now, seconds},
};
use leasehold_servers::stop_leftovers;
use rustix::fs::{FlockOperation, flock};
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};

/// A copy of the project, and all that is needed to run checks on it.
#[derive(Debug)]
pub(super) struct Trial {
    tree: Tree,
    /// Where everything is, below the target folder.
    folder: PathBuf,
    /// The server that tests run against, if one needs it.
    server: Option<PathBuf>,
    /// Keeps a second run from writing its wrong lines into this one's copy.
    _lock: File,
}

/// What a check came to.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    /// With the reason, if it tells one.
    Failed(String),
    OutOfTime,
}

impl Trial {
    /// Makes the copy, and finds a server if one of the checks needs it.
    pub(super) fn new(root: &Path, mutants: &[&Mutant]) -> Result<Self, String> {
        let target = target_folder(root);
        let folder = target.join("mutants");
        fs::create_dir_all(folder.join("logs")).map_err(|error| error.to_string())?;
        let lock = lock(&folder.join("lock"))?;
        let mut killers = mutants.iter().flat_map(|mutant| &mutant.killers);
        let server = if killers.any(|killer| killer.check.needs_server()) {
            Some(install::server(&target)?.path().to_owned())
        } else {
            None
        };
        let tree = Tree::new(root, folder.join("tree"))?;
        Ok(Self {
            tree,
            folder,
            server,
            _lock: lock,
        })
    }

    /// Runs every check without a mutant, then every mutant against its checks.
    pub(super) fn run(&self, mutants: &[&Mutant]) -> Result<ExitCode, String> {
        let begun = now();
        let unfit = self.without_mutants(mutants);
        let mut troubles = Vec::new();
        for (number, mutant) in mutants.iter().enumerate() {
            print!(
                "[{:>2}/{}] {} ({}) …",
                number + 1,
                mutants.len(),
                mutant.name,
                mutant.argument
            );
            flush();
            let result = match unfit.iter().find(|(check, _)| mutant.needs(check)) {
                Some((check, why)) => Err(Trouble::Untried(format!("`{check}` {why}"))),
                None => {
                    let original = self.tree.apply(mutant)?;
                    let result = self.killers(mutant);
                    self.tree.write(&mutant.file, &original)?;
                    result
                }
            };
            match result {
                Ok(()) => println!(),
                Err(trouble) => {
                    println!(
                        " {}",
                        match &trouble {
                            Trouble::Survived(_) => "SURVIVED",
                            Trouble::Untried(_) => "COULD NOT BE TRIED",
                        }
                    );
                    troubles.push((*mutant, trouble));
                }
            }
        }
        self.stop_servers()?;
        for (mutant, trouble) in &troubles {
            println!(
                "\n{}",
                report::trouble(mutant, trouble, &self.log(&mutant.name))
            );
        }
        let (count, failed) = (mutants.len(), troubles.len());
        let took = seconds(begun.elapsed());
        println!(
            "\n{count} mutants: {} killed by every check they name, {failed} not; {took}",
            count - failed
        );
        Ok(ExitCode::from(u8::from(failed > 0)))
    }

    /// A check that fails of everything would kill every mutant, and prove nothing. Those that do, and why.
    fn without_mutants(&self, mutants: &[&Mutant]) -> Vec<(Check, String)> {
        let checks = checks(mutants);
        print!("checks without any mutant: {} …", checks.len());
        flush();
        drop(fs::remove_file(self.log("clean")));
        let (mut built, mut unfit) = (BTreeSet::new(), Vec::new());
        for check in checks {
            let is_to_hang = |killer: &Killer| killer.hangs && killer.check == check;
            let mut killers = mutants.iter().flat_map(|mutant| &mutant.killers);
            // Who is told from the endless by the clock alone must be far from it.
            let limit = if killers.any(is_to_hang) {
                LIMIT_OF_THE_ENDLESS / 2
            } else {
                LIMIT
            };
            let why = match self.check("clean", &check, limit, &mut built) {
                Ok(Outcome::Passed) => continue,
                Ok(Outcome::Failed(reason)) => format!("fails without any mutant: {reason}"),
                Ok(Outcome::OutOfTime) => "does not end without any mutant".to_owned(),
                Err(why) => why,
            };
            print!("\n        `{check}` {why}");
            flush();
            unfit.push((check, why));
        }
        match unfit.len() {
            0 => println!(" all pass"),
            // The others can be tried all the same: a run takes too long to end for one of them.
            count => println!(
                "\n{count} of them prove nothing, so what names them is not tried; see {}",
                self.log("clean").display()
            ),
        }
        unfit
    }

    /// Runs the checks of the mutant that is applied. All of them must fail.
    fn killers(&self, mutant: &Mutant) -> Result<(), Trouble> {
        drop(fs::remove_file(self.log(&mutant.name)));
        let (mut built, mut survived) = (BTreeSet::new(), Vec::new());
        for killer in &mutant.killers {
            let begun = now();
            let limit = if killer.hangs {
                LIMIT_OF_THE_ENDLESS
            } else {
                LIMIT
            };
            let outcome = self.check(&mutant.name, &killer.check, limit, &mut built);
            let took = seconds(begun.elapsed());
            let told = match outcome.map_err(Trouble::Untried)? {
                Outcome::Failed(reason) if !killer.hangs => match reason.as_str() {
                    "" => format!("killed by {} ({took})", killer.check),
                    reason => format!("killed by {} ({reason}, {took})", killer.check),
                },
                Outcome::OutOfTime if killer.hangs => {
                    format!("killed by {} (never ends)", killer.check)
                }
                other => {
                    survived.push(match other {
                        Outcome::Passed => format!("`{}` passed", killer.check),
                        Outcome::Failed(_) => format!("`{}` failed, but is to hang", killer.check),
                        Outcome::OutOfTime => {
                            format!("`{}` hung, and `hung by` is not said", killer.check)
                        }
                    });
                    continue;
                }
            };
            print!("\n        {told}");
            flush();
        }
        if survived.is_empty() {
            return Ok(());
        }
        Err(Trouble::Survived(survived))
    }

    /// Builds what the check needs, unless it is in `built`, and runs it.
    fn check(
        &self,
        log: &str,
        check: &Check,
        limit: Duration,
        built: &mut BTreeSet<Vec<String>>,
    ) -> Result<Outcome, String> {
        let build: Vec<String> = check.build().into_iter().map(str::to_owned).collect();
        if !built.contains(&build) {
            let (end, output) = self.cargo(log, &build, LIMIT_OF_A_BUILD)?;
            if !matches!(end, End::Own(status) if status.success()) {
                let error = output.lines().find(|line| line.starts_with("error"));
                return Err(format!(
                    "does not compile: {}",
                    error.unwrap_or("no reason given")
                ));
            }
            built.insert(build);
        }
        for words in check.runs() {
            let (end, output) = self.cargo(log, &words, limit)?;
            let End::Own(status) = end else {
                return Ok(Outcome::OutOfTime);
            };
            let verdict = check.verdict(status.code(), &output);
            if let Some(reason) = verdict.map_err(|error| format!("`{check}`: {error}"))? {
                return Ok(Outcome::Failed(reason));
            }
        }
        Ok(Outcome::Passed)
    }

    fn cargo(&self, log: &str, words: &[String], limit: Duration) -> Result<(End, String), String> {
        let path = self.folder.join("output.txt");
        let output = File::create(&path).map_err(|error| error.to_string())?;
        let mut command = Command::new(env!("CARGO"));
        command
            .args(words)
            .current_dir(self.tree.folder())
            .env("CARGO_TARGET_DIR", self.folder.join("build"))
            // A property that has found a mutant once shall find it every time.
            .env("PROPTEST_RNG_SEED", "1")
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            .env("CARGO_TERM_COLOR", "never");
        if let Some(server) = &self.server {
            command.env("LEASEHOLD_SERVER", server);
        }
        let end = process::run(&command, &output, limit).map_err(|error| error.to_string())?;
        let bytes = fs::read(&path).map_err(|error| error.to_string())?;
        let output = String::from_utf8_lossy(&bytes).into_owned();
        let entry = format!("$ cargo {}\n{output}\n", words.join(" "));
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(self.log(log));
        let written = file.as_mut().map(|file| file.write_all(entry.as_bytes()));
        written
            .map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())?;
        Ok((end, output))
    }

    /// Servers of tests that were killed.
    fn stop_servers(&self) -> Result<(), String> {
        if self.server.is_some() {
            stop_leftovers().map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join("logs").join(format!("{name}.txt"))
    }
}

/// Every check that the mutants name, once; of a scenario the one with the most seeds.
fn checks(mutants: &[&Mutant]) -> Vec<Check> {
    let mut checks = BTreeSet::new();
    let mut scenarios: BTreeMap<&str, u64> = BTreeMap::new();
    for killer in mutants.iter().flat_map(|mutant| &mutant.killers) {
        if let Check::Sim {
            scenario, seeds, ..
        } = &killer.check
        {
            let most = scenarios.entry(scenario).or_default();
            *most = (*most).max(*seeds);
        } else {
            checks.insert(killer.check.clone());
        }
    }
    let simulated = scenarios.into_iter().map(|(scenario, seeds)| Check::Sim {
        scenario: scenario.to_owned(),
        seeds,
        only: None,
    });
    checks.into_iter().chain(simulated).collect()
}

fn flush() {
    // Who does not listen misses nothing that the summary does not say.
    let _ = std::io::stdout().flush();
}

const LIMIT: Duration = Duration::from_secs(120);

/// For checks that are expected to hang, of which the half must be enough without a mutant.
const LIMIT_OF_THE_ENDLESS: Duration = Duration::from_secs(30);

const LIMIT_OF_A_BUILD: Duration = Duration::from_secs(1_200);

/// The only run that works in this folder, for as long as the file is open.
fn lock(path: &Path) -> Result<File, String> {
    let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(_) => Err(format!(
            "another `cargo xtask mutants` is at work, and holds {}; wait for it, or use another \
             CARGO_TARGET_DIR",
            path.display()
        )),
    }
}
