//! What is told of arguments that cannot be understood.

use crate::{args::Arguments, failure::Failure, output};
use clap::{
    Command, CommandFactory, Error,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};
use std::{
    env,
    ffi::{OsStr, OsString},
    io::{Write, stderr, stdout},
    os::unix::ffi::OsStrExt,
};

/// Prints an error of the arguments, or the help that was asked for.
///
/// clap repeats the wrong value, whatever its length: of one that is longer than anybody reads, the beginning does; and of a
/// line, the beginning and the end, where the reason stands.
pub(crate) fn tell(mut error: Error, words: &[OsString]) -> Result<(), Failure> {
    if let Some(culprit) = undecodable(&error, words) {
        let text = format!(
            "{culprit} is not UTF-8: only a command and names of files may be other bytes\n\n\
             For more information, try '--help'.\n"
        );
        error = Error::raw(error.kind(), text);
    }
    if let Some(usage) = whole_usage(&error) {
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    if let Some(variable) = variable(&error, words) {
        error.insert(ContextKind::InvalidArg, ContextValue::String(variable));
    }
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) {
        let value = ContextValue::String(begin(&in_one_line(value)));
        error.insert(ContextKind::InvalidValue, value);
    }
    if suggests_dashes(&error) {
        error.insert(ContextKind::Suggested, ContextValue::None);
    }
    if let Some(tip) = tip(&error, words) {
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

/// The variable that has the value that the error is about, if the option is not on the line: clap names the option, which the
/// user never wrote.
fn variable(error: &Error, words: &[OsString]) -> Option<String> {
    let told = error.get(ContextKind::InvalidArg)?.to_string();
    let name = told.split([' ', '=']).next()?.strip_prefix("--")?;
    let ours = words.iter().take_while(|word| *word != "--");
    let mut ours = ours.filter_map(|word| word.to_str()?.strip_prefix("--"));
    if ours.any(|word| word.split('=').next() == Some(name)) {
        return None;
    }
    let all = Arguments::command();
    // An option has the same variable with each command.
    let mut options = { all.get_subcommands() }
        .chain([&all])
        .flat_map(Command::get_arguments);
    let variable = options.find_map(|option| match option.get_long() == Some(name) {
        true => option.get_env(),
        false => None,
    })?;
    let value = error.get(ContextKind::InvalidValue)?.to_string();
    let is_its = env::var(variable).is_ok_and(|said| said == value);
    is_its.then(|| variable.display().to_string())
}

/// Whether clap suggests to put `--` before a word, where the command begins with that.
fn suggests_dashes(error: &Error) -> bool {
    let said = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    said(ContextKind::Usage).contains("-- <COMMAND>")
        && said(ContextKind::Suggested).contains("as a value, use '")
}

/// What may help with words that stand where none can.
fn tip(error: &Error, words: &[OsString]) -> Option<&'static str> {
    let said = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let usage = said(ContextKind::Usage);
    let is_word_too_many = error.kind() == ErrorKind::UnknownArgument
        && !said(ContextKind::InvalidArg).starts_with('-');
    let has_dashes = words.iter().any(|word| word == "--");
    if usage.contains("-- <COMMAND>") && !has_dashes {
        return (is_word_too_many || is_command_among_names(error, words)).then_some(DASHES);
    }
    (is_word_too_many && usage.contains("<RESOURCE>")).then_some(ONE_NAME)
}

/// Whether a command was taken for further names of a lock: its first option, or the end of the line, shows that it is missing.
fn is_command_among_names(error: &Error, words: &[OsString]) -> bool {
    let is_missing = matches!(
        error.kind(),
        ErrorKind::UnknownArgument | ErrorKind::MissingRequiredArgument
    );
    let unknown = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    let known = words
        .iter()
        .position(|word| word.to_str() == unknown.as_deref());
    let read = &words[..known.unwrap_or(words.len())];
    // What follows is missing in any case.
    let line = Arguments::command().ignore_errors(true);
    let Ok(matches) = line.try_get_matches_from(read) else {
        return false;
    };
    let names = matches.subcommand().and_then(|(_, run)| {
        let names = run.try_get_many::<String>("resource").ok()?;
        names.map(Iterator::count)
    });
    is_missing && names > Some(1)
}

const DASHES: &str = "put `--` before the command: RESOURCE -- COMMAND";

const ONE_NAME: &str = "this takes one name; `run`, `hold` and `acquire` lock several together";

/// The word or the variable that is no text, escaped where it is none. clap says only that there is one.
fn undecodable(error: &Error, words: &[OsString]) -> Option<String> {
    if error.kind() != ErrorKind::InvalidUtf8 {
        return None;
    }
    let ours = words.iter().skip(1).take_while(|word| *word != "--");
    let mut before = None;
    for word in ours {
        let is_file = before
            .replace(word)
            .is_some_and(|before| before == "--config")
            || word.as_bytes().starts_with(b"--config=");
        if word.to_str().is_none() && !is_file {
            return Some(format!("the argument \"{}\"", escaped(word)));
        }
    }
    let all = Arguments::command();
    let mut options = { all.get_subcommands() }
        .chain([&all])
        .flat_map(Command::get_arguments);
    let variable = options.find_map(|option| {
        let name = option.get_env()?;
        let value = env::var_os(name).filter(|value| value.to_str().is_none())?;
        Some((name.display().to_string(), value))
    });
    let (name, value) = variable?;
    Some(format!("\"{}\" in {name}", escaped(&value)))
}

/// As text, with the bytes that are none in hexadecimal.
fn escaped(word: &OsStr) -> String {
    let mut text = String::new();
    for chunk in word.as_bytes().utf8_chunks() {
        text += &in_one_line(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    begin(&text)
}

/// The beginning of a text that is longer than anybody reads, and how long it is.
fn begin(text: &str) -> String {
    let letters = text.chars().count();
    match letters > 2 * BEGIN {
        true => {
            let begin: String = text.chars().take(BEGIN).collect();
            format!("{begin}… ({letters} letters)")
        }
        false => text.to_owned(),
    }
}

const BEGIN: usize = 60;

/// The same text, in which line ends and other control characters are told as such.
fn in_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.is_control() {
            true => line.extend(letter.escape_debug()),
            false => line.push(letter),
        }
    }
    line
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
    fn a_value_of_several_lines_is_told_in_one() {
        assert_eq!(in_one_line("it's\na\u{1b}[1mü"), r"it's\na\u{1b}[1mü");
    }

    #[test]
    fn of_a_long_line_the_beginning_and_the_end_are_shown() {
        assert_eq!(shortened("short"), "short");
        let long = format!("error: {}: too long", "ü".repeat(9999));
        let shown = shortened(&long);
        assert!(shown.starts_with("error: ü") && shown.ends_with("ü: too long"));
        assert_eq!(shown.chars().count(), 401);
    }
}
