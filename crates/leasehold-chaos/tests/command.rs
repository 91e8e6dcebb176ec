//! The command, end to end, on a real server.

use leasehold_servers::require_server;
use std::process::{Command, Output};

fn chaos(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leasehold-chaos"));
    command.args(words).output().expect("the command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_lawful_scenario_is_safe_and_its_control_is_not() {
    require_server();
    let output = chaos(&["--scenario", "stop-clients", "--for", "10s", "--seed", "1"]);
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}{}", text(&output.stderr));
    let verdict = |name: &str| {
        let line = told.lines().find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("no line about {name} in {told}"))
            .to_owned()
    };
    assert!(verdict("stop-clients").ends_with("  safe"), "{told}");
    assert!(
        verdict("unwatched-deadline").contains("violated, as it must"),
        "{told}"
    );
}

#[test]
fn a_lawful_scenario_goes_on_until_each_of_its_strikes_was_tried() {
    require_server();
    // In two seconds no run has strikes of all of these kinds.
    let output = chaos(&["--scenario", "everything", "--for", "2s", "--seed", "1"]);
    let told = text(&output.stdout);
    let is_safe = |line: &str| line.starts_with("everything ") && line.ends_with("  safe");
    assert!(told.lines().any(is_safe), "{told}");
}

#[test]
fn a_control_goes_on_until_it_has_done_harm() {
    require_server();
    // In one second no overlap has come yet.
    let output = chaos(&[
        "--scenario",
        "short-quarantine",
        "--for",
        "1s",
        "--seed",
        "1",
    ]);
    let told = text(&output.stdout);
    assert!(told.contains("violated, as it must"), "{told}");
}

#[test]
fn a_wrong_command_line_is_told_and_ends_with_2() {
    for (wrong, why) in [
        (&["--for", "soon"][..], "no time: write `90s`"),
        (&["--for", "1s"], "scenarios need at least"),
        (&["--scenario", "x"], "`--list` shows all"),
        (&["client"], "--journal"),
    ] {
        let output = chaos(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(text(&output.stderr).contains(why), "{wrong:?}");
    }
}

#[test]
fn a_server_that_is_none_is_told() {
    let output = chaos(&["--servers", "nowhere/redis-server"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("nowhere/redis-server"));
}
