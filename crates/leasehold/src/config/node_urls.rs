//! The list of nodes, as `LEASEHOLD_NODES` has it, and `--nodes` of the command.
//!
//! Addresses may hold passwords, and passwords may hold commas. Two things follow: not every comma ends
//! an address, and nothing that is said about a wrong list repeats any of it.

use super::secret::has_password;
use std::{fmt, path::Path};

/// Addresses of nodes, at least one. [`ManagerBuilder::nodes`](crate::ManagerBuilder::nodes) checks what they say.
#[derive(Clone, PartialEq, Eq)]
pub struct NodeUrls(pub(super) Vec<String>);

impl NodeUrls {
    /// Reads a list. With a scheme anywhere in it, only a comma before a scheme ends an address.
    ///
    /// # Errors
    /// Why it is none, as a fragment that repeats nothing of it, and the way out.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let parts = if text.contains("://") {
            split_at_schemes(text)
        } else {
            text.split(',').collect()
        };
        let nodes: Vec<_> = parts
            .iter()
            .map(|part| part.trim_matches(|c: char| c.is_whitespace() || c == ','))
            .filter(|node| !node.is_empty())
            .map(str::to_owned)
            .collect();
        // An empty list comes from a script whose servers did not start. To lock on this machine alone
        // instead would look like success.
        if nodes.is_empty() {
            return Err(
                "no node in it; write redis://db1,redis://db2,redis://db3, or file:///folder to lock on this machine only",
            );
        }
        if nodes.iter().any(|node| node.starts_with(['"', '\''])) {
            return Err("quotes are part of the value; remove them");
        }
        if nodes.iter().any(|node| has_other_separator(node)) {
            return Err("addresses are separated by commas: redis://db1,redis://db2,redis://db3");
        }
        // Half of a password would be taken for an address, connected to and shown.
        let cut = nodes.len() > 1 && !text.contains("://") && text.contains('@');
        if cut || nodes.iter().any(|node| has_comma_in_host(node)) {
            return Err(
                "cannot tell where an address ends: begin each with its scheme, such as redis://, \
                 and write a comma in a password as %2C",
            );
        }
        Ok(Self(nodes))
    }

    /// The folder, if it is this machine's file store that is named: `file:///folder`, alone.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match &self.0[..] {
            [only] => only
                .strip_prefix("file://")
                .map(Path::new)
                .filter(|folder| folder.is_absolute()),
            _ => None,
        }
    }

    /// The addresses, with the passwords that are in them.
    #[must_use]
    pub fn urls(&self) -> &[String] {
        &self.0
    }

    /// Whether there is a password in one of the addresses.
    #[must_use]
    pub fn has_password(&self) -> bool {
        self.0.iter().any(|url| has_password(url))
    }
}

/// Says how many there are: a derived one would tell the passwords.
impl fmt::Debug for NodeUrls {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "NodeUrls({})", self.0.len())
    }
}

fn split_at_schemes(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (comma, _) in text.match_indices(',') {
        if begins_with_scheme(text[comma + 1..].trim_start()) {
            parts.push(&text[start..comma]);
            start = comma + 1;
        }
    }
    parts.push(&text[start..]);
    parts
}

fn begins_with_scheme(text: &str) -> bool {
    let in_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    text.split_once("://")
        .is_some_and(|(scheme, _)| !scheme.is_empty() && scheme.chars().all(in_scheme))
}

/// Whether a space or a semicolon stands before another address, or where only a host can be.
fn has_other_separator(node: &str) -> bool {
    let separates = |c: char| c.is_whitespace() || c == ';';
    let mut rests = node.match_indices(separates);
    rests.any(|(at, found)| begins_with_scheme(node[at + found.len()..].trim_start()))
        || host(node).is_some_and(|host| host.contains(separates))
}

/// Whether there is a comma where only a host can be: two addresses, most likely. The path of a socket
/// may have one, and sentinels and the servers of a cluster come in lists.
pub(super) fn has_comma_in_host(node: &str) -> bool {
    host(node).is_some_and(|host| host.contains(','))
}

/// Where only a host and a port can be; none in the address of a socket, of sentinels or of a
/// cluster.
fn host(node: &str) -> Option<&str> {
    let (scheme, rest) = node.split_once("://").unwrap_or(("", node));
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let scheme = scheme.to_ascii_lowercase();
    let several = ["unix", "+sentinel", "+cluster"];
    let may_have_one = several.iter().any(|end| scheme.ends_with(end));
    (!may_have_one).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_ends_an_address_only_before_another() {
        let lists: [(&str, &[&str]); 10] = [
            ("redis://a, valkey://b,", &["redis://a", "valkey://b"]),
            ("a:1,b:2", &["a:1", "b:2"]),
            (" ,a ,, b", &["a", "b"]),
            ("redis://u:p,w@a", &["redis://u:p,w@a"]),
            (
                "redis://:p,w@a,redis://:,@b,rediss://c",
                &["redis://:p,w@a", "redis://:,@b", "rediss://c"],
            ),
            (
                "unix:///a,b?pass=c,d,redis+unix:///e",
                &["unix:///a,b?pass=c,d", "redis+unix:///e"],
            ),
            ("a:1,redis://b", &["a:1", "redis://b"]),
            (":p@a", &[":p@a"]),
            (
                "redis+sentinel://:p@s:1,t/m,redis://a",
                &["redis+sentinel://:p@s:1,t/m", "redis://a"],
            ),
            (
                "redis+cluster://:p@a:1,b,redis+cluster://c,d",
                &["redis+cluster://:p@a:1,b", "redis+cluster://c,d"],
            ),
        ];
        for (text, nodes) in lists {
            assert_eq!(
                NodeUrls::parse(text).map(|list| list.0),
                Ok(nodes.iter().map(|node| (*node).to_owned()).collect()),
                "{text}"
            );
        }
    }

    #[test]
    fn quotes_and_other_separators_are_called_by_their_names() {
        for (text, why) in [
            ("\"redis://a,redis://b\"", "quotes"),
            ("'a:1,b:1'", "quotes"),
            ("'redis://a','redis://b'", "quotes"),
            ("redis://a redis://b", "separated by commas"),
            ("redis://a:1; redis://b:1", "separated by commas"),
            ("redis://a/0;redis://b/0", "separated by commas"),
            ("redis://a:1 b:1", "separated by commas"),
            ("a:1;b:1", "separated by commas"),
            ("a b c", "separated by commas"),
        ] {
            assert!(NodeUrls::parse(text).unwrap_err().contains(why), "{text}");
        }
        for text in [
            "redis://:p;w x@a",
            "unix:///a folder/b;c",
            "redis://:it's@a",
        ] {
            assert!(NodeUrls::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn an_empty_list_of_nodes_is_not_this_machine() {
        for text in ["", " , "] {
            assert!(NodeUrls::parse(text).unwrap_err().starts_with("no node"));
        }
    }

    #[test]
    fn a_list_that_could_cut_a_password_is_refused() {
        let lists = [
            "u:p,w@a",
            "a:1,:p@b",
            "redis://a,b:2",
            "redis://:p@a,b/3",
            "a,b,redis://c",
        ];
        for text in lists {
            let why = NodeUrls::parse(text).expect_err(text);
            assert!(why.starts_with("cannot tell where an address ends"));
        }
    }
}
