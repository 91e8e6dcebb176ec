//! What a client writes down: one line per event, appended as it happens.
//!
//! ```text
//! 8123456789 acquired r0 5f0c… 8423456789 8120000000 1795261243000000
//! 8200000000 extended r0 5f0c… 8498000000
//! 8498000007 relied r0 5f0c…
//! 8500000000 ended r0 5f0c…
//! ```
//!
//! The first number is when, the one behind the owner until when the lease may be relied upon, in nanoseconds. Behind
//! that of an acquisition are when it was begun, and its fencing token, if it has one. No line like the third is ever
//! written if the library is right. A client that is killed while it writes leaves a last line without an end, which
//! counts as not written.

use crate::moment::Moment;
use std::{
    fmt,
    fs::File,
    io::{self, Write},
    path::Path,
};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: Moment,
    pub(crate) step: Step,
    pub(crate) resource: String,
    /// The value that signs the keys: unique to a lease, unless the client is reckless.
    pub(crate) owner: String,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// An acquisition returned.
    Acquired {
        valid_until: Moment,
        fence: Option<Fence>,
    },
    /// An extension returned.
    Extended { valid_until: Moment },
    /// The guard said yes, asked at this moment or later, although what it had promised was over.
    Relied,
    /// The client claims nothing any more. Written before it begins to release.
    Ended,
}

/// What orders a lease among those of other clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    /// When the acquisition was begun.
    pub(crate) begun: Moment,
    pub(crate) token: u64,
}

impl fmt::Display for Entry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            step,
            resource,
            owner,
        } = self;
        match step {
            Step::Acquired { valid_until, fence } => {
                write!(out, "{at} acquired {resource} {owner} {valid_until}")?;
                match fence {
                    Some(Fence { begun, token }) => write!(out, " {begun} {token}"),
                    None => Ok(()),
                }
            }
            Step::Extended { valid_until } => {
                write!(out, "{at} extended {resource} {owner} {valid_until}")
            }
            Step::Relied => write!(out, "{at} relied {resource} {owner}"),
            Step::Ended => write!(out, "{at} ended {resource} {owner}"),
        }
    }
}

/// A journal that is being written.
#[derive(Debug)]
pub(crate) struct Writer(File);

impl Writer {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self(File::options().create(true).append(true).open(path)?))
    }

    /// Writes a line, in one piece: it is with the operating system when this returns, whatever becomes
    /// of the process.
    pub(crate) fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.0.write_all(format!("{entry}\n").as_bytes())
    }
}

/// Reads a journal.
///
/// # Errors
/// The first line that is none, or that is earlier than the one before.
pub(crate) fn parse(text: &str) -> Result<Vec<Entry>, String> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n') else {
            break;
        };
        let entry = entry(line).ok_or_else(|| format!("not a line of a journal: {line:?}"))?;
        if entries.last().is_some_and(|last| last.at > entry.at) {
            return Err(format!("the clock went back before {line:?}"));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn entry(line: &str) -> Option<Entry> {
    let mut words = line.split(' ');
    let at = moment(words.next()?)?;
    let kind = words.next()?;
    let (resource, owner) = (words.next()?.to_owned(), words.next()?.to_owned());
    let step = match kind {
        "acquired" => Step::Acquired {
            valid_until: moment(words.next()?)?,
            fence: match words.next() {
                None => None,
                Some(begun) => Some(Fence {
                    begun: moment(begun)?,
                    token: words.next()?.parse().ok()?,
                }),
            },
        },
        "extended" => Step::Extended {
            valid_until: moment(words.next()?)?,
        },
        "relied" => Step::Relied,
        "ended" => Step::Ended,
        _ => return None,
    };
    words.next().is_none().then_some(Entry {
        at,
        step,
        resource,
        owner,
    })
}

fn moment(word: &str) -> Option<Moment> {
    match word {
        "never" => Some(Moment::NEVER),
        number => number.parse().ok().map(Moment::from_nanos),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "10 acquired r0 abc 90\n20 extended r0 abc never\n25 relied r0 abc\n\
                         30 ended r0 abc\n35 acquired r1 e 50 34 9007199254740991\n\
                         40 acquired r1 d 50\n";

    #[test]
    fn what_is_written_is_read() {
        let entries = parse(WHOLE).unwrap();
        assert_eq!(entries.len(), 6);
        let written: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        assert_eq!(written, WHOLE);
    }

    #[test]
    fn a_torn_last_line_counts_as_not_written() {
        let torn = &WHOLE[..WHOLE.len() - 1];
        assert_eq!(parse(torn).unwrap().len(), 5);
        // `5` of `50` would have been a number as well.
        assert_eq!(parse(&WHOLE[..WHOLE.len() - 2]).unwrap().len(), 5);
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn a_wrong_line_is_an_error() {
        for wrong in [
            "\n",
            "10\n",
            "10 won r0 abc 90\n",
            "10 acquired r0 abc\n",
            "10 acquired r0 abc 90 5\n",
            "10 acquired r0 abc 90 5 -1\n",
            "x ended r0 abc\n",
            "10 relied r0\n",
            "10 relied r0 abc 90\n",
            "10 ended r0 abc 90\n",
            "10 ended r0 abc\n9 ended r0 abc\n",
        ] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
