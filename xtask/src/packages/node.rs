//! The npm package: built for this machine, packed, installed into an empty project, and tried there by its own tests.

use super::{Build, Outcome, Trouble, run_in};
use crate::process::{self, output_of};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Checks it, builds it, leaves the package in the folder of all packages, and tries it.
pub(super) fn build_and_test(build: &mut Build<'_>) -> Outcome<String> {
    has_tools()?;
    let (root, folder) = (build.root, folder(build));
    for words in CHECKS {
        run_in(&root.join("node"), &mut cargo(&folder, words))?;
    }
    let archive = pack(build)?;
    println!("node: packed {}", archive.display());
    let project = project(root, &folder, &archive)?;
    check_types(&project)?;
    Ok(test(build, &project)?)
}

/// Builds it for this machine, and packs it.
pub(super) fn pack(build: &mut Build<'_>) -> Outcome<PathBuf> {
    has_tools()?;
    let stage = stage(build.root, &folder(build))?;
    let mut pack = Command::new("npm");
    pack.args(["pack", "--silent", "--pack-destination"])
        .arg(&build.folder);
    let name = output_of(&stage, &mut pack)?;
    Ok(build.folder.join(name.trim()))
}

/// Where it is built.
fn folder(build: &Build<'_>) -> PathBuf {
    build.folder.join("node")
}

/// Whether all is here that it needs.
fn has_tools() -> Outcome<()> {
    has("node", 20)
        .and_then(|()| has("npm", 1))
        .map_err(Trouble::Skipped)
}

/// Whether there is this program, of this major version at least.
fn has(program: &str, least: u32) -> Result<(), String> {
    let output = Command::new(program).arg("--version").output();
    let output = output.map_err(|error| format!("no {program}: {error}"))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major = version.trim_start_matches('v').split('.').next();
    match major.and_then(|major| major.parse::<u32>().ok()) {
        Some(major) if major >= least => Ok(()),
        _ => Err(format!("{program} is {version:?}, and {least} is needed")),
    }
}

/// What is to be packed: the files of the package, its native half for this machine, and the licences.
fn stage(root: &Path, folder: &Path) -> Result<PathBuf, String> {
    let source = root.join("node");
    run_in(&source, &mut cargo(folder, &BUILD))?;
    let stage = emptied(&folder.join("stage"))?;
    for name in ["package.json", "README.md", "api-table.md"] {
        copy(&source.join(name), &stage.join(name))?;
    }
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&root.join(name), &stage.join(name))?;
    }
    copy_folder(&source.join("lib"), &stage.join("lib"))?;
    copy_folder(&source.join("examples"), &stage.join("examples"))?;
    let mut ask = Command::new("node");
    ask.args(["-p", "require('./lib/platform.js')"]);
    let name = output_of(&stage, &mut ask)?;
    let (before, behind) = (env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let library = format!("release/{before}leasehold_node{behind}");
    copy(&folder.join(library), &stage.join("lib").join(name.trim()))?;
    Ok(stage)
}

/// Cargo, building into this folder.
fn cargo(folder: &Path, words: &[&str]) -> Command {
    let mut cargo = process::cargo();
    cargo.args(words).env("CARGO_TARGET_DIR", folder);
    // Those of this program, on which build scripts look: with them, all would be built anew.
    for (name, _) in env::vars_os() {
        let is_ours =
            |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST");
        if name.to_str().is_some_and(is_ours) {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// An empty project that has the package, the compiler of TypeScript, and the tests.
fn project(root: &Path, folder: &Path, archive: &Path) -> Result<PathBuf, String> {
    let project = emptied(&folder.join("project"))?;
    let manifest = "{ \"name\": \"empty\", \"private\": true }\n";
    fs::write(project.join("package.json"), manifest).map_err(|error| error.to_string())?;
    let mut install = Command::new("npm");
    install
        .args(["install", "--no-audit", "--no-fund", "--silent"])
        .arg(archive)
        .args(DEVELOPMENT);
    run_in(&project, &mut install)?;
    let source = root.join("node");
    for name in ["test", "types-test", "examples"] {
        copy_folder(&source.join(name), &project.join(name))?;
    }
    let table = "api-table.md";
    copy(&source.join(table), &project.join(table))?;
    Ok(project)
}

/// The declarations are checked strictly against a program, which then runs.
fn check_types(project: &Path) -> Result<(), String> {
    let compiler = project.join("node_modules/.bin/tsc");
    run_in(project, Command::new(compiler).args(["-p", "types-test"]))?;
    for program in ["use.mjs", "use.cjs"] {
        let path = Path::new("types-test/out").join(program);
        run_in(project, Command::new("node").arg(path))?;
    }
    Ok(())
}

/// Runs the suite, and says how much of it ran.
fn test(build: &mut Build<'_>, project: &Path) -> Result<String, String> {
    let sources = std::path::absolute(build.root.join("crates/leasehold/src"));
    let sources = sources.map_err(|error| error.to_string())?;
    let mut suite = Command::new("node");
    // One file after the other: they measure times.
    suite
        .args([
            "--test",
            "--test-reporter=tap",
            "--test-concurrency=1",
            "test/",
        ])
        .env("LEASEHOLD_SOURCES", sources)
        .env_remove("LEASEHOLD_NODES");
    if let Some(server) = &build.server {
        suite.env("LEASEHOLD_SERVER", server);
    }
    let told = output_of(project, &mut suite)?;
    for line in told.lines().filter(|line| line.contains("# SKIP")) {
        build.skips.add(format!("node: {}", line.trim()));
    }
    let count = |what: &str| {
        let begin = format!("# {what} ");
        let line = told.lines().rev().find(|line| line.starts_with(&begin));
        let number = line.and_then(|line| line[begin.len()..].trim().parse::<usize>().ok());
        number.ok_or_else(|| format!("the suite does not say how many of its tests are {what}"))
    };
    let (passed, skipped) = (count("pass")?, count("skipped")?);
    if passed == 0 {
        return Err("the suite has no test that passed".to_owned());
    }
    Ok(format!("{passed} tests passed, {skipped} skipped"))
}

fn emptied(folder: &Path) -> Result<PathBuf, String> {
    let told = |error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(told)?;
    }
    fs::create_dir_all(folder).map_err(told)?;
    Ok(folder.to_owned())
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let copied = fs::copy(from, to);
    copied
        .map(drop)
        .map_err(|error| format!("{}: {error}", from.display()))
}

/// A folder and what is below it, without native halves that were built by hand.
fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    let told = |error| format!("{}: {error}", from.display());
    fs::create_dir_all(to).map_err(told)?;
    for entry in fs::read_dir(from).map_err(told)?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            copy_folder(&path, &to.join(name))?;
        } else if path.extension().is_none_or(|extension| extension != "node") {
            copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}

/// How the native half is checked.
const CHECKS: [&[&str]; 2] = [
    &["fmt", "--check"],
    &["clippy", "--quiet", "--locked", "--", "-D", "warnings"],
];

/// How it is built.
const BUILD: [&str; 3] = ["build", "--release", "--locked"];

/// What the checks need and the package does not.
const DEVELOPMENT: [&str; 3] = ["typescript@5", "@types/node@20", "sql.js@1"];
