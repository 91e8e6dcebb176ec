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
    /// Waits until the lock is free, without asking again and again.
    Wait {
        key: String,
        ttl: Duration,
        patience: Duration,
    },
    /// Gives the lock out of hand, for another process to go on with.
    Leave(Leave),
    /// Goes on with what another process has left by handing it over.
    Adopt {
        text: String,
    },
    /// Releases what another process has left to all who know its owner.
    Finish {
        key: String,
        owner: String,
    },
    /// Contends for many locks at once, for so long, and counts on the server of this port.
    Crowd {
        name: String,
        time: Duration,
        port: u16,
    },
    Quit,
}

/// How a lock is given out of hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// To the one process that is told a text.
    HandedOver,
    /// To all who know its owner.
    Detached,
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Ready,
    /// It has the lock. What it does not tell is none.
    Locked {
        value: Option<String>,
        validity: Option<Duration>,
        /// The fencing token.
        token: Option<u64>,
    },
    /// Somebody else has it.
    Refused(String),
    Unlocked,
    Extended,
    /// It has left the lock: what another process must know.
    Left(String),
    /// Everybody in the crowd was alone, and had so many turns.
    Crowded(usize),
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
            ["wait", key, ttl, patience] => Self::Wait {
                key: (*key).to_owned(),
                ttl: millis(ttl)?,
                patience: millis(patience)?,
            },
            ["leave", "handed-over"] => Self::Leave(Leave::HandedOver),
            ["leave", "detached"] => Self::Leave(Leave::Detached),
            ["adopt", text] => Self::Adopt {
                text: (*text).to_owned(),
            },
            ["finish", key, owner] => Self::Finish {
                key: (*key).to_owned(),
                owner: (*owner).to_owned(),
            },
            ["crowd", name, time, port] => Self::Crowd {
                name: (*name).to_owned(),
                time: millis(time)?,
                port: port.parse().map_err(|_| format!("`{port}` is no port"))?,
            },
            ["quit"] => Self::Quit,
            _ => return Err(format!("`{line}` is no request")),
        })
    }
}

impl Request {
    /// For how long it asks somebody to be busy.
    pub(crate) const fn time(&self) -> Duration {
        match self {
            Self::Crowd { time, .. } => *time,
            _ => Duration::ZERO,
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { urls } => write!(out, "open {}", urls.join(" ")),
            Self::Lock { key, ttl, tries } => write!(out, "lock {key} {} {tries}", ttl.as_millis()),
            Self::Unlock => out.write_str("unlock"),
            Self::Extend { ttl } => write!(out, "extend {}", ttl.as_millis()),
            Self::Wait { key, ttl, patience } => {
                let (ttl, patience) = (ttl.as_millis(), patience.as_millis());
                write!(out, "wait {key} {ttl} {patience}")
            }
            Self::Leave(Leave::HandedOver) => out.write_str("leave handed-over"),
            Self::Leave(Leave::Detached) => out.write_str("leave detached"),
            Self::Adopt { text } => write!(out, "adopt {text}"),
            Self::Finish { key, owner } => write!(out, "finish {key} {owner}"),
            Self::Crowd { name, time, port } => {
                write!(out, "crowd {name} {} {port}", time.as_millis())
            }
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
                let (value, rest) = rest.split_once(' ').ok_or_else(wrong)?;
                let (validity, token) = match rest.split_once(' ') {
                    Some((validity, token)) => (validity, Some(token)),
                    None => (rest, None),
                };
                Self::Locked {
                    value: known(value).map(str::to_owned),
                    validity: known(validity).map(millis).transpose()?,
                    token: token.map(str::parse).transpose().map_err(|_| wrong())?,
                }
            }
            "refused" => Self::Refused(rest.to_owned()),
            "unlocked" => Self::Unlocked,
            "extended" => Self::Extended,
            "left" => Self::Left(rest.to_owned()),
            "crowded" => Self::Crowded(rest.parse().map_err(|_| wrong())?),
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
            Self::Locked {
                value,
                validity,
                token,
            } => {
                let value = value.as_deref().unwrap_or(UNKNOWN);
                match validity {
                    Some(validity) => write!(out, "locked {value} {}", validity.as_millis()),
                    None => write!(out, "locked {value} {UNKNOWN}"),
                }?;
                token.map_or(Ok(()), |token| write!(out, " {token}"))
            }
            Self::Refused(why) => write!(out, "refused {why}"),
            Self::Unlocked => out.write_str("unlocked"),
            Self::Extended => out.write_str("extended"),
            Self::Left(text) => write!(out, "left {text}"),
            Self::Crowded(turns) => write!(out, "crowded {turns}"),
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
            "wait orders/42 10000 3000",
            "leave handed-over",
            "leave detached",
            "adopt text",
            "finish orders/42 owner",
            "crowd orders 3000 6379",
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
            "locked a 7 12",
            "extended",
            "left text",
            "crowded 7",
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
            token: None,
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
