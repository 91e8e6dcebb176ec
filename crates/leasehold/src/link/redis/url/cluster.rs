//! The address of a node that is a Redis Cluster.

use super::{
    Endpoint, RedisUrl, RedisUrlError, Roots, host_port, options, parse_host_port, redact, split,
};
use std::fmt;

/// Who can be asked which master keeps which slots.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(in crate::link::redis) struct Seeds {
    /// At least one, none twice.
    pub(in crate::link::redis) hosts: Vec<(String, u16)>,
    /// For all servers of the cluster.
    pub(in crate::link::redis) tls: Option<Roots>,
}

/// Reads `[user[:password]@]host[:port],…[/][?ca=/path]`.
pub(super) fn parse(text: &str, rest: &str, tls: bool) -> Result<RedisUrl, RedisUrlError> {
    let parts = split(text, rest)?;
    let mut hosts = Vec::new();
    for host in parts.hosts.split(',') {
        let host = parse_host_port(text, host, super::DEFAULT_PORT)?;
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    if !matches!(parts.path, "" | "0") {
        return Err(RedisUrlError::NoDatabases { url: redact(text) });
    }
    let mut roots = tls.then_some(Roots::System);
    for (option, value) in options(text, parts.query)? {
        match (option.as_str(), &mut roots) {
            ("ca", Some(roots)) if !value.is_empty() => *roots = Roots::File(value.into()),
            _ => return Err(RedisUrlError::UnknownOption { url: redact(text) }),
        }
    }
    Ok(RedisUrl {
        place: Endpoint::Cluster(Box::new(Seeds { hosts, tls: roots })),
        login: parts.login,
        database: 0,
    })
}

impl Seeds {
    fn names(&self) -> Vec<String> {
        let names = self.hosts.iter().map(|(host, port)| host_port(host, *port));
        names.collect()
    }

    /// The whole address, without user, password and options.
    pub(super) fn write_address(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls.is_some() {
            "rediss"
        } else {
            "redis"
        };
        write!(out, "{scheme}+cluster://{}", self.names().join(","))
    }
}

/// What the node is called: its servers that were given, in whatever order.
impl fmt::Display for Seeds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = self.names();
        names.sort_unstable();
        // No commas, which divide the nodes where they are listed.
        write!(out, "cluster@{}", names.join("+"))
    }
}
