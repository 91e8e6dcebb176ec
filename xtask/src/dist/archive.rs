//! An archive for any Linux of this processor: it is unpacked at `/`, or below `/usr/local` without its first folder.

use super::{
    Made, emptied,
    stage::{Stage, file_name},
    tried,
};
use crate::process::output_of;
use std::{path::Path, process::Command};

pub(super) fn make(stage: &Stage, folder: &Path, target: &str) -> Result<Made, String> {
    let file = folder.join(file_name(&format!("{target}.tar.gz")));
    let mut pack = Command::new("tar");
    // So that two runs give the same bytes.
    pack.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    pack.arg(format!("--mtime=@{}", stage.time));
    pack.args(["--use-compress-program", "gzip --best --no-name"]);
    pack.arg("--create").arg("--file").arg(&file).arg("usr");
    output_of(&stage.folder, &mut pack)?;
    let unpacked = folder.join("unpacked");
    emptied(&unpacked)?;
    output_of(
        &unpacked,
        Command::new("tar")
            .arg("--extract")
            .arg("--file")
            .arg(&file),
    )?;
    tried(&unpacked.join(Stage::PROGRAM))?;
    Ok(Made::File(file))
}
