//! `cargo xtask tidy`: the rules of the house that no compiler checks.

mod arguments;
mod documents;
mod evidence;
pub(crate) mod floors;
mod policy;
mod size;
mod source;
mod type_names;
mod wording;

use crate::mutants;
use arguments::Citations;
use evidence::Evidence;
use source::Source;
use std::{
    collections::BTreeSet,
    fmt, fs,
    path::{Path, PathBuf},
};
use type_names::TypeNames;

/// A place that breaks a rule: what it is, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The file, from the root of the workspace.
    pub(crate) path: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// What is wrong, and what would be right.
    pub(crate) what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Checks every file below `root`.
pub(crate) fn run(root: &Path) -> Vec<Finding> {
    let mut files = Vec::new();
    collect(root, root, &mut files);
    files.sort();
    let mut findings = Vec::new();
    let (mut citations, mut evidence) = (Citations::default(), Evidence::default());
    let mut type_names = TypeNames::default();
    for path in &files {
        // Files that are no text have no rules.
        if let Ok(text) = fs::read_to_string(root.join(path)) {
            findings.extend(check(path, &text));
            if path.ends_with(".md") {
                findings.extend(documents::missing_files(path, &text, &files));
            }
            findings.extend(documents::licence(path, &text, root));
            citations.add(path, &text);
            evidence.add(path, &text);
            if path.ends_with(".rs") {
                type_names.add(&Source::new(path, &text));
            }
        }
    }
    if let Ok(safety) = fs::read_to_string(root.join("docs/SAFETY.md")) {
        // Mutants that cannot be read attack nothing; their own test says why.
        let mutants = mutants::load(root).unwrap_or_default().into_iter();
        let attacked = mutants.map(|mutant| mutant.argument).collect();
        findings.extend(citations.check(&safety, &attacked));
    }
    findings.extend(evidence.check());
    findings.extend(type_names.check());
    exempt(findings)
}

fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut found = documents::paths(path, text);
    if path.ends_with(".md") {
        found.extend(documents::one_title(path, text));
    } else if path == "crates/leasehold-core/Cargo.toml" {
        found.extend(policy::no_dependencies(path, text));
    } else if path.ends_with(".rs") {
        let source = Source::new(path, text);
        found.extend(size::check(&source));
        found.extend(floors::check(&source));
        found.extend(wording::check(&source));
        found.extend(policy::check(&source));
    }
    found
}

/// Takes out what is exempt. An exemption that nothing needs is a finding itself.
fn exempt(findings: Vec<Finding>) -> Vec<Finding> {
    let mut used = BTreeSet::new();
    let mut left: Vec<Finding> = findings
        .into_iter()
        .filter(|finding| {
            let matches = |(path, part, _): &(&str, &str, &str)| {
                finding.path == *path && finding.what.contains(part)
            };
            match EXEMPT.iter().position(matches) {
                Some(number) => !{
                    used.insert(number);
                    true
                },
                None => true,
            }
        })
        .collect();
    for (number, (path, part, _)) in EXEMPT.iter().enumerate() {
        if !used.contains(&number) {
            left.push(Finding {
                path: (*path).to_owned(),
                line: 1,
                what: format!("needs no exemption for `{part}` any more; remove it from tidy.rs"),
            });
        }
    }
    left
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path: PathBuf = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("target") || (name.starts_with('.') && name != ".ci") {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files);
        } else if let Ok(path) = path.strip_prefix(root) {
            files.push(path.to_string_lossy().into_owned());
        }
    }
}

/// Path, part of the finding, reason. Three lines at most: beyond that a rule is wrong, not the code.
const EXEMPT: [(&str, &str, &str); 1] = [(
    "crates/leasehold/src/manager.rs",
    "uses `builder`",
    "LockManager::builder() is where everybody looks for the builder",
)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exemptions_stay_few() {
        assert!(EXEMPT.len() <= 3);
        assert!(EXEMPT.iter().all(|(_, _, reason)| !reason.is_empty()));
    }

    #[test]
    fn an_exemption_that_nothing_needs_is_found() {
        let (path, part, _) = EXEMPT[0];
        let finding = Finding {
            path: path.to_owned(),
            line: 7,
            what: format!("... {part} ..."),
        };
        assert_eq!(exempt(vec![finding]), []);
        assert_eq!(exempt(Vec::new()).len(), EXEMPT.len());
    }

    #[test]
    fn a_finding_tells_its_place() {
        let found = check("docs/A.md", "no title\n");
        assert_eq!(
            found[0].to_string(),
            "docs/A.md:1: has 0 titles (`# …`), needs one"
        );
    }

    #[test]
    fn this_workspace_is_tidy() {
        assert_eq!(run(&crate::root()), []);
    }
}
