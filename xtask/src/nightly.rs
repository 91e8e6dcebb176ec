//! `cargo xtask nightly`: everything that there is to check and to measure, and one page about it.
//!
//! It takes longer than a night. So it is cut into steps, of which each night does some, on whatever machine. What a step came to
//! stays on the page until something has changed that it depends on, which no document is. The page tells of each step, also of
//! those that were not done.

mod inputs;
mod page;

use crate::{
    git::git,
    process::{self, End, cargo},
    target_folder,
    took::now,
};
use inputs::Inputs;
use page::{Outcome, Page, Seen};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    iter,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

/// Something to check or to measure.
#[derive(Debug)]
struct Step {
    name: &'static str,
    /// About how many minutes it takes on two cores: by this the nights are cut.
    minutes: u32,
    /// What follows `cargo`.
    command: &'static [&'static str],
    /// A command that must succeed, or the step is skipped: what follows `cargo`.
    needs: Option<&'static [&'static str]>,
    inputs: Inputs,
}

const fn step(name: &'static str, minutes: u32, command: &'static [&'static str]) -> Step {
    Step {
        name,
        minutes,
        command,
        needs: None,
        inputs: Inputs::Tree,
    }
}

/// The mutants that attack an argument.
macro_rules! mutants {
    ($name:literal, $minutes:literal, $($argument:literal),+) => {
        Step {
            inputs: Inputs::Mutants(&[$($argument),+]),
            ..step(
                concat!("mutants ", $name),
                $minutes,
                &["xtask", "mutants", $($argument),+],
            )
        }
    };
}

/// What is tried beside other libraries and commands: the library, the command and the packages for other languages.
const PEERS: Inputs = Inputs::Programs {
    packages: &["leasehold-interop", "leasehold-cli"],
    beside: &[
        "node",
        "python",
        "xtask/src/interop.rs",
        "xtask/src/packages.rs",
        "xtask/src/packages",
        "xtask/src/install.rs",
        "xtask/src/install",
    ],
};

/// A sixteenth of the scenarios.
macro_rules! simulator {
    ($part:literal) => {
        Step {
            inputs: Inputs::ProgramOnLinks("leasehold-sim"),
            ..step(
                concat!("simulator ", $part),
                22,
                &["xtask", "sim", "--seeds", "20000", "--part", $part],
            )
        }
    };
}

/// In the order in which they are done: what finds most in the least time comes first.
static STEPS: &[Step] = &[
    step("test", 20, &["xtask", "test"]),
    Step {
        needs: Some(&["deny", "--version"]),
        ..step(
            "dependencies",
            1,
            &["deny", "check", "bans", "licenses", "sources"],
        )
    },
    Step {
        // The list of known faults, which is no package: a machine that reaches only the packages goes without.
        needs: Some(&["deny", "fetch", "db"]),
        ..step("advisories", 1, &["deny", "check", "advisories"])
    },
    step("examples", 10, &["xtask", "examples"]),
    step("package", 10, &["xtask", "package"]),
    Step {
        needs: Some(&["xtask", "oldest", "--can"]),
        ..step("oldest Rust", 2, &["xtask", "oldest"])
    },
    step("dist", 5, &["xtask", "dist"]),
    step("packages", 12, &["xtask", "packages"]),
    Step {
        inputs: Inputs::Program("leasehold-model"),
        ..step("model", 60, &["xtask", "model", "--large", "--write-docs"])
    },
    Step {
        inputs: Inputs::Programs {
            packages: &["leasehold-chaos"],
            beside: &[
                "xtask/src/chaos.rs",
                "xtask/src/install.rs",
                "xtask/src/install",
            ],
        },
        ..step(
            "chaos",
            35,
            &["xtask", "chaos", "--for", "6m", "--servers", SERVERS],
        )
    },
    Step {
        needs: Some(&["xtask", "fuzz", "--can"]),
        inputs: Inputs::Programs {
            packages: &["leasehold"],
            beside: &["fuzz", "xtask/src/fuzz.rs"],
        },
        ..step("fuzz", 75, &["xtask", "fuzz", "--for", "10m"])
    },
    Step {
        inputs: Inputs::Checks {
            packages: &["leasehold", "leasehold-cli"],
            beside: &[
                "xtask/src/versions.rs",
                "xtask/src/install.rs",
                "xtask/src/install",
            ],
        },
        ..step("versions", 60, &["xtask", "versions", "--servers", SERVERS])
    },
    Step {
        inputs: PEERS,
        ..step("interop", 45, &["xtask", "interop", "--write-docs"])
    },
    Step {
        inputs: PEERS,
        ..step(
            "compare-commands",
            20,
            &["xtask", "compare-commands", "--write-docs"],
        )
    },
    Step {
        inputs: Inputs::Programs {
            packages: &["leasehold-bench", "leasehold-interop"],
            beside: &["node", "python", "xtask/src/bench.rs"],
        },
        ..step("bench", 50, &["xtask", "bench", "--peers", "--write-docs"])
    },
    simulator!("1/16"),
    simulator!("2/16"),
    simulator!("3/16"),
    simulator!("4/16"),
    simulator!("5/16"),
    simulator!("6/16"),
    simulator!("7/16"),
    simulator!("8/16"),
    simulator!("9/16"),
    simulator!("10/16"),
    simulator!("11/16"),
    simulator!("12/16"),
    simulator!("13/16"),
    simulator!("14/16"),
    simulator!("15/16"),
    simulator!("16/16"),
    Step {
        needs: Some(&["mutants", "--version"]),
        inputs: Inputs::Checks {
            packages: &["leasehold-core", "leasehold"],
            beside: &["xtask/src/sample.rs", "xtask/survivors.txt"],
        },
        ..step("sample of mutants", 20, &["xtask", "sample"])
    },
    mutants!("S1", 7, "S1"),
    mutants!("S2", 6, "S2"),
    mutants!("S3", 12, "S3"),
    mutants!("S4", 8, "S4"),
    mutants!("S5", 12, "S5"),
    mutants!("S6", 18, "S6"),
    mutants!("S7", 10, "S7"),
    mutants!("S8", 3, "S8"),
    mutants!("S9", 25, "S9"),
    mutants!("S10", 25, "S10"),
    mutants!("T1 to T4", 4, "T1", "T2", "T3", "T4"),
    mutants!("of the steps", 4, "Step 2", "Step 3", "Step 5", "Retry"),
];

const SERVERS: &str = "redis-7.0,redis-8.2,redis-8.6,valkey-8.1,valkey-9.1";

/// Runs what is asked for, and writes the page.
pub(crate) fn run(root: &Path, words: &[&str]) -> ExitCode {
    let outcome = match words {
        ["--list"] => {
            list();
            return ExitCode::SUCCESS;
        }
        [] => night(root, STEPS.iter().collect()),
        ["--night", cut] => part(cut).and_then(|steps| night(root, steps)),
        ["--only", names] => named(names).and_then(|steps| night(root, steps)),
        _ => Err(format!("`{}` is not known\n{USAGE}", words.join(" "))),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            println!("{reason}");
            ExitCode::from(2)
        }
    }
}

fn list() {
    println!("{USAGE}\n\nsteps, with the minutes that they take on two cores:");
    for Step {
        name,
        minutes,
        command,
        ..
    } in STEPS
    {
        println!("{minutes:>5}  {name:<22} cargo {}", command.join(" "));
    }
}

/// The steps of one night of several, `2/3` for instance: each night takes about as long.
fn part(cut: &str) -> Result<Vec<&'static Step>, String> {
    let wrong = || format!("`{cut}` is no night: `2/3` is the second of three");
    let (number, count) = cut.split_once('/').ok_or_else(wrong)?;
    let number: u32 = number.parse().map_err(|_| wrong())?;
    let count: u32 = count.parse().map_err(|_| wrong())?;
    if number == 0 || number > count {
        return Err(wrong());
    }
    let all: u32 = STEPS.iter().map(|step| step.minutes).sum();
    let mut before = 0;
    let is_in_it = |step: &&'static Step| {
        // Where its middle is.
        let middle = before + step.minutes / 2;
        before += step.minutes;
        middle * count / all + 1 == number
    };
    Ok(STEPS.iter().filter(is_in_it).collect())
}

fn named(names: &str) -> Result<Vec<&'static Step>, String> {
    let find = |name: &str| {
        let mut steps = STEPS.iter();
        let unknown = || format!("there is no step `{name}`; --list names them");
        steps.find(|step| step.name == name).ok_or_else(unknown)
    };
    names.split(',').map(find).collect()
}

/// Runs these steps. Says whether each is as it must be.
fn night(root: &Path, steps: Vec<&'static Step>) -> Result<bool, String> {
    let changed = git(
        root,
        &["status", "--porcelain", "--", ".", ":(exclude)docs"],
    )?;
    if !changed.is_empty() {
        return Err(format!(
            "commit your changes first, since the page names a commit:\n{changed}"
        ));
    }
    let commit = commit(root)?;
    let logs = target_folder(root).join("nightly");
    fs::create_dir_all(&logs).map_err(|error| format!("{}: {error}", logs.display()))?;
    let names = names_of_inputs(root)?;
    let mut done = Vec::new();
    for step in steps {
        println!("[{}] cargo {}", step.name, step.command.join(" "));
        let seen = carry_out(root, &logs, step, (&commit, name_of(step, &names)))?;
        println!("{seen}");
        done.push((step.name, seen));
    }
    let path = write_page(root, &done)?;
    println!(
        "written: {}; logs are in {}",
        path.display(),
        logs.display()
    );
    Ok({ done.iter() }.all(|(_, seen)| seen.outcome != Outcome::Failed))
}

/// Writes what stands of the commit that is checked out by now, and says where. Meanwhile there may have been other nights, and
/// other commits.
fn write_page(root: &Path, done: &[(&str, Seen)]) -> Result<PathBuf, String> {
    let path = root.join(PAGE);
    let before = fs::read_to_string(&path).unwrap_or_default();
    let names = names_of_inputs(root)?;
    let seen = |step: &'static Step| {
        let inputs = name_of(step, &names);
        let is_of_it = |(name, seen): &&(&str, Seen)| *name == step.name && seen.inputs == inputs;
        let now = done.iter().find(is_of_it).map(|(_, seen)| seen.clone());
        let seen = now.or_else(|| page::seen_of(&before, step.name, inputs));
        (step.name, seen)
    };
    let page = Page {
        commit: commit(root)?,
        date: git(root, &["log", "-1", "--format=%cs"])?,
        rows: STEPS.iter().map(seen).collect(),
    };
    fs::write(&path, page.to_string()).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// The arguments whose mutants a night has tried, by the page, and on which commit.
pub(crate) fn tried_mutants(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let page = fs::read_to_string(root.join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    let mut tried = BTreeMap::new();
    for (name, commit) in page::good(&page) {
        let step = STEPS.iter().find(|step| step.name == name);
        for argument in step.map(arguments).unwrap_or_default() {
            tried.insert((*argument).to_owned(), commit.clone());
        }
    }
    Ok(tried)
}

/// Whose mutants the step tries.
fn arguments(step: &Step) -> &'static [&'static str] {
    match step.command {
        ["xtask", "mutants", arguments @ ..] => arguments,
        _ => &[],
    }
}

fn commit(root: &Path) -> Result<String, String> {
    git(root, &["rev-parse", "--short=12", "HEAD"])
}

/// What steps depend on, and a name for each as it is committed.
fn names_of_inputs(root: &Path) -> Result<Vec<(Inputs, String)>, String> {
    let mut names: Vec<(Inputs, String)> = Vec::new();
    for Step { inputs, .. } in STEPS {
        if names.iter().all(|(known, _)| known != inputs) {
            let mut name = inputs.name(root)?;
            name.truncate(12);
            names.push((*inputs, name));
        }
    }
    Ok(names)
}

fn name_of<'a>(step: &Step, names: &'a [(Inputs, String)]) -> &'a str {
    let found = names.iter().find(|(inputs, _)| *inputs == step.inputs);
    &found.expect("all steps were asked").1
}

fn carry_out(root: &Path, logs: &Path, step: &Step, stamp: (&str, &str)) -> Result<Seen, String> {
    if let Some(question) = step.needs {
        let asked = cargo().current_dir(root).args(question).output();
        if !asked.is_ok_and(|asked| asked.status.success()) {
            let why = format!("`cargo {}` does not succeed here", question.join(" "));
            return Ok(Seen::new(Outcome::Skipped, Duration::ZERO, stamp, &why));
        }
    }
    let log = logs.join(format!("{}.log", file_name(step)));
    let told = |error: std::io::Error| format!("{}: {error}", log.display());
    let output = File::create(&log).map_err(told)?;
    let mut command = cargo();
    command.current_dir(root).args(step.command);
    let begun = now();
    // A machine that is busy with other things may need three times as long. What takes six times as long hangs.
    let limit = Duration::from_secs(u64::from(step.minutes) * 60 * 6);
    let end = process::run(&command, &output, limit).map_err(told)?;
    let said = fs::read(&log).map_err(told)?;
    let outcome = match end {
        End::Own(status) if status.success() => Outcome::Good,
        End::Own(_) | End::OutOfTime => Outcome::Failed,
    };
    let said = String::from_utf8_lossy(&said);
    let last = iter::once(page::last_line(&said));
    let said: Vec<_> = last.chain(page::skips(&said)).collect();
    let said = said.join("; ");
    Ok(Seen::new(outcome, begun.elapsed(), stamp, &said))
}

fn file_name(step: &Step) -> String {
    step.name.replace([' ', '/'], "-")
}

const PAGE: &str = "docs/NIGHTLY.md";

const USAGE: &str = "\
usage: cargo xtask nightly [--night K/N | --only STEP,… | --list]

Runs everything, and writes what came of it into docs/NIGHTLY.md: all steps, those of the Kth of N nights, or those that are named.
What was done before stays on the page until something changes that the step depends on.";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_step_is_in_one_night() {
        for count in 1..=4 {
            let nights = (1..=count).map(|number| part(&format!("{number}/{count}")));
            let nights: Vec<_> = nights.map(|night| night.expect("a night")).collect();
            assert!(nights.iter().all(|night| !night.is_empty()), "{count}");
            let names: Vec<_> = nights.concat().iter().map(|step| step.name).collect();
            let all: Vec<_> = STEPS.iter().map(|step| step.name).collect();
            assert_eq!(names, all);
        }
        for wrong in ["", "1", "0/2", "3/2", "a/2", "1/0"] {
            assert!(part(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn steps_are_found_by_their_names() {
        let steps = named("model,mutants S9").expect("they are there");
        assert_eq!(steps.len(), 2);
        let told = named("model,modle").expect_err("the second is not");
        assert!(told.contains("`modle`"), "{told}");
    }

    #[test]
    fn every_mutant_has_its_night_and_every_night_has_mutants() {
        let asked = STEPS.iter().flat_map(arguments);
        let asked: BTreeSet<_> = asked.map(|argument| (*argument).to_owned()).collect();
        let mutants = crate::mutants::load(&crate::root()).expect("they can be read");
        let there: BTreeSet<_> = mutants.into_iter().map(|mutant| mutant.argument).collect();
        assert_eq!(asked, there);
    }
}
