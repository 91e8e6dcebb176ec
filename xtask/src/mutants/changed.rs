//! The mutants that a change calls for: of the files that it touches, and those that it adds or alters.

use super::{FOLDER, Mutant, parse};
use crate::{
    git::{git, number_of_commit},
    nightly,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Since when, and how many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wish<'a> {
    /// Since this commit; since the last night that tried them, if none is named.
    pub(super) since: Option<&'a str>,
    pub(super) at_most: Option<usize>,
}

/// What was different at a commit.
#[derive(Debug)]
struct Change {
    /// From the root of the workspace.
    files: BTreeSet<String>,
    /// The mutants of those files of mutants that have changed, as they were.
    mutants: BTreeSet<String>,
}

/// Those that `wish` asks for. Says how many there are, and how many are left out.
pub(super) fn chosen<'a>(
    root: &Path,
    mutants: &'a [Mutant],
    wish: Wish<'_>,
) -> Result<Vec<&'a Mutant>, String> {
    let (mut of_it, since) = match wish.since {
        Some(commit) => {
            let change = Change::since(root, commit)?;
            let of_it = mutants.iter().filter(|it| change.calls_for(it)).collect();
            (of_it, commit)
        }
        None => (
            since_the_nights(root, mutants)?,
            "the night that tried them",
        ),
    };
    let count = of_it.len();
    println!(
        "mutants of files that have changed since {since}, or that have changed themselves: {count}"
    );
    if let Some(most) = wish.at_most.filter(|&most| most < count) {
        of_it = some(of_it, most, number_of_commit(root));
        println!("{most} of them are tried; another commit tries others");
    }
    Ok(of_it)
}

/// Those of an argument of which the page of the nights tells nothing, or by a commit to which history does not reach back, are all
/// of it.
fn since_the_nights<'a>(root: &Path, mutants: &'a [Mutant]) -> Result<Vec<&'a Mutant>, String> {
    let tried = nightly::tried_mutants(root)?;
    let mut changes = BTreeMap::new();
    for commit in tried.values() {
        let is_known = git(root, &["cat-file", "-e", commit]).is_ok();
        let change = is_known.then(|| Change::since(root, commit)).transpose()?;
        changes.insert(commit, change);
    }
    let is_of_it = |mutant: &&Mutant| {
        let commit = tried.get(&mutant.argument);
        let change = commit.and_then(|commit| changes.get(commit)?.as_ref());
        change.is_none_or(|change| change.calls_for(mutant))
    };
    Ok(mutants.iter().filter(is_of_it).collect())
}

impl Change {
    /// The files that are not as they were then.
    fn since(root: &Path, commit: &str) -> Result<Self, String> {
        let files = git(root, &["diff", "--name-only", "--end-of-options", commit])?;
        let files: BTreeSet<_> = files.lines().map(str::to_owned).collect();
        let mut mutants = BTreeSet::new();
        for path in files.iter().filter(|path| path.starts_with(FOLDER)) {
            // It may be new, or have been written in words of then: its mutants are new in both cases.
            let text = git(root, &["show", &format!("{commit}:{path}")]).unwrap_or_default();
            let before = parse::mutants(path, &text).unwrap_or_default();
            mutants.extend(before.iter().map(Mutant::what));
        }
        Ok(Self { files, mutants })
    }

    fn calls_for(&self, mutant: &Mutant) -> bool {
        let (file, _) = mutant.place.split_once(':').unwrap_or_default();
        let is_other = || self.files.contains(file) && !self.mutants.contains(&mutant.what());
        self.files.contains(&mutant.file) || is_other()
    }
}

/// So many, from the one that the number falls on. They follow one another in the list, since those of one file are soon built.
fn some<T>(mut all: Vec<T>, most: usize, number: u64) -> Vec<T> {
    let first = usize::try_from(number).unwrap_or(0) % all.len().max(1);
    all.rotate_left(first);
    all.truncate(most);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
mutant one\nargument S1\nfile a.rs\n- a\nharm h\nkilled by unit t\n
mutant two\nargument S1\nfile b.rs\n- b\nharm h\nkilled by unit t\n";

    fn called(change: &Change, text: &str) -> Vec<String> {
        let mutants = parse::mutants("xtask/mutants/S1.txt", text).expect("they are in order");
        let called = mutants.into_iter().filter(|it| change.calls_for(it));
        called.map(|mutant| mutant.name).collect()
    }

    fn change(files: &[&str]) -> Change {
        let before = parse::mutants("xtask/mutants/S1.txt", TEXT).expect("they are in order");
        Change {
            files: files.iter().map(|&file| file.to_owned()).collect(),
            mutants: before.iter().map(Mutant::what).collect(),
        }
    }

    #[test]
    fn a_change_calls_for_the_mutants_of_its_files() {
        assert_eq!(called(&change(&["b.rs"]), TEXT), ["two"]);
        assert!(called(&change(&["c.rs", "docs/a.md"]), TEXT).is_empty());
    }

    #[test]
    fn a_change_calls_for_the_mutants_that_it_adds_or_alters() {
        let change = change(&["xtask/mutants/S1.txt"]);
        assert!(called(&change, TEXT).is_empty());
        assert_eq!(called(&change, &TEXT.replace("- b", "- c")), ["two"]);
        assert_eq!(called(&change, &TEXT.replace("unit t", "unit u")).len(), 2);
        // Their places and what they would do to a user are words for people.
        assert!(called(&change, &format!("# new\n{TEXT}")).is_empty());
    }

    #[test]
    fn since_a_commit_there_are_the_files_that_differ_from_it() {
        let root = crate::root();
        let none = Change::since(&root, "--output=x").expect_err("it is no commit");
        assert!(none.contains("--output=x"), "{none}");
        // The first commit had next to nothing.
        let first = git(&root, &["rev-list", "--max-parents=0", "HEAD"]).expect("a history");
        let change = Change::since(&root, first.lines().last().expect("one")).expect("it is there");
        assert!(change.files.contains("xtask/mutants/S1.txt") && change.mutants.is_empty());
    }

    #[test]
    fn another_commit_tries_others() {
        let some = |most, number| some(vec![0, 1, 2, 3, 4], most, number);
        assert_eq!(some(2, 0), [0, 1]);
        assert_eq!(some(2, 9), [4, 0]);
        assert_eq!(some(9, 7).len(), 5);
        assert!(super::some(Vec::<u8>::new(), 3, 7).is_empty());
    }
}
