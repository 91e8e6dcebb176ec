//! The programs that cargo builds of the tests.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    process::{Command, Stdio},
};

/// A program with tests in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// Whose tests they are.
    pub(super) package: String,
    /// `lib`, `bin`, `test` or `example`, as cargo has it.
    pub(super) kind: String,
    pub(super) name: String,
    /// Of the package: cargo runs tests there.
    pub(super) folder: PathBuf,
    pub(super) file: PathBuf,
}

impl Program {
    /// Out of a line of cargo's `--message-format=json`; none if it is about something else.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let is_test = line.contains("\"reason\":\"compiler-artifact\"")
            && line.contains("\"test\":true},\"features\"");
        let manifest = PathBuf::from(text(line, "manifest_path")?);
        let folder = manifest.parent()?.to_owned();
        let (_, kind) = line.split_once("\"target\":{\"kind\":[\"")?;
        is_test.then_some(())?;
        Some(Self {
            // Each package is in a folder that is called as it is.
            package: folder.file_name()?.to_str()?.to_owned(),
            kind: kind.split_once('"')?.0.to_owned(),
            name: text(line, "name")?.to_owned(),
            file: PathBuf::from(text(line, "executable")?),
            folder,
        })
    }

    /// What it is called for people.
    pub(super) fn title(&self) -> String {
        let Self {
            package,
            kind,
            name,
            ..
        } = self;
        match kind.as_str() {
            "lib" | "bin" => format!("unit tests of {package}"),
            kind => format!("{kind} `{name}` of {package}"),
        }
    }

    /// Whether these are cargo's words for it: `--lib`, `--test suite`.
    pub(super) fn is_called(&self, package: &str, words: &[&str]) -> bool {
        let mut own = vec![format!("--{}", self.kind)];
        if self.kind != "lib" {
            own.push(self.name.clone());
        }
        self.package == package && own == words
    }

    /// The names of its tests, in the order in which it runs them.
    pub(super) fn tests(&self) -> Result<Vec<String>, String> {
        let listed = Command::new(&self.file)
            .args(["--list", "--format", "terse"])
            .current_dir(&self.folder)
            .output();
        let failed = |why: String| format!("{}: {why}", self.title());
        let listed = listed.map_err(|error| failed(error.to_string()))?;
        if !listed.status.success() {
            return Err(failed(format!("`--list` ended with {}", listed.status)));
        }
        let text = String::from_utf8_lossy(&listed.stdout);
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    }
}

/// Builds all test programs of the workspace by this command, which is to tell of them in JSON.
pub(super) fn build(mut command: Command) -> Result<Vec<Program>, String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err("the tests do not compile".to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut programs: Vec<Program> = text.lines().filter_map(Program::parse).collect();
    // Two that wait for servers come first, since they take longest; the others in an order that is always the same.
    let others = |program: &Program| !(program.kind == "test" && program.name == "suite");
    programs.sort_by_key(|program| (others(program), program.folder.clone(), program.title()));
    match programs.len() {
        0 => Err("cargo told of no test program".to_owned()),
        _ => Ok(programs),
    }
}

/// The tests of those programs that are called so.
pub(super) fn tests_of(
    listed: &[(Program, Vec<String>)],
    package: &str,
    words: &[&str],
) -> BTreeSet<String> {
    let called = |(program, _): &&(Program, Vec<String>)| program.is_called(package, words);
    let tests = listed.iter().filter(called).flat_map(|(_, tests)| tests);
    tests.cloned().collect()
}

/// The first text that goes by this key. Names and paths of this project need no escapes.
fn text<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("\"{key}\":\""))?;
    Some(rest.split_once('"')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/a-b#0.1.0","manifest_path":"/w/crates/a-b/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"suite","src_path":"/w/crates/a-b/tests/suite/main.rs","edition":"2024","doc":false,"doctest":false,"test":true},"profile":{"opt_level":"0","debuginfo":1,"debug_assertions":true,"overflow_checks":true,"test":true},"features":[],"filenames":["/t/suite-1"],"executable":"/t/suite-1","fresh":true}"#;

    #[test]
    fn a_test_program_is_found_among_what_cargo_tells() {
        let program = Program::parse(LINE).expect("it is one");
        assert_eq!(program.title(), "test `suite` of a-b");
        assert_eq!(program.file, PathBuf::from("/t/suite-1"));
        assert_eq!(program.folder, PathBuf::from("/w/crates/a-b"));
        assert!(program.is_called("a-b", &["--test", "suite"]));
        assert!(!program.is_called("a-b", &["--lib"]));
        for other in [
            LINE.replace(
                "\"test\":true},\"features\"",
                "\"test\":false},\"features\"",
            ),
            LINE.replace("compiler-artifact", "build-script-executed"),
            LINE.replace("\"executable\":\"/t/suite-1\"", "\"executable\":null"),
            String::new(),
        ] {
            assert_eq!(Program::parse(&other), None);
        }
        let unit = LINE.replace("[\"test\"]", "[\"lib\"]");
        let unit = Program::parse(&unit).expect("it is one");
        assert_eq!(unit.title(), "unit tests of a-b");
        assert!(unit.is_called("a-b", &["--lib"]));
    }
}
