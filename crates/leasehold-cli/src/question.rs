//! A question to the operator, before something that cannot be taken back.

use crate::{exit_code, failure::Failure};
use std::io::{BufRead, IsTerminal, Write, stderr, stdin};

/// Asks, unless it was answered by `--yes`. Without a terminal nobody can be asked.
pub(crate) fn ask(question: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !stdin().is_terminal() {
        let text = "cannot ask without a terminal; nothing was changed";
        let hint = "--yes answers yes".to_owned();
        return Err(Failure::new(exit_code::USAGE, text).hint(hint));
    }
    drop(write!(stderr().lock(), "{question} [y/N] "));
    drop(stderr().flush());
    let mut answer = String::new();
    let read = stdin().lock().read_line(&mut answer);
    match read.map(|_| answer.trim().to_lowercase()) {
        Ok(answer) if ["y", "yes"].contains(&answer.as_str()) => Ok(()),
        _ => Err(Failure::own("nothing was changed")),
    }
}
