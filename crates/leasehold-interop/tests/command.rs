//! The command, as a person runs it, with a library that needs nothing installed.

use leasehold_servers::require_server;
use std::process::{Command, Output};

fn run(words: &[&str]) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_leasehold-interop");
    let output: Output = Command::new(program).args(words).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    (output.status.code(), text)
}

#[test]
fn a_library_and_leasehold_exclude_each_other_and_the_controls_are_found_out() {
    require_server();
    let (code, text) = run(&["--peer", "rslock", "--for", "2s"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("1 libraries, and the commands of 0 more"),
        "{text}"
    );
    assert!(text.contains("5 of 5 controls were found out"), "{text}");
}

#[test]
fn words_that_make_no_sense_are_told_with_2() {
    let (code, text) = run(&["--peer", "nobody"]);
    assert_eq!(code, Some(2));
    assert!(
        text.contains("no peer `nobody`") && text.contains("--help"),
        "{text}"
    );
    let (code, text) = run(&["--list"]);
    assert_eq!(code, Some(0));
    assert!(
        text.contains("node-redlock5") && text.contains("one-down"),
        "{text}"
    );
}
