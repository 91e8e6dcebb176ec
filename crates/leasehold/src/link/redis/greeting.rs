//! What a node tells about itself when it is greeted, and whether it is one to keep locks on.

use super::{
    codec::{self, Frame, ReceiveBuffer},
    copies::{Copies, NOT_BELIEVED, OwnDisk},
    reply::words,
    scripts::Encoder,
    socket::{Stream, Target},
    talk::{Halt, hear, send},
};
use leasehold_core::quarantine::Disk;

/// A node, as it told of itself: what INFO says.
#[derive(Debug, PartialEq)]
pub(super) struct NodeInfo {
    info: String,
}

/// The greeting, where it may be said in one write with the introduction, which saves a round trip.
///
/// It lets the node write what it knows of itself, so it must not be said to another node or database than the one that
/// was meant, nor as another user. That is certain only where nothing before it can fail and leave us there: as the
/// default user, who either is let in by the password or may do nothing; in the database in which every connection begins;
/// and where no sentinel has to be asked whom we met, nor the node how it writes to its disk, or whether it tells of disks.
pub(super) fn early(target: &Target, encoder: &Encoder) -> Option<Vec<u8>> {
    let Target { url, named } = target;
    let user = url.login.as_ref().and_then(|login| login.user.as_deref());
    let is_default = user.is_none_or(|user| user == "default");
    let asks_first = encoder.copies().iter().any(|copies| copies.needs_trial());
    let is_certain = is_default && url.database == 0 && named.is_none() && !asks_first;
    (is_certain && encoder.is_fenced() && !encoder.trusts_disk())
        .then(|| encoder.greeting(Disk::Ignored, None))
}

/// Reads the answer to the greeting, and the configuration that the node is of, as people read it; an error of the node's as it
/// came.
pub(super) fn read(frame: &Frame<'_>) -> Result<(NodeInfo, String), Vec<u8>> {
    let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    match frame {
        Frame::Error(error) => Err(error.to_vec()),
        Frame::List(parts) => match &parts[..] {
            [Frame::Text(info), _, about, ..] => {
                let about = match about {
                    Frame::Text(about) => text(about),
                    _ => String::new(),
                };
                Ok((NodeInfo { info: text(info) }, about))
            }
            _ => Err(ODD.to_vec()),
        },
        _ => Err(ODD.to_vec()),
    }
}

/// Asks a server that somebody else named as a master whether it is one: a sentinel may have missed that it is
/// none any more, and to a plain lock nothing else would tell.
pub(super) async fn confirm(stream: &mut Stream, received: &mut ReceiveBuffer) -> Result<(), Halt> {
    let mut wire = Vec::new();
    codec::encode(&mut wire, &[b"ROLE"]);
    send(stream, &wire).await?;
    let role = |frame: &Frame<'_>| match frame {
        Frame::Error(error) => Err(format!(
            "does not say whether it is a master (+role): {}",
            words(error)
        )),
        Frame::List(parts) if parts.first() == Some(&Frame::Text(b"master")) => Ok(()),
        _ => Err("is a replica, and locks need a master".to_owned()),
    };
    Ok(hear(stream, received, role).await??)
}

/// Asks a server whether it can tell on which disks a vote is, if somebody is going to ask. Tells how much its word on its
/// own disk is worth.
pub(super) async fn ask_disks(
    stream: &mut Stream,
    received: &mut ReceiveBuffer,
    encoder: &Encoder,
) -> Result<OwnDisk, Halt> {
    for copies in encoder.copies() {
        let mut wire = Vec::new();
        if copies.encode_trial(&mut wire) {
            send(stream, &wire).await?;
            let refusal = |frame: &Frame<'_>| match frame {
                Frame::Error(error) => Err(copies.refusal(&words(error))),
                _ => Ok(()),
            };
            hear(stream, received, refusal).await??;
        }
    }
    if !Copies::any_on_own_disk(encoder.copies()) {
        return Ok(OwnDisk::IfDurable(false));
    }
    let mut wire = Vec::new();
    codec::encode(&mut wire, &[b"INFO", b"server"]);
    codec::encode(&mut wire, &DURABILITY);
    send(stream, &wire).await?;
    let info = |frame: &Frame<'_>| match frame {
        Frame::Text(info) => OwnDisk::of(&String::from_utf8_lossy(info)),
        _ => OwnDisk::of(""),
    };
    let word = hear(stream, received, info).await?;
    let is_durable = hear(stream, received, is_durable).await?;
    match (word.with(is_durable.as_ref().is_ok_and(|is| *is)), is_durable) {
        // Argument S9: a vote must not count for a disk that it is not on.
        (OwnDisk::IfDurable(false), Ok(_)) => Err(NOT_BELIEVED.to_owned().into()),
        (OwnDisk::IfDurable(false), Err(why)) => Err(format!(
            "cannot be asked whether it writes to its disk before it answers, without which its word on its disk is not \
             believed before Redis 8.0 (+config|get, +info): {}",
            words(&why)
        )
        .into()),
        (word, _) => Ok(word),
    }
}

/// The question whether a node writes every change to its disk before it answers.
pub(super) const DURABILITY: [&[u8]; 3] = [b"CONFIG", b"GET", b"*append*"];

/// Whether the answer to [`DURABILITY`] tells of a node that writes every change to its disk before it answers.
pub(super) fn is_durable(frame: &Frame<'_>) -> Result<bool, Vec<u8>> {
    let parts = match frame {
        Frame::Error(error) => return Err(error.to_vec()),
        Frame::List(parts) => parts,
        _ => return Err(ODD.to_vec()),
    };
    let is = |name: &[u8], value: &[u8]| {
        parts.chunks(2).any(
            |pair| matches!(pair, [Frame::Text(n), Frame::Text(v)] if *n == name && *v == value),
        )
    };
    let is_kept_during_rewrites = is(b"no-appendfsync-on-rewrite", b"no");
    Ok(is(b"appendonly", b"yes") && is(b"appendfsync", b"always") && is_kept_during_rewrites)
}

/// Why a node that did not answer [`DURABILITY`] cannot be used, as a fragment for people.
pub(super) fn durability_not_told(why: &str) -> String {
    format!(
        "cannot be asked whether it writes to its disk before it answers, as restart guard trust-aof needs \
         (+config|get): {why}"
    )
}

const ODD: &[u8] = b"gave an answer that our greeting never gives";

impl NodeInfo {
    /// Of this answer to INFO.
    pub(super) const fn of(info: String) -> Self {
        Self { info }
    }

    /// Its identity, if locks can be kept on it; empty if it told nothing.
    ///
    /// # Errors
    /// Why no locks can be kept on it, as a fragment for people.
    pub(super) fn suits(&self, is_guarded: bool, is_trusted: bool) -> Result<String, String> {
        if self.says("role") == Some("slave") {
            return Err("is a replica, and locks need a master".to_owned());
        }
        if self.says("redis_mode") == Some("cluster") || self.says("server_mode") == Some("cluster")
        {
            return Err("is a node of a cluster; give independent nodes".to_owned());
        }
        // A replica that takes over, and restarts before anybody votes on it, has another's disk.
        if is_trusted
            && self
                .says("connected_slaves")
                .is_some_and(|count| count != "0")
        {
            return Err("has replicas, and restart guard trust-aof is not for nodes whose place another may take".to_owned());
        }
        if is_guarded && let Some((field, unseen)) = self.hides() {
            return Err(format!(
                "does not tell its {field} (INFO), without which nobody sees {unseen}; restart guard off does without"
            ));
        }
        let has_limit = self.says("maxmemory").is_some_and(|limit| limit != "0");
        if let Some(policy) = self.says("maxmemory_policy").filter(|_| has_limit)
            && policy != "noeviction"
        {
            return Err(format!(
                "may evict locks when its memory is full (maxmemory-policy {policy}); set noeviction"
            ));
        }
        let (process, history) = (self.says("run_id"), self.says("master_replid"));
        Ok(process
            .zip(history)
            .map(|(process, history)| format!("{process}/{history}"))
            .unwrap_or_default())
    }

    /// What the restart guard needs to know and is not told, and what would go unseen. A service may show the same made-up
    /// value for all of its servers: one of a single digit is none.
    fn hides(&self) -> Option<(&'static str, &'static str)> {
        let is_told = |field: &str| {
            let mut digits = self.says(field).unwrap_or_default().chars();
            let first = digits.next();
            first.is_some_and(|first| field == "maxmemory" || digits.any(|digit| digit != first))
        };
        // Argument S9: what is not told cannot be compared.
        let needed = [
            ("run_id", "restarts"),
            ("master_replid", "promotions of replicas"),
            ("maxmemory", "whether it evicts locks"),
        ];
        needed.into_iter().find(|(field, _)| !is_told(field))
    }

    /// What INFO says about this.
    pub(super) fn says(&self, name: &str) -> Option<&str> {
        self.info
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(str::trim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::redis::socket::Named;
    use crate::{
        configuration::{Configuration, RestartGuard},
        disks::Disks,
    };
    use leasehold_core::{Quorum, Ttl};
    use std::time::Duration;

    fn node(info: &str) -> NodeInfo {
        let parts = vec![Frame::Text(info.as_bytes()), Frame::Null, Frame::Null];
        read(&Frame::List(parts)).expect("an answer").0
    }

    #[test]
    fn a_master_that_keeps_its_keys_suits() {
        let info = "redis_mode:standalone\r\nrun_id:12ab\r\nrole:master\r\nmaster_replid:34cd\r\n\
                    maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n";
        assert_eq!(node(info).suits(true, true), Ok("12ab/34cd".to_owned()));
        assert_eq!(node("").suits(false, false), Ok(String::new()));
    }

    #[test]
    fn what_loses_keys_or_does_not_decide_does_not_suit() {
        for (info, reason) in [
            ("role:slave\r\n", "is a replica"),
            ("redis_mode:cluster\r\n", "of a cluster"),
            ("server_mode:cluster\r\n", "of a cluster"),
            (
                "maxmemory:100000000\r\nmaxmemory_policy:volatile-lru\r\n",
                "maxmemory-policy volatile-lru",
            ),
        ] {
            let refused = node(info).suits(false, false).expect_err(info);
            assert!(refused.contains(reason), "{refused}");
        }
    }

    #[test]
    fn the_guard_needs_an_identity_and_trust_needs_a_node_without_replicas() {
        let all = "run_id:12ab\r\nmaster_replid:34cd\r\nmaxmemory:0\r\n";
        assert!(node(all).suits(true, false).is_ok());
        for field in ["run_id", "master_replid", "maxmemory"] {
            let lines = all.lines().filter(|line| !line.starts_with(field));
            let hidden = lines.collect::<Vec<_>>().join("\r\n");
            for shown in [String::new(), format!("\r\n{field}:\r\n")] {
                let info = format!("{hidden}{shown}");
                let refused = node(&info).suits(true, false).expect_err(&info);
                assert!(refused.contains(field), "{refused}");
                assert!(node(&info).suits(false, false).is_ok(), "{info}");
            }
        }
        let made_up = all.replace("12ab", &"0".repeat(40));
        assert!(node(&made_up).suits(true, false).is_err());
        let info = format!("{all}connected_slaves:1\r\n");
        let info = info.as_str();
        let refused = node(info).suits(true, true);
        assert!(refused.expect_err("it has replicas").contains("replicas"));
        assert!(node(info).suits(true, false).is_ok());
    }

    #[test]
    fn a_greeting_is_said_early_only_where_nothing_before_it_can_leave_us_elsewhere() {
        let configuration = |guard| {
            let quorum = Quorum::majority(1).expect("one node");
            let ttl = Ttl::new(Duration::from_secs(30)).expect("a TTL");
            Configuration::new("ns", "db1", quorum, guard, ttl, Duration::ZERO)
        };
        let is_early = |url: &str, named: Option<Named>, configuration: &Configuration| {
            let url = url.parse().expect("an address");
            let target = Target { url, named };
            early(&target, &Encoder::new(configuration)).is_some()
        };
        let guarded = configuration(RestartGuard::Quarantine);
        for url in [
            "redis://db1",
            "redis://:pw@db1",
            "redis://default:pw@db1",
            "rediss://db1/0",
        ] {
            assert!(is_early(url, None, &guarded), "{url}");
        }
        for url in ["redis://user:pw@db1", "redis://db1/7"] {
            assert!(!is_early(url, None, &guarded), "{url}");
        }
        assert!(!is_early(
            "redis://db1",
            Some(Named { failover: None }),
            &guarded
        ));
        let trusting = configuration(RestartGuard::TrustAof);
        assert!(!is_early("redis://db1", None, &trusting));
        assert!(!is_early("redis://db1", None, &Configuration::plain()));
        let with = |copies| {
            let url = "redis://db1".parse().expect("an address");
            let target = Target { url, named: None };
            early(&target, &Encoder::new(&guarded).copied(copies)).is_some()
        };
        let within = Duration::from_millis(1);
        assert!(with(Copies::heard_by(1, within)));
        assert!(!with(Copies::written_to(Disks::Server, within)));
    }

    #[test]
    fn only_a_disk_that_is_written_before_the_answer_is_durable() {
        let told = |pairs: &[&'static str]| {
            let parts = pairs.iter().map(|part| Frame::Text(part.as_bytes()));
            is_durable(&Frame::List(parts.collect()))
        };
        let durable = [
            "appendfsync",
            "always",
            "appendonly",
            "yes",
            "no-appendfsync-on-rewrite",
            "no",
        ];
        assert_eq!(told(&durable), Ok(true));
        assert_eq!(told(&durable[..2]), Ok(false));
        assert_eq!(
            told(&["appendonly", "yes", "appendfsync", "everysec"]),
            Ok(false)
        );
    }
}
