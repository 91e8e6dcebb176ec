//! What a step depends on, and a name for it: what it came to stands for as long as that name does.

use crate::{
    git::git,
    mutants::{self, Mutant},
    process::{cargo, output_of},
    tidy::floors,
};
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
    /// A program of the workspace: its sources without comments, those of the crates of the workspace in it, and the versions of all
    /// others.
    Program(&'static str),
    /// A program that has of the library what links say and read, and nothing that stands above them.
    ProgramOnLinks(&'static str),
    /// Programs of the workspace: their sources without comments, those of the crates of the workspace in them, the versions of all
    /// others, and further files and folders, from the root.
    Programs {
        packages: &'static [&'static str],
        beside: &'static [&'static str],
    },
    /// What checks packages of the workspace: all of their files and of those that they are built with, the versions of all others, and
    /// further files and folders, from the root. What tests alone are built with counts for the packages that are named.
    Checks {
        packages: &'static [&'static str],
        beside: &'static [&'static str],
    },
    /// The mutants that attack these arguments, all that is checked with a mutant in it, and what does that.
    Mutants(&'static [&'static str]),
}

impl Inputs {
    /// A name for these inputs as they are committed.
    pub(super) fn name(self, root: &Path) -> Result<String, String> {
        git_hash(root, &self.text(root)?)
    }

    /// What the name is made of.
    fn text(self, root: &Path) -> Result<String, String> {
        match self {
            Self::Tree => {
                let files = git(root, &["ls-tree", "-r", "HEAD"])?;
                Ok(files.lines().filter(|line| is_code(line)).collect())
            }
            Self::Program(program) => of_program(root, program, built),
            Self::ProgramOnLinks(program) => of_program(root, program, built_below_links),
            Self::Programs { packages, beside } => {
                let question = tree("normal,build", packages);
                Ok(of_packages(root, question, built)? + &of_files(root, beside)?)
            }
            Self::Checks { packages, beside } => {
                let mut question = tree("all", packages);
                question.arg("--all-features");
                Ok(of_packages(root, question, code)? + &of_files(root, beside)?)
            }
            Self::Mutants(arguments) => {
                let mut mutants = mutants::load(root)?;
                mutants.retain(|mutant| arguments.contains(&&*mutant.argument));
                let mutants: String = mutants.iter().map(Mutant::what).collect();
                Ok(MUTATED.text(root)? + &mutants)
            }
        }
    }
}

/// What mutants are in, what notices them, and what tries that.
const MUTATED: Inputs = Inputs::Checks {
    packages: &[
        "leasehold-core",
        "leasehold",
        "leasehold-cli",
        "leasehold-model",
        "leasehold-sim",
    ],
    beside: &["xtask/src/mutants.rs", "xtask/src/mutants"],
};

/// How everything is built, beside the manifests of packages.
const BUILD: &[&str] = &["Cargo.toml", "rust-toolchain.toml", ".cargo"];

fn of_program(root: &Path, program: &str, inputs: InputsOf) -> Result<String, String> {
    let text = of_packages(root, tree("normal,build", &[program]), inputs)?;
    // How it is built: the profiles.
    Ok(text + &files(root, "Cargo.toml")?)
}

/// What tells the inputs of a package, by its folder.
type InputsOf = fn(&Path, &str) -> Result<String, String>;

/// Asks which packages these are built with.
fn tree(edges: &str, packages: &[&str]) -> Command {
    let mut question = cargo();
    question.args(["tree", "--locked", "--prefix", "none"]);
    question.args(["--edges", edges]);
    for package in packages {
        question.args(["--package", package]);
    }
    question
}

/// The packages that cargo names: those of the workspace by what is an input in their folders, all others by their versions.
fn of_packages(root: &Path, mut question: Command, inputs: InputsOf) -> Result<String, String> {
    let told = output_of(root, &mut question)?;
    // What is told again is marked. Written out each time, the tree of a few packages has millions of lines.
    let packages = told.lines().map(|line| line.trim_end_matches(" (*)"));
    let mut packages: Vec<_> = packages.collect();
    packages.sort_unstable();
    packages.dedup();
    let mut text = String::new();
    for package in packages {
        match folder(root, package) {
            None => text.push_str(package),
            Some(folder) => text.push_str(&inputs(root, &folder)?),
        }
        text.push('\n');
    }
    Ok(text)
}

/// How everything is built, and further files and folders.
fn of_files(root: &Path, beside: &[&str]) -> Result<String, String> {
    let all = BUILD.iter().chain(beside);
    all.map(|path| Ok(files(root, path)? + "\n")).collect()
}

/// Lines of `git ls-tree`, for a file or all files of a folder.
fn files(root: &Path, path: &str) -> Result<String, String> {
    match git(root, &["ls-tree", "-r", "HEAD", "--", path])? {
        none if none.is_empty() => Err(format!("a step depends on `{path}`, which is not there")),
        files => Ok(files),
    }
}

/// The folder of a package of the workspace, below the root. `cargo tree` writes it in brackets behind the version.
fn folder(root: &Path, package: &str) -> Option<String> {
    let (_, rest) = package.split_once(" (")?;
    let path = rest.split_once(')')?.0;
    let below = Path::new(path).strip_prefix(root).ok()?;
    Some(format!("{}/", below.display()))
}

/// Whether a line of `git ls-tree` is of a file that is no document.
fn is_code(line: &str) -> bool {
    !line.contains("\tdocs/") && !line.ends_with(".md")
}

/// All files of a folder and no document.
fn code(root: &Path, folder: &str) -> Result<String, String> {
    let files = files(root, folder)?;
    Ok(files.lines().filter(|line| is_code(line)).collect())
}

/// What becomes part of the program that the package in this folder is: files, and of sources the lines that are no comments.
fn built(root: &Path, folder: &str) -> Result<String, String> {
    lines_of(root, folder, |_| true)
}

/// The same, but of the library only what its links are built on, which tidy checks.
fn built_below_links(root: &Path, folder: &str) -> Result<String, String> {
    let is_in = |file: &str, module| {
        let rest = file
            .strip_prefix("src/")
            .and_then(|file| file.strip_prefix(module));
        rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    };
    let below = |file: &str| {
        file == "Cargo.toml" || floors::below_links().any(|module| is_in(file, module))
    };
    match folder {
        "crates/leasehold/" => lines_of(root, folder, below),
        _ => built(root, folder),
    }
}

/// Of the files of a package that become part of a program, and are wanted.
fn lines_of(root: &Path, folder: &str, is_wanted: impl Fn(&str) -> bool) -> Result<String, String> {
    let is_wanted = |line: &&str| file_of(line).strip_prefix(folder).is_some_and(&is_wanted);
    let files = files(root, folder)?;
    let files = files
        .lines()
        .filter(|line| is_built(folder, line))
        .filter(is_wanted);
    let (sources, others): (Vec<_>, Vec<_>) = files.partition(|line| line.ends_with(".rs"));
    let mut lines = vec!["grep", "-v", "-E", COMMENT, "HEAD", "--"];
    lines.extend(sources.into_iter().map(file_of));
    Ok(others.concat() + &git(root, &lines)?)
}

/// A line that is a comment and nothing else.
const COMMENT: &str = "^[[:space:]]*//";

/// Whether a line of `git ls-tree` is of a file that becomes part of the program.
fn is_built(folder: &str, line: &str) -> bool {
    let file = file_of(line);
    let within = file.strip_prefix(folder).unwrap_or_default();
    let is_beside = ["tests/", "benches/", "examples/"];
    !is_beside.iter().any(|beside| within.starts_with(beside)) && !file.ends_with(".md")
}

/// The file of a line of `git ls-tree`.
fn file_of(line: &str) -> &str {
    line.rsplit('\t').next().unwrap_or_default()
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
        let text =
            of_program(root, "leasehold-sim", built_below_links).expect("it is of the workspace");
        let core = "HEAD:crates/leasehold-core/src/lib.rs:";
        assert!(text.contains(core) && !text.contains("\txtask/"), "{text}");
        // Of a source, comments do not count.
        let (code, comment) = (format!("{core}pub mod "), format!("{core}//"));
        assert!(text.contains(&code) && !text.contains(&comment), "{text}");
        assert!(
            text.contains("\tcrates/leasehold/src/link/redis/stamp_release.lua"),
            "{text}"
        );
        // Of the library, nothing that stands above the links.
        let library = "HEAD:crates/leasehold/src/";
        for (file, is_input) in [
            ("configuration.rs", true),
            ("link/redis/wire.rs", true),
            ("mutex.rs", false),
            ("operate/operator.rs", false),
        ] {
            let file = format!("{library}{file}:");
            assert_eq!(text.contains(&file), is_input, "{file}");
        }
    }

    #[test]
    fn trying_mutants_depends_on_these_mutants_and_on_no_others() {
        let root = &crate::root();
        let text = |arguments| {
            Inputs::Mutants(arguments)
                .text(root)
                .expect("they are there")
        };
        let (one, several) = (text(&["S8"]), text(&["S8", "T1"]));
        assert!(several.len() > one.len());
        for (part, is_in_it) in [
            ("\"one-owner-for-all-attempts\"", true),
            ("\txtask/src/mutants/", true),
            ("\tcrates/leasehold/tests/", true),
            ("\txtask/mutants/", false),
            ("S9.txt:", false),
        ] {
            assert_eq!(one.contains(part), is_in_it, "{part}: {one}");
        }
    }

    #[test]
    fn a_check_depends_on_tests_and_on_what_is_beside_and_on_no_other_program() {
        let root = &crate::root();
        let name = |beside| {
            let packages = &["leasehold-cli"];
            Inputs::Checks { packages, beside }.name(root)
        };
        let (without, with) = (name(&[]), name(&["xtask/mutants"]));
        assert!(without.is_ok() && with.is_ok() && without != with);
        let gone = name(&["xtask/mutant"]).expect_err("there is none");
        assert!(gone.contains("`xtask/mutant`"), "{gone}");
        let text = Inputs::Checks {
            packages: &["leasehold-cli"],
            beside: &["xtask/mutants"],
        };
        let text = text.text(root).expect("they are there");
        for file in [
            "crates/leasehold-cli/tests/suite/main.rs",
            "crates/leasehold-core/tests/timelines/main.rs",
            "crates/leasehold-servers/src/lib.rs",
            "crates/leasehold/src/lib.rs",
            "xtask/mutants/",
            ".cargo/config.toml",
            "Cargo.toml",
        ] {
            assert!(text.contains(&format!("\t{file}")), "{file}: {text}");
        }
        for other in ["\tcrates/leasehold-bench/", "\txtask/src/", ".md"] {
            assert!(!text.contains(other), "{other}: {text}");
        }
        let text = Inputs::Programs {
            packages: &["leasehold-cli"],
            beside: &["xtask/mutants"],
        };
        let text = text.text(root).expect("they are there");
        for (file, is_input) in [
            ("HEAD:crates/leasehold-cli/src/", true),
            ("\txtask/mutants/", true),
            ("crates/leasehold-cli/tests/", false),
        ] {
            assert_eq!(text.contains(file), is_input, "{file}: {text}");
        }
    }
}
