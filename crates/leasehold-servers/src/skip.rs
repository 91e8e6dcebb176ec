//! Tests that cannot run everywhere.

use crate::binary::ServerBinary;
use std::{
    env,
    fs::File,
    io::{self, Write},
};

/// Says loudly that a test cannot run here, and why. The test then returns.
///
/// The reason goes to stderr past the test runner's capturing, and as a line to the file that
/// `LEASEHOLD_SKIPS` names, so that a run can tell what it did not test.
///
/// # Panics
/// If that file cannot be written: a skip that nobody hears of would look like a success.
pub fn skip(reason: &str) {
    // Not eprintln!, whose output of a successful test is swallowed.
    drop(writeln!(io::stderr(), "SKIPPED: {reason}"));
    if let Some(path) = env::var_os("LEASEHOLD_SKIPS") {
        let line = format!("{}\n", reason.replace('\n', " "));
        let file = File::options().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("LEASEHOLD_SKIPS names a file that can be written");
    }
}

/// The server program, for tests that must not be skipped.
///
/// # Panics
/// If there is none, with a hint how to get one.
pub fn require_server() -> ServerBinary {
    match ServerBinary::find() {
        Ok(binary) => binary,
        Err(error) => panic!("this test needs a real server: {error}"),
    }
}
