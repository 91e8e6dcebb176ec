//! The lines between this program and a shim: see `shims/README.md`.

use std::{fmt, time::Duration};

/// What a shim is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Open {
        urls: Vec<String>,
    },
    Lock {
        key: String,
        ttl: Duration,
        tries: u32,
    },
    Unlock,
    Extend {
        ttl: Duration,
    },
    Quit,
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Ready,
    /// It has the lock. What it does not tell is none.
    Locked {
        value: Option<String>,
        validity: Option<Duration>,
    },
    /// Somebody else has it.
    Refused(String),
    Unlocked,
    Extended,
    /// It had not got the lock any more.
    Gone(String),
    /// Anything else that the library said.
    Failed(String),
}

impl Request {
    /// Reads a line, or says what makes no sense.
    pub(crate) fn parse(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        Ok(match words.as_slice() {
            ["open", urls @ ..] if !urls.is_empty() => Self::Open {
                urls: urls.iter().map(|&url| url.to_owned()).collect(),
            },
            ["lock", key, ttl, tries] => Self::Lock {
                key: (*key).to_owned(),
                ttl: millis(ttl)?,
                tries: tries
                    .parse()
                    .map_err(|_| format!("`{tries}` is no number of tries"))?,
            },
            ["unlock"] => Self::Unlock,
            ["extend", ttl] => Self::Extend { ttl: millis(ttl)? },
            ["quit"] => Self::Quit,
            _ => return Err(format!("`{line}` is no request")),
        })
    }
}

impl fmt::Display for Request {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { urls } => write!(out, "open {}", urls.join(" ")),
            Self::Lock { key, ttl, tries } => write!(out, "lock {key} {} {tries}", ttl.as_millis()),
            Self::Unlock => out.write_str("unlock"),
            Self::Extend { ttl } => write!(out, "extend {}", ttl.as_millis()),
            Self::Quit => out.write_str("quit"),
        }
    }
}

impl Answer {
    /// Reads a line, or says what makes no sense.
    pub(crate) fn parse(line: &str) -> Result<Self, String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let wrong = || format!("`{line}` is no answer");
        Ok(match word {
            "ready" => Self::Ready,
            "locked" => {
                let (value, validity) = rest.split_once(' ').ok_or_else(wrong)?;
                Self::Locked {
                    value: known(value).map(str::to_owned),
                    validity: known(validity).map(millis).transpose()?,
                }
            }
            "refused" => Self::Refused(rest.to_owned()),
            "unlocked" => Self::Unlocked,
            "extended" => Self::Extended,
            "gone" => Self::Gone(rest.to_owned()),
            "failed" => Self::Failed(rest.to_owned()),
            _ => return Err(wrong()),
        })
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => out.write_str("ready"),
            Self::Locked { value, validity } => {
                let value = value.as_deref().unwrap_or(UNKNOWN);
                match validity {
                    Some(validity) => write!(out, "locked {value} {}", validity.as_millis()),
                    None => write!(out, "locked {value} {UNKNOWN}"),
                }
            }
            Self::Refused(why) => write!(out, "refused {why}"),
            Self::Unlocked => out.write_str("unlocked"),
            Self::Extended => out.write_str("extended"),
            Self::Gone(why) => write!(out, "gone {why}"),
            Self::Failed(why) => write!(out, "failed {why}"),
        }
    }
}

fn known(word: &str) -> Option<&str> {
    (word != UNKNOWN).then_some(word)
}

fn millis(word: &str) -> Result<Duration, String> {
    let number = word.parse();
    number
        .map(Duration::from_millis)
        .map_err(|_| format!("`{word}` is no number of milliseconds"))
}

const UNKNOWN: &str = "?";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        for line in [
            "open redis://127.0.0.1:1 redis://127.0.0.1:2",
            "lock orders/42 10000 1",
            "unlock",
            "extend 500",
            "quit",
        ] {
            assert_eq!(Request::parse(line).unwrap().to_string(), line);
        }
        for line in [
            "ready",
            "locked abc 9890",
            "locked ? ?",
            "refused LockError: held by b",
            "unlocked",
            "extended",
            "gone not there",
            "failed ValueError: x",
        ] {
            assert_eq!(Answer::parse(line).unwrap().to_string(), line);
        }
    }

    #[test]
    fn what_is_not_told_is_none() {
        let locked = Answer::Locked {
            value: None,
            validity: Some(Duration::from_millis(7)),
        };
        assert_eq!(Answer::parse("locked ? 7"), Ok(locked));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            "",
            "open",
            "lock a 1",
            "lock a b 1",
            "lock a 1 -1",
            "extend",
            "steal",
        ] {
            assert!(Request::parse(line).is_err(), "{line}");
        }
        for line in [
            "",
            "Ready",
            "locked",
            "locked a",
            "locked a b",
            "DEBUG: connected",
        ] {
            assert!(Answer::parse(line).is_err(), "{line}");
        }
    }
}
