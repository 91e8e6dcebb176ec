//! The checks that mutants name.

use super::kind::Kind;
use std::{fmt, fs, path::Path};

/// Something that can fail.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Check {
    /// A test, by its full name.
    Test(&'static Kind, String),
    /// Seeds 0 and on of a lawful scenario of the simulator. Any violation counts, or only those of one
    /// property.
    Sim {
        scenario: String,
        seeds: u64,
        only: Option<&'static str>,
    },
    /// A shape of the model, searched exhaustively.
    Model { shape: String },
}

impl Check {
    /// A check as mutants name it: `timeline NAME`, `sim SCENARIO SEEDS`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["sim", scenario, seeds, only @ ..] => Ok(Self::Sim {
                scenario: (*scenario).to_owned(),
                seeds: seeds
                    .parse()
                    .map_err(|_| format!("`{seeds}` is not a number of seeds"))?,
                only: property(only)?,
            }),
            ["model", shape] => Ok(Self::Model {
                shape: (*shape).to_owned(),
            }),
            [word, name] => match Kind::find(word) {
                Some(kind) => Ok(Self::Test(kind, (*name).to_owned())),
                None => Err(unknown(text)),
            },
            _ => Err(unknown(text)),
        }
    }

    /// What cargo does before the check can run: its words, and the program that it builds, of which one call may have
    /// several.
    pub(super) fn build(&self) -> (Vec<&'static str>, &'static [&'static str]) {
        match self {
            Self::Test(kind, _) => (vec!["test", "--no-run", "-p", kind.package], kind.target),
            Self::Sim { scenario, .. } => {
                let mut words = vec!["build", "--profile", "mutants", "-p", "leasehold-sim"];
                words.extend(features(scenario));
                (words, &[])
            }
            Self::Model { .. } => (vec!["build", "--release", "-p", "leasehold-model"], &[]),
        }
    }

    /// How much is built for it after a line of the core has changed: less is sooner.
    pub(super) fn building(&self) -> u8 {
        match self {
            Self::Test(kind, _) if kind.package == "leasehold-core" => 0,
            Self::Model { .. } => 1,
            Self::Sim { scenario, .. } if features(scenario).is_some() => 2,
            Self::Sim { .. } => 3,
            Self::Test(..) => 4,
        }
    }

    /// What cargo does to run it, one after the other until one fails.
    pub(super) fn runs(&self) -> Vec<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        match self {
            Self::Test(kind, name) => {
                let mut all = vec!["test", "-p", kind.package];
                all.extend(kind.target);
                all.extend(["--", "--exact", name, "--test-threads", "1"]);
                vec![words(&all)]
            }
            Self::Sim {
                scenario,
                seeds,
                only,
            } => batches(*seeds)
                .into_iter()
                .map(|(from, count)| {
                    let (from, count) = (from.to_string(), count.to_string());
                    let mut all = vec!["run", "--profile", "mutants", "-p", "leasehold-sim"];
                    all.extend(features(scenario));
                    all.extend([
                        "--",
                        "--scenario",
                        scenario,
                        "--from",
                        &from,
                        "--seeds",
                        &count,
                    ]);
                    all.extend(only.iter().flat_map(|property| ["--only", property]));
                    words(&all)
                })
                .collect(),
            Self::Model { shape } => {
                let all = [
                    "run",
                    "--release",
                    "-p",
                    "leasehold-model",
                    "--",
                    "--shape",
                    shape,
                ];
                vec![words(&all)]
            }
        }
    }

    /// What a run came to, by its exit code, what it printed, and what tests told that they `skipped`: the reason if it
    /// failed, none if it passed. An error if it did not run, or not the whole of it.
    pub(super) fn verdict(
        &self,
        code: Option<i32>,
        output: &str,
        skipped: &str,
    ) -> Result<Option<String>, String> {
        match self {
            // A test may abort, so its end is no witness; that it began is.
            Self::Test(_, name) if !output.contains("running 1 test\n") => {
                Err(format!("did not run: there is no test `{name}`"))
            }
            Self::Test(..) if code == Some(0) => {
                if let Some(why) = skipped.lines().next() {
                    return Err(format!("is skipped here: {why}"));
                }
                let ran = output.contains("test result: ok. 1 passed");
                ran.then_some(None)
                    .ok_or_else(|| "did not run: the test is ignored".to_owned())
            }
            // Told by the test itself, or by cargo of one that was ended by a signal.
            Self::Test(..) if TOLD.iter().any(|told| output.contains(told)) => {
                Ok(Some(String::new()))
            }
            // No test does this to itself. Most likely the machine has no memory or no disk left.
            Self::Test(..) if output.contains(SIGNAL) => {
                Err("did not end by itself: it was ended by a signal".to_owned())
            }
            Self::Sim { .. } if code == Some(1) => match first_seed(output) {
                None => Err("proves nothing: nobody held anything".to_owned()),
                seed => Ok(seed),
            },
            Self::Model { .. } if code == Some(1) => Ok(Some(String::new())),
            Self::Sim { .. } | Self::Model { .. } if code == Some(0) => Ok(None),
            _ => Err(format!("ended with {code:?} without a result")),
        }
    }

    /// Whether it is `other`, or has fewer seeds of the same scenario.
    pub(super) fn is_part_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Sim { scenario, .. }, Self::Sim { scenario: all, .. }) => scenario == all,
            _ => self == other,
        }
    }

    /// Whether it needs a server to run against.
    pub(super) const fn needs_server(&self) -> bool {
        matches!(self, Self::Test(Kind { server: true, .. }, _))
    }

    /// An error if what it names is not in the project any more.
    pub(super) fn exists(&self, root: &Path) -> Result<(), String> {
        let is_there = match self {
            Self::Test(kind, name) => {
                let (modules, name) = name.rsplit_once("::").unwrap_or(("", name));
                let function = format!("fn {name}(");
                let declares =
                    |path: &Path, text: &str| text.contains(&function) && is_in(modules, path);
                let story = root.join("crates/leasehold-core/testdata").join(name);
                kind.word == "timeline" && story.with_extension("txt").exists()
                    || is_below(&root.join(kind.folder), &declares)
            }
            Self::Sim { scenario, .. } => {
                let scenarios = root.join("crates/leasehold-sim/src/scenario");
                is_below(&scenarios, &|_, text| declares_scenario(text, scenario))
            }
            Self::Model { shape } => {
                let named = format!("name: \"{shape}\",");
                ["shape/lawful.rs", "fencing/shape/lawful.rs"]
                    .into_iter()
                    .map(|file| root.join("crates/leasehold-model/src").join(file))
                    .any(|file| fs::read_to_string(file).is_ok_and(|text| text.contains(&named)))
            }
        };
        is_there
            .then_some(())
            .ok_or_else(|| format!("there is no `{self}` any more"))
    }
}

impl fmt::Display for Check {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Test(kind, name) => {
                // The modules of a test tell its place, not what it says.
                write!(
                    out,
                    "{} {}",
                    kind.word,
                    name.rsplit("::").next().unwrap_or_default()
                )
            }
            Self::Sim {
                scenario,
                seeds,
                only,
            } => {
                write!(out, "sim {scenario} {seeds}")?;
                only.map_or(Ok(()), |property| write!(out, " {property}"))
            }
            Self::Model { shape } => write!(out, "model {shape}"),
        }
    }
}

/// What stands in the output of a test that failed, aborted or went wrong in memory.
const TOLD: [&str; 3] = ["test result: FAILED", "(signal: 6,", "(signal: 11,"];

/// What cargo says of a test that was ended by any signal.
const SIGNAL: &str = "(signal: ";

/// A property of the simulator, if one is named.
fn property(words: &[&str]) -> Result<Option<&'static str>, String> {
    let word = match words {
        [] => return Ok(None),
        [word] => word,
        more => return Err(format!("one property at most, not `{}`", more.join(" "))),
    };
    let found = PROPERTIES.into_iter().find(|property| property == word);
    let unknown = || format!("`{word}` is none of {}", PROPERTIES.join(", "));
    found.map(Some).ok_or_else(unknown)
}

/// How the simulator is built: with the library and with Lua only where scripts are run. Most wrong lines are in the core,
/// and the simulator is built once for each.
fn features(scenario: &str) -> Option<&'static str> {
    let runs_scripts = scenario.contains("lua-");
    (!runs_scripts).then_some("--no-default-features")
}

/// Seeds in growing portions: most mutants are found by the first few.
fn batches(seeds: u64) -> Vec<(u64, u64)> {
    let (mut all, mut from, mut size) = (Vec::new(), 0, 50);
    while from < seeds {
        let count = size.min(seeds - from);
        all.push((from, count));
        from += count;
        size *= 4;
    }
    all
}

/// `seed 12: Exclusion` out of `    seed 12, at 3.000000 s: Exclusion: …`.
fn first_seed(output: &str) -> Option<String> {
    let line = output
        .lines()
        .find(|line| line.trim_start().starts_with("seed "))?;
    let mut parts = line.trim_start().splitn(3, ": ");
    let seed = parts.next()?.split(',').next()?;
    Some(format!("{seed}: {}", parts.next()?))
}

/// Whether a text of the simulator declares this scenario. One that is built upon another names the other too.
fn declares_scenario(text: &str, scenario: &str) -> bool {
    let quoted = format!("\"{scenario}\",");
    text.match_indices(&quoted).any(|(start, _)| {
        let before = text.get(..start).unwrap_or_default().trim_end();
        before.ends_with("lawful(") || before.ends_with("name:")
    })
}

/// Whether a file can have the tests of these modules: `a::b::tests` are in `a/b.rs` or in `a/b/tests.rs`.
fn is_in(modules: &str, file: &Path) -> bool {
    let file = file.with_extension("");
    let is_part = |module: &str| file.iter().any(|part| part == module);
    let mut modules = modules.split("::");
    modules.all(|module| module.is_empty() || module == "tests" || is_part(module))
}

/// Whether one of the files below the folder is such.
fn is_below(folder: &Path, is_such: &impl Fn(&Path, &str) -> bool) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            return is_below(&path, is_such);
        }
        fs::read_to_string(&path).is_ok_and(|content| is_such(&path, &content))
    })
}

fn unknown(text: &str) -> String {
    let kinds = Kind::words().join(" TEST, ");
    format!("`{text}` is none of {kinds} TEST, sim SCENARIO SEEDS [PROPERTY], model SHAPE")
}

const PROPERTIES: [&str; 6] = [
    "exclusion",
    "validity",
    "leftovers",
    "loss",
    "progress",
    "tokens",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_of_a_test_are_where_its_file_is() {
        for (modules, file, is_there) in [
            ("", "src/a.rs", true),
            ("a::tests", "src/a.rs", true),
            ("a::b::tests", "src/a/b/tests.rs", true),
            ("c::b::tests", "src/a/b/tests.rs", false),
            ("a::b", "src/a.rs", false),
        ] {
            assert_eq!(
                is_in(modules, Path::new(file)),
                is_there,
                "{modules} {file}"
            );
        }
    }

    #[test]
    fn a_check_is_read_and_named_alike() {
        for text in [
            "timeline a_b",
            "sim calm 2000",
            "model two-clients",
            "suite x",
        ] {
            let check = Check::parse(text).expect("it is known");
            assert_eq!(check.to_string(), text);
        }
        assert_eq!(
            Check::parse("unit a::tests::b").unwrap().to_string(),
            "unit b"
        );
        for text in [
            "",
            "sim calm",
            "sim calm many",
            "sim calm 9 luck",
            "sim calm 9 validity progress",
            "guess a",
            "unit",
        ] {
            assert!(Check::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_simulator_is_built_with_lua_for_scripts_only() {
        let is_slim = |text: &str| {
            let check = Check::parse(text).expect("it is known");
            let ((build, _), runs) = (check.build(), check.runs());
            let flag = "--no-default-features";
            let is_slim = build.contains(&flag);
            assert!(
                runs.iter()
                    .all(|run| run.contains(&flag.to_owned()) == is_slim)
            );
            is_slim
        };
        assert!(is_slim("sim calm 9"));
        assert!(!is_slim("sim lua-tokens 9"));
    }

    #[test]
    fn seeds_come_in_growing_portions() {
        assert_eq!(batches(50), [(0, 50)]);
        assert_eq!(batches(300), [(0, 50), (50, 200), (250, 50)]);
    }

    #[test]
    fn a_test_that_did_not_run_is_no_verdict() {
        let check = Check::parse("unit a").unwrap();
        let verdict = |code, output: &str| check.verdict(code, output, "");
        let passed = "running 1 test\ntest result: ok. 1 passed; 0 failed";
        assert_eq!(verdict(Some(0), passed), Ok(None));
        let failed = Ok(Some(String::new()));
        for output in [
            "test result: FAILED. 0 passed",
            "(signal: 6, SIGABRT: process abort signal)",
            "(signal: 11, SIGSEGV: invalid memory reference)",
        ] {
            let output = format!("running 1 test\n{output}");
            assert_eq!(verdict(Some(101), &output), failed);
        }
        for (code, output) in [
            (Some(0), "running 0 tests\n"),
            (Some(0), "running 1 test\nok. 0 passed; 0 failed; 1 ignored"),
            (Some(101), "running 1 test\n"),
            (Some(101), "running 1 test\n(signal: 9, SIGKILL: kill)"),
            (
                Some(101),
                "running 1 test\n(signal: 15, SIGTERM: termination signal)",
            ),
            (
                Some(101),
                "running 1 test\n(signal: 7, SIGBUS: access to undefined memory)",
            ),
            (None, "running 1 test\n"),
        ] {
            assert!(verdict(code, output).is_err(), "{code:?} {output}");
        }
    }

    #[test]
    fn a_test_that_was_skipped_has_neither_passed_nor_failed() {
        let check = Check::parse("suite a").unwrap();
        let passed = "running 1 test\ntest result: ok. 1 passed; 0 failed";
        assert_eq!(
            check.verdict(Some(0), passed, "no TLS\nno python3\n"),
            Err("is skipped here: no TLS".to_owned())
        );
        // A part of it was skipped, and the rest found the mutant.
        let failed = "running 1 test\ntest result: FAILED. 0 passed; 1 failed";
        let verdict = check.verdict(Some(101), failed, "no TLS\n");
        assert_eq!(verdict, Ok(Some(String::new())));
    }

    #[test]
    fn the_simulator_says_which_seed() {
        let check = Check::parse("sim calm 9").unwrap();
        let output = "calm 9\n    seed 12, at 3.5 s: Exclusion: two: at once\n    cargo run\n";
        assert_eq!(
            check.verdict(Some(1), output, ""),
            Ok(Some("seed 12: Exclusion".to_owned()))
        );
        assert_eq!(check.verdict(Some(0), "", ""), Ok(None));
        assert!(check.verdict(Some(2), "usage", "").is_err());
        let nobody_holds = "calm 9\n    0 leases, no violations\n";
        assert!(check.verdict(Some(1), nobody_holds, "").is_err());
        assert!(
            check
                .verdict(Some(101), "error: could not compile", "")
                .is_err()
        );
    }

    #[test]
    fn a_scenario_that_is_only_built_upon_is_not_declared() {
        let text = "lawful(\"calm\", \"c\", calm),\nlawful(\n    \"lua-calm\",\n    \"by the scripts\",\n    |setting, rng| {\n\
                    served(\"contention\", setting, rng);\n}),\nScenario {\n    name: \"timeless\",\n}";
        for scenario in ["calm", "lua-calm", "timeless"] {
            assert!(declares_scenario(text, scenario), "{scenario}");
        }
        assert!(!declares_scenario(text, "contention"));
        assert!(!declares_scenario(text, "by the scripts"));
    }
}
