//! `cargo xtask chaos`: finds or gets the servers, then lets the chaos loose on them.

use crate::{install, process::cargo, target_folder};
use std::{os::unix::process::CommandExt, path::Path, process::ExitCode};

/// Runs the chaos. `further` goes to it, with the servers' names made into paths.
pub(crate) fn run(root: &Path, further: &[&str]) -> ExitCode {
    let words = match resolve(&target_folder(root), further) {
        Ok(words) => words,
        Err(reason) => {
            println!("{reason}");
            return ExitCode::from(2);
        }
    };
    // In place of this process: who ends this command ends the chaos, which then tidies up.
    let error = cargo()
        .current_dir(root)
        .args(["run", "--release", "-p", "leasehold-chaos", "--"])
        .args(words)
        .exec();
    println!("cargo cannot be run: {error}");
    ExitCode::FAILURE
}

/// The arguments, with paths for the names that follow `--servers`.
fn resolve(target: &Path, further: &[&str]) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut is_servers = false;
    for word in further {
        words.push(match is_servers {
            true => paths(target, word)?,
            false => (*word).to_owned(),
        });
        is_servers = *word == "--servers";
    }
    // Without servers it takes the one that is found, which there must be.
    let is_question = |word: &&str| ["--list", "--help", "-h", "help"].contains(word);
    if !further.contains(&"--servers") && !further.iter().any(is_question) {
        let found = install::server(target)?;
        words.extend(["--servers".to_owned(), found.path().display().to_string()]);
    }
    Ok(words)
}

fn paths(target: &Path, names: &str) -> Result<String, String> {
    let names = names.split(',').filter(|name| !name.is_empty());
    let paths = names.map(|name| {
        let path = install::named(target, name)?.path().to_owned();
        // From where the command was typed, not from the workspace.
        let path = std::path::absolute(&path).unwrap_or(path);
        Ok(path.display().to_string())
    });
    Ok(paths.collect::<Result<Vec<_>, String>>()?.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_for_servers_are_touched() {
        let nowhere = Path::new("nowhere");
        let resolved = resolve(nowhere, &["--seed", "7", "--servers", "/bin/a,/bin/b"]);
        let expected = ["--seed", "7", "--servers", "/bin/a,/bin/b"];
        assert_eq!(resolved.unwrap(), expected);
        assert_eq!(resolve(nowhere, &["--list"]).unwrap(), ["--list"]);
        assert!(resolve(nowhere, &["--servers", "nonsense"]).is_err());
    }
}
