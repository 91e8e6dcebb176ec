//! That a server of a cluster has not carried out what it was asked, and who else to ask.

use super::slots::{ServerAddress, named};
use leasehold_core::{Fault, FaultKind, Vote};

/// What to do with a request that a server has not carried out.
///
/// All of them are said by a server that looks for the keys before it runs a command, so the request certainly did not
/// take effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::link::redis) enum Redirection {
    /// The slot is kept by this server from now on.
    Moved(ServerAddress),
    /// The slot is moving, and this key has moved to that server, if it is anywhere.
    Ask(ServerAddress),
    /// Nobody can tell at this moment.
    Later,
}

impl Redirection {
    /// What the vote says of it, if it says so; by a server at the host `asked`. With the server's words.
    pub(super) fn read(vote: &Vote, asked: &str) -> Option<(Self, Fault)> {
        let Vote::Unknown(fault) = vote else {
            return None;
        };
        if fault.kind() != FaultKind::Rejected {
            return None;
        }
        let redirection = Self::of(&fault.to_string(), asked)?;
        Some((redirection, fault.clone()))
    }

    /// What the words of a server say of it.
    pub(in crate::link::redis) fn of(told: &str, asked: &str) -> Option<Self> {
        let mut words = told.split(' ');
        Some(match words.next()? {
            "MOVED" => Self::Moved(place(words.nth(1)?, asked)?),
            "ASK" => Self::Ask(place(words.nth(1)?, asked)?),
            "TRYAGAIN" | "CLUSTERDOWN" => Self::Later,
            _ => return None,
        })
    }
}

/// Reads `host:port`, where an IPv6 host has no brackets, and no host is that of whom was asked.
fn place(text: &str, asked: &str) -> Option<ServerAddress> {
    let (host, port) = text.rsplit_once(':')?;
    Some((named(host, asked), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: FaultKind, words: &str) -> Option<Redirection> {
        let vote = Vote::Unknown(Fault::new(kind, words));
        Redirection::read(&vote, "asked").map(|(redirection, _)| redirection)
    }

    #[test]
    fn the_words_of_servers_tell_whom_to_ask() {
        let at = |host: &str, port| (host.to_owned(), port);
        for (words, expected) in [
            (
                "MOVED 3999 127.0.0.1:6381",
                Redirection::Moved(at("127.0.0.1", 6381)),
            ),
            ("MOVED 1 ::1:7", Redirection::Moved(at("::1", 7))),
            ("MOVED 1 :7", Redirection::Moved(at("asked", 7))),
            ("ASK 1 db.example:7", Redirection::Ask(at("db.example", 7))),
            (
                "TRYAGAIN Multiple keys request during rehashing of slot",
                Redirection::Later,
            ),
            ("CLUSTERDOWN The cluster is down", Redirection::Later),
        ] {
            assert_eq!(read(FaultKind::Rejected, words), Some(expected), "{words}");
            // Whoever says it in other circumstances says nothing about what has happened.
            assert_eq!(read(FaultKind::Disconnected, words), None, "{words}");
        }
        for words in [
            "MOVED",
            "MOVED 1",
            "ASK 1 h",
            "MOVED 1 h:x",
            "OOM used memory",
        ] {
            assert_eq!(read(FaultKind::Rejected, words), None, "{words}");
        }
    }
}
