//! Passwords, and files that have them.

use super::{NodeUrls, Warning, trust, trust::quoted, unreadable, wrong};
use crate::{error::SettingsError, link::redis::RedisUrl};
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
    /// The password of all sentinels whose address has none for them.
    pub(super) sentinel_password: Option<PathBuf>,
    /// The addresses, one a line.
    pub(super) nodes: Option<PathBuf>,
}

impl Secrets {
    /// The nodes, with what the files add. Relative names are relative to `folder`, that of the configuration.
    pub(super) fn open(
        &self,
        folder: &Path,
        nodes: &NodeUrls,
        warnings: &mut Vec<Warning>,
    ) -> Result<NodeUrls, SettingsError> {
        let mut urls = nodes.0.clone();
        if let Some(path) = &self.nodes {
            urls.extend(read_nodes(&folder.join(path), warnings)?);
        }
        if let Some(path) = &self.password {
            let password = read_password(&folder.join(path), warnings)?;
            urls = urls
                .iter()
                .map(|url| with_password(url, &password))
                .collect();
        }
        if let Some(path) = &self.sentinel_password {
            let path = folder.join(path);
            let password = read_password(&path, warnings)?;
            if !urls.iter().any(|url| is_by_sentinels(url)) {
                let what = format!(
                    "{} is for sentinels, and no address names any",
                    path.display()
                );
                return Err(wrong(what).hint("redis+sentinel://host:26379,host:26379/mymaster"));
            }
            urls = urls
                .iter()
                .map(|url| with_sentinel_password(url, &password))
                .collect();
        }
        Ok(NodeUrls(urls))
    }
}

fn read_password(path: &Path, warnings: &mut Vec<Warning>) -> Result<String, SettingsError> {
    let text = read(path)?;
    warn_if_others_can_read(path, warnings);
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

fn read_nodes(path: &Path, warnings: &mut Vec<Warning>) -> Result<Vec<String>, SettingsError> {
    let text = read(path)?;
    trust::check(path, warnings)?;
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
        warn_if_others_can_read(path, warnings);
    }
    match urls.is_empty() {
        true => Err(wrong(format!(
            "{} has no address of a node",
            path.display()
        ))),
        false => Ok(urls),
    }
}

fn read(path: &Path) -> Result<String, SettingsError> {
    fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

/// A warning and no more: a job that has run for years must not stop for it.
pub(super) fn warn_if_others_can_read(path: &Path, warnings: &mut Vec<Warning>) {
    let Ok(found) = fs::metadata(path) else {
        return;
    };
    let mode = found.mode() & 0o7777;
    if mode & 0o004 != 0 {
        let path = path.display().to_string();
        warnings.push(Warning {
            text: format!(
                "everybody on this machine can read {path}, which has a password: its mode is {mode:04o}"
            ),
            hint: Some(format!("chmod o-rwx {}", quoted(&path))),
        });
    }
}

/// Whether there is a password in the address of a node.
pub(super) fn has_password(url: &str) -> bool {
    match split(url) {
        Split::Unix { query } => query.split('&').any(|option| option.starts_with("pass=")),
        Split::Host { login, rest, .. } => {
            login.is_some_and(|login| login.contains(':')) || rest.contains("sentinel_password=")
        }
    }
}

/// Whether the node is whichever server sentinels name.
fn is_by_sentinels(url: &str) -> bool {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    scheme.to_ascii_lowercase().ends_with("+sentinel")
}

/// The address with this password for its sentinels, if there are any and it has none for them.
fn with_sentinel_password(url: &str, password: &str) -> String {
    let options = url.split_once('?').map(|(_, options)| options);
    let has_one = |option: &str| option.starts_with("sentinel_password=");
    let mut all = options.into_iter().flat_map(|all| all.split('&'));
    if !is_by_sentinels(url) || all.any(has_one) {
        return url.to_owned();
    }
    let mark = match options {
        None => "?",
        Some(_) => "&",
    };
    format!("{url}{mark}sentinel_password={}", encode(password))
}

fn encode(password: &str) -> String {
    let mut encoded = String::new();
    for byte in password.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                encoded.push(byte.into());
            }
            byte => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}

/// The address with this password, if it has none.
fn with_password(url: &str, password: &str) -> String {
    let encoded = encode(password);
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
        for (url, with) in [
            ("redis://a", "redis://a"),
            (
                "rediss+Sentinel://s/m",
                "rediss+Sentinel://s/m?sentinel_password=p%40%2C",
            ),
            (
                "redis+sentinel://s/m?sentinel_user=u",
                "redis+sentinel://s/m?sentinel_user=u&sentinel_password=p%40%2C",
            ),
            (
                "redis+sentinel://s/m?sentinel_password=q",
                "redis+sentinel://s/m?sentinel_password=q",
            ),
        ] {
            assert_eq!(with_sentinel_password(url, "p@,"), with);
            assert!(with.parse::<RedisUrl>().is_ok(), "{with}");
        }
        for url in ["redis://a:1/2", "redis://u@a", "a:1", "unix:///s?db=1"] {
            assert!(!has_password(url), "{url}");
        }
    }
}
