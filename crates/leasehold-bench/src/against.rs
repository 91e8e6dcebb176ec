//! Another version of the library, measured by the same program in the same run.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use crate::{
    Fallible, args::Args, comparison::Comparison, conditions::Conditions, target, turn::Player,
};
use leasehold_report::{page, root};
use serde_json::{Value, json};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Measures both, and tells the differences. True if everything could be run.
pub(crate) fn run(args: &Args, commit: &str, conditions: &Conditions) -> Fallible<bool> {
    let commit = git(&[
        "rev-parse",
        "--short",
        "--verify",
        &format!("{commit}^{{commit}}"),
    ])?;
    println!("building the library of commit {commit}");
    let before = build(&commit)?;
    let [before, now] = play([&before, &env::current_exe()?], args)?;
    let folder = target().join("bench");
    fs::create_dir_all(&folder)?;
    let values = json!({ "commit": commit, "before": before, "now": now });
    let values = serde_json::to_string_pretty(&values)? + "\n";
    fs::write(folder.join("against.json"), &values)?;
    if let Some(path) = &args.json {
        fs::write(path, &values)?;
    }
    let comparison = Comparison::of(&before, &now);
    let (head, compared) = (conditions.markdown(), comparison.markdown());
    let text = format!("{head}\nBefore is commit {commit}. {compared}");
    println!("{text}");
    if args.write_docs {
        page::write(&root().join("docs/PERFORMANCE.md"), &[("against", &text)])?;
    }
    Ok(comparison.is_complete())
}

/// Builds this program with the library of another commit, below `target`.
fn build(commit: &str) -> Fallible<PathBuf> {
    let folder = target().join("against");
    let (source, archive) = (folder.join(commit), folder.join("source.tar"));
    if source.exists() {
        fs::remove_dir_all(&source)?;
    }
    fs::create_dir_all(&source)?;
    let archive_named = archive.to_string_lossy();
    git(&["archive", "--output", &archive_named, commit])?;
    done(
        Command::new("tar")
            .arg("-xf")
            .arg(&archive)
            .arg("-C")
            .arg(&source),
    )?;
    // What measures has to be the same in both.
    let ours = "crates/leasehold-bench";
    fs::remove_dir_all(source.join(ours))?;
    done(
        Command::new("cp")
            .arg("-R")
            .arg(root().join(ours))
            .arg(source.join(ours)),
    )?;
    let build = folder.join("build");
    done(
        Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--quiet", "--release", "-p", "leasehold-bench"])
            .arg("--target-dir")
            .arg(&build)
            .current_dir(&source),
    )?;
    Ok(build.join("release/leasehold-bench"))
}

/// The results of both, who have taken turns.
fn play(programs: [&Path; 2], args: &Args) -> Fallible<[Value; 2]> {
    let mut words = vec!["turns"];
    words.extend(args.quick.then_some("--quick"));
    let rounds = args.rounds.map(|rounds| rounds.to_string());
    if let Some(rounds) = &rounds {
        words.extend(["--rounds", rounds]);
    }
    words.extend(args.peers.then_some("--peers"));
    for name in &args.workload {
        words.extend(["--workload", name]);
    }
    let [before, now] = programs.map(|program| Player::start(program, &words));
    let mut players = [before?, now?];
    let mut results = [None, None];
    // Each begins every other time.
    let mut first = 0;
    loop {
        for player in [first, 1 - first] {
            if results[player].is_none() {
                results[player] = players[player].play()?;
            }
        }
        if let [Some(before), Some(now)] = &mut results {
            return Ok([before.take(), now.take()]);
        }
        first = 1 - first;
    }
}

fn git(words: &[&str]) -> Fallible<String> {
    done(Command::new("git").args(words).current_dir(root()))
}

/// What a command printed.
fn done(command: &mut Command) -> Fallible<String> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed: {said}").into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
