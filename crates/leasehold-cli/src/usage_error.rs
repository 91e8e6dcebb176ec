//! What is told of arguments that cannot be understood.

use crate::{args::Arguments, failure::Failure, output};
use clap::{
    CommandFactory, Error,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};
use std::io::{Write, stderr, stdout};

/// Prints an error of the arguments, or the help that was asked for.
///
/// clap repeats the wrong value, whatever its length: of one that is longer than anybody reads, the beginning and the
/// end do, where the reason stands.
pub(crate) fn tell(mut error: Error) -> Result<(), Failure> {
    if let Some(usage) = whole_usage(&error) {
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    if is_bare_command(&error) {
        let tip = "put `--` before the command: RESOURCE -- COMMAND";
        let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tip);
    }
    if error.use_stderr() {
        let text = error.render().to_string();
        // In a mail of cron, nobody knows whose error it is.
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let lines = text.lines().map(|line| shortened(line) + "\n");
        let text = format!("leasehold: {}", lines.collect::<String>());
        drop(stderr().lock().write_all(text.as_bytes()));
    } else {
        // What was asked for is data.
        output::check()?;
        let printed = error.print().and_then(|()| stdout().flush());
        return printed.map_err(|error| output::failure(&error));
    }
    Ok(())
}

/// The usage of the command that the error is about. clap's own names as needed what variables have said already.
fn whole_usage(error: &Error) -> Option<StyledStr> {
    let usage = error.get(ContextKind::Usage)?.to_string();
    let words = usage.strip_prefix("Usage: ")?.split_whitespace().skip(1);
    let mut all = Arguments::command();
    all.build();
    let mut command = &mut all;
    for word in words.take_while(|word| word.starts_with(|letter: char| letter.is_alphabetic())) {
        command = command.find_subcommand_mut(word)?;
    }
    Some(command.render_usage())
}

/// Whether a command seems to stand where none can.
fn is_bare_command(error: &Error) -> bool {
    let said = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    error.kind() == ErrorKind::UnknownArgument
        && !said(ContextKind::InvalidArg).starts_with('-')
        && said(ContextKind::Usage).contains("-- <COMMAND>")
}

fn is_long(line: &str) -> bool {
    line.chars().count() > 2 * HALF
}

fn shortened(line: &str) -> String {
    if !is_long(line) {
        return line.to_owned();
    }
    let letters: Vec<_> = line.chars().collect();
    let (start, end) = (&letters[..HALF], &letters[letters.len() - HALF..]);
    format!(
        "{}…{}",
        start.iter().collect::<String>(),
        end.iter().collect::<String>()
    )
}

const HALF: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_line_the_beginning_and_the_end_are_shown() {
        assert_eq!(shortened("short"), "short");
        let long = format!("error: {}: too long", "ü".repeat(9999));
        let shown = shortened(&long);
        assert!(shown.starts_with("error: ü") && shown.ends_with("ü: too long"));
        assert_eq!(shown.chars().count(), 401);
    }
}
