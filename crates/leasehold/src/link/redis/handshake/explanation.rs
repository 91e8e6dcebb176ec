//! What the refusals of a handshake mean, for people.

use super::Step;
use crate::link::redis::{greeting, reply::words, rights::is_about_rights, url::RedisUrl};

/// Whether the node knows a command as little as if it had been taken away, or does not let us say it.
pub(super) fn forbids(error: &[u8]) -> bool {
    error.starts_with(b"NOPERM")
        || error.starts_with(b"ERR")
            && [
                &b"unknown command"[..],
                b"disabled",
                b"not allowed",
                b"not supported",
            ]
            .iter()
            .any(|words| error.windows(words.len()).any(|window| window == *words))
}

/// Whether the node does not know RESP3, or does not want to be greeted.
pub(in super::super) fn no_hello(error: &[u8]) -> bool {
    error.starts_with(b"NOPROTO") || forbids(error)
}

/// Why a node that lets us run no scripts cannot be used for locks with fencing tokens, in its own words and ours.
pub(super) fn lacks_scripts(error: &str) -> String {
    format!(
        "lets us run no scripts, which locks with fencing tokens need: allow +eval +evalsha +script|load; plain locks need \
         none where a node sets and deletes by comparison: {error}"
    )
}

/// Why a server of a cluster that lets us run no scripts cannot be used, in its own words and ours.
pub(super) fn no_cluster_without_scripts(error: &str) -> String {
    format!(
        "lets us run no scripts, which all locks on a Redis Cluster need: allow +eval +evalsha +script|load: {error}"
    )
}

/// The node's words, with what they are about. They may repeat what they were told, so the password
/// is cut out.
pub(super) fn explain(step: Step, error: &[u8], url: &RedisUrl) -> String {
    let error = String::from_utf8_lossy(error);
    let error = error
        .split(", with args beginning with")
        .next()
        .unwrap_or_default();
    let login = url.login.as_ref();
    let error = match login.map(|login| login.password.as_str()) {
        None | Some("") => error.to_owned(),
        // It is part of other words, and cut out where it is quoted, as servers quote what they were told.
        Some(short) if short.len() < 3 => error
            .replace(&format!("'{short}'"), "'***'")
            .replace(&format!("\"{short}\""), "\"***\""),
        Some(password) => error.replace(password, "***"),
    };
    let error = words(error.as_bytes());
    match step {
        _ if error.starts_with("NOAUTH") => format!("needs a password: {error}"),
        _ if error.starts_with("WRONGPASS") => format!("authentication failed: {error}"),
        Step::Auth => format!("authentication failed: {error}"),
        Step::Select => format!("database {} cannot be selected: {error}", url.database),
        Step::Durability => greeting::durability_not_told(&error),
        Step::Greeting if error.starts_with("READONLY") => {
            "is a replica, and locks need a master".to_owned()
        }
        Step::Greeting if error.starts_with("WRONGTYPE") => {
            "has another program's key under the name of the node's own; choose another namespace"
                .to_owned()
        }
        Step::Greeting if is_about_calls(&error) => lacks_scripts(&error),
        Step::Greeting if is_about_rights(&error) => {
            format!(
                "does not let us look at its past, as the restart guard needs (+eval, +info, +time, +hmget, +hset): {error}"
            )
        }
        Step::Hello
        | Step::Ping
        | Step::Tracking
        | Step::Load
        | Step::Call
        | Step::CallInFull
        | Step::Rights
        | Step::Greeting => error,
    }
}

/// Whether it is about running scripts, and not about what one of them does.
fn is_about_calls(error: &str) -> bool {
    let command = error.to_ascii_lowercase().contains("'eval");
    command && forbids(error.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_the_nodes_words_is_cut_out() {
        let url: RedisUrl = "redis://u:hunter2@h".parse().expect("an address");
        for (step, error, expected) in [
            (
                Step::Auth,
                "ERR unknown command 'AUTH', with args beginning with: 'u' 'hunter2'",
                "authentication failed: ERR unknown command 'AUTH'",
            ),
            (Step::Hello, "ERR what is hunter2?", "ERR what is ***?"),
            (
                Step::Load,
                "NOAUTH Authentication required.",
                "needs a password: NOAUTH Authentication required.",
            ),
        ] {
            assert_eq!(explain(step, error.as_bytes(), &url), expected);
        }
        let url: RedisUrl = "redis://u:a@h".parse().expect("an address");
        let told = explain(Step::Hello, b"ERR what a password 'a' is", &url);
        assert_eq!(told, "ERR what a password '***' is");
    }
}
