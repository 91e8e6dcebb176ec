//! A package for Debian and its descendants. It depends on nothing.

use super::{Made, VERSION, emptied, is_there, stage::Stage, tried};
use crate::process::output_of;
use std::{env, path::Path, process::Command};

pub(super) fn make(stage: &Stage, folder: &Path) -> Result<Made, String> {
    if !is_there("dpkg-deb") {
        return Ok(Made::Skipped(
            "the Debian package: dpkg-deb is not here".to_owned(),
        ));
    }
    let architecture = output_of(folder, Command::new("dpkg").arg("--print-architecture"))?;
    let architecture = architecture.trim();
    let maintainer = maintainer();
    let made = output_of(
        folder,
        Command::new("date").args(["-R", "-u", "-d", &format!("@{}", stage.time)]),
    )?;
    let changes = format!(
        "leasehold ({VERSION}) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- {maintainer}  {}\n",
        made.trim()
    );
    stage.write_packed("usr/share/doc/leasehold/changelog", &changes)?;
    let text = format!(
        "Package: leasehold\nVersion: {VERSION}\nArchitecture: {architecture}\nSection: admin\nPriority: optional\n\
         Installed-Size: {}\nMaintainer: {maintainer}\n{DESCRIPTION}",
        stage.kilobytes()?
    );
    stage.write("DEBIAN/control", text.as_bytes())?;
    let file = folder.join(format!("leasehold_{VERSION}_{architecture}.deb"));
    let mut build = Command::new("dpkg-deb");
    build.env("SOURCE_DATE_EPOCH", &stage.time);
    build
        .args(["--root-owner-group", "--build"])
        .arg(&stage.folder)
        .arg(&file);
    output_of(folder, &mut build)?;
    let installed = folder.join("installed");
    emptied(&installed)?;
    output_of(
        folder,
        Command::new("dpkg-deb")
            .arg("--extract")
            .arg(&file)
            .arg(&installed),
    )?;
    tried(&installed.join(Stage::PROGRAM))?;
    Ok(Made::File(file))
}

/// Who answers for the package: by the variables that Debian's tools read.
fn maintainer() -> String {
    let told =
        |name: &str, otherwise: &str| env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let name = told("DEBFULLNAME", "the leasehold contributors");
    format!("{name} <{}>", told("DEBEMAIL", "leasehold@localhost"))
}

const DESCRIPTION: &str = "\
Description: run a program while holding a distributed lock
 The lock is on independent Redis or Valkey servers, and is held by the
 process that has a majority of them. Without servers, it is in a file on
 this machine.
";
