//! A thorough look at a node: everything that an operator may be told of it, as far as it tells.
//!
//! Nothing is changed. What the node's user may do is found out by a script that is declared to write nothing: the
//! server looks at the rights of each command before it looks at that, so each is asked and none is carried out. This
//! needs no right but `EVAL`, and asks about the very keys that locks have. Whether the server takes writes at all is found
//! out the other way round, by a script that may write and does not: a server whose memory is full, whose disk fails or whose
//! replicas are away refuses it as it refuses a vote, before its first line.

use super::{AdminClient, clean, identity::INFO, text_of};
use crate::{
    clock::Clock,
    link::redis::{
        cluster::redirection::Redirection, codec::Frame, handshake::no_hello,
        rights::RIGHTS_OF_LEASES,
    },
};
use leasehold_core::Instant;
use std::{collections::HashMap, time::Duration};

/// What came of it. Whatever is none was not told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checkup {
    /// In the order of their lengths.
    pub(crate) round_trips: Vec<Duration>,
    pub(crate) clock: Option<Offset>,
    /// What `INFO` says, by its names.
    pub(crate) info: Option<HashMap<String, String>>,
    /// What `CONFIG GET` says, by its names.
    pub(crate) config: Option<HashMap<String, String>>,
    /// The rights that are missing, as `ACL SETUSER` has them.
    pub(crate) lacking: Option<Vec<String>>,
    /// The rights that are missing for fair locks, readers and permits, beside those.
    pub(crate) lacking_for_fair: Option<Vec<String>>,
    /// The key of a lock that nobody has, if it is out of the user's reach.
    pub(crate) out_of_reach: Option<String>,
    /// Why it refuses writes, in its own words.
    pub(crate) refuses_writes: Option<String>,
}

/// The lock about which a node is asked, by its key.
#[derive(Clone, Debug)]
pub(crate) enum CheckedLock {
    /// The one that somebody has in mind.
    Named(String),
    /// One that nobody has. A user may be kept to the keys of those that there are.
    Nobodys(String),
}

/// Which locks a node is to keep.
#[derive(Clone, Debug)]
pub(crate) enum CheckedKind {
    /// With tokens and the restart guard. With what the keys of queues begin.
    Fenced {
        queues: String,
    },
    Plain,
    /// Plain ones, of which the node keeps some: it is a master of a cluster.
    PlainInCluster,
}

impl CheckedLock {
    fn key(&self) -> &str {
        match self {
            Self::Named(key) | Self::Nobodys(key) => key,
        }
    }
}

/// The node's wall clock beside ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    pub(crate) is_ahead: bool,
    pub(crate) by: Duration,
    /// The offset may be so much more or less: half the round trip.
    pub(crate) uncertainty: Duration,
}

impl AdminClient {
    /// Looks at everything.
    pub(crate) async fn check_up(
        &mut self,
        clock: Clock,
        lock: &CheckedLock,
        kind: &CheckedKind,
    ) -> Result<Checkup, String> {
        let mut round_trips = Vec::new();
        // The first may have been waiting for the network's caches to fill; the median passes it over.
        for _ in 0..ROUND_TRIPS {
            let sent = clock.now();
            let answer = |frame: &Frame<'_>| (!matches!(frame, Frame::Null)).then_some(());
            let question: &[u8] = if self.is_proxied { b"PING" } else { b"TIME" };
            // A refusal is an answer, too.
            match self.ask(&[question], answer).await {
                Err(why) if !is_refusal(&why) => return Err(why),
                _ => {}
            }
            round_trips.push(clock.now().saturating_since(sent));
        }
        round_trips.sort_unstable();
        let clock = self.offset(clock).await;
        let config = self.config().await;
        let of_vote = self.check_vote(lock, kind).await;
        let lacking_for_fair = match (&of_vote.lacking, kind) {
            (Some(lacking), CheckedKind::Fenced { queues }) => {
                self.lacking_for_fair(lock.key(), queues, lacking).await
            }
            _ => None,
        };
        Ok(Checkup {
            round_trips,
            clock,
            config,
            lacking_for_fair,
            ..of_vote
        })
    }

    /// Looks at what decides whether the node votes, and at nothing else: in four round trips, where nothing is wrong.
    pub(crate) async fn check_vote(&mut self, lock: &CheckedLock, kind: &CheckedKind) -> Checkup {
        let info = self.info().await;
        let mut lacking = self.lacking(lock.key(), kind).await;
        let key = format!("~{}", lock.key());
        let is_out_of_reach = lacking.iter().flatten().any(|right| *right == key);
        let in_reach = match (is_out_of_reach, kind) {
            (true, CheckedKind::Fenced { .. }) => Some(self.node_key.clone()),
            (true, _) => None,
            (false, _) => Some(lock.key().to_owned()),
        };
        let refuses_writes = self.refuses_writes(in_reach.as_deref()).await;
        let mut out_of_reach = None;
        if let (CheckedLock::Nobodys(key_of_nobody), true) = (lock, is_out_of_reach) {
            // Which keys locks have is not known here.
            lacking
                .iter_mut()
                .for_each(|all| all.retain(|right| *right != key));
            out_of_reach = Some(key_of_nobody.clone());
        }
        Checkup {
            info,
            lacking,
            out_of_reach,
            refuses_writes,
            ..Checkup::default()
        }
    }

    /// What the server says of itself: to us, or else to a script.
    async fn info(&mut self) -> Option<HashMap<String, String>> {
        if !self.is_proxied
            && let Ok(told) = self.ask(&[b"INFO"], info).await
        {
            return Some(told);
        }
        self.call(INFO, &[], info).await.ok()
    }

    /// Why the server would refuse a vote whatever it says. A lack of rights is told of elsewhere.
    async fn refuses_writes(&mut self, key: Option<&str>) -> Option<String> {
        let script = WRITES_NOTHING.as_bytes();
        let mut parts = vec![
            &b"EVAL"[..],
            script,
            if key.is_some() { b"1" } else { b"0" },
        ];
        parts.extend(key.map(str::as_bytes));
        let told = self.ask(&parts, |_| Some(())).await;
        // Who does not answer refuses nothing, nor does a server of a cluster that names another for this key.
        let is_elsewhere = |why: &str| {
            let told = Redirection::of(why, "");
            matches!(told, Some(Redirection::Moved(_) | Redirection::Ask(_)))
        };
        let is_about_writes = |why: &str| !is_refusal(why) && !is_elsewhere(why);
        told.err().filter(|why| !self.owes && is_about_writes(why))
    }

    async fn offset(&mut self, clock: Clock) -> Option<Offset> {
        let (sent, wall): (Instant, Duration) = (clock.now(), clock.wall());
        let shown = match self.is_proxied {
            true => self.call(TIME, &[], time).await,
            false => self.ask(&[b"TIME"], time).await,
        };
        let shown = shown.ok()?;
        let uncertainty = clock.now().saturating_since(sent) / 2;
        let ours = wall + uncertainty;
        let is_ahead = shown >= ours;
        Some(Offset {
            is_ahead,
            by: shown.abs_diff(ours),
            uncertainty,
        })
    }

    async fn config(&mut self) -> Option<HashMap<String, String>> {
        if self.is_proxied {
            return None;
        }
        let mut found = HashMap::new();
        // One at a time: servers before Redis 7.0 take one pattern, and what proxies make of several is not known.
        for name in [&b"appendfsync"[..], b"no-appendfsync-on-rewrite", b"save"] {
            let told = self.ask(&[b"CONFIG", b"GET", name], pairs).await.ok()?;
            found.extend(told);
        }
        Some(found)
    }

    /// None if it cannot be found out.
    async fn lacking(&mut self, lock: &str, kind: &CheckedKind) -> Option<Vec<String>> {
        let mut lacking = match kind {
            CheckedKind::Fenced { .. } => self.lacking_for_fenced(lock).await?,
            CheckedKind::Plain | CheckedKind::PlainInCluster => {
                self.lacking_for_plain(lock).await?
            }
        };
        if self.is_proxied {
            return Some(lacking);
        }
        let of_cluster = match kind {
            CheckedKind::PlainInCluster => &IN_CLUSTERS[..],
            _ => &[],
        };
        let tries: Vec<_> = OUTSIDE.iter().chain(of_cluster).collect();
        let questions: Vec<_> = tries.iter().map(|(_, parts)| *parts).collect();
        let told = self.ask_in_one_write(&questions).await.ok()?;
        for ((right, _), told) in tries.into_iter().zip(told) {
            let is_news = !lacking.iter().any(|known| known == right);
            if is_news && told.is_err_and(|why| is_refusal(&why)) {
                lacking.push((*right).to_owned());
            }
        }
        Some(lacking)
    }

    /// For what scripts do to a plain lock, which needs its own key alone.
    async fn lacking_for_plain(&mut self, lock: &str) -> Option<Vec<String>> {
        let (script, lock) = (RIGHTS_OF_LEASES.as_bytes(), lock.as_bytes());
        let parts: [&[u8]; 6] = [b"EVAL", script, b"1", lock, lock, b"plain"];
        let refused = match self.ask(&parts, rights).await {
            Ok(lacking) => return Some(lacking),
            Err(why) if is_refusal(&why) => why,
            Err(_) => return None,
        };
        if !refused.contains(" key") {
            return Some(vec!["+eval".to_owned()]);
        }
        // A call for a key that is out of reach is refused as a whole; without keys, each command is tried on it.
        let parts: [&[u8]; 5] = [b"EVAL", script, b"0", lock, b"plain"];
        let mut lacking = self.ask(&parts, rights).await.ok()?;
        let key = format!("~{}", String::from_utf8_lossy(lock));
        if !lacking.contains(&key) {
            lacking.push(key);
        }
        Some(lacking)
    }

    async fn lacking_for_fenced(&mut self, lock: &str) -> Option<Vec<String>> {
        let node_key = self.node_key.clone();
        Some(match self.lacking_on(&node_key, lock).await {
            Ok(lacking) => lacking,
            // With rights to run scripts, but not on both keys. The commands are tried on the other, whatever it is.
            Err(why) if is_refusal(&why) && why.contains(" key") => {
                let mut lacking = self.keys_out_of_reach(&[&node_key, lock]).await;
                let is_in_reach = |key: &&&str| !lacking.contains(&format!("~{key}"));
                if let Some(key) = [&node_key[..], lock].iter().find(is_in_reach) {
                    lacking.extend(self.lacking_on(key, key).await.ok()?);
                }
                lacking
            }
            Err(why) if is_refusal(&why) => vec!["+eval".to_owned()],
            Err(_) => return None,
        })
    }

    /// What is lacking of the rights for which a script needs to ask.
    async fn lacking_on(&mut self, node_key: &str, lock: &str) -> Result<Vec<String>, String> {
        let script = RIGHTS_OF_LOCKS.as_bytes();
        let (node_key, lock) = (node_key.as_bytes(), lock.as_bytes());
        self.ask(&[b"EVAL", script, b"2", node_key, lock], rights)
            .await
    }

    /// Beside `known`. None if it cannot be found out.
    async fn lacking_for_fair(
        &mut self,
        lock: &str,
        queues: &str,
        known: &[String],
    ) -> Option<Vec<String>> {
        let queue = format!("{queues}{lock}");
        let script = RIGHTS_OF_QUEUES.as_bytes();
        let parts: [&[u8]; 4] = [b"EVAL", script, b"1", queue.as_bytes()];
        let lacking = match self.ask(&parts, rights).await {
            Ok(lacking) => lacking,
            Err(why) if is_refusal(&why) && why.contains(" key") => vec![format!("~{queue}")],
            Err(_) => return None,
        };
        // Every lock has a queue of its own.
        let all = |right: String| match right.strip_prefix('~') {
            Some(_) => format!("~{queues}*"),
            None => right,
        };
        let lacking = lacking.into_iter().map(all);
        Some(lacking.filter(|right| !known.contains(right)).collect())
    }

    async fn keys_out_of_reach(&mut self, keys: &[&str]) -> Vec<String> {
        let mut lacking = Vec::new();
        for key in keys {
            let parts: [&[u8]; 4] = [b"EVAL", b"return 1", b"1", key.as_bytes()];
            let told = self.ask(&parts, |_| Some(())).await;
            if told.is_err_and(|why| is_refusal(&why)) {
                lacking.push(format!("~{key}"));
            }
        }
        lacking
    }
}

/// Whether it was a matter of rights, or the command is not there for us, or the newer protocol.
fn is_refusal(why: &str) -> bool {
    no_hello(why.as_bytes())
}

/// What is said outside of scripts, and does nothing here: a script that is not there, one that every client of
/// ours may load, and what a connection is told of itself.
const OUTSIDE: [(&str, &[&[u8]]); 6] = [
    ("+evalsha", &[b"EVALSHA", &[b'0'; 40], b"0"]),
    ("+script|load", &[b"SCRIPT", b"LOAD", b"return 1"]),
    ("+client|tracking", &[b"CLIENT", b"TRACKING", b"OFF"]),
    ("+client|caching", &[b"CLIENT", b"CACHING", b"YES"]),
    ("+info", &[b"INFO", b"server"]),
    ("+hello", &[b"HELLO", b"3"]),
];

/// The same of the servers of a cluster, for its address and for slots that move.
const IN_CLUSTERS: [(&str, &[&[u8]]); 2] = [
    ("+cluster|slots", &[b"CLUSTER", b"SLOTS"]),
    ("+asking", &[b"ASKING"]),
];

const RIGHTS_OF_LOCKS: &str = concat!(
    "#!lua flags=no-writes\n",
    include_str!("rights_of_locks.lua"),
    include_str!("rights.lua")
);
const RIGHTS_OF_QUEUES: &str = concat!(
    "#!lua flags=no-writes\n",
    include_str!("rights_of_queues.lua"),
    include_str!("rights.lua")
);

const TIME: &str = "#!lua flags=no-writes\nreturn redis.call('TIME')";

/// As a vote declares itself: it may write, and needs memory.
const WRITES_NOTHING: &str = "#!lua\nreturn 1";

const ROUND_TRIPS: usize = 9;

fn info(frame: &Frame<'_>) -> Option<HashMap<String, String>> {
    let lines = text_of(frame)?;
    let pairs = lines.lines().filter_map(|line| line.split_once(':'));
    let pairs = pairs.map(|(name, value)| (name.to_owned(), clean(value.trim().to_owned())));
    Some(pairs.collect())
}

fn pairs(frame: &Frame<'_>) -> Option<Vec<(String, String)>> {
    let parts = strings(frame)?;
    let pairs = parts.chunks(2).filter_map(|pair| match pair {
        [name, value] => Some((name.clone(), value.clone())),
        _ => None,
    });
    Some(pairs.collect())
}

fn strings(frame: &Frame<'_>) -> Option<Vec<String>> {
    match frame {
        Frame::List(parts) => parts.iter().map(|part| text_of(part).map(clean)).collect(),
        _ => None,
    }
}

/// The rights that a script misses. A command that the server does not know, or lets no script run, is missing in the same
/// way, as outside of scripts.
fn rights(frame: &Frame<'_>) -> Option<Vec<String>> {
    let named = |right: String| match right.strip_prefix(['!', '-']) {
        Some(command) => format!("+{command}"),
        None => right,
    };
    Some(strings(frame)?.into_iter().map(named).collect())
}

/// Seconds and microseconds since 1970.
fn time(frame: &Frame<'_>) -> Option<Duration> {
    let parts = strings(frame)?;
    let [seconds, micros] = &parts[..] else {
        return None;
    };
    Some(Duration::from_secs(seconds.parse().ok()?) + Duration::from_micros(micros.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::redis::codec::ReceiveBuffer;
    use tokio::io::{AsyncWriteExt as _, duplex};

    /// What is found out of a node that gives these answers and then no more.
    async fn found(answers: &[u8]) -> Checkup {
        let (mut node, stream) = duplex(16_384);
        node.write_all(answers).await.expect("there is room");
        let mut admin_client = AdminClient {
            stream: Box::new(stream),
            received: ReceiveBuffer::default(),
            was_told: false,
            owes: false,
            failover: None,
            node_key: "leasehold:node".to_owned(),
            limit: Duration::from_millis(10),
            is_proxied: false,
        };
        admin_client
            .check_vote(
                &CheckedLock::Nobodys("r".to_owned()),
                &CheckedKind::Fenced {
                    queues: "q".to_owned(),
                },
            )
            .await
    }

    /// What it answers before it is asked whether it takes writes.
    const RIGHTS: &str = "$1\r\n \r\n*0\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n";

    #[tokio::test]
    async fn a_server_of_a_cluster_that_names_another_refuses_no_writes() {
        for (told, expected) in [
            ("MOVED 1 db2:6379", None),
            ("ASK 1 db2:6379", None),
            ("CLUSTERDOWN x", Some("CLUSTERDOWN x")),
        ] {
            let answers = format!("{RIGHTS}-{told}\r\n");
            let why = found(answers.as_bytes()).await.refuses_writes;
            assert_eq!(why.as_deref(), expected);
        }
    }

    #[tokio::test]
    async fn a_node_that_does_not_answer_is_not_said_to_refuse_writes() {
        for answers in ["", RIGHTS] {
            assert_eq!(found(answers.as_bytes()).await.refuses_writes, None);
        }
        let refused = format!("{RIGHTS}-MISCONF no space\r\n");
        let why = found(refused.as_bytes()).await.refuses_writes;
        assert_eq!(why.as_deref(), Some("MISCONF no space"));
    }
}
