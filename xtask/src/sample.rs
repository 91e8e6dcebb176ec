//! `cargo xtask sample`: lets cargo-mutants spoil some of the lines of the core and of the links in all the ways that it knows, and
//! sees that tests which need no server notice. Our own mutants are of what we thought of; these are not.
//!
//! Which lines it takes changes with the sources. What nobody notices is listed in `xtask/survivors.txt`, with the reason.

use crate::{process::cargo, target_folder};
use std::{collections::BTreeMap, fs, path::Path, process::ExitCode};

/// Where to spoil lines, and how many.
#[derive(Debug)]
struct Sample {
    name: &'static str,
    /// For `cargo mutants`: which lines.
    which: &'static [&'static str],
    /// One of so many.
    shard: &'static str,
    /// For `cargo test`.
    tests: &'static [&'static str],
}

const SAMPLES: &[Sample] = &[
    Sample {
        name: "core",
        which: &["--package", "leasehold-core"],
        shard: "0/60",
        tests: &[],
    },
    Sample {
        name: "links",
        which: &[
            "--package",
            "leasehold",
            "--all-features",
            "--file",
            "crates/leasehold/src/link/**",
        ],
        shard: "0/90",
        tests: &["--lib"],
    },
];

/// Takes the samples that are named, or both.
pub(crate) fn run(root: &Path, words: &[&str]) -> ExitCode {
    match samples(root, words) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            println!("FAILED: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn samples(root: &Path, names: &[&str]) -> Result<String, String> {
    let is_known = |name: &&&str| SAMPLES.iter().any(|sample| sample.name == **name);
    if let Some(other) = names.iter().find(|name| !is_known(name)) {
        return Err(format!(
            "there is no sample `{other}`: `core` and `links` are"
        ));
    }
    let list = root.join("xtask/survivors.txt");
    let list = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let known = reasons(&list)?;
    let (mut said, mut unknown) = (Vec::new(), Vec::new());
    for sample in SAMPLES {
        if names.is_empty() || names.contains(&sample.name) {
            let found = sample.take(root)?;
            let (listed, others): (Vec<_>, Vec<_>) = { found.missed.into_iter() }
                .partition(|mutant| known.contains_key(without_place(mutant).as_str()));
            said.push(format!(
                "{}: {} lines spoilt: {} noticed, {} not, for a reason that is listed, {} do not compile",
                sample.name,
                found.noticed + listed.len() + others.len() + found.unviable,
                found.noticed,
                listed.len(),
                found.unviable
            ));
            unknown.extend(others);
        }
    }
    match unknown.len() {
        0 => Ok(said.join("; ")),
        count => Err(format!(
            "nobody notices\n{}\n{}; {count} more are noticed by no test: write one, or list the reason",
            unknown.join("\n"),
            said.join("; ")
        )),
    }
}

/// What came of a sample.
#[derive(Debug, Default)]
struct Found {
    /// By a test, or since none came to its end.
    noticed: usize,
    unviable: usize,
    missed: Vec<String>,
}

impl Sample {
    fn take(&self, root: &Path) -> Result<Found, String> {
        let folder = target_folder(root).join("sample").join(self.name);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut command = cargo();
        command.current_dir(root).arg("mutants").args(self.which);
        command.args(["--shard", self.shard, "--sharding", "round-robin"]);
        command.args(["--jobs", "2", "--output"]).arg(&folder);
        command.arg("--").args(self.tests);
        let status = command.status();
        let status = status.map_err(|error| format!("cargo cannot be run: {error}"))?;
        // All are noticed, some are not, some tests do not end.
        if !matches!(status.code(), Some(0 | 2 | 3)) {
            return Err(format!(
                "`cargo mutants` of {} ended with {status}",
                self.name
            ));
        }
        let lines = |file: &str| {
            let path = folder.join("mutants.out").join(file);
            let text = fs::read_to_string(&path);
            let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
            Ok::<_, String>(text.lines().map(str::to_owned).collect::<Vec<_>>())
        };
        Ok(Found {
            noticed: lines("caught.txt")?.len() + lines("timeout.txt")?.len(),
            unviable: lines("unviable.txt")?.len(),
            missed: lines("missed.txt")?,
        })
    }
}

/// `a.rs:12:3: replace …` as it is listed, where lines may move: `a.rs: replace …`.
fn without_place(mutant: &str) -> String {
    let mut parts = mutant.splitn(4, ':');
    let file = parts.next().unwrap_or_default();
    let what = parts.nth(2).unwrap_or_default();
    format!("{file}:{what}")
}

/// The reason for each that is listed: mutants as they are told, and indented below each why nobody notices.
fn reasons(list: &str) -> Result<BTreeMap<&str, &str>, String> {
    let mut reasons = BTreeMap::new();
    let mut lines = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    while let Some(mutant) = lines.next() {
        let reason = lines.next().and_then(|line| line.strip_prefix("    "));
        let reason =
            reason.ok_or_else(|| format!("xtask/survivors.txt: no reason for `{mutant}`"))?;
        reasons.insert(mutant, reason);
    }
    Ok(reasons)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_found_in_the_list_wherever_its_line_is() {
        let told = "a/b.rs:320:5: replace is_full -> Result<(), A::B> with true";
        let list =
            "# Why.\n\na/b.rs: replace is_full -> Result<(), A::B> with true\n    It says so.\n";
        let known = reasons(list).expect("it has a reason");
        assert_eq!(
            known.get(without_place(told).as_str()),
            Some(&"It says so.")
        );
        assert!(reasons("a/b.rs: replace x\n").is_err());
    }

    #[test]
    fn all_that_is_listed_has_a_reason_and_a_file() {
        let list = fs::read_to_string(crate::root().join("xtask/survivors.txt"));
        let list = list.expect("it is there");
        for mutant in reasons(&list).expect("each has its reason").keys() {
            let file = mutant.split(':').next().expect("it names a file");
            assert!(crate::root().join(file).is_file(), "{mutant}");
        }
    }
}
