//! Mutants against their checks.

use super::{
    Mutant,
    check::Check,
    report::{self, Tally},
    worker::{CLEAN, Worker},
};
use crate::{
    install, target_folder,
    took::{now, seconds},
};
use leasehold_servers::stop_leftovers;
use rustix::fs::{FlockOperation, flock};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Mutex,
    thread,
};

/// Copies of the project, and all that is needed to run checks on them.
#[derive(Debug)]
pub(super) struct Trial {
    workers: Vec<Worker>,
    /// Where everything is, below the target folder.
    folder: PathBuf,
    needs_server: bool,
    /// Keeps a second run from writing its wrong lines into this one's copies.
    _lock: File,
}

/// The checks that prove nothing here, and why.
type Unfit = Vec<(Check, String)>;

impl Trial {
    /// Makes the copies, and finds a server if one of the checks needs it.
    pub(super) fn new(root: &Path, mutants: &[&Mutant]) -> Result<Self, String> {
        let target = target_folder(root);
        let folder = target.join("mutants");
        fs::create_dir_all(folder.join("logs")).map_err(|error| error.to_string())?;
        let lock = lock(&folder.join("lock"))?;
        let mut killers = mutants.iter().flat_map(|mutant| &mutant.killers);
        let needs_server = killers.any(|killer| killer.check.needs_server());
        let server = match needs_server {
            true => Some(install::server(&target)?.path().to_owned()),
            false => None,
        };
        let workers = (0..workers(mutants.len()))
            .map(|number| Worker::new(root, &folder, number, server.clone()))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            workers,
            folder,
            needs_server,
            _lock: lock,
        })
    }

    /// Runs every check without a mutant, then every mutant against its checks. `named` is how many checks the mutants name:
    /// more than they have where each is tried with one alone.
    pub(super) fn run(&self, mutants: &[&Mutant], named: usize) -> Result<ExitCode, String> {
        let begun = now();
        let unfit = self.without_mutants(mutants)?;
        // What changes the same file follows one another, so cargo builds the crates below only once.
        let mut mutants = mutants.to_vec();
        mutants.sort_by(|a, b| a.file.cmp(&b.file));
        let count = mutants.len();
        let tried = Mutex::new(0);
        let troubles = self.share(&mutants, |worker, mutant| {
            let (told, trouble) = worker.try_mutant(mutant, &unfit)?;
            let mut tried = tried.lock().expect("nobody panics while counting");
            *tried += 1;
            let (name, argument) = (&mutant.name, &mutant.argument);
            println!("[{tried:>2}/{count}] {name} ({argument}) …{told}");
            Ok((*mutant, trouble))
        })?;
        self.stop_servers()?;
        let tried = mutants.iter().map(|mutant| mutant.killers.len()).sum();
        let mut tally = Tally::new(count, tried, named);
        for (mutant, trouble) in &troubles {
            match trouble.word() {
                "" => continue,
                report::SURVIVED => tally.survived += 1,
                _ => tally.untried += 1,
            }
            let log = self.log(&mutant.name);
            println!("\n{}", report::trouble(mutant, trouble, &log));
        }
        println!("\n{tally}; {}", seconds(begun.elapsed()));
        Ok(ExitCode::from(u8::from(tally.killed() < count)))
    }

    /// A check that fails of everything would kill every mutant, and prove nothing; so would one that is skipped here.
    /// Those that are so, and why.
    fn without_mutants(&self, mutants: &[&Mutant]) -> Result<Unfit, String> {
        let (batches, count) = batches(mutants);
        println!("checks without any mutant: {count} …");
        drop(fs::remove_file(self.log(CLEAN)));
        let unfit = self.share(&batches, |worker, batch| Ok(worker.unfit(batch)))?;
        let unfit: Unfit = unfit.into_iter().flatten().collect();
        for (check, why) in &unfit {
            println!("        `{check}` {why}");
        }
        match unfit.len() {
            0 => println!("        all pass"),
            // The others can be tried all the same: a run takes too long to end for one of them.
            count => println!(
                "{count} of them prove nothing, so they are not tried; see {}",
                self.log(CLEAN).display()
            ),
        }
        Ok(unfit)
    }

    /// Has all of it done by the workers, each of which takes the next when it is ready.
    fn share<'a, T: Sync, R: Send>(
        &self,
        work: &'a [T],
        act: impl Fn(&Worker, &'a T) -> Result<R, String> + Sync,
    ) -> Result<Vec<R>, String> {
        let rest = Mutex::new(work.iter());
        let next = || rest.lock().expect("nobody panics while taking").next();
        let all = |worker| -> Result<Vec<R>, String> {
            std::iter::from_fn(next)
                .map(|item| act(worker, item))
                .collect()
        };
        let done: Result<Vec<Vec<R>>, String> = thread::scope(|scope| {
            let start = |worker| scope.spawn(move || all(worker));
            let started: Vec<_> = self.workers.iter().map(start).collect();
            let join = |worker: thread::ScopedJoinHandle<'_, _>| {
                worker.join().map_err(|_| "a worker panicked".to_owned())?
            };
            started.into_iter().map(join).collect()
        });
        done.map(|done| done.into_iter().flatten().collect())
    }

    /// Servers of tests that were killed.
    fn stop_servers(&self) -> Result<(), String> {
        if self.needs_server {
            stop_leftovers().map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join("logs").join(format!("{name}.txt"))
    }
}

/// Checks that are run without a mutant.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) checks: Vec<Check>,
    /// Whether one of them is told from the endless by the clock alone, and must be far from it.
    pub(super) is_short: bool,
}

/// Every check that the mutants name, once, and how many they are. The tests of one program are built at once, apart from
/// those that mutants hang; of a scenario the run with the most seeds is the one that counts.
fn batches(mutants: &[&Mutant]) -> (Vec<Batch>, usize) {
    let killers = || mutants.iter().flat_map(|mutant| &mutant.killers);
    let hanging: BTreeSet<&Check> = killers()
        .filter(|killer| killer.hangs)
        .map(|killer| &killer.check)
        .collect();
    let checks = checks(mutants);
    let count = checks.len();
    let (mut programs, mut batches) = (BTreeMap::<_, Vec<Check>>::new(), Vec::new());
    for check in checks {
        let is_short = hanging.contains(&check);
        match &check {
            Check::Test(kind, _) if !is_short => programs.entry(*kind).or_default().push(check),
            _ => batches.push(Batch {
                checks: vec![check],
                is_short,
            }),
        }
    }
    batches.extend(programs.into_values().map(|checks| Batch {
        checks,
        is_short: false,
    }));
    (batches, count)
}

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

/// How many share the work. Each builds everything once for itself, which few mutants are not worth.
fn workers(mutants: usize) -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    mutants.div_ceil(20).min(cores).clamp(1, 2)
}

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
