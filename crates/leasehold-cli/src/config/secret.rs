//! Passwords, and files that have them.

use super::{trust, unreadable, wrong};
use crate::{failure::Failure, node_list::NodeList, output, told_lease::quoted};
use leasehold::link::redis::RedisUrl;
use std::{
    fmt::Write as _,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The files in which a cluster keeps what not everybody should read. Nobody has looked into them yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Secrets {
    /// The password of all servers whose address has none.
    pub(super) password: Option<PathBuf>,
    /// The addresses, one a line.
    pub(super) nodes: Option<PathBuf>,
}

impl Secrets {
    /// The nodes, with what the files add. Relative names are relative to `folder`, that of the configuration.
    pub(super) fn open(&self, folder: &Path, nodes: &NodeList) -> Result<NodeList, Failure> {
        let mut urls = nodes.0.clone();
        if let Some(path) = &self.nodes {
            urls.extend(read_nodes(&folder.join(path))?);
        }
        if let Some(path) = &self.password {
            let password = read_password(&folder.join(path))?;
            urls = urls
                .iter()
                .map(|url| with_password(url, &password))
                .collect();
        }
        Ok(NodeList(urls))
    }
}

fn read_password(path: &Path) -> Result<String, Failure> {
    let text = read(path)?;
    warn_if_others_can_read(path);
    // The line end is the editor's, not the password's.
    let password = text.strip_suffix('\n').unwrap_or(&text);
    let password = password.strip_suffix('\r').unwrap_or(password);
    if password.is_empty() || password.contains(char::is_control) {
        let path = path.display();
        return Err(wrong(format!(
            "{path} is no password: it must have one line, and that line one password"
        )));
    }
    Ok(password.to_owned())
}

fn read_nodes(path: &Path) -> Result<Vec<String>, Failure> {
    let text = read(path)?;
    trust::check(path)?;
    let mut urls = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim().trim_end_matches(',');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        line.parse::<RedisUrl>()
            .map_err(|error| wrong(format!("{}:{}: {error}", path.display(), number + 1)))?;
        urls.push(line.to_owned());
    }
    if urls.iter().any(|url| has_password(url)) {
        warn_if_others_can_read(path);
    }
    match urls.is_empty() {
        true => Err(wrong(format!(
            "{} has no address of a node",
            path.display()
        ))),
        false => Ok(urls),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

/// Says so, and goes on: a job that has run for years must not stop for it.
pub(super) fn warn_if_others_can_read(path: &Path) {
    let Ok(found) = fs::metadata(path) else {
        return;
    };
    let mode = found.mode() & 0o7777;
    if mode & 0o004 != 0 {
        let path = path.display().to_string();
        output::talk(format_args!(
            "warning: everybody on this machine can read {path}, which has a password: its mode is {mode:04o}"
        ));
        output::hint(format_args!("chmod o-rwx {}", quoted(&path)));
    }
}

/// Whether there is a password in the address of a node.
pub(crate) fn has_password(url: &str) -> bool {
    match split(url) {
        Split::Unix { query } => query.split('&').any(|option| option.starts_with("pass=")),
        Split::Host { login, rest, .. } => {
            login.is_some_and(|login| login.contains(':')) || rest.contains("sentinel_password=")
        }
    }
}

/// The address with this password, if it has none.
fn with_password(url: &str, password: &str) -> String {
    let mut encoded = String::new();
    for byte in password.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                encoded.push(byte.into());
            }
            byte => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    match split(url) {
        Split::Unix { query } if query.split('&').any(|option| option.starts_with("pass=")) => {
            url.to_owned()
        }
        Split::Unix { query: "" } => format!("{}?pass={encoded}", url.trim_end_matches('?')),
        Split::Unix { .. } => format!("{url}&pass={encoded}"),
        Split::Host {
            login: Some(login), ..
        } if login.contains(':') => url.to_owned(),
        Split::Host {
            scheme,
            login,
            rest,
        } => format!("{scheme}{}:{encoded}@{rest}", login.unwrap_or_default()),
    }
}

/// The parts of an address that can be read.
enum Split<'a> {
    Unix {
        query: &'a str,
    },
    Host {
        scheme: &'a str,
        login: Option<&'a str>,
        rest: &'a str,
    },
}

fn split(url: &str) -> Split<'_> {
    let (scheme, rest) = match url.find("://") {
        Some(at) => url.split_at(at + 3),
        None => ("redis://", url),
    };
    if scheme.to_ascii_lowercase().ends_with("unix://") {
        let query = rest.split_once('?').map_or("", |(_, query)| query);
        return Split::Unix { query };
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => Split::Host {
            scheme,
            login: Some(&rest[..at]),
            rest: &rest[at + 1..],
        },
        None => Split::Host {
            scheme,
            login: None,
            rest,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_put_where_none_is_and_nowhere_else() {
        for (url, with) in [
            ("redis://a:1/2", "redis://:p%40%2C@a:1/2"),
            ("a:1", "redis://:p%40%2C@a:1"),
            ("rediss://u@a?ca=/x", "rediss://u:p%40%2C@a?ca=/x"),
            ("redis://u:q@a", "redis://u:q@a"),
            (
                "redis+sentinel://s:1,t/m?sentinel_password=w",
                "redis+sentinel://:p%40%2C@s:1,t/m?sentinel_password=w",
            ),
            ("unix:///s", "unix:///s?pass=p%40%2C"),
            ("unix:///s?db=1", "unix:///s?db=1&pass=p%40%2C"),
            ("unix:///s?pass=q", "unix:///s?pass=q"),
        ] {
            let with_one = with_password(url, "p@,");
            assert_eq!(with_one, with);
            assert!(with_one.parse::<RedisUrl>().is_ok(), "{with_one}");
            assert!(has_password(&with_one));
        }
        for url in ["redis://a:1/2", "redis://u@a", "a:1", "unix:///s?db=1"] {
            assert!(!has_password(url), "{url}");
        }
    }
}
