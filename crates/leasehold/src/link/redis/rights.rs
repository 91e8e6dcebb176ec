//! What the user of a connection must be allowed to do before its first vote counts.
//!
//! A vote needs less than the lease that it wins: a user who may not extend or release would have the lock, and lose it in the
//! middle of the work. So each command is tried when the connection is opened, by a script that is declared to write
//! nothing: the server looks at rights first, so a command that is allowed is refused for that, and nothing is done. It
//! needs no right but the `EVAL` that scripts need in any case.

use super::{
    codec::{self, Frame},
    scripts::Encoder,
    texts::Script,
};
use crate::configuration::KeyFormat;

/// What somebody needs who comes for locks, and not only to look.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// The scripts that are loaded.
    pub(super) scripts: Vec<&'static Script>,
    /// The call that tells which rights are lacking.
    pub(super) rights: Vec<u8>,
    /// The same, with a key in any case.
    pub(super) rights_by_key: Vec<u8>,
    /// A key that no lock has.
    pub(super) trial: String,
}

impl Needs {
    pub(super) fn of(encoder: &Encoder) -> Self {
        Self {
            scripts: encoder.scripts().collect(),
            rights: question(encoder),
            rights_by_key: question_by_key(encoder),
            trial: trial_key(encoder.key_format()),
        }
    }
}

/// The call that tells which rights are lacking.
pub(super) fn question(encoder: &Encoder) -> Vec<u8> {
    match encoder.node_key() {
        Some(_) => question_by_key(encoder),
        // A user may be kept to the keys of some locks, and a call for another key is refused as a whole.
        None => ask(encoder, None),
    }
}

/// The same for a proxy, which knows by the first key where a call goes.
fn question_by_key(encoder: &Encoder) -> Vec<u8> {
    let trial = trial_key(encoder.key_format());
    let key = encoder.node_key().unwrap_or(&trial);
    ask(encoder, Some(key))
}

fn ask(encoder: &Encoder, key: Option<&str>) -> Vec<u8> {
    let trial = trial_key(encoder.key_format());
    let kind: &[u8] = match (encoder.is_fenced(), encoder.is_guarded()) {
        (false, _) => b"plain",
        (true, false) => b"fenced",
        (true, true) => b"guarded",
    };
    let (text, trial) = (RIGHTS_OF_LEASES.as_bytes(), trial.as_bytes());
    let mut wire = Vec::new();
    match key.map(str::as_bytes) {
        Some(key) => codec::encode(&mut wire, &[b"EVAL", text, b"1", key, trial, kind]),
        None => codec::encode(&mut wire, &[b"EVAL", text, b"0", trial, kind]),
    }
    wire
}

/// What is lacking, by the answer, as a fragment for people. None if nothing is, or if it cannot be found out: then it is told
/// by the command that needs it.
pub(super) fn lacking(answer: &Frame<'_>) -> Option<String> {
    let Frame::List(parts) = answer else {
        return None;
    };
    let rights = parts.iter().filter_map(|part| match part {
        Frame::Text(right) => std::str::from_utf8(right).ok(),
        _ => None,
    });
    // Which keys locks have is not known here; where a key is out of reach, its first vote tells.
    let rights: Vec<_> = rights.filter(|right| !right.starts_with('~')).collect();
    let marked = |mark: char| {
        let marked = rights.iter().filter_map(|right| right.strip_prefix(mark));
        let marked: Vec<_> = marked.map(str::to_ascii_uppercase).collect();
        (!marked.is_empty()).then_some(marked)
    };
    if let Some(unknown) = marked('!') {
        return Some(format!(
            "does not know {}, which a lease needs before it ends: undo rename-command{}",
            unknown.join(", "),
            without(&unknown)
        ));
    }
    if let Some(withheld) = marked('-') {
        return Some(format!(
            "lets no script run {}, which a lease needs before it ends{}",
            withheld.join(", "),
            without(&withheld)
        ));
    }
    if rights.is_empty() {
        return None;
    }
    let commands: Vec<_> = rights
        .iter()
        .map(|right| right.trim_start_matches('+').to_ascii_uppercase())
        .collect();
    Some(format!(
        "does not let this user run {}, which a lease needs before it ends: allow {}{}",
        commands.join(", "),
        rights.join(" "),
        without(&commands)
    ))
}

/// What does without these commands, if anything.
fn without(commands: &[String]) -> &'static str {
    match commands.iter().any(|command| command == "INFO") {
        true => " (restart guard off does without INFO)",
        false => "",
    }
}

/// Whether the node's words are about what we may not do.
pub(super) fn is_about_rights(error: &str) -> bool {
    ["NOPERM", "ACL failure", "can't run this command"]
        .iter()
        .any(|words| error.contains(words))
}

/// A key that no lock has.
fn trial_key(format: &KeyFormat) -> String {
    format.key("leasehold:trial").into_owned()
}

/// What a lease needs until it is released.
pub(super) const RIGHTS_OF_LEASES: &str = concat!(
    "#!lua flags=no-writes\n",
    include_str!("rights_of_leases.lua"),
    include_str!("admin_client/rights.lua")
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_is_named_as_a_command_and_as_a_right() {
        let told = |rights: &[&'static str]| {
            let parts = rights.iter().map(|right| Frame::Text(right.as_bytes()));
            lacking(&Frame::List(parts.collect()))
        };
        assert_eq!(told(&[]), None);
        assert_eq!(told(&["~leasehold:trial"]), None);
        let one = told(&["~k", "+pttl"]).expect("it lacks something");
        assert!(
            one.contains("run PTTL, which") && one.ends_with("allow +pttl"),
            "{one}"
        );
        let two = told(&["+hget", "+info"]).expect("it lacks something");
        assert!(two.contains("run HGET, INFO, which"), "{two}");
        assert!(
            two.contains("allow +hget +info (restart guard off"),
            "{two}"
        );
        let hidden = told(&["~k", "!pexpire", "+get"]).expect("it lacks something");
        assert!(hidden.contains("does not know PEXPIRE, which"), "{hidden}");
        let withheld = told(&["-info"]).expect("it lacks something");
        assert!(
            withheld.contains("lets no script run INFO, which") && withheld.contains("guard off"),
            "{withheld}"
        );
        assert_eq!(lacking(&Frame::Error(b"NOPERM eval")), None);
        assert_eq!(lacking(&Frame::Null), None);
    }
}
