//! What may be shown of an address.

use super::is_known;
use std::net::Ipv6Addr;

/// The text with everything hidden that may be a password, whether or not the text could be parsed.
///
/// A text that could not be parsed does not tell where its password begins or ends: an `@` may be
/// missing, or a `/` in the password may look like the end of the host. So only what certainly is
/// none is shown, and `…` stands for the rest.
pub(super) fn redact(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        None => ("", text),
        Some((scheme, rest)) if is_known(scheme) => (&text[..scheme.len() + 3], rest),
        // The `://` itself may be in a password if what is in front of it cannot be a scheme.
        Some((scheme, _)) if !scheme.chars().all(|c| c.is_ascii_alphanumeric()) => {
            return HIDDEN.to_owned();
        }
        // `http`, `tcp`, `memcached`: letters in front of the first `://`, and few of them, are a scheme.
        Some((scheme, rest)) if is_word(scheme) => (&text[..scheme.len() + 3], rest),
        Some((_, rest)) => ("…://", rest),
    };
    // A `?` begins the options, and a password may be one of them.
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (place, hidden) = match rest.rsplit_once('@') {
        None => (&rest[..end], rest.len() > end),
        Some((login, _)) if login.len() > end => return format!("{scheme}{HIDDEN}"),
        Some((login, _)) => (&rest[login.len() + 1..end], rest.len() > end),
    };
    let is_unix = scheme.to_ascii_lowercase().ends_with("unix://");
    let login = if rest.contains('@') { "…@" } else { "" };
    let shown = if is_unix && login.is_empty() && place.starts_with('/') {
        certain_path(place)
    } else {
        certain_place(place)
    };
    let hidden = if hidden || shown < place.len() {
        HIDDEN
    } else {
        ""
    };
    format!("{scheme}{login}{}{hidden}", &place[..shown])
}

fn is_word(scheme: &str) -> bool {
    scheme.len() <= 10 && scheme.chars().all(|c| c.is_ascii_lowercase())
}

/// How many bytes of what should be a path certainly are no password.
fn certain_path(place: &str) -> usize {
    let odd = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_'));
    match place.find(odd) {
        None => place.len(),
        // What is right in front of the odd one may be the name of an option whose `?` is missing.
        Some(at) => place[..at].rfind('/').map_or(0, |slash| slash + 1),
    }
}

/// How many bytes of what should be `host[:port][/db]` certainly are no password.
fn certain_place(place: &str) -> usize {
    let host = place
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'));
    let mut shown = match host {
        Some((address, _)) if address.parse::<Ipv6Addr>().is_ok() => address.len() + 2,
        _ => {
            let odd = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
            place.find(odd).unwrap_or(place.len())
        }
    };
    for mark in [':', '/'] {
        let Some(rest) = place[shown..].strip_prefix(mark) else {
            continue;
        };
        // A `:` in front of everything is that of a login without a user.
        if shown == 0 {
            break;
        }
        let number = rest.split('/').next().unwrap_or_default();
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || number.len() > LONGEST_NUMBER {
            return shown + 1;
        }
        shown += 1 + number.len();
    }
    shown
}

const HIDDEN: &str = "…";

/// As many digits as a port has at most: a password may well be a longer number.
const LONGEST_NUMBER: usize = 5;
