//! Who tries mutants: a copy of the project, and a folder where cargo builds it.

use super::{
    Mutant, check::Check, mutant::Killer, programs, report::Trouble, tree::Tree, trial::Batch,
};
use crate::{
    process::{self, End, cargo},
    took::{now, seconds},
};
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

/// One of those that share the mutants of a run.
#[derive(Debug)]
pub(super) struct Worker {
    tree: Tree,
    /// Where cargo builds, and what it says.
    folder: PathBuf,
    logs: PathBuf,
    /// The server that tests run against, if one needs it.
    server: Option<PathBuf>,
}

/// What a check came to.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    /// With the reason, if it tells one.
    Failed(String),
    OutOfTime,
}

impl Worker {
    /// Makes the copy.
    pub(super) fn new(
        root: &Path,
        folder: &Path,
        number: usize,
        server: Option<PathBuf>,
    ) -> Result<Self, String> {
        let own = |name: &str| match number {
            0 => folder.join(name),
            _ => folder.join(format!("{name}-{number}")),
        };
        let build = own("build");
        fs::create_dir_all(&build).map_err(|error| format!("{}: {error}", build.display()))?;
        Ok(Self {
            tree: Tree::new(root, own("tree"))?,
            folder: build,
            logs: folder.join("logs"),
            server,
        })
    }

    /// Which of the checks prove nothing, and why: without a mutant they do not pass. Each runs alone, as it will against a
    /// mutant: a test may pass beside others only.
    pub(super) fn unfit(&self, batch: &Batch) -> Vec<(Check, String)> {
        let checks = &batch.checks;
        if let Err(why) = self.build(CLEAN, checks) {
            let same = |check: &Check| (check.clone(), why.clone());
            return checks.iter().map(same).collect();
        }
        let limit = if batch.is_short {
            LIMIT_OF_THE_ENDLESS / 6
        } else {
            LIMIT
        };
        let unfit = |check: &Check| {
            let why = match self.check(CLEAN, check, limit) {
                Ok(Outcome::Passed) => return None,
                Ok(Outcome::Failed(reason)) => format!("fails without any mutant: {reason}"),
                Ok(Outcome::OutOfTime) => "does not end without any mutant".to_owned(),
                Err(why) => why,
            };
            Some((check.clone(), why))
        };
        checks.iter().filter_map(unfit).collect()
    }

    /// Puts the wrong line in, runs the checks of the mutant, and takes it out again. Tells what they did, for people, and
    /// what is wrong.
    pub(super) fn try_mutant(
        &self,
        mutant: &Mutant,
        unfit: &[(Check, String)],
    ) -> Result<(String, Trouble), String> {
        drop(fs::remove_file(self.log(&mutant.name)));
        let (mut told, mut trouble) = (String::new(), Trouble::default());
        let mut fit = Vec::new();
        for killer in &mutant.killers {
            match unfit.iter().find(|(all, _)| killer.check.is_part_of(all)) {
                Some((_, why)) => trouble.untried.push(format!("`{}` {why}", killer.check)),
                None => fit.push(killer),
            }
        }
        let original = self.tree.apply(mutant)?;
        let checks: Vec<Check> = fit.iter().map(|killer| killer.check.clone()).collect();
        match self.build(&mutant.name, &checks) {
            Err(why) => trouble.untried.push(why),
            Ok(()) => {
                for killer in fit {
                    told.push_str(&self.killer(mutant, killer, &mut trouble));
                }
            }
        }
        self.tree.write(&mutant.file, &original)?;
        if !trouble.word().is_empty() {
            told.push_str(&format!("\n        {}", trouble.word()));
        }
        Ok((told, trouble))
    }

    /// Runs one check of the mutant that is applied, which must fail.
    fn killer(&self, mutant: &Mutant, killer: &Killer, trouble: &mut Trouble) -> String {
        let Killer { check, hangs } = killer;
        let begun = now();
        let limit = if *hangs { LIMIT_OF_THE_ENDLESS } else { LIMIT };
        let outcome = self.check_twice(&mutant.name, check, limit);
        let took = seconds(begun.elapsed());
        let how = match outcome {
            Ok(Outcome::Failed(reason)) if !hangs && reason.is_empty() => took,
            Ok(Outcome::Failed(reason)) if !hangs => format!("{reason}, {took}"),
            Ok(Outcome::OutOfTime) if *hangs => "never ends".to_owned(),
            other => {
                match other {
                    Ok(Outcome::Passed) => trouble.survived.push(format!("`{check}` passed")),
                    Ok(Outcome::Failed(_)) => {
                        trouble
                            .survived
                            .push(format!("`{check}` failed, but is to hang"));
                    }
                    Ok(Outcome::OutOfTime) => trouble
                        .survived
                        .push(format!("`{check}` hung, and `hung by` is not said")),
                    Err(why) => trouble.untried.push(format!("`{check}` {why}")),
                }
                return String::new();
            }
        };
        format!("\n        killed by {check} ({how})")
    }

    /// Builds what the checks need. The tests of one package are built at once, so that no core is idle.
    fn build(&self, log: &str, checks: &[Check]) -> Result<(), String> {
        for words in programs::builds(checks) {
            let ran = self.cargo(log, &words, LIMIT_OF_A_BUILD)?;
            if !matches!(ran.end, End::Own(status) if status.success()) {
                let error = ran.output.lines().find(|line| line.starts_with("error"));
                return Err(format!(
                    "does not compile: {}",
                    error.unwrap_or("no reason given")
                ));
            }
        }
        Ok(())
    }

    /// As `check`. What fails beside a server must do so twice: servers have troubles of their own.
    fn check_twice(&self, log: &str, check: &Check, limit: Duration) -> Result<Outcome, String> {
        let first = self.check(log, check, limit)?;
        if !check.needs_server() || !matches!(first, Outcome::Failed(_)) {
            return Ok(first);
        }
        match self.check(log, check, limit)? {
            Outcome::Passed => Err("failed once, and passed when it was repeated".to_owned()),
            second => Ok(second),
        }
    }

    /// Runs a check that is built. An error if it does not come to a verdict.
    fn check(&self, log: &str, check: &Check, limit: Duration) -> Result<Outcome, String> {
        for words in check.runs() {
            let ran = self.cargo(log, &words, limit)?;
            let End::Own(status) = ran.end else {
                return Ok(Outcome::OutOfTime);
            };
            if let Some(reason) = check.verdict(status.code(), &ran.output, &ran.skips)? {
                return Ok(Outcome::Failed(reason));
            }
        }
        Ok(Outcome::Passed)
    }

    fn cargo(&self, log: &str, words: &[String], limit: Duration) -> Result<Ran, String> {
        let (path, skips) = (
            self.folder.join("output.txt"),
            self.folder.join("skips.txt"),
        );
        let output = File::create(&path).map_err(|error| error.to_string())?;
        File::create(&skips).map_err(|error| error.to_string())?;
        let mut command = cargo();
        command
            .args(words)
            .current_dir(self.tree.folder())
            .env("CARGO_TARGET_DIR", &self.folder)
            // Nobody debugs it, and it is built and linked more often than it is run.
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("LEASEHOLD_SKIPS", &skips)
            // A property that has found a mutant once shall find it every time.
            .env("PROPTEST_RNG_SEED", "1")
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            .env("CARGO_TERM_COLOR", "never");
        if let Some(server) = &self.server {
            command.env("LEASEHOLD_SERVER", server);
        }
        let end = process::run(&command, &output, limit).map_err(|error| error.to_string())?;
        let read = |path| fs::read(path).map_err(|error| error.to_string());
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let (output, skips) = (text(read(&path)?), text(read(&skips)?));
        let entry = format!("$ cargo {}\n{output}\n", words.join(" "));
        let file = File::options()
            .create(true)
            .append(true)
            .open(self.log(log));
        file.and_then(|mut file| file.write_all(entry.as_bytes()))
            .map_err(|error| error.to_string())?;
        Ok(Ran { end, output, skips })
    }

    fn log(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.txt"))
    }
}

/// What cargo did.
#[derive(Debug)]
struct Ran {
    end: End,
    output: String,
    /// What tests said that they skip, a line each.
    skips: String,
}

/// The log of what is run without a mutant.
pub(super) const CLEAN: &str = "clean";

const LIMIT: Duration = Duration::from_secs(120);

/// For checks that are expected to hang, of which a sixth must be enough without a mutant: the other worker builds meanwhile.
const LIMIT_OF_THE_ENDLESS: Duration = Duration::from_secs(60);

const LIMIT_OF_A_BUILD: Duration = Duration::from_secs(1_200);
