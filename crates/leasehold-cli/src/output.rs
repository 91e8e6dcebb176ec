//! The only place that prints: data to stdout, talk to stderr.
//!
//! A reader that has gone away must not end the run: the lock is to be released whoever listens. So
//! errors of writing are dropped.

use std::{
    fmt::Display,
    io::{self, Write, stderr, stdout},
};

/// Prints a line of data, for scripts.
pub(crate) fn data(line: impl Display) {
    drop(writeln!(stdout().lock(), "{line}"));
}

/// Prints what is data as it is, line ends included.
pub(crate) fn bytes(text: &[u8]) {
    drop(stdout().lock().write_all(text));
}

/// Prints a picture at once. Tells whether anybody can see it: who draws for ever must end when nobody looks.
pub(crate) fn picture(text: &str) -> io::Result<()> {
    let mut stdout = stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Tells the user something, in one line.
pub(crate) fn talk(line: impl Display) {
    // One write, so that lines of several processes on one terminal do not mix.
    let line = format!("leasehold: {line}\n");
    drop(stderr().lock().write_all(line.as_bytes()));
}

/// Suggests a way out of what was just told.
pub(crate) fn hint(line: impl Display) {
    let line = format!("hint: {line}\n");
    drop(stderr().lock().write_all(line.as_bytes()));
}
