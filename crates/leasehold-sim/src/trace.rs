//! The story of a run, in lines, for whoever wants to read it.

use crate::time::{MICROSECOND, Moment};
use leasehold_core::{Owner, Request};
use std::fmt;

/// Where the lines go.
#[derive(Debug)]
pub(crate) enum Trace {
    /// Nowhere. Nothing is formatted.
    Off,
    /// To the standard output, at once: a run that panics has told its story.
    Print,
    /// Into a text.
    #[cfg(test)]
    Keep(String),
}

impl Trace {
    /// Tells one line. Formatting is put off: most runs have no reader.
    pub(crate) fn tell(&mut self, now: Moment, line: impl FnOnce() -> String) {
        if matches!(self, Self::Off) {
            return;
        }
        self.write(now, format_args!("{}", line()));
    }

    #[cold]
    #[expect(clippy::print_stdout, reason = "the story is what was asked for")]
    fn write(&mut self, now: Moment, line: fmt::Arguments<'_>) {
        let micros = now.ns() / MICROSECOND;
        let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
        match self {
            Self::Off => {}
            Self::Print => println!("{seconds:>3}.{rest:06} s  {line}"),
            #[cfg(test)]
            Self::Keep(text) => {
                use fmt::Write;
                let _ = writeln!(text, "{seconds:>3}.{rest:06} s  {line}");
            }
        }
    }
}

/// What is asked, and with which ticket.
pub(crate) fn asked(request: &Request) -> String {
    let verb = match request.owner().and_then(Owner::permit) {
        Some(permit) => format!("{} permit {permit}", verb(request)),
        None if request.resource().is_shared() => format!("{} a share", verb(request)),
        None => verb(request).to_owned(),
    };
    match request.place() {
        None => verb,
        Some(place) => match place.ticket {
            None => format!("{verb} for a ticket"),
            Some(ticket) => format!("{verb} with ticket {ticket}"),
        },
    }
}

const fn verb(request: &Request) -> &'static str {
    match request {
        Request::Acquire { .. } => "acquire",
        Request::Repair { .. } => "repair",
        Request::Raise { .. } => "raise",
        Request::Extend { .. } => "extend",
        Request::Transfer { .. } => "take over",
        Request::Inspect { .. } => "inspect",
        Request::Release { .. } => "release",
        Request::Leave { .. } => "leave",
    }
}
