//! The files as they lie on a machine where the command is installed.

use super::{VERSION, emptied, told};
use crate::process::output_of;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A folder that looks like `/` of a machine with nothing but the command.
pub(super) struct Stage {
    pub(super) folder: PathBuf,
    /// When the commit was made, in seconds since 1970: what is made of it has this time, so that it is the same each time.
    pub(super) time: String,
}

impl Stage {
    pub(super) const PROGRAM: &str = "usr/bin/leasehold";

    pub(super) fn new(root: &Path, place: &Path, program: &Path) -> Result<Self, String> {
        let folder = place.join("stage");
        emptied(&folder)?;
        let time = output_of(
            root,
            Command::new("git").args(["log", "-1", "--format=%ct"]),
        )?;
        let stage = Self {
            folder,
            time: time.trim().to_owned(),
        };
        stage.copy(program, Self::PROGRAM)?;
        stage.complete(program)?;
        stage.pages(program)?;
        for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            stage.copy(&root.join(file), &format!("usr/share/doc/leasehold/{file}"))?;
        }
        stage.write("usr/share/doc/leasehold/copyright", COPYRIGHT.as_bytes())?;
        Ok(stage)
    }

    /// What shells need to complete the words of the command, where they look for it.
    fn complete(&self, program: &Path) -> Result<(), String> {
        for (shell, file) in [
            ("bash", "usr/share/bash-completion/completions/leasehold"),
            ("zsh", "usr/share/zsh/vendor-completions/_leasehold"),
            ("fish", "usr/share/fish/vendor_completions.d/leasehold.fish"),
        ] {
            let text = output_of(
                &self.folder,
                Command::new(program).args(["completions", shell]),
            )?;
            self.write(file, text.as_bytes())?;
        }
        Ok(())
    }

    /// The manual's pages.
    fn pages(&self, program: &Path) -> Result<(), String> {
        let folder = self.folder.join("usr/share/man/man1");
        fs::create_dir_all(&folder).map_err(|error| told(&folder, &error))?;
        output_of(&folder, Command::new(program).args(["man", "--dir", "."]))?;
        let pages = fs::read_dir(&folder).map_err(|error| told(&folder, &error))?;
        pages.flatten().try_for_each(|page| pack(&page.path()))
    }

    /// Writes a file of this text, packed as manuals and changelogs are.
    pub(super) fn write_packed(&self, file: &str, text: &str) -> Result<(), String> {
        self.write(file, text.as_bytes())?;
        pack(&self.folder.join(file))
    }

    fn copy(&self, from: &Path, file: &str) -> Result<(), String> {
        let to = self.place(file)?;
        fs::copy(from, to).map_err(|error| told(from, &error))?;
        Ok(())
    }

    /// Writes a file of this text.
    pub(super) fn write(&self, file: &str, text: &[u8]) -> Result<(), String> {
        let to = self.place(file)?;
        fs::write(&to, text).map_err(|error| told(&to, &error))
    }

    fn place(&self, file: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(file);
        let parent = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(parent).map_err(|error| told(parent, &error))?;
        Ok(path)
    }

    /// How large all of it is, in kB.
    pub(super) fn kilobytes(&self) -> Result<String, String> {
        let said = output_of(
            &self.folder,
            Command::new("du").args(["-sk", "--apparent-size", "."]),
        )?;
        Ok(said.split_whitespace().next().unwrap_or("0").to_owned())
    }
}

/// Puts a packed file in the place of this one, without the time and the name in it.
fn pack(file: &Path) -> Result<(), String> {
    let folder = file.parent().unwrap_or(file);
    let mut pack = Command::new("gzip");
    output_of(folder, pack.args(["--best", "--no-name"]).arg(file))?;
    Ok(())
}

/// What archives of this version are called.
pub(super) fn file_name(further: &str) -> String {
    format!("leasehold-{VERSION}-{further}")
}

const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: leasehold

Files: *
Copyright: 2026 the leasehold contributors
License: MIT or Apache-2.0
 The texts of both are beside this file, in LICENSE-MIT and LICENSE-APACHE.
";
