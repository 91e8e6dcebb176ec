//! A copy of the workspace that may be spoiled.

use super::Mutant;
use crate::git::git;
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

/// The copy, below `target`. The checkout itself is never written to.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
    copy: PathBuf,
}

impl Tree {
    /// Makes the copy the same as the checkout: all files that git knows or would add, as they are now.
    pub(super) fn new(root: &Path, copy: PathBuf) -> Result<Self, String> {
        let tree = Self {
            root: root.to_owned(),
            copy,
        };
        let files = files(root)?;
        for file in &files {
            tree.copy(file)?;
        }
        let is_there = |file: &&String| root.join(file).exists();
        let known = files
            .iter()
            .filter(is_there)
            .map(|file| tree.copy.join(file))
            .collect();
        remove_others(&tree.copy, &known).map_err(|error| tree.told(error))?;
        Ok(tree)
    }

    /// Where the copy is.
    pub(super) fn folder(&self) -> &Path {
        &self.copy
    }

    /// Puts the wrong line in; gives back the text that it was put into.
    pub(super) fn apply(&self, mutant: &Mutant) -> Result<String, String> {
        let path = self.copy.join(&mutant.file);
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", mutant.file))?;
        self.write(&mutant.file, &mutant.apply(&text)?)?;
        Ok(text)
    }

    /// Takes the wrong line out. Written now, a file is newer than everything that cargo has built.
    pub(super) fn write(&self, file: &str, text: &str) -> Result<(), String> {
        fs::write(self.copy.join(file), text).map_err(|error| self.told(error))
    }

    /// Makes a file what it is in the checkout. One that is so already stays as old as it is, and cargo
    /// builds nothing anew.
    fn copy(&self, file: &str) -> Result<(), String> {
        let (from, to) = (self.root.join(file), self.copy.join(file));
        let original = match fs::read(&from) {
            Ok(original) => original,
            // Git knows it, but it was deleted since.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(format!("{file}: {error}")),
        };
        if fs::read(&to).is_ok_and(|copy| copy == original) {
            return Ok(());
        }
        let folder = to.parent().unwrap_or(&self.copy);
        fs::create_dir_all(folder).map_err(|error| self.told(error))?;
        fs::write(&to, original).map_err(|error| self.told(error))
    }

    fn told(&self, error: impl std::fmt::Display) -> String {
        format!("the copy in {}: {error}", self.copy.display())
    }
}

fn files(root: &Path) -> Result<Vec<String>, String> {
    let words = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let names = git(root, &words).map_err(|error| format!("mutants need a checkout: {error}"))?;
    let names = names.split('\0').filter(|name| !name.is_empty());
    Ok(names.map(str::to_owned).collect())
}

fn remove_others(folder: &Path, known: &BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, known)?;
        } else if !known.contains(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
