//! Whether a node has commands that take the place of scripts: found by trying.
//!
//! Versions tell little: services leave commands out and rights differ. Each command is said once, about a key that
//! nobody has, so that it changes nothing whatever it is.

use super::{
    super::{
        codec::{self, Frame},
        reply::words,
    },
    Native,
};
use crate::configuration::KeyFormat;

/// A command that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum SentCommand {
    SetIfEq,
    DelIfEq,
    DelEx,
    Get,
    Pttl,
}

/// What became of the commands that cannot be used.
#[derive(Debug, Default)]
pub(in super::super) struct Trial {
    failed: Vec<(SentCommand, Why)>,
}

/// Why a command cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Missing,
    Forbidden,
}

impl SentCommand {
    /// In the order in which they are tried.
    pub(in super::super) const ALL: [Self; 5] = [
        Self::SetIfEq,
        Self::DelIfEq,
        Self::DelEx,
        Self::Get,
        Self::Pttl,
    ];

    fn encode(self, wire: &mut Vec<u8>, key: &[u8]) {
        match self {
            Self::SetIfEq => {
                codec::encode(wire, &[b"SET", key, VALUE, b"IFEQ", VALUE, b"PX", b"1"]);
            }
            Self::DelIfEq => codec::encode(wire, &[b"DELIFEQ", key, VALUE]),
            Self::DelEx => codec::encode(wire, &[b"DELEX", key, b"IFEQ", VALUE]),
            Self::Get => codec::encode(wire, &[b"GET", key]),
            Self::Pttl => codec::encode(wire, &[b"PTTL", key]),
        }
    }
}

impl Trial {
    /// All of them.
    pub(in super::super) fn commands(format: &KeyFormat) -> Vec<u8> {
        let key = format.key(NAME);
        let mut wire = Vec::new();
        for command in SentCommand::ALL {
            command.encode(&mut wire, key.as_bytes());
        }
        wire
    }

    /// Takes the answer to one of them.
    ///
    /// # Errors
    /// The node's words, if it cannot be asked anything yet.
    pub(in super::super) fn hear(
        &mut self,
        command: SentCommand,
        answer: &Frame<'_>,
    ) -> Result<(), String> {
        if let Frame::Error(error) = answer {
            if error.starts_with(b"LOADING") {
                return Err(words(error));
            }
            self.failed.extend(Why::of(error).map(|why| (command, why)));
        }
        Ok(())
    }

    /// What takes the place of scripts, of which the node said `refusal`.
    ///
    /// # Errors
    /// That nothing does, as a fragment for people: why, and what would have to be allowed.
    pub(in super::super) fn outcome(&self, refusal: &str) -> Result<Native, String> {
        let why = |command| {
            let found = self.failed.iter().find(|(other, _)| *other == command);
            found.map(|(_, why)| *why)
        };
        let [set, del_if_eq, del_ex, get, pttl] = SentCommand::ALL.map(why);
        let native = match (del_if_eq, del_ex) {
            (None, _) => Some(Native::DelIfEq),
            (_, None) => Some(Native::DelEx),
            _ => None,
        };
        let can_set = set.is_none() && get.is_none() && pttl.is_none();
        if let Some(native) = native.filter(|_| can_set) {
            return Ok(native);
        }
        // The name of the right helps a user who lacks it, and nobody else.
        let delete = match (del_if_eq, del_ex) {
            (Some(Why::Missing), Some(Why::Missing)) => None,
            (Some(Why::Missing), _) => Some("+delex"),
            _ => Some("+delifeq"),
        };
        let delete = delete.filter(|_| set != Some(Why::Missing));
        Err(match delete {
            Some(delete) => format!(
                "lets us run no scripts, nor the commands that do without: allow +eval +evalsha +script|load, or +set +get \
                 +pttl {delete}: {refusal}"
            ),
            None => format!(
                "lets us run no scripts, and has no commands that do without (SET IFEQ, and DELIFEQ as in Valkey 9.0 or \
                 DELEX as in Redis 8.4): allow +eval +evalsha +script|load: {refusal}"
            ),
        })
    }
}

impl Why {
    /// None if the error is about something else than the command: the key, which our rights may leave out, or the
    /// node, as it is just now.
    ///
    /// Where `SET` may not touch the key, nobody has seen whether it knows `IFEQ`; but every node that has one of the
    /// other two commands does.
    fn of(error: &[u8]) -> Option<Self> {
        let says = |words: &[u8]| error.windows(words.len()).any(|window| window == words);
        if error.starts_with(b"ERR unknown command") || error.starts_with(b"ERR syntax error") {
            Some(Self::Missing)
        } else if error.starts_with(b"NOPERM") && says(b" to run the ") {
            Some(Self::Forbidden)
        } else {
            None
        }
    }
}

/// The name of a resource that nobody locks.
const NAME: &str = "leasehold:trial";
/// Not what any owner is.
const VALUE: &[u8] = b"-";

#[cfg(test)]
mod tests {
    use super::*;

    const UNKNOWN: &str = "ERR unknown command 'DELEX', with args beginning with: 'k'";
    const SYNTAX: &str = "ERR syntax error";
    const RIGHT: &str = "NOPERM User u has no permissions to run the 'set' command";
    const KEY: &str = "NOPERM No permissions to access a key";

    fn outcome(answers: [&str; 5]) -> Result<Native, String> {
        let mut trial = Trial::default();
        for (command, answer) in SentCommand::ALL.into_iter().zip(answers) {
            let frame = match answer {
                "" => Frame::Null,
                error => Frame::Error(error.as_bytes()),
            };
            trial.hear(command, &frame).expect("it is up");
        }
        trial.outcome("NOPERM eval")
    }

    #[test]
    fn a_node_that_sets_and_deletes_by_comparison_needs_no_scripts() {
        for (answers, native) in [
            (["", "", UNKNOWN, "", ""], Native::DelIfEq),
            (["", UNKNOWN, "", "", ""], Native::DelEx),
            (["", "", "", "", ""], Native::DelIfEq),
            (["", RIGHT, "", "", ""], Native::DelEx),
            ([KEY, KEY, UNKNOWN, KEY, KEY], Native::DelIfEq),
            (["OOM", "", UNKNOWN, "", ""], Native::DelIfEq),
        ] {
            assert_eq!(outcome(answers), Ok(native), "{answers:?}");
        }
    }

    #[test]
    fn whoever_is_let_do_neither_is_told_the_rights_that_would_help() {
        for (answers, told) in [
            ([SYNTAX, UNKNOWN, UNKNOWN, "", ""], "has no commands"),
            (["", UNKNOWN, UNKNOWN, "", ""], "has no commands"),
            ([RIGHT, UNKNOWN, UNKNOWN, "", ""], "has no commands"),
            ([KEY, UNKNOWN, UNKNOWN, KEY, KEY], "has no commands"),
            ([RIGHT, UNKNOWN, "", "", ""], "or +set +get +pttl +delex: "),
            (
                ["", RIGHT, UNKNOWN, "", ""],
                "or +set +get +pttl +delifeq: ",
            ),
            (
                ["", "", UNKNOWN, RIGHT, ""],
                "or +set +get +pttl +delifeq: ",
            ),
            (
                ["", "", UNKNOWN, "", RIGHT],
                "or +set +get +pttl +delifeq: ",
            ),
        ] {
            let why = outcome(answers).expect_err("something is missing");
            assert!(why.contains(told), "{answers:?}: {why}");
            assert!(why.contains("allow +eval +evalsha") && why.ends_with(": NOPERM eval"));
        }
    }

    #[test]
    fn what_is_tried_is_said_of_a_key_that_the_format_makes() {
        let wire = Trial::commands(&KeyFormat::pottery());
        let text = String::from_utf8(wire).expect("only text");
        let key = "\r\n$23\r\nredlock:leasehold:trial\r\n";
        assert_eq!(text.matches(key).count(), SentCommand::ALL.len());
        assert!(text.starts_with("*7\r\n$3\r\nSET\r\n"));
    }
}
