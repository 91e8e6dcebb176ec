//! What is wrong with an address.

use std::fmt;

/// Why a text is no address of a node. In every `url` in it, `…` stands for what may be a password.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedisUrlError {
    /// It begins with a scheme that no link is for.
    UnknownScheme {
        /// What may be shown of the text.
        url: String,
    },
    /// It has a scheme and no `//` behind it.
    NoSlashes {
        /// What may be shown of the text.
        url: String,
    },
    /// It asks for TLS, which was not compiled in.
    TlsNotBuiltIn {
        /// What may be shown of the text.
        url: String,
    },
    /// It has commas between several addresses.
    Several {
        /// What may be shown of the text.
        url: String,
    },
    /// It has no host, or one that cannot be a host.
    NoHost {
        /// What may be shown of the text.
        url: String,
    },
    /// Its port is not a number from 1 to 65535.
    BadPort {
        /// What may be shown of the text.
        url: String,
    },
    /// Its database is not a number.
    BadDatabase {
        /// What may be shown of the text.
        url: String,
    },
    /// It names a database of a cluster, which has the first alone.
    NoDatabases {
        /// What may be shown of the text.
        url: String,
    },
    /// It names no absolute path to a socket.
    NoPath {
        /// What may be shown of the text.
        url: String,
    },
    /// The age that a majority of sentinels may have is no number of milliseconds from 1500 to an hour.
    BadBound {
        /// What may be shown of the text.
        url: String,
    },
    /// It names no master that sentinels could be asked for.
    NoMaster {
        /// What may be shown of the text.
        url: String,
    },
    /// It has an option that its scheme does not know.
    UnknownOption {
        /// What may be shown of the text.
        url: String,
    },
    /// It has `@`, `/`, `?` or `#` where only their percent-encoded forms can stand.
    NotEncoded {
        /// What may be shown of the text.
        url: String,
    },
    /// It has a `%` without two hexadecimal digits, or they do not make UTF-8.
    BadEncoding {
        /// What may be shown of the text.
        url: String,
    },
}

impl RedisUrlError {
    /// What may be shown of the text, and what is wrong with it.
    fn parts(&self) -> (&str, &'static str) {
        match self {
            Self::UnknownScheme { url } => (
                url,
                "has an unknown scheme; known are redis, rediss, redis+sentinel, rediss+sentinel, \
                 redis+cluster, rediss+cluster and unix; a folder of this machine is named file:///folder, alone, where one may stand",
            ),
            Self::NoSlashes { url } => (
                url,
                "has no `//` behind its scheme; write redis://host:port, or file:///folder where a folder may stand",
            ),
            Self::TlsNotBuiltIn { url } => (
                url,
                "asks for TLS, which this build lacks; enable the feature `tls` of leasehold",
            ),
            Self::Several { url } => (url, "is several addresses in one; give each by itself"),
            Self::NoHost { url } => (
                url,
                "has no valid host; write redis://host:port, an IPv6 address in brackets",
            ),
            Self::BadPort { url } => (
                url,
                "has a port that is not a number from 1 to 65535; write host:port, an IPv6 address in brackets",
            ),
            Self::BadDatabase { url } => (
                url,
                "has a database that is not a number; write redis://host:port/0",
            ),
            Self::NoDatabases { url } => (
                url,
                "names a database, and a cluster has the database 0 alone; write redis+cluster://host:port,host:port",
            ),
            Self::NoPath { url } => (url, "has no absolute path; write unix:///path/to/socket"),
            Self::BadBound { url } => (
                url,
                "has a sentinel_bound_ms that is not a number from 1500 to 3600000",
            ),
            Self::NoMaster { url } => (
                url,
                "names no master as sentinels know it; write redis+sentinel://host:26379,host:26379/mymaster",
            ),
            Self::UnknownOption { url } => (
                url,
                "has an unknown option; known are ca for rediss and rediss+cluster, \
                 db, user and pass for unix, and sentinel_user, sentinel_password, sentinel_tls=yes or no, sentinel_ca \
                 (where sentinels speak TLS), sentinel_bound_ms and dangerous_sentinel_minority=yes for redis+sentinel",
            ),
            Self::NotEncoded { url } => (
                url,
                "has a bare '@', '/', '?' or '#' in a part that may not have it; write %40, %2F, %3F or %23",
            ),
            Self::BadEncoding { url } => (
                url,
                "has a '%' that is not percent-encoding of UTF-8; write %25 for the character",
            ),
        }
    }
}

impl fmt::Display for RedisUrlError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (url, what) = self.parts();
        write!(out, "{url:?} {what}")
    }
}

impl std::error::Error for RedisUrlError {}

leasehold_core::debug_by_sentence!(RedisUrlError {
    UnknownScheme { url },
    NoSlashes { url },
    TlsNotBuiltIn { url },
    Several { url },
    NoHost { url },
    BadPort { url },
    BadDatabase { url },
    NoDatabases { url },
    NoPath { url },
    BadBound { url },
    NoMaster { url },
    UnknownOption { url },
    NotEncoded { url },
    BadEncoding { url },
});
