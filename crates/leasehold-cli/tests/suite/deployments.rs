//! The jobs of `examples/deploy` are run here, as systemd and Kubernetes would start them.

use crate::documents;
use leasehold_servers::skip;
use std::{fs, path::PathBuf, process::Command};

fn text(name: &str) -> String {
    let path = folder().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/deploy")
}

/// What stands behind each line that begins with `key`.
fn values<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = text.lines().map(str::trim);
    lines.filter_map(move |line| line.strip_prefix(key))
}

#[test]
fn the_service_of_systemd_runs_its_job() {
    let service = text("systemd/nightly-report.service");
    let settings = values(&service, "Environment=").map(|it| format!("export {it}\n"));
    let job = values(&service, "ExecStart=").next().expect("a job");
    let job = job.replace("/usr/local/bin/", "");
    documents::check(
        "nightly-report.service",
        &format!("{}{job}", settings.collect::<String>()),
    );
}

#[test]
fn systemd_understands_the_units() {
    let units =
        ["service", "timer"].map(|kind| folder().join(format!("systemd/nightly-report.{kind}")));
    let verified = Command::new("systemd-analyze")
        .arg("verify")
        .args(units)
        .output();
    let Ok(verified) = verified else {
        return skip("no systemd-analyze, so the spelling of the units is not looked at");
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    // The program is not installed where the tests run.
    let wrong: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("nightly-report.") && !line.contains("not executable"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_manifests_of_kubernetes_run_their_jobs() {
    for name in ["cronjob.yaml", "leader.yaml"] {
        let manifest = text(&format!("kubernetes/{name}"));
        let names = values(&manifest, "- name: LEASEHOLD_");
        let settings = names.zip(values(&manifest, "value: "));
        let settings = settings.map(|(name, value)| format!("export LEASEHOLD_{name}={value}\n"));
        let command = values(&manifest, "command: ").next().expect("a command");
        let words = command.trim_matches(['[', ']']).replace("\", \"", "\" \"");
        let block = format!("{}{words}", settings.collect::<String>());
        assert!(block.contains("export LEASEHOLD_NODES="), "{block}");
        documents::check(name, &block);
    }
}
