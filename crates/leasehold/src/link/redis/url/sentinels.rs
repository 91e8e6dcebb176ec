//! The address of a node that sentinels know.

use super::{
    Login, Place, RedisUrl, RedisUrlError, Roots, host_port, login, options, parse_database,
    parse_host_port, redact, split,
};
use std::fmt;

/// Who knows where the node is, and what they call it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(in crate::link::redis) struct Sentinels {
    /// At least one, in the order in which they are asked.
    pub(in crate::link::redis) hosts: Vec<(String, u16)>,
    /// The name of the master.
    pub(in crate::link::redis) master: String,
    /// Who we say we are to the sentinels.
    pub(in crate::link::redis) login: Option<Login>,
    /// For the sentinels and for the node.
    pub(in crate::link::redis) tls: Option<Roots>,
}

/// Reads `[user[:password]@]host[:port],…/master[/db][?options]`.
pub(super) fn parse(text: &str, rest: &str, tls: bool) -> Result<RedisUrl, RedisUrlError> {
    let parts = split(text, rest)?;
    let hosts = parts.hosts.split(',');
    let hosts = hosts.map(|host| parse_host_port(text, host, DEFAULT_PORT));
    let hosts = hosts.collect::<Result<_, _>>()?;
    let (master, database) = parts.path.split_once('/').unwrap_or((parts.path, ""));
    // As sentinels take them. What is none may be half of a password.
    let odd = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    if master.is_empty() || master.contains(odd) {
        return Err(RedisUrlError::NoMaster { url: redact(text) });
    }
    let mut roots = tls.then_some(Roots::System);
    let (mut user, mut password) = (None, None);
    for (option, value) in options(text, parts.query)? {
        match (option.as_str(), &mut roots) {
            ("ca", Some(roots)) if !value.is_empty() => *roots = Roots::File(value.into()),
            ("sentinel_user", _) => user = Some(value),
            ("sentinel_password", _) => password = Some(value),
            _ => return Err(RedisUrlError::UnknownOption { url: redact(text) }),
        }
    }
    Ok(RedisUrl {
        place: Place::Named(Sentinels {
            hosts,
            master: master.to_owned(),
            login: login(user.unwrap_or_default(), password),
            tls: roots,
        }),
        login: parts.login,
        database: parse_database(text, database)?,
    })
}

impl Sentinels {
    /// What a sentinel is called in messages.
    pub(in crate::link::redis) fn name(&self, turn: usize) -> String {
        let host = self.hosts.get(turn);
        host.map_or_else(String::new, |(host, port)| host_port(host, *port))
    }

    /// The whole address, without user, password and options.
    pub(super) fn write_address(&self, out: &mut fmt::Formatter<'_>, database: u32) -> fmt::Result {
        let scheme = if self.tls.is_some() {
            "rediss"
        } else {
            "redis"
        };
        let hosts: Vec<_> = (0..self.hosts.len()).map(|turn| self.name(turn)).collect();
        write!(
            out,
            "{scheme}+sentinel://{}/{}",
            hosts.join(","),
            self.master
        )?;
        match database {
            0 => Ok(()),
            database => write!(out, "/{database}"),
        }
    }
}

/// What the node is called: the master and the sentinels, in whatever order these were given.
impl fmt::Display for Sentinels {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hosts: Vec<_> = (0..self.hosts.len()).map(|turn| self.name(turn)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        // No commas, which divide the nodes in the configuration that all agree on.
        write!(out, "{}@{}", self.master, hosts.join("+"))
    }
}

const DEFAULT_PORT: u16 = 26_379;
