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
}

impl Needs {
    pub(super) fn of(encoder: &Encoder) -> Self {
        Self {
            scripts: encoder.scripts().collect(),
            rights: question(encoder),
        }
    }
}

/// The call that tells which rights are lacking.
pub(super) fn question(encoder: &Encoder) -> Vec<u8> {
    let trial = trial_key(encoder.key_format());
    let guard: &[u8] = if encoder.is_guarded() { b"1" } else { b"0" };
    let mut wire = Vec::new();
    let text = SCRIPT.as_bytes();
    match encoder.node_key() {
        Some(node) => {
            let key = node.as_bytes();
            codec::encode(
                &mut wire,
                &[b"EVAL", text, b"1", key, trial.as_bytes(), guard],
            );
        }
        None => codec::encode(&mut wire, &[b"EVAL", text, b"0", trial.as_bytes(), b"0"]),
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
    let unknown = rights.iter().filter_map(|right| right.strip_prefix('!'));
    let unknown: Vec<_> = unknown.map(str::to_ascii_uppercase).collect();
    if !unknown.is_empty() {
        return Some(format!(
            "does not know {}, which a lease needs before it ends: undo rename-command",
            unknown.join(", ")
        ));
    }
    if rights.is_empty() {
        return None;
    }
    let commands: Vec<_> = rights
        .iter()
        .map(|right| right.trim_start_matches('+').to_ascii_uppercase())
        .collect();
    let without = match commands.contains(&"INFO".to_owned()) {
        true => " (restart guard off does without INFO)",
        false => "",
    };
    Some(format!(
        "does not let this user run {}, which a lease needs before it ends: allow {}{without}",
        commands.join(", "),
        rights.join(" ")
    ))
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

const SCRIPT: &str = concat!(
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
        assert_eq!(lacking(&Frame::Error(b"NOPERM eval")), None);
        assert_eq!(lacking(&Frame::Null), None);
    }
}
