//! On whose disks a vote must be before it counts.

use std::{fmt, str::FromStr};

/// On whose disks a vote must be before it counts: see [`ManagerBuilder::on_disk`](crate::ManagerBuilder::on_disk).
///
/// As a text it is `server`, a number of replicas, or both: `server+2`.
///
/// # Examples
/// ```
/// use leasehold::Disks;
///
/// assert_eq!("server+2".parse(), Ok(Disks::ServerAndReplicas(2)));
/// assert_eq!(Disks::Server.to_string(), "server");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Disks {
    /// The server's own.
    Server,
    /// Those of so many of its replicas. For servers that leave the disk to their replicas.
    Replicas(u32),
    /// The server's own, and those of so many of its replicas.
    ServerAndReplicas(u32),
}

impl Disks {
    /// Whether the server's own disk is one of them.
    #[must_use]
    pub const fn include_server(self) -> bool {
        matches!(self, Self::Server | Self::ServerAndReplicas(_))
    }

    /// Of how many replicas.
    #[must_use]
    pub const fn replicas(self) -> u32 {
        match self {
            Self::Server => 0,
            Self::Replicas(replicas) | Self::ServerAndReplicas(replicas) => replicas,
        }
    }

    /// Whether they are any at all, as they were named.
    pub(crate) const fn are_some(self) -> bool {
        matches!(self, Self::Server) || self.replicas() > 0
    }
}

impl FromStr for Disks {
    type Err = String;

    /// # Errors
    /// Why it names no disks, as a fragment, with the way out.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("{text:?} names no disks: say server, 1 for a replica, or server+1 for both")
        };
        let count = |text: &str| {
            text.parse()
                .ok()
                .filter(|count| *count > 0)
                .ok_or_else(wrong)
        };
        match text.split_once('+') {
            None if text == "server" => Ok(Self::Server),
            None => Ok(Self::Replicas(count(text)?)),
            Some(("server", replicas)) => Ok(Self::ServerAndReplicas(count(replicas)?)),
            Some(_) => Err(wrong()),
        }
    }
}

impl fmt::Display for Disks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server => out.write_str("server"),
            Self::Replicas(replicas) => write!(out, "{replicas}"),
            Self::ServerAndReplicas(replicas) => write!(out, "server+{replicas}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_read_as_they_are_written() {
        for disks in [
            Disks::Server,
            Disks::Replicas(1),
            Disks::ServerAndReplicas(3),
        ] {
            assert_eq!(disks.to_string().parse(), Ok(disks));
            assert!(disks.are_some());
        }
        for wrong in [
            "",
            "0",
            "server+0",
            "server+",
            "replica",
            "1+1",
            "-1",
            "server+server",
        ] {
            let why = wrong.parse::<Disks>().expect_err(wrong);
            assert!(why.contains("say server, 1 for a replica"), "{why}");
        }
        assert!(!Disks::Replicas(0).are_some() && !Disks::ServerAndReplicas(0).are_some());
    }
}
