//! Copies of votes that were asked for, and servers that cannot make them.

use super::{Finding, Options, ServerFacts, Weight, finding};
use leasehold::Disks;

/// Whether votes of this server can have the copies without which they do not count.
pub(super) fn can_copy(server: &ServerFacts, options: &Options) -> bool {
    lacking(server, options).is_none_or(|finding| finding.weight < Weight::Problem)
}

/// What is in the way of them.
pub(super) fn lacking(server: &ServerFacts, options: &Options) -> Option<Finding> {
    disks(server, options).or_else(|| replicas(server, options))
}

fn replicas(server: &ServerFacts, options: &Options) -> Option<Finding> {
    let of_disks = options.on_disk.map_or(0, Disks::replicas);
    let needed = options.replicated.unwrap_or(0).max(of_disks);
    let count = server.replicas.filter(|count| *count < needed.into())?;
    let plural = if count == 1 { "" } else { "s" };
    Some(finding(
        Weight::Problem,
        format!("has {count} replica{plural}, and its votes count only when {needed} have them"),
        "--replicated and --on-disk ask for that, so no vote of this server counts",
        "connect the other replicas, or ask for fewer, with all clients",
    ))
}

fn disks(server: &ServerFacts, options: &Options) -> Option<Finding> {
    let disks = options.on_disk?;
    if let Some((version, is_of_valkey, numbers)) = version(server)
        && numbers < (7, 2)
        && !is_of_valkey
    {
        return Some(finding(
            Weight::Problem,
            format!("runs {version}, which cannot tell what is on disks"),
            "--on-disk asks for that (WAITAOF), so this server is not used",
            "upgrade it to Redis 7.2 or Valkey 7.2, or newer, or leave --on-disk out",
        ));
    }
    if !disks.include_server() {
        return None;
    }
    if server.has_log == Some(false) {
        return Some(finding(
            Weight::Problem,
            "keeps no append-only file",
            "--on-disk asks for its own disk, on which no vote ever is, so this server is not used",
            "on the server: appendonly yes; or ask for the disks of replicas alone, as in --on-disk 1",
        ));
    }
    let is_at_once = server.fsync.as_deref() == Some("always");
    if server.fsync.is_none() || is_at_once && server.fsync_on_rewrite != Some(false) {
        return None;
    }
    let is_exact = version(server)
        .is_some_and(|(_, is_of_valkey, numbers)| !is_of_valkey && numbers >= (8, 0));
    Some(match is_exact {
        true => finding(
            Weight::Warning,
            "writes to its disk once a second, or more rarely",
            "--on-disk has a vote wait for that, longer than it may take",
            "on the server: appendfsync always, no-appendfsync-on-rewrite no",
        ),
        false => finding(
            Weight::Problem,
            "says too early that something is on its disk",
            "--on-disk relies on that, so with these settings this server is not used",
            "on the server: appendfsync always, no-appendfsync-on-rewrite no; or use Redis 8.0 or newer",
        ),
    })
}

/// Its name, whether it is Valkey, and the first two of its numbers.
fn version(server: &ServerFacts) -> Option<(&str, bool, (u32, u32))> {
    let version = server.version.as_deref()?;
    let mut numbers = version.rsplit(' ').next()?.split('.');
    let mut number = || numbers.next()?.parse().ok();
    Some((
        version,
        version.starts_with("Valkey"),
        (number()?, number()?),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::Guard;
    use std::time::Duration;

    /// What is in the way of these copies; whether the server votes in spite of it.
    fn told(
        (replicated, on_disk): (Option<u32>, Option<Disks>),
        server: &ServerFacts,
    ) -> Option<(String, bool)> {
        let options = Options {
            ttl: Duration::from_secs(10),
            clock_skew: Duration::from_secs(2),
            guard: Guard::Quarantine,
            is_plain: false,
            replicated,
            on_disk,
        };
        let found = lacking(server, &options)?;
        Some((found.what, super::super::votes(server, &options)))
    }

    /// A server of this version that writes so to its disk, and has so many replicas.
    fn server(version: &str, fsync: &str, replicas: u64) -> ServerFacts {
        ServerFacts {
            version: Some(version.to_owned()),
            has_log: Some(true),
            fsync: Some(fsync.to_owned()),
            fsync_on_rewrite: Some(true),
            replicas: Some(replicas),
            lacking: Some(Vec::new()),
            ..ServerFacts::default()
        }
    }

    const OWN: (Option<u32>, Option<Disks>) = (None, Some(Disks::Server));

    #[test]
    fn nothing_is_said_of_copies_that_a_server_makes_or_that_nobody_wants() {
        for (wanted, server) in [
            ((None, None), server("Redis 7.0.15", "everysec", 0)),
            ((Some(2), None), server("Redis 7.0.15", "everysec", 2)),
            (
                (None, Some(Disks::Replicas(1))),
                server("Valkey 9.1.0", "no", 1),
            ),
            (
                (Some(1), Some(Disks::Server)),
                server("Redis 8.2.1", "always", 1),
            ),
            (OWN, server("Valkey 9.1.0", "always", 0)),
        ] {
            assert_eq!(told(wanted, &server), None, "{server:?}");
        }
    }

    #[test]
    fn a_server_that_cannot_make_the_copies_does_not_vote() {
        let redis = |replicas| server("Redis 8.2.1", "always", replicas);
        let without_log = ServerFacts {
            has_log: Some(false),
            ..redis(0)
        };
        let during_rewrites = ServerFacts {
            fsync_on_rewrite: Some(false),
            ..server("Valkey 8.1.8", "always", 0)
        };
        for (wanted, server, expected) in [
            (
                (Some(2), None),
                redis(1),
                "has 1 replica, and its votes count only when 2 have them",
            ),
            ((None, Some(Disks::Replicas(1))), redis(0), "has 0 replicas"),
            (
                OWN,
                server("Redis 7.0.15", "always", 0),
                "runs Redis 7.0.15, which cannot tell",
            ),
            (OWN, server("Valkey 9.1.0", "everysec", 0), "says too early"),
            (OWN, server("Redis 7.4.1", "everysec", 0), "says too early"),
            (OWN, during_rewrites, "says too early"),
            (OWN, without_log, "keeps no append-only file"),
        ] {
            let (what, votes) = told(wanted, &server).expect(expected);
            assert!(what.contains(expected) && !votes, "{what}");
        }
    }

    #[test]
    fn a_server_that_is_late_but_true_votes_with_a_warning() {
        let (what, votes) = told(OWN, &server("Redis 8.2.1", "everysec", 0)).expect("it is late");
        assert!(what.contains("once a second") && votes, "{what}");
    }
}
