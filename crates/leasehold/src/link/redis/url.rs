//! The address of a server.

use std::{error::Error, fmt, path::PathBuf};

/// The checked address of a Redis or Valkey server.
///
/// | form | |
/// |---|---|
/// | `redis://[[user]:password@]host[:port][/database]` | TCP; the port is 6379 unless given |
/// | `rediss://…[?ca=/path/to/ca.pem]` | TLS, trusting the system's certificates or the given one |
/// | `unix:///path/to/socket[?db=1&user=…&pass=…]` | a socket on this machine |
/// | `host[:port]` | as `redis://` |
///
/// `valkey://` and `valkeys://` mean the same as `redis://` and `rediss://`. Characters that have a
/// meaning in an address are written as `%` and two hexadecimal digits.
///
/// # Examples
/// ```
/// # use leasehold::link::redis::RedisUrl;
/// let url: RedisUrl = "redis://:secret@db1/2".parse()?;
/// assert_eq!(url.to_string(), "redis://db1:6379/2"); // without the password
/// # Ok::<(), leasehold::link::redis::RedisUrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrl {
    pub(super) place: Place,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) database: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Tcp {
        host: String,
        port: u16,
    },
    Tls {
        host: String,
        port: u16,
        authority: Option<PathBuf>,
    },
    Unix {
        path: PathBuf,
    },
}

/// What is wrong with an address. The password is not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisUrlError {
    /// The address without user and password.
    address: String,
    problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    Scheme(String),
    NoHost,
    Host,
    Port(String),
    Database(String),
    Escape,
    NoPath,
    Option(String),
    #[cfg_attr(
        feature = "tls",
        expect(dead_code, reason = "every address can be used with TLS")
    )]
    NoTls,
}

impl std::str::FromStr for RedisUrl {
    type Err = RedisUrlError;

    fn from_str(text: &str) -> Result<Self, RedisUrlError> {
        parse(text).map_err(|problem| RedisUrlError {
            address: redacted(text),
            problem,
        })
    }
}

fn parse(text: &str) -> Result<RedisUrl, Problem> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("redis", text));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut url = match scheme {
        "redis" | "valkey" => network(rest, false)?,
        "rediss" | "valkeys" => network(rest, true)?,
        "unix" | "redis+unix" | "valkey+unix" => local(rest)?,
        other => return Err(Problem::Scheme(other.to_owned())),
    };
    for option in query.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let value = unescaped(value)?;
        match (name, &mut url.place) {
            ("db", Place::Unix { .. }) => url.database = database(&value)?,
            ("user", Place::Unix { .. }) => url.user = Some(value),
            ("pass", Place::Unix { .. }) => url.password = Some(value),
            ("ca", Place::Tls { authority, .. }) => *authority = Some(value.into()),
            _ => return Err(Problem::Option(name.to_owned())),
        }
    }
    Ok(url)
}

fn network(rest: &str, tls: bool) -> Result<RedisUrl, Problem> {
    #[cfg(not(feature = "tls"))]
    if tls {
        return Err(Problem::NoTls);
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, host) = match authority.rsplit_once('@') {
        Some((login, host)) => (Some(login), host),
        None => (None, authority),
    };
    let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
        None => (None, None),
        Some((user, password)) => (Some(unescaped(user)?), Some(unescaped(password)?)),
    };
    let filled = |word: Option<String>| word.filter(|word| !word.is_empty());
    let (host, port) = host_and_port(host)?;
    let place = if tls {
        Place::Tls {
            host,
            port,
            authority: None,
        }
    } else {
        Place::Tcp { host, port }
    };
    let database = if path.is_empty() { 0 } else { database(path)? };
    Ok(RedisUrl {
        place,
        user: filled(user),
        password: filled(password),
        database,
    })
}

fn host_and_port(text: &str) -> Result<(String, u16), Problem> {
    let (host, port) = match text.strip_prefix('[') {
        // An IPv6 address has colons of its own.
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or(Problem::Host)?;
            (
                host,
                port.strip_prefix(':')
                    .or_else(|| port.is_empty().then_some(""))
                    .ok_or(Problem::Host)?,
            )
        }
        None => text.split_once(':').unwrap_or((text, "")),
    };
    if host.is_empty() {
        return Err(Problem::NoHost);
    }
    if host.contains(|c: char| c.is_whitespace() || c.is_control() || "/@%[]".contains(c)) {
        return Err(Problem::Host);
    }
    let port = if port.is_empty() {
        6379
    } else {
        port.parse()
            .ok()
            .filter(|port| *port != 0)
            .ok_or(Problem::Port(port.to_owned()))?
    };
    Ok((host.to_ascii_lowercase(), port))
}

fn local(rest: &str) -> Result<RedisUrl, Problem> {
    let path = unescaped(rest)?;
    if !path.starts_with('/') {
        return Err(Problem::NoPath);
    }
    let place = Place::Unix { path: path.into() };
    Ok(RedisUrl {
        place,
        user: None,
        password: None,
        database: 0,
    })
}

fn database(text: &str) -> Result<u32, Problem> {
    text.parse().map_err(|_| Problem::Database(text.to_owned()))
}

fn unescaped(text: &str) -> Result<String, Problem> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let escaped = digit()
            .zip(digit())
            .and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(escaped.ok_or(Problem::Escape)?);
    }
    String::from_utf8(bytes).map_err(|_| Problem::Escape)
}

/// The address as it was given, without what stands before the last `@` of the host's part and without
/// the options.
fn redacted(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    format!("{scheme}{}", rest.escape_debug())
}

/// The address without user, password and options. Equal addresses are written alike.
impl fmt::Display for RedisUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, host, port) = match &self.place {
            Place::Tcp { host, port } => ("redis", host, port),
            Place::Tls { host, port, .. } => ("rediss", host, port),
            Place::Unix { path } => return write!(out, "unix://{}", path.display()),
        };
        if host.contains(':') {
            write!(out, "{scheme}://[{host}]:{port}")?;
        } else {
            write!(out, "{scheme}://{host}:{port}")?;
        }
        if self.database == 0 {
            Ok(())
        } else {
            write!(out, "/{}", self.database)
        }
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RedisUrl({self})")
    }
}

impl fmt::Display for RedisUrlError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "the node's address {:?} cannot be used: ",
            self.address
        )?;
        match &self.problem {
            Problem::Scheme(scheme) => write!(
                out,
                "{scheme:?} is no known kind; write redis://, rediss:// or unix://"
            ),
            Problem::NoHost => out.write_str("it has no host; write redis://host:6379"),
            Problem::Host => out.write_str(
                "its host is malformed; write a name, an address, or an IPv6 address in brackets",
            ),
            Problem::Port(port) => write!(out, "{port:?} is no port; write a number up to 65535"),
            Problem::Database(database) => {
                write!(
                    out,
                    "{database:?} is no database; write a number, as in redis://host/2"
                )
            }
            Problem::Escape => out
                .write_str("a % in it is not followed by two hexadecimal digits; write %25 for %"),
            Problem::NoPath => {
                out.write_str("its path is not absolute; write unix:///path/to/socket")
            }
            Problem::Option(name) => write!(
                out,
                "it has no option {name:?}; unix:// knows db, user and pass, rediss:// knows ca"
            ),
            Problem::NoTls => out.write_str("this build has no TLS; enable the feature \"tls\""),
        }
    }
}

impl Error for RedisUrlError {}

#[cfg(test)]
mod tests;
