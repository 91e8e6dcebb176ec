//! `cargo xtask versions`: the tests that start servers, on one kind and version of server after the other.

use crate::{
    install,
    process::cargo,
    skips::Skips,
    target_folder,
    took::{now, seconds},
};
use std::{path::Path, process::ExitCode};

/// Runs them on the servers that `--servers` names, or on all that can be had.
pub(crate) fn run(root: &Path, further: &[&str]) -> ExitCode {
    let names: Vec<&str> = match further {
        [] => EVERY.to_vec(),
        ["--servers", names] => names.split(',').filter(|name| !name.is_empty()).collect(),
        _ => {
            println!(
                "usage: cargo xtask versions [--servers {}]",
                EVERY.join(",")
            );
            return ExitCode::from(2);
        }
    };
    let (mut lines, mut is_good) = (Vec::new(), true);
    for name in names {
        let outcome = on(root, name);
        is_good &= outcome.is_ok();
        let line = outcome.unwrap_or_else(|why| format!("{name}: FAILED: {why}"));
        println!("{line}\n");
        lines.push(line);
    }
    println!("on each server: {}", lines.join("; "));
    ExitCode::from(u8::from(!is_good))
}

/// Runs them on this server, and says what came of it.
fn on(root: &Path, name: &str) -> Result<String, String> {
    let target = target_folder(root);
    let server = install::named(&target, name)?;
    let path = std::path::absolute(server.path()).map_err(|error| error.to_string())?;
    let version = server.version().map_err(|error| error.to_string())?;
    println!("[{name}: {version}]");
    let begun = now();
    let skips = Skips::new(target.join(format!("skips-{}.txt", std::process::id())));
    let output = cargo()
        .current_dir(root)
        .args(["test", "--quiet", "--no-fail-fast", "--all-features"])
        .args(["-p", "leasehold", "-p", "leasehold-cli"])
        .args(["--test", "conformance", "--test", "suite"])
        .env("LEASEHOLD_SERVER", path)
        .env_remove("LEASEHOLD_MORE_SERVERS")
        .env("LEASEHOLD_SKIPS", skips.file())
        .output()
        .map_err(|error| format!("cargo cannot be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (passed, failed) = (counted(&text, "passed"), counted(&text, "failed"));
    let is_good = output.status.success() && passed > 0;
    if !is_good {
        println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    }
    skips.summary()?;
    let line = format!(
        "{version}: {passed} passed, {failed} failed, {}",
        seconds(begun.elapsed())
    );
    if is_good { Ok(line) } else { Err(line) }
}

/// How many tests the runners say so of.
fn counted(text: &str, what: &str) -> u32 {
    let results = text.lines().filter(|line| line.starts_with("test result:"));
    let parts = results.flat_map(|line| line.split([';', '.']));
    let counts =
        parts.filter_map(|part| part.trim().strip_suffix(what)?.trim().parse::<u32>().ok());
    counts.sum()
}

/// The servers that the documents speak of, from the oldest on.
const EVERY: [&str; 5] = [
    "redis-7.0",
    "redis-8.2",
    "redis-8.6",
    "valkey-8.1",
    "valkey-9.1",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_runners_say_is_added_up() {
        let text = "test result: ok. 12 passed; 0 failed; 1 ignored; finished in 0.05s\n\
                    3 passed\ntest result: FAILED. 7 passed; 2 failed; 0 ignored\n";
        assert_eq!((counted(text, "passed"), counted(text, "failed")), (19, 2));
    }
}
