//! Fenced writes to Redis and Valkey, by whichever client is there.
//!
//! A node carries out a script as one step. So the check of the token and the write belong into one script: the
//! [`PREFIX`] checks, and what follows it writes. [`SET_IF_NEWEST`] is the two for `SET`; a [`FencedScript`] is the
//! two for a script of one's own. The newest token is kept under a key of its own, the fence's.
//!
//! * A refused write is an **error reply** `STALE 34`, with the newest token: an error in every client, so that it
//!   cannot be taken for an answer. [`stale`] reads it.
//! * The fence's key must live as long as what it guards: no TTL, the same server, no eviction (`noeviction` or a
//!   `volatile-…` policy). It holds one token as decimal text, and may guard several keys. On a Redis Cluster, all
//!   keys of a script are in one slot: `{account/7}` and `{account/7}:fence`.
//! * Every write to the value must be fenced. A plain `SET` beside it is not stopped, not even behind a script in the same
//!   `MULTI`: the server carries out what is left after an error. What belongs together belongs into one script.
//! * A failover to a replica loses the newest writes and their tokens together, so the fence still fits the data.
//!
//! These servers need not be the nodes of the lock, and better are not.
//!
//! # Examples
//! ```
//! use leasehold::{FencingToken, fence::redis};
//!
//! let token = FencingToken::new(34).unwrap();
//! let words = redis::set_if_newest("account/7", "account/7:fence", token, "90");
//! // Send the words by any client, such as `for word in &words { command.arg(word) }`.
//! assert_eq!(words[0], b"EVAL");
//! assert_eq!(words[2..], ["2", "account/7", "account/7:fence", "90", "34"].map(|word| word.as_bytes().to_vec()));
//!
//! // What came back was an error with this message:
//! let stale = redis::stale(token, "STALE 35").unwrap();
//! assert_eq!(stale.newest, FencingToken::new(35));
//! assert_eq!(redis::stale(token, "OOM command not allowed"), None);
//! ```

use super::Stale;
use leasehold_core::FencingToken;

macro_rules! prefix {
    () => {
        include_str!("fenced.lua")
    };
}

/// The start of a script that is to be fenced: takes off the last key, which is the fence's, and the last argument,
/// which is the token, and ends the script with an error if a newer token was seen.
///
/// If not, it stores the token, and what follows is carried out in the same step. The fence has moved then, also if
/// what follows fails.
pub const PREFIX: &str = prefix!();

/// `SET`, fenced. Keys: the value's, the fence's; arguments: the value, the token. Answers `OK`, or an error
/// `STALE` with the newest token.
pub const SET_IF_NEWEST: &str = concat!(prefix!(), "return redis.call('SET', KEYS[1], ARGV[1])\n");

/// The words of an `EVAL` of [`SET_IF_NEWEST`]: sets `key` to `value` unless the fence has seen a newer token.
#[must_use]
pub fn set_if_newest(
    key: impl AsRef<[u8]>,
    fence: impl AsRef<[u8]>,
    token: FencingToken,
    value: impl AsRef<[u8]>,
) -> Vec<Vec<u8>> {
    let (key, value) = (key.as_ref(), value.as_ref());
    eval(SET_IF_NEWEST, fence.as_ref(), token, &[key], &[value])
}

/// What an error reply says of `token`, if it says that it is stale. `message` is the error as the server sent it,
/// or as a client words it, as long as that has `STALE` and the number in it one after the other.
#[must_use]
pub fn stale(token: FencingToken, message: &str) -> Option<Stale> {
    let mut words = message
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words.find(|word| *word == "STALE")?;
    let newest = FencingToken::new(words.next()?.parse().ok()?)?;
    Some(Stale::against(token, newest))
}

/// A script of one's own with a fence before it.
///
/// The script stays as it is: its keys and arguments are counted as ever, since the fence's come last and are taken
/// off before it begins.
///
/// # Examples
/// ```
/// use leasehold::{FencingToken, fence::redis::FencedScript};
///
/// let deposit = FencedScript::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
/// let token = FencingToken::new(34).unwrap();
/// let words = deposit.eval("account/7:fence", token, &["account/7"], &["10"]);
/// assert_eq!(words[1], deposit.text().as_bytes());
/// assert_eq!(words[2..], ["2", "account/7", "account/7:fence", "10", "34"].map(|word| word.as_bytes().to_vec()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FencedScript {
    text: String,
}

impl FencedScript {
    /// Puts the [`PREFIX`] before `script`; behind its first line, if that is a `#!lua`.
    #[must_use]
    pub fn new(script: &str) -> Self {
        let first_line = script.find('\n').map_or(script.len(), |end| end + 1);
        let head = if script.starts_with("#!") {
            first_line
        } else {
            0
        };
        let (head, body) = script.split_at(head);
        let line_end = if head.is_empty() || head.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        let text = format!("{head}{line_end}{PREFIX}{body}");
        Self { text }
    }

    /// The script, for clients that load scripts and call them by their hash. Keys: the script's own, then the
    /// fence's. Arguments: the script's own, then the token.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The words of an `EVAL`: `keys` and `arguments` are the script's own.
    #[must_use]
    pub fn eval<K: AsRef<[u8]>, A: AsRef<[u8]>>(
        &self,
        fence: impl AsRef<[u8]>,
        token: FencingToken,
        keys: &[K],
        arguments: &[A],
    ) -> Vec<Vec<u8>> {
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let arguments: Vec<&[u8]> = arguments.iter().map(AsRef::as_ref).collect();
        eval(&self.text, fence.as_ref(), token, &keys, &arguments)
    }
}

fn eval(
    script: &str,
    fence: &[u8],
    token: FencingToken,
    keys: &[&[u8]],
    arguments: &[&[u8]],
) -> Vec<Vec<u8>> {
    let (count, token) = ((keys.len() + 1).to_string(), token.to_string());
    let head = [b"EVAL".as_slice(), script.as_bytes(), count.as_bytes()];
    let words = [&head[..], keys, &[fence], arguments, &[token.as_bytes()]].concat();
    words.into_iter().map(<[u8]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shebang_stays_the_first_line() {
        for (script, expected) in [
            ("return 1", format!("{PREFIX}return 1")),
            ("", PREFIX.to_owned()),
            ("#!lua\nreturn 1", format!("#!lua\n{PREFIX}return 1")),
            ("#!lua", format!("#!lua\n{PREFIX}")),
        ] {
            assert_eq!(FencedScript::new(script).text(), expected, "{script:?}");
        }
    }

    #[test]
    fn a_stale_answer_is_found_in_what_clients_make_of_it() {
        let token = FencingToken::FIRST;
        for message in [
            "STALE 35",
            "\"STALE\": 35",
            "An error was signalled by the server: STALE - 35",
        ] {
            let stale = stale(token, message).expect("it says so");
            assert_eq!(
                (stale.token, stale.newest),
                (token, FencingToken::new(35)),
                "{message}"
            );
        }
        for message in [
            "",
            "STALE",
            "STALE x",
            "STALE 0",
            "STALE 9007199254740992",
            "STALE -",
            "ERR stale 35",
            "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
            "NOFENCE …",
        ] {
            assert_eq!(stale(token, message), None, "{message}");
        }
    }
}
