//! `cargo xtask fuzz`: gives everything that reads what others wrote what nobody would write, guided by what it reaches.
//!
//! The targets are crates' binaries in `fuzz/`, with libFuzzer, which is C++. What reached something new is kept below the target
//! folder, and the next run begins with it and with `fuzz/seeds`.

use crate::{process::cargo, target_folder};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

/// Runs the targets that are named, or all of them, one after the other.
pub(crate) fn run(root: &Path, words: &[&str]) -> ExitCode {
    if words == ["--can"] {
        return match compiler() {
            Some(_) => ExitCode::SUCCESS,
            None => ExitCode::FAILURE,
        };
    }
    match fuzzed(root, words) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(count) => {
            println!("FAILED: {count} targets");
            ExitCode::FAILURE
        }
        Err(reason) => {
            println!("{reason}");
            ExitCode::from(2)
        }
    }
}

/// How many targets failed.
fn fuzzed(root: &Path, words: &[&str]) -> Result<usize, String> {
    let (time, names) = match words {
        ["--for", time, names @ ..] => (seconds(time)?, names),
        names => (seconds("1m")?, names),
    };
    if let Some(wrong) = names.iter().find(|name| !TARGETS.contains(name)) {
        return Err(format!(
            "there is no target `{wrong}`; there are {}",
            TARGETS.join(", ")
        ));
    }
    compiler().ok_or("fuzzing needs a C++ compiler, for libFuzzer: c++ is not there")?;
    let folder = target_folder(root).join("fuzz");
    let programs = build(root, &folder)?;
    let chosen = TARGETS
        .iter()
        .filter(|name| names.is_empty() || names.contains(name));
    let (mut tried, mut failed) = (0, 0);
    for name in chosen {
        tried += 1;
        let good = one((root, &folder), &programs.join(name), time)?;
        failed += usize::from(!good);
    }
    if failed == 0 {
        println!("nothing was found: {tried} targets, {time} s each");
    }
    Ok(failed)
}

fn compiler() -> Option<()> {
    let asked = Command::new("c++")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.ok()?.success().then_some(())
}

/// With counters in all code of Rust, which libFuzzer reads; no toolchain of another kind is needed for that. Tells where the
/// programs are.
fn build(root: &Path, folder: &Path) -> Result<PathBuf, String> {
    // Named, so that cargo leaves build scripts without counters.
    let host = host()?;
    let built = cargo()
        .current_dir(root.join("fuzz"))
        .env("RUSTFLAGS", COUNTERS)
        .args(["build", "--release", "--target", &host, "--target-dir"])
        .arg(folder)
        .status();
    match built {
        Ok(status) if status.success() => Ok(folder.join(host).join("release")),
        Ok(_) => Err("the targets do not compile".to_owned()),
        Err(error) => Err(format!("cargo cannot be run: {error}")),
    }
}

/// What this machine is, as the compiler calls it.
fn host() -> Result<String, String> {
    let told = Command::new("rustc").arg("-vV").output();
    let told = told.map_err(|error| format!("rustc cannot be run: {error}"))?;
    let told = String::from_utf8_lossy(&told.stdout);
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "rustc does not tell what this machine is".to_owned())
}

/// Runs one for so many seconds. False if it found something.
fn one((root, folder): (&Path, &Path), program: &Path, seconds: u64) -> Result<bool, String> {
    let name = program
        .file_name()
        .unwrap_or_default()
        .display()
        .to_string();
    let corpus = made(folder.join("corpus").join(&name))?;
    let found = made(folder.join("found").join(&name))?;
    let log = folder.join(format!("{name}.log"));
    let output = fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let mut command = Command::new(program);
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg("-timeout=10")
        .arg(format!("-artifact_prefix={}/", found.display()))
        .arg(&corpus)
        .stdout(Stdio::null())
        .stderr(output);
    let seeds = root.join("fuzz/seeds").join(&name);
    command.args(seeds.is_dir().then_some(seeds));
    let ended = command.status();
    let ended = ended.map_err(|error| format!("{}: {error}", program.display()))?;
    let said = fs::read(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let said = String::from_utf8_lossy(&said);
    println!("{name:<16} {}", summary(&said));
    if !ended.success() {
        let (log, program) = (log.display(), program.display());
        println!("{log} tells what it found; `{program} FILE` shows it again");
        let about = |line: &&str| line.contains("panicked at") || line.contains("Test unit");
        said.lines()
            .filter(about)
            .for_each(|line| println!("  {line}"));
    }
    Ok(ended.success())
}

fn made(folder: PathBuf) -> Result<PathBuf, String> {
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// How much was tried, and how much it reached.
fn summary(said: &str) -> String {
    let last = |words: &str| said.lines().rev().find(|line| line.contains(words));
    let reached = last("cov:").and_then(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word != "cov:");
        words.nth(1)
    });
    let done = last("Done ").unwrap_or("ended early");
    match reached {
        Some(reached) => format!("{done}; {reached} places reached"),
        None => done.to_owned(),
    }
}

/// `10m`, `30s`.
fn seconds(time: &str) -> Result<u64, String> {
    let wrong = || format!("`{time}` is no time: say 30s or 10m");
    let (number, factor) = match (time.strip_suffix('s'), time.strip_suffix('m')) {
        (Some(number), _) => (number, 1),
        (_, Some(number)) => (number, 60),
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    Ok(number.saturating_mul(factor).max(1))
}

const TARGETS: &[&str] = &[
    "addresses",
    "answers",
    "calls",
    "configurations",
    "hand-overs",
    "names",
    "words",
];

const COUNTERS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=4 --cfg fuzzing";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_targets_are_those_of_the_crate() {
        let manifest = include_str!("../../fuzz/Cargo.toml");
        let named = manifest.split("[[bin]]").skip(1);
        let named = named.filter_map(|bin| bin.split('"').nth(1));
        assert!(named.eq(TARGETS.iter().copied()));
    }

    #[test]
    fn what_was_tried_is_told() {
        let said = "#2 INITED cov: 3 ft: 4\n#9 DONE   cov: 474 ft: 1387 corp: 479\nDone 9 runs in 1 second(s)\n";
        assert_eq!(
            summary(said),
            "Done 9 runs in 1 second(s); 474 places reached"
        );
        assert_eq!(summary("x"), "ended early");
    }

    #[test]
    fn times_have_units() {
        assert_eq!(seconds("10m"), Ok(600));
        assert_eq!(seconds("30s"), Ok(30));
        assert!(seconds("30").is_err() && seconds("m").is_err());
    }
}
