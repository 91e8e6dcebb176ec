//! The address of a node that sentinels know.

use super::{
    Endpoint, Login, RedisUrl, RedisUrlError, Roots, host_port, login, options, parse_database,
    parse_host_port, redact, split,
};
use leasehold_core::discovery::Rule;
use std::{fmt, ops::RangeInclusive, time::Duration};

/// Who knows where the node is, and what they call it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(in crate::link::redis) struct Sentinels {
    /// At least one, none twice.
    pub(in crate::link::redis) hosts: Vec<(String, u16)>,
    /// The name of the master.
    pub(in crate::link::redis) master: String,
    /// Who we say we are to the sentinels.
    pub(in crate::link::redis) login: Option<Login>,
    /// For the sentinels.
    pub(in crate::link::redis) tls: Option<Roots>,
    /// For the server that they name.
    pub(in crate::link::redis) server_tls: Option<Roots>,
    /// How many must agree, and how recently.
    pub(in crate::link::redis) rule: Rule,
}

/// Reads `[user[:password]@]host[:port],…/master[/db][?options]`.
pub(super) fn parse(text: &str, rest: &str, tls: bool) -> Result<RedisUrl, RedisUrlError> {
    let parts = split(text, rest)?;
    let hosts = parts.hosts.split(',');
    let hosts = hosts.map(|host| parse_host_port(text, host, DEFAULT_PORT));
    let mut distinct = Vec::new();
    for host in hosts {
        let host = host?;
        // One that is given twice has one voice.
        if !distinct.contains(&host) {
            distinct.push(host);
        }
    }
    let (master, database) = parts.path.split_once('/').unwrap_or((parts.path, ""));
    // As sentinels take them. What is none may be half of a password.
    let odd = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    if master.is_empty() || master.contains(odd) {
        return Err(RedisUrlError::NoMaster { url: redact(text) });
    }
    let options = options(text, parts.query)?;
    let (server_tls, tls) = roots(text, &options, tls)?;
    let (mut user, mut password, mut rule) = (None, None, Rule::DEFAULT);
    for (option, value) in options {
        match option.as_str() {
            // Read above.
            "ca" | "sentinel_ca" | "sentinel_tls" => {}
            "sentinel_user" => user = Some(value),
            "sentinel_password" => password = Some(value),
            "sentinel_bound_ms" => rule.bound = bound(text, &value)?,
            "dangerous_sentinel_minority" if value == "yes" => rule.needs_majority = false,
            _ => return Err(RedisUrlError::UnknownOption { url: redact(text) }),
        }
    }
    Ok(RedisUrl {
        place: Endpoint::Named(Box::new(Sentinels {
            hosts: distinct,
            master: master.to_owned(),
            login: login(user.unwrap_or_default(), password),
            tls,
            server_tls,
            rule,
        })),
        login: parts.login,
        database: parse_database(text, database)?,
    })
}

/// Whose signature is trusted on the server's certificate, and whose on those of the sentinels; none where TLS is not
/// spoken. The scheme says it for both, unless an option says something else of the sentinels.
fn roots(
    text: &str,
    options: &[(String, String)],
    tls: bool,
) -> Result<(Option<Roots>, Option<Roots>), RedisUrlError> {
    let unknown = || RedisUrlError::UnknownOption { url: redact(text) };
    let (mut of_sentinels, mut ca, mut sentinel_ca) = (tls, None, None);
    for (option, value) in options {
        match (option.as_str(), value.as_str()) {
            ("sentinel_tls", "no") => of_sentinels = false,
            ("sentinel_tls", "yes") if cfg!(feature = "tls") => of_sentinels = true,
            ("sentinel_tls", "yes") => {
                return Err(RedisUrlError::TlsNotBuiltIn { url: redact(text) });
            }
            ("sentinel_tls", _) | ("ca" | "sentinel_ca", "") => return Err(unknown()),
            ("ca", file) => ca = Some(Roots::File(file.into())),
            ("sentinel_ca", file) => sentinel_ca = Some(Roots::File(file.into())),
            _ => {}
        }
    }
    // What is never looked at must not seem to protect anything.
    if ca.is_some() && !tls && !of_sentinels || sentinel_ca.is_some() && !of_sentinels {
        return Err(unknown());
    }
    let root = |file: Option<Roots>| file.unwrap_or(Roots::System);
    let server = tls.then(|| root(ca.clone()));
    Ok((server, of_sentinels.then(|| root(sentinel_ca.or(ca)))))
}

/// How recently a majority must have named the master.
fn bound(text: &str, millis: &str) -> Result<Duration, RedisUrlError> {
    let millis = millis
        .parse()
        .ok()
        .filter(|millis| BOUNDS_MS.contains(millis));
    let bound = millis.map(Duration::from_millis);
    bound.ok_or_else(|| RedisUrlError::BadBound { url: redact(text) })
}

impl Sentinels {
    /// What a sentinel is called in messages.
    pub(in crate::link::redis) fn name(&self, turn: usize) -> String {
        let host = self.hosts.get(turn);
        host.map_or_else(String::new, |(host, port)| host_port(host, *port))
    }

    /// The whole address, without user, password and options.
    pub(super) fn write_address(&self, out: &mut fmt::Formatter<'_>, database: u32) -> fmt::Result {
        let scheme = if self.server_tls.is_some() {
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

/// They are asked once a second, and an hour is as good as no bound.
const BOUNDS_MS: RangeInclusive<u64> = 1_500..=3_600_000;
