//! What a step depends on, and a name for it: what it came to stands for as long as that name does.

use crate::process::{cargo, output_of};
use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

/// What a step depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inputs {
    /// All that is committed and no document.
    Tree,
    /// A program of the workspace: its sources, those of the crates of the workspace in it, and the versions of all others.
    Program(&'static str),
}

impl Inputs {
    /// A name for these inputs as they are committed.
    pub(super) fn name(self, root: &Path) -> Result<String, String> {
        let text = match self {
            Self::Tree => {
                let files = git(root, &["ls-tree", "-r", "HEAD"])?;
                let is_code = |line: &&str| !line.contains("\tdocs/") && !line.ends_with(".md");
                files.lines().filter(is_code).collect()
            }
            Self::Program(program) => of_program(root, program)?,
        };
        git_hash(root, &text)
    }
}

fn of_program(root: &Path, program: &str) -> Result<String, String> {
    let mut question = cargo();
    question.args([
        "tree",
        "--locked",
        "--package",
        program,
        "--edges",
        "normal,build",
    ]);
    question.args(["--prefix", "none", "--no-dedupe"]);
    let told = output_of(root, &mut question)?;
    let mut packages: Vec<_> = told.lines().collect();
    packages.sort_unstable();
    packages.dedup();
    let mut text = String::new();
    for package in packages {
        match folder(root, package) {
            None => text.push_str(package),
            Some(folder) => {
                let files = git(root, &["ls-tree", "-r", "HEAD", "--", &folder])?;
                let is_built = |line: &&str| is_built(&folder, line);
                text.extend(files.lines().filter(is_built));
            }
        }
        text.push('\n');
    }
    // How it is built: the profiles.
    text.push_str(&git(root, &["ls-tree", "HEAD", "--", "Cargo.toml"])?);
    Ok(text)
}

/// The folder of a package of the workspace, below the root. `cargo tree` writes it in brackets behind the version.
fn folder(root: &Path, package: &str) -> Option<String> {
    let (_, rest) = package.split_once(" (")?;
    let path = rest.split_once(')')?.0;
    let below = Path::new(path).strip_prefix(root).ok()?;
    Some(format!("{}/", below.display()))
}

/// Whether a line of `git ls-tree` is of a file that becomes part of the program.
fn is_built(folder: &str, line: &str) -> bool {
    let file = line.rsplit('\t').next().unwrap_or_default();
    let within = file.strip_prefix(folder).unwrap_or_default();
    let is_beside = ["tests/", "benches/", "examples/"];
    !is_beside.iter().any(|beside| within.starts_with(beside)) && !file.ends_with(".md")
}

fn git_hash(root: &Path, text: &str) -> Result<String, String> {
    let told = |error: std::io::Error| format!("git hash-object: {error}");
    let mut hasher = Command::new("git");
    let hasher = hasher.current_dir(root).args(["hash-object", "--stdin"]);
    let hasher = hasher.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut hasher = hasher.spawn().map_err(told)?;
    if let Some(mut input) = hasher.stdin.take() {
        input.write_all(text.as_bytes()).map_err(told)?;
    }
    let said = hasher.wait_with_output().map_err(told)?;
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

/// What git says to these words.
pub(super) fn git(root: &Path, words: &[&str]) -> Result<String, String> {
    let told = output_of(root, Command::new("git").args(words))?;
    Ok(told.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_of_the_workspace_is_told_from_others() {
        let root = Path::new("/house");
        let ours = folder(root, "leasehold-core v0.1.0 (/house/crates/leasehold-core)");
        assert_eq!(ours.as_deref(), Some("crates/leasehold-core/"));
        for other in [
            "clap v4.6.7",
            "clap_derive v4.6.7 (proc-macro)",
            "cc v1.11.1 (*)",
        ] {
            assert_eq!(folder(root, other), None, "{other}");
        }
    }

    #[test]
    fn a_program_is_built_of_its_sources_and_not_of_its_tests() {
        let line = |file: &str| format!("100644 blob c0ffee\tcrates/leasehold/{file}");
        let is_built = |file: &str| is_built("crates/leasehold/", &line(file));
        for file in [
            "src/lib.rs",
            "src/tests.rs",
            "src/scripts/acquire.lua",
            "Cargo.toml",
        ] {
            assert!(is_built(file), "{file}");
        }
        for file in ["tests/suite/main.rs", "examples/leader.rs", "README.md"] {
            assert!(!is_built(file), "{file}");
        }
    }

    #[test]
    fn a_program_has_fewer_inputs_than_the_tree() {
        let root = &crate::root();
        let names = [
            Inputs::Tree,
            Inputs::Program("leasehold-model"),
            Inputs::Program("leasehold-sim"),
        ];
        let names = names.map(|inputs| inputs.name(root).expect("a repository"));
        assert!(names.iter().all(|name| name.len() == 40), "{names:?}");
        assert!(names[0] != names[1] && names[1] != names[2], "{names:?}");
        let core = of_program(root, "leasehold-sim").expect("it is of the workspace");
        assert!(
            core.contains("\tcrates/leasehold-core/src/lib.rs"),
            "{core}"
        );
        assert!(!core.contains("\txtask/"), "{core}");
    }
}
