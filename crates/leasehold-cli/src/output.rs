//! The only place that prints: data to stdout, talk to stderr.
//!
//! Data that cannot be written is a failure like any other: a script that goes on with half a list, or a lock whose
//! owner nobody has read, is worse off than one that is told. Only a reader that has gone away, such as `head`, is no
//! news to anybody: the command ends without a word, with the code of a process that SIGPIPE ended, unless it has changed
//! something. Talk is for people, and nothing fails for want of it. With `--quiet` only errors are told.

mod closed;
mod talk;

use crate::{exit_code, failure::Failure};
use std::{
    fmt::Display,
    io::{self, Write, stdout},
    sync::atomic::{AtomicBool, Ordering},
};

/// Whether only errors are told.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Prints a line of data, for scripts.
pub(crate) fn data(line: impl Display) -> Result<(), Failure> {
    bytes(format!("{line}\n").as_bytes())
}

/// Prints what is data as it is, line ends included.
pub(crate) fn bytes(text: &[u8]) -> Result<(), Failure> {
    write(text).map_err(|error| failure(&error))
}

/// As [`data`], of what has been done already: nobody should take it for undone. So a reader that has gone away is told
/// of here; the code stays that of SIGPIPE, as scripts expect it.
pub(crate) fn report(line: impl Display) -> Result<(), Failure> {
    let of_deed = |failure: Failure| match failure.is_quiet() {
        true => Failure::new(failure.code, "the reader of standard output has gone away"),
        false => failure,
    };
    let done = "what was asked for has been done all the same".to_owned();
    data(line).map_err(|failure| of_deed(failure).hint(done))
}

/// Refuses a standard output that nobody can read, for those whose work is of no use then.
pub(crate) fn check() -> Result<(), Failure> {
    closed::check().map_err(|error| failure(&error))
}

/// Writes all of it now, so that an error is told here and not lost at the end of the process.
pub(crate) fn write(text: &[u8]) -> io::Result<()> {
    closed::check()?;
    let mut stdout = stdout().lock();
    stdout.write_all(text)?;
    stdout.flush()
}

/// Why nothing can be written to standard output.
pub(crate) fn failure(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::quiet(exit_code::of_signal(SIGPIPE)),
        _ => Failure::own(format!("cannot write to standard output: {error}")),
    }
}

/// From now on only errors are told.
pub(crate) fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Tells the user something that is no error, in one line. Waits for no reader.
pub(crate) fn talk(line: impl Display) {
    if !IS_QUIET.load(Ordering::Relaxed) {
        error(line);
    }
}

/// Suggests a way out of what was just told, also of an error, to those who want to be told of more than errors.
pub(crate) fn hint(line: impl Display) {
    if !IS_QUIET.load(Ordering::Relaxed) {
        talk::say(format!("hint: {line}\n"));
    }
}

/// Tells the user of an error, in one line, also those who want to be told of nothing else. Waits for no reader.
pub(crate) fn error(line: impl Display) {
    talk::say(format!("leasehold: {line}\n"));
}

/// Waits until all talk is written, or nobody reads it. At the end of the process.
pub(crate) fn finish() {
    talk::finish();
}

const SIGPIPE: i32 = rustix::process::Signal::PIPE.as_raw();
