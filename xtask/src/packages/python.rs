//! The package for Python: a wheel, and its tests in an environment that has nothing else.

use super::{Build, Outcome, Trouble};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Builds the wheel, installs it in an empty environment, and runs the tests there.
pub(super) fn build_and_test(build: &mut Build<'_>) -> Outcome<String> {
    let python = interpreter()?;
    let wheel = pack(build)?;
    let (root, folder) = (build.root, build.folder.join("python"));
    let tools = folder.join("tools");
    install(&tools, &["mypy"]).map_err(|why| missing("mypy", &why))?;
    let mut mypy = Command::new(tools.join("bin/python"));
    mypy.current_dir(root.join("python"));
    // pytest is in the other environment.
    done(mypy.args([
        "-m",
        "mypy",
        "--strict",
        "leasehold",
        "--exclude",
        "pytest_plugin",
    ]))?;

    let empty = folder.join("empty");
    drop(fs::remove_dir_all(&empty));
    environment(python, &empty, &[&wheel.display().to_string()])?;
    let mut first = Command::new(empty.join("bin/python"));
    done(first.args(["-c", FIRST_LOCK]))?;
    install(&empty, TESTED_WITH)?;
    Ok(test(build, &empty)?)
}

/// Builds the wheel.
pub(super) fn pack(build: &mut Build<'_>) -> Outcome<PathBuf> {
    let (root, folder) = (build.root, build.folder.join("python"));
    let (tools, wheels) = (folder.join("tools"), folder.join("wheels"));
    let made = environment(interpreter()?, &tools, &["maturin>=1.7,<2"]);
    made.map_err(|why| missing("maturin", &why))?;
    drop(fs::remove_dir_all(&wheels));
    let mut maturin = Command::new(tools.join("bin/maturin"));
    maturin.args(["build", "--release", "--locked", "--manifest-path"]);
    maturin
        .arg(root.join("python/Cargo.toml"))
        .arg("--out")
        .arg(&wheels);
    // The same sources make the same wheel, to the byte: who has installed it sees that it is no other one.
    maturin.env("SOURCE_DATE_EPOCH", FIRST_DAY_OF_ZIP);
    done(maturin.env("CARGO_TARGET_DIR", folder.join("build")))?;
    Ok(wheel(&wheels)?)
}

fn missing(tool: &str, why: &str) -> Trouble {
    Trouble::Skipped(format!("{tool} cannot be had: {why}"))
}

/// The beginning of 1980, in seconds.
const FIRST_DAY_OF_ZIP: &str = "315532800";

/// A lock, with nothing but the wheel.
const FIRST_LOCK: &str = "
import leasehold
with leasehold.LockManager.memory(3) as manager, manager.lock('orders/42') as lease:
    assert lease.valid and lease.fencing_token > 0
";

/// What the tests need: the last two are those of an example.
const TESTED_WITH: &[&str] = &["pytest>=7", "redis", "fastapi", "httpx"];

/// The first interpreter that is new enough, and can make environments.
fn interpreter() -> Outcome<&'static str> {
    const ASKED: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";
    let is_fit = |python: &&str| {
        let mut asking = Command::new(python);
        let asking = asking.args(["-c", ASKED]).stderr(Stdio::null());
        asking.status().is_ok_and(|status| status.success())
    };
    let found = ["python3", "python"].into_iter().find(is_fit);
    let why = "no python3 of version 3.10 or later with venv and pip is here";
    found.ok_or_else(|| Trouble::Skipped(why.to_owned()))
}

fn environment(python: &str, folder: &Path, packages: &[&str]) -> Result<(), String> {
    if !folder.join("bin/python").exists() {
        done(Command::new(python).args(["-m", "venv"]).arg(folder))?;
    }
    install(folder, packages)
}

fn install(environment: &Path, packages: &[&str]) -> Result<(), String> {
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    done(pip.args(packages))
}

fn wheel(folder: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    let is_wheel = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "whl");
    let path = paths.find(is_wheel);
    path.ok_or_else(|| format!("{}: there is no wheel", folder.display()))
}

/// Runs the tests against what is installed, and not against the sources: their folder alone is on the path. Says how many
/// passed.
fn test(build: &mut Build<'_>, environment: &Path) -> Result<String, String> {
    let mut pytest = Command::new(environment.join("bin/python"));
    pytest.current_dir(build.root.join("python/tests"));
    pytest.args([
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        ".",
    ]);
    if let Some(server) = &build.server {
        pytest.env("LEASEHOLD_SERVER", server);
    }
    let output = pytest.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("pytest cannot be run: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    if !output.status.success() {
        return Err(format!("pytest ended with {}", output.status));
    }
    for skip in said.lines().filter(|line| line.starts_with("SKIPPED [")) {
        build.skips.add(format!("pytest: {skip}"));
    }
    let passed = said.lines().rev().find_map(passed);
    passed
        .map(|count| format!("{count} tests passed"))
        .ok_or_else(|| "pytest did not say how many tests passed".to_owned())
}

/// The number in `71 passed, 1 skipped in 56.42s`.
fn passed(line: &str) -> Option<usize> {
    let mut words = line.split([' ', ',']).filter(|word| !word.is_empty());
    let mut before = words.next()?;
    for word in words {
        if word == "passed" {
            return before.parse().ok();
        }
        before = word;
    }
    None
}

fn done(command: &mut Command) -> Result<(), String> {
    println!("{command:?}");
    let status = command
        .status()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() {
        return Ok(());
    }
    Err(format!("{command:?} ended with {status}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_pytest_says_is_read() {
        assert_eq!(
            super::passed("71 passed, 1 skipped in 56.42s (0:00:56)"),
            Some(71)
        );
        assert_eq!(super::passed("1 failed, 70 passed in 3.00s"), Some(70));
        assert_eq!(super::passed("no tests ran in 0.01s"), None);
    }
}
