//! A container image with the program and nothing else, by the tool for images that is here.

use super::{Made, VERSION, is_there, stage::Stage};
use crate::process::output_of;
use std::{path::Path, process::Command};

pub(super) fn make(stage: &Stage, folder: &Path) -> Result<Made, String> {
    let tools = ["docker", "podman", "buildah"];
    let Some(tool) = { tools.into_iter() }.find(|tool| works(tool)) else {
        let why = format!(
            "the container image: none of {} works here",
            tools.join(", ")
        );
        return Ok(Made::Skipped(why));
    };
    stage.write("Containerfile", RECIPE.as_bytes())?;
    let recipe = stage.folder.join("Containerfile");
    let name = format!("localhost/leasehold:{VERSION}");
    let mut build = Command::new(tool);
    build
        .args(["build", "--tag", &name, "--file"])
        .arg(&recipe)
        .arg(&stage.folder);
    output_of(folder, &mut build)?;
    let file = folder.join(format!("leasehold-{VERSION}-image.tar"));
    let mut save = Command::new(tool);
    match tool {
        "docker" => save.args(["save", &name, "--output"]).arg(&file),
        _ => save.args(["push", &name]).arg(format!(
            "docker-archive:{}:leasehold:{VERSION}",
            file.display()
        )),
    };
    output_of(folder, &mut save)?;
    let said = tried(tool, &name, folder);
    output_of(folder, Command::new(tool).args(["rmi", &name]))?;
    match said?.trim() {
        said if said == format!("leasehold {VERSION}") => Ok(Made::File(file)),
        said => Err(format!("the image says this of its version: {said}")),
    }
}

/// Whether it is here, and whom it asks as well.
fn works(tool: &str) -> bool {
    let asked = Command::new(tool).arg("info").output();
    is_there(tool) && asked.is_ok_and(|asked| asked.status.success())
}

/// What the program in the image says of its version.
fn tried(tool: &str, name: &str, folder: &Path) -> Result<String, String> {
    if tool != "buildah" {
        return output_of(
            folder,
            Command::new(tool).args(["run", "--rm", name, "--version"]),
        );
    }
    let container = output_of(folder, Command::new(tool).args(["from", name]))?;
    let container = container.trim();
    let mut run = Command::new(tool);
    run.args([
        "run",
        "--isolation",
        "chroot",
        container,
        "--",
        "/leasehold",
        "--version",
    ]);
    let said = output_of(folder, &mut run);
    output_of(folder, Command::new(tool).args(["rm", container]))?;
    said
}

const RECIPE: &str = "\
FROM scratch
COPY usr/bin/leasehold /leasehold
USER 65534:65534
ENTRYPOINT [\"/leasehold\"]
";
