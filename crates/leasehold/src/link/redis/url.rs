//! The address of a node, checked.

mod cluster;
mod error;
mod redaction;
mod sentinels;

pub(super) use cluster::Seeds;
pub use error::RedisUrlError;
pub(super) use sentinels::Sentinels;

use crate::link::NodeName;
use redaction::redact;
use std::{fmt, net::Ipv6Addr, path::PathBuf, str::FromStr};

/// Where a Redis or Valkey node is and how to log in there.
///
/// * `redis://[user[:password]@]host[:port][/db]`, also spelled `valkey://`, or just `host:port`
/// * `rediss://…` or `valkeys://…`: the same over TLS (feature `tls`). The certificate is checked against
///   the system's roots, or against `?ca=/path/to/ca.pem` alone if that is given.
/// * `unix:///path?db=1&user=…&pass=…`, also spelled `redis+unix://`
/// * `redis+sentinel://[user[:password]@]host[:port],host[:port],…/mymaster[/db]`: one node, the server that
///   the sentinels name as the master `mymaster` at that time. `rediss+sentinel://…` speaks TLS with the
///   sentinels and with the server, unless `&sentinel_tls=no` or, behind `redis+sentinel`, `&sentinel_tls=yes` says
///   otherwise of the sentinels; `&ca=/path` is for both, `&sentinel_ca=/path` for the sentinels alone. User and password
///   are the server's; those of the sentinels are `?sentinel_user=…&sentinel_password=…`. A majority of the sentinels in the list must agree on the master, and its
///   votes count while such a majority has named it in the last ten seconds (`&sentinel_bound_ms=10000`).
///   `&dangerous_sentinel_minority=yes` goes on without one: then two masters may grant the same lock. What such a node
///   promises, and what not, stands in OPERATING.md.
/// * `redis+cluster://[user[:password]@]host[:port],host[:port],…`: one node, a Redis Cluster, by some of its servers, which
///   tell of the others; `rediss+cluster://…[?ca=/path]` speaks TLS with all of them. For plain locks alone
///   ([`build_plain`](crate::ManagerBuilder::build_plain)); what it promises stands in OPERATING.md.
///
/// The port is 6379, of a sentinel 26379, and the database 0 unless given: the same for all nodes of a list. An IPv6 host stands in brackets. Characters that
/// mean something in an address are percent-encoded in user, password and path: `@` as `%40`, `:` as
/// `%3A`, `/` as `%2F` (but not in a path), `?` as `%3F`, `#` as `%23`, `%` as `%25`, `&` as `%26`, and the
/// comma as `%2C`, since lists of nodes are split at commas. The password is never shown: errors show
/// only what certainly is none, with `…` for the rest.
///
/// # Examples
/// ```
/// # use leasehold::link::redis::RedisUrl;
/// let url: RedisUrl = "redis://:secret@Node-1.Example/2".parse().unwrap();
/// assert_eq!(url.to_string(), "redis://node-1.example:6379/2");
/// assert_eq!(url.name().to_string(), "node-1.example:6379");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RedisUrl {
    pub(super) place: Endpoint,
    pub(super) login: Option<Login>,
    pub(super) database: u32,
}

/// How the node is reached.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Endpoint {
    Tcp {
        host: String,
        port: u16,
        tls: Option<Roots>,
    },
    Unix(PathBuf),
    /// Wherever these say that it is.
    Named(Box<Sentinels>),
    /// At those servers that a slot of a cluster is kept on.
    Cluster(Box<Seeds>),
}

/// Whose signature on the node's certificate is trusted.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Roots {
    System,
    File(PathBuf),
}

/// Who we say we are.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Login {
    pub(super) user: Option<String>,
    pub(super) password: String,
}

impl RedisUrl {
    /// What the node is called in messages, and what tells it from other nodes: two addresses of one
    /// name are one node. The database is no part of it, since the databases of one server fail together;
    /// user, password and TLS are none either.
    #[must_use]
    pub fn name(&self) -> NodeName {
        NodeName::new(&self.place.to_string())
    }

    /// The number of the server's database that is the node.
    pub(crate) const fn database(&self) -> u32 {
        self.database
    }

    /// Whether the node is whichever server sentinels name.
    pub(crate) const fn is_named(&self) -> bool {
        matches!(self.place, Endpoint::Named(_))
    }

    /// Whether the node is a Redis Cluster.
    pub(crate) const fn is_cluster(&self) -> bool {
        matches!(self.place, Endpoint::Cluster(_))
    }

    /// The servers of the cluster that the address names; none if it is no cluster.
    pub(super) fn seeds(&self) -> &[(String, u16)] {
        match &self.place {
            Endpoint::Cluster(seeds) => &seeds.hosts,
            Endpoint::Tcp { .. } | Endpoint::Unix(_) | Endpoint::Named(_) => &[],
        }
    }

    /// The server of this name, reached as this one is; none if one of the two is no server with an address of its own.
    pub(crate) fn in_place(&self, name: &str) -> Option<Self> {
        let Endpoint::Tcp { .. } = &self.place else {
            return None;
        };
        let (host, port) = parse_host_port(name, name, DEFAULT_PORT).ok()?;
        Some(self.at(&host, port))
    }

    /// The address of this server of the cluster.
    pub(super) fn at(&self, host: &str, port: u16) -> Self {
        let tls = match &self.place {
            Endpoint::Cluster(seeds) => seeds.tls.clone(),
            Endpoint::Tcp { tls, .. } => tls.clone(),
            Endpoint::Unix(_) | Endpoint::Named(_) => None,
        };
        let host = host.to_owned();
        Self {
            place: Endpoint::Tcp { host, port, tls },
            ..self.clone()
        }
    }
}

impl FromStr for RedisUrl {
    type Err = RedisUrlError;

    fn from_str(text: &str) -> Result<Self, RedisUrlError> {
        let text = text.trim();
        let (scheme, rest) = match text.split_once("://") {
            Some(parts) => parts,
            None if lacks_slashes(text) => {
                return Err(RedisUrlError::NoSlashes { url: redact(text) });
            }
            None => ("redis", text),
        };
        match scheme.to_ascii_lowercase().as_str() {
            "redis" | "valkey" => parse_tcp(text, rest, false),
            "rediss" | "valkeys" if cfg!(feature = "tls") => parse_tcp(text, rest, true),
            "rediss" | "valkeys" => Err(RedisUrlError::TlsNotBuiltIn { url: redact(text) }),
            "unix" | "redis+unix" | "valkey+unix" => parse_unix(text, rest),
            "redis+sentinel" | "valkey+sentinel" => sentinels::parse(text, rest, false),
            "rediss+sentinel" | "valkeys+sentinel" if cfg!(feature = "tls") => {
                sentinels::parse(text, rest, true)
            }
            "redis+cluster" | "valkey+cluster" => cluster::parse(text, rest, false),
            "rediss+cluster" | "valkeys+cluster" if cfg!(feature = "tls") => {
                cluster::parse(text, rest, true)
            }
            "rediss+sentinel" | "valkeys+sentinel" | "rediss+cluster" | "valkeys+cluster" => {
                Err(RedisUrlError::TlsNotBuiltIn { url: redact(text) })
            }
            _ => Err(RedisUrlError::UnknownScheme { url: redact(text) }),
        }
    }
}

/// What an address has between its scheme and its end.
struct AddressParts<'a> {
    login: Option<Login>,
    hosts: &'a str,
    /// Without the slash in front.
    path: &'a str,
    query: &'a str,
}

fn split<'a>(text: &str, rest: &'a str) -> Result<AddressParts<'a>, RedisUrlError> {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    // A `/` or `?` in a password ends the authority early, and what follows would be shown as a path.
    if tail.contains(['@', '#']) {
        return Err(RedisUrlError::NotEncoded { url: redact(text) });
    }
    let (login, hosts) = match authority.rsplit_once('@') {
        None => (None, authority),
        Some((login, _)) if login.contains('@') => {
            return Err(RedisUrlError::NotEncoded { url: redact(text) });
        }
        Some((login, hosts)) => (parse_login(text, login)?, hosts),
    };
    let (path, query) = tail.split_once('?').unwrap_or((tail, ""));
    let path = path.strip_prefix('/').unwrap_or(path);
    Ok(AddressParts {
        login,
        hosts,
        path,
        query,
    })
}

fn parse_tcp(text: &str, rest: &str, tls: bool) -> Result<RedisUrl, RedisUrlError> {
    let parts = split(text, rest)?;
    let (host, port) = parse_host_port(text, parts.hosts, DEFAULT_PORT)?;
    let mut roots = tls.then_some(Roots::System);
    for (option, value) in options(text, parts.query)? {
        match (option.as_str(), &mut roots) {
            ("ca", Some(roots)) if !value.is_empty() => *roots = Roots::File(value.into()),
            _ => return Err(RedisUrlError::UnknownOption { url: redact(text) }),
        }
    }
    Ok(RedisUrl {
        place: Endpoint::Tcp {
            host,
            port,
            tls: roots,
        },
        login: parts.login,
        database: parse_database(text, parts.path)?,
    })
}

fn parse_unix(text: &str, rest: &str) -> Result<RedisUrl, RedisUrlError> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    if !path.starts_with('/') {
        return Err(RedisUrlError::NoPath { url: redact(text) });
    }
    let (mut database, mut user, mut password) = (0, None, None);
    for (option, value) in options(text, query)? {
        match option.as_str() {
            "db" => database = parse_database(text, &value)?,
            "user" => user = Some(value),
            "pass" => password = Some(value),
            _ => return Err(RedisUrlError::UnknownOption { url: redact(text) }),
        }
    }
    Ok(RedisUrl {
        place: Endpoint::Unix(decode(text, path)?.into()),
        login: login(user.unwrap_or_default(), password),
        database,
    })
}

fn parse_login(text: &str, part: &str) -> Result<Option<Login>, RedisUrlError> {
    let (user, password) = match part.split_once(':') {
        Some((user, password)) => (user, Some(decode(text, password)?)),
        None => (part, None),
    };
    Ok(login(decode(text, user)?, password))
}

/// A user without a password logs in with an empty one: such users exist.
fn login(user: String, password: Option<String>) -> Option<Login> {
    match (user.is_empty(), password) {
        (true, None) => None,
        (true, Some(password)) if password.is_empty() => None,
        (no_user, password) => Some(Login {
            user: (!no_user).then_some(user),
            password: password.unwrap_or_default(),
        }),
    }
}

fn parse_host_port(
    text: &str,
    part: &str,
    default_port: u16,
) -> Result<(String, u16), RedisUrlError> {
    if part.contains(',') {
        return Err(RedisUrlError::Several { url: redact(text) });
    }
    let no_host = || RedisUrlError::NoHost { url: redact(text) };
    let (host, port) = if let Some(bracketed) = part.strip_prefix('[') {
        let (address, port) = bracketed.split_once(']').ok_or_else(no_host)?;
        let address: Ipv6Addr = address.parse().map_err(|_| no_host())?;
        (address.to_string(), port)
    } else {
        let (host, port) = part.split_at(part.find(':').unwrap_or(part.len()));
        let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '[' | ']' | '%');
        if host.is_empty() || host.contains(odd) {
            return Err(no_host());
        }
        (host.to_ascii_lowercase(), port)
    };
    let port = match port.strip_prefix(':') {
        Some(digits) => digits.parse().ok().filter(|port| *port != 0),
        None if port.is_empty() => Some(default_port),
        None => None,
    };
    match port {
        Some(port) => Ok((host, port)),
        None => Err(RedisUrlError::BadPort { url: redact(text) }),
    }
}

fn parse_database(text: &str, digits: &str) -> Result<u32, RedisUrlError> {
    if digits.is_empty() {
        return Ok(0);
    }
    digits
        .parse()
        .map_err(|_| RedisUrlError::BadDatabase { url: redact(text) })
}

fn options(text: &str, query: &str) -> Result<Vec<(String, String)>, RedisUrlError> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (option, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((option.to_owned(), decode(text, value)?))
        })
        .collect()
}

/// Undoes percent-encoding.
fn decode(text: &str, part: &str) -> Result<String, RedisUrlError> {
    let bad = || RedisUrlError::BadEncoding { url: redact(text) };
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || {
            let digit = char::from(rest.next()?).to_digit(16)?;
            u8::try_from(digit).ok()
        };
        match (digit(), digit()) {
            (Some(high), Some(low)) => bytes.push(high << 4 | low),
            _ => return Err(bad()),
        }
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

/// Percent-encodes what would mean something else in the path of an address, or in a list of them.
fn encode(path: &str) -> String {
    let means_more =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '%' | '?' | '#' | ',');
    let mut encoded = String::new();
    for c in path.chars() {
        if means_more(c) {
            let bytes = c.to_string().into_bytes();
            encoded.extend(bytes.iter().map(|byte| format!("%{byte:02X}")));
        } else {
            encoded.push(c);
        }
    }
    encoded
}

/// Whether a text without `://` begins with a scheme. `redis:6379` is a host of this name, and `redis:secret@h` has a user of it.
fn lacks_slashes(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':').filter(|_| !text.contains('@')) else {
        return false;
    };
    let port = rest.split(['/', '?']).next().unwrap_or_default();
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (is_known(scheme) || scheme.eq_ignore_ascii_case("file")) && !is_port
}

fn is_known(scheme: &str) -> bool {
    let known = [
        "redis",
        "valkey",
        "rediss",
        "valkeys",
        "unix",
        "redis+unix",
        "valkey+unix",
        "redis+sentinel",
        "valkey+sentinel",
        "rediss+sentinel",
        "valkeys+sentinel",
        "redis+cluster",
        "valkey+cluster",
        "rediss+cluster",
        "valkeys+cluster",
    ];
    known.iter().any(|one| scheme.eq_ignore_ascii_case(one))
}

/// The address without user, password and options, as an address again.
impl fmt::Display for RedisUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.place, self.database) {
            (Endpoint::Unix(path), database) => {
                write!(out, "unix://{}", encode(&path.to_string_lossy()))?;
                match database {
                    0 => Ok(()),
                    database => write!(out, "?db={database}"),
                }
            }
            (Endpoint::Named(sentinels), database) => sentinels.write_address(out, database),
            (Endpoint::Cluster(seeds), _) => seeds.write_address(out),
            (Endpoint::Tcp { tls, .. }, database) => {
                let scheme = if tls.is_some() { "rediss" } else { "redis" };
                write!(out, "{scheme}://{}", self.place)?;
                match database {
                    0 => Ok(()),
                    database => write!(out, "/{database}"),
                }
            }
        }
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RedisUrl({self})")
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port, .. } => out.write_str(&host_port(host, *port)),
            Self::Unix(path) => write!(out, "{}", path.display()),
            Self::Named(sentinels) => sentinels.fmt(out),
            Self::Cluster(seeds) => seeds.fmt(out),
        }
    }
}

/// A host and its port as an address has them.
pub(super) fn host_port(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

const DEFAULT_PORT: u16 = 6379;

#[cfg(test)]
mod tests;
