//! An operator's visit to a node: a look at what it keeps of itself, and the few changes of it that are the
//! operator's to make. One connection, one thing at a time, and a limit on each.

mod brief;
pub(crate) mod checkup;
pub(crate) mod cluster;
mod durability;
mod identity;
pub(crate) mod keys;
mod texts;

#[cfg(feature = "wire")]
pub(super) use texts::TEXTS;

use super::{
    codec::{self, Frame, ReceiveBuffer},
    greeting::NodeInfo,
    handshake::Manners,
    reply::words,
    scripts::flag,
    search,
    socket::Stream,
    talk::{hear_beside, send},
    url::RedisUrl,
};
use crate::configuration::RestartGuard;
use durability::lost_log;
use leasehold_core::{AbstentionCause, quarantine::Disk};
use std::time::Duration;
use texts::{ADMIT, BLOCK, SETTLE, SUCCEED, SURVEY};
use tokio::time::timeout;

/// A visit that goes on.
pub(crate) struct AdminClient {
    stream: Stream,
    received: ReceiveBuffer,
    /// Whether the node told of a change while it was asked for something else.
    was_told: bool,
    /// Whether answers may still come that nobody waits for any more.
    owes: bool,
    node_key: String,
    /// How long an answer may take.
    limit: Duration,
    /// Whether a proxy stands before the node that hangs up at what it does not know: all but scripts with a key, and little
    /// By which failover the node is the master, if sentinels say so.
    failover: Option<u64>,
    /// else.
    is_proxied: bool,
}

/// What a node keeps of itself.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    /// Why no locks can be kept on it.
    pub(crate) unsuitable: Option<String>,
    /// The process that runs, and the history of its data.
    pub(crate) identity: String,
    /// The one that last vouched for the data.
    pub(crate) vouched: Option<String>,
    pub(crate) version: String,
    pub(crate) role: String,
    pub(crate) has_log: Option<bool>,
    pub(crate) fsync: Option<String>,
    /// For how long it still abstains, by what it keeps.
    pub(crate) left: Duration,
    pub(crate) cause: AbstentionCause,
    pub(crate) fingerprint: Option<String>,
    pub(crate) text: Option<String>,
    /// While a change is not finished: what was before.
    pub(crate) text_before: Option<String>,
    pub(crate) counter: u64,
}

/// The counters of a node, by their numbers.
pub(crate) type CounterValues = Vec<u64>;

/// What a node did with a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeChange<T> {
    Done(T),
    /// Nothing: it is of this configuration.
    Other(String),
}

/// What became of a node that was to vote for a new configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// It votes after this.
    Votes(Duration),
    /// It does not vote for anybody; after this it can be told to.
    Waits(Duration),
}

/// What a node is told at the end of a change.
#[derive(Clone, Debug)]
pub(crate) struct Settlement {
    pub(crate) mark: String,
    pub(crate) fingerprint: String,
    pub(crate) text: String,
    pub(crate) quarantine: Duration,
    /// Whether clients ask the node for how long it abstains.
    pub(crate) is_guarded: bool,
    pub(crate) counters: CounterValues,
}

impl AdminClient {
    /// Connects. The error is a fragment for people, without the password.
    pub(crate) async fn visit(url: RedisUrl, node_key: String) -> Result<Self, String> {
        let visit = search::visit(&url).await?;
        Ok(Self {
            stream: visit.stream,
            received: visit.received,
            failover: visit.failover,
            was_told: false,
            owes: false,
            node_key,
            limit: LIMIT,
            is_proxied: visit.manners == Manners::Bare,
        })
    }

    /// Looks, and changes nothing. Whether locks can be kept here is judged as clients with this `guard` and `quarantine` do.
    pub(crate) async fn look(
        &mut self,
        guard: RestartGuard,
        quarantine: &str,
    ) -> Result<Look, String> {
        let is_guarded = guard != RestartGuard::Off;
        let is_durable = match guard {
            RestartGuard::TrustAof => Some(self.is_durable().await),
            _ => None,
        };
        let read = |frame: &Frame<'_>| look(frame, is_guarded, is_durable.as_ref());
        let mut look = self.call(SURVEY, &[quarantine], read).await?;
        if !self.is_proxied {
            // Who may not ask this still learns the rest.
            let asked = self.ask(&[b"CONFIG", b"GET", b"appendfsync"], fsync).await;
            look.fsync = asked.ok().filter(|_| look.has_log == Some(true));
        }
        Ok(look)
    }

    /// Lets the node vote at once. Tells why and for how long it would not have.
    pub(crate) async fn admit(
        &mut self,
        fingerprint: &str,
        text: &str,
        guard: &str,
    ) -> Result<NodeChange<(AbstentionCause, Duration)>, String> {
        self.is_alone()?;
        let failover = self.failover.map(|number| number.to_string());
        let mut words = vec![fingerprint, text, guard];
        words.extend(failover.as_deref());
        self.call(ADMIT, &words, |frame| match frame {
            Frame::List(parts) => match &parts[..] {
                [Frame::Integer(1), why, Frame::Integer(left)] => Some(NodeChange::Done((
                    cause(text_of(why).as_deref()),
                    millis(*left)?,
                ))),
                _ => other(parts),
            },
            _ => None,
        })
        .await
    }

    /// Marks a node, so that it votes for nobody, if it is still as it was `seen`.
    pub(crate) async fn block(
        &mut self,
        seen: &str,
        mark: &str,
        text: &str,
        text_before: &str,
    ) -> Result<NodeChange<CounterValues>, String> {
        self.mark(BLOCK, &[seen, mark, text, text_before]).await
    }

    /// Has a node vote on for the list of nodes that follows its own, if it is still as it was `seen`.
    pub(crate) async fn succeed(
        &mut self,
        seen: &str,
        fingerprint: &str,
        text: &str,
    ) -> Result<NodeChange<CounterValues>, String> {
        self.mark(SUCCEED, &[seen, fingerprint, text]).await
    }

    /// Writes down on a node what ends the votes for the configuration of before.
    async fn mark(
        &mut self,
        script: &'static str,
        arguments: &[&str],
    ) -> Result<NodeChange<CounterValues>, String> {
        self.is_alone()?;
        // Argument S9: a disk that is not known to keep the mark does not. The node says whether that matters.
        let told = self.is_durable().await;
        let disk = match told {
            Ok(true) => Disk::Trusted,
            Ok(false) | Err(_) => Disk::Distrusted,
        };
        let arguments = [arguments, &[flag(disk)]].concat();
        let marked = self.call(script, &arguments, |frame| match frame {
            Frame::List(parts) => match &parts[..] {
                [Frame::Integer(1), Frame::List(found)] => Some(NodeChange::Done(
                    found.iter().map(number).collect::<Option<_>>()?,
                )),
                _ => other(parts),
            },
            _ => None,
        });
        match (marked.await, told) {
            (Err(why), Err(not_told)) if why == UNDURABLE => Err(not_told),
            (marked, _) => marked,
        }
    }

    /// Ends the change of a node that carries the mark.
    pub(crate) async fn settle(
        &mut self,
        settlement: &Settlement,
    ) -> Result<NodeChange<Settled>, String> {
        self.is_alone()?;
        let quarantine = settlement.quarantine.as_millis().to_string();
        let mut arguments = vec![
            settlement.mark.clone(),
            settlement.fingerprint.clone(),
            settlement.text.clone(),
            quarantine,
            u8::from(settlement.is_guarded).to_string(),
        ];
        let counters = settlement.counters.iter().enumerate();
        for (number, counter) in counters.filter(|(_, counter)| **counter > 0) {
            arguments.extend([number.to_string(), counter.to_string()]);
        }
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        self.call(SETTLE, &arguments, |frame| match frame {
            Frame::List(parts) => match &parts[..] {
                [Frame::Integer(1), Frame::Integer(left)] => {
                    Some(NodeChange::Done(Settled::Votes(millis(*left)?)))
                }
                [Frame::Integer(0), Frame::Integer(left)] => {
                    Some(NodeChange::Done(Settled::Waits(millis(*left)?)))
                }
                _ => other(parts),
            },
            _ => None,
        })
        .await
    }

    async fn call<T>(
        &mut self,
        script: &str,
        arguments: &[&str],
        read: impl Fn(&Frame<'_>) -> Option<T>,
    ) -> Result<T, String> {
        let key = self.node_key.clone();
        let mut parts = vec![&b"EVAL"[..], script.as_bytes(), b"1", key.as_bytes()];
        parts.extend(arguments.iter().map(|argument| argument.as_bytes()));
        self.ask(&parts, read).await
    }

    async fn ask<T>(
        &mut self,
        parts: &[&[u8]],
        read: impl Fn(&Frame<'_>) -> Option<T>,
    ) -> Result<T, String> {
        let read = |frame: &Frame<'_>| match frame {
            Frame::Error(error) => Err(explain(error)),
            frame => read(frame).ok_or_else(|| ODD.to_owned()),
        };
        let mut answers = self.ask_all(&[parts], read).await?;
        answers.pop().expect("there is an answer to each question")
    }

    /// Asks all of it in one round trip. Tells of each whether the node refused it, and why.
    async fn ask_in_one_write(
        &mut self,
        questions: &[&[&[u8]]],
    ) -> Result<Vec<Result<(), String>>, String> {
        let read = |frame: &Frame<'_>| match frame {
            Frame::Error(error) => Err(explain(error)),
            _ => Ok(()),
        };
        self.ask_all(questions, read).await
    }

    /// What `read` makes of the answers, one to each question.
    ///
    /// If they did not all come in time, or nobody waited for them, nothing more is asked on this connection: a late answer
    /// would be taken for that to the next question.
    async fn ask_all<T>(
        &mut self,
        questions: &[&[&[u8]]],
        read: impl Fn(&Frame<'_>) -> T,
    ) -> Result<Vec<T>, String> {
        if self.owes {
            return Err("the node has not answered an earlier question".to_owned());
        }
        let mut wire = Vec::new();
        for parts in questions {
            codec::encode(&mut wire, parts);
        }
        self.owes = true;
        let (stream, received, was_told) =
            (&mut self.stream, &mut self.received, &mut self.was_told);
        let answers = async {
            send(stream, &wire).await?;
            let mut told = Vec::new();
            for _ in questions {
                told.push(hear_beside(stream, received, was_told, &read).await?);
            }
            Ok::<_, String>(told)
        };
        let answers = timeout(self.limit, answers).await;
        let told = answers.map_err(|_| unanswered(self.limit))??;
        self.owes = false;
        Ok(told)
    }
}

fn unanswered(limit: Duration) -> String {
    format!("the node did not answer within {limit:?}")
}

fn explain(error: &[u8]) -> String {
    let error = words(error);
    if error.starts_with("READONLY") {
        return "is a replica, and locks need a master".to_owned();
    }
    if error.starts_with("UNDURABLE") {
        return UNDURABLE.to_owned();
    }
    if error.contains("WRONGTYPE") {
        return "has another program's key under the name of the node's own; choose another namespace"
            .to_owned();
    }
    error
}

/// Of the answer of `survey.lua`. `is_durable` is whether the node's settings are those of a disk that is trusted, or why that
/// was not told; none if nobody trusts it.
fn look(
    frame: &Frame<'_>,
    is_guarded: bool,
    is_durable: Option<&Result<bool, String>>,
) -> Option<Look> {
    let Frame::List(parts) = frame else {
        return None;
    };
    let [
        info,
        id,
        until,
        why,
        cfg,
        about,
        was,
        Frame::Integer(now),
        counter,
        logged,
    ] = &parts[..]
    else {
        return None;
    };
    let node = NodeInfo::of(text_of(info)?);
    let said = |name| clean(node.says(name).unwrap_or_default().to_owned());
    let until: u64 = match text_of(until) {
        Some(until) => until.parse().ok()?,
        None => 0,
    };
    let version = match said("valkey_version") {
        version if version.is_empty() => format!("Redis {}", said("redis_version")),
        version => format!("Valkey {version}"),
    };
    let suits = node.suits(is_guarded, is_durable == Some(&Ok(true)));
    let lost = is_durable.and_then(|told| match told {
        Ok(is_durable) => lost_log(&node, *is_durable, text_of(logged).as_deref()),
        Err(not_told) => Some(not_told.clone()),
    });
    Some(Look {
        unsuitable: suits.err().or(lost),
        identity: format!("{}/{}", said("run_id"), said("master_replid")),
        vouched: text_of(id),
        version,
        role: said("role"),
        has_log: node.says("aof_enabled").map(|enabled| enabled == "1"),
        fsync: None,
        left: Duration::from_millis(until.saturating_sub(u64::try_from(*now).ok()?)),
        cause: cause(text_of(why).as_deref()),
        fingerprint: text_of(cfg),
        text: text_of(about).map(clean),
        text_before: text_of(was).map(clean).filter(|text| !text.is_empty()),
        counter: number(counter)?,
    })
}

fn fsync(frame: &Frame<'_>) -> Option<String> {
    match frame {
        Frame::List(parts) => parts.get(1).and_then(text_of),
        _ => None,
    }
}

fn other<T>(parts: &[Frame<'_>]) -> Option<NodeChange<T>> {
    match parts {
        [Frame::Integer(-2), cfg, text @ ..] => {
            let known = text.first().and_then(text_of).or_else(|| text_of(cfg));
            Some(NodeChange::Other(
                known.map_or_else(|| "none".to_owned(), clean),
            ))
        }
        _ => None,
    }
}

fn cause(why: Option<&str>) -> AbstentionCause {
    match why {
        Some("changed") => AbstentionCause::Changed,
        Some("evicted") => AbstentionCause::Evicted,
        Some("reconfigured" | "unfinished") => AbstentionCause::Reconfigured,
        _ => AbstentionCause::Empty,
    }
}

fn text_of(frame: &Frame<'_>) -> Option<String> {
    match frame {
        Frame::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

/// In one line, whatever the node made of it.
fn clean(text: String) -> String {
    match text.contains(char::is_control) {
        true => text.replace(char::is_control, " "),
        false => text,
    }
}

fn number(frame: &Frame<'_>) -> Option<u64> {
    text_of(frame)?.parse().ok()
}

fn millis(millis: i64) -> Option<Duration> {
    u64::try_from(millis).ok().map(Duration::from_millis)
}

const UNDURABLE: &str = "does not write every change to its disk before it answers, as restart guard trust-aof relies on, and \
                         would come back with the old configuration; CONFIG SET appendonly yes, appendfsync always and \
                         no-appendfsync-on-rewrite no, and wait until the log has been rewritten";

const NOT_WHOLE: &str = "does not vote, since its append-only file was off, and is not written yet; it votes when it is";

const ODD: &str = "gave an answer that our scripts never give";

const LIMIT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_whose_disk_is_trusted_votes_when_it_has_a_whole_log() {
        let lost = |info: &str, is_durable, logged: Option<&str>| {
            let info = info.replace(' ', "\r\n");
            lost_log(&NodeInfo::of(info), is_durable, logged)
        };
        let whole = "aof_enabled:1 aof_rewrite_in_progress:0 aof_rewrite_scheduled:0 ";
        // After a flush it does not know that it ever had one.
        for logged in [Some("1"), Some("lost"), Some("0"), None] {
            assert_eq!(lost(whole, true, logged), None);
            for (info, is_durable) in [(whole, false), ("aof_enabled:0 ", true)] {
                let why = lost(info, is_durable, logged).expect("it has none");
                assert!(why.contains("CONFIG SET appendonly yes"), "{why}");
            }
        }
        let unfinished = whole.replace("progress:0", "progress:1");
        assert_eq!(lost(&unfinished, true, None), Some(NOT_WHOLE.to_owned()));
        assert_eq!(lost(&unfinished, true, Some("1")), None);
    }

    #[test]
    fn what_no_script_of_ours_says_is_not_understood() {
        let texts = [&b"x"[..], b"", b"-1", b"18446744073709551616"];
        for text in texts {
            assert_eq!(number(&Frame::Text(text)), None);
        }
        assert!(look(&Frame::List(vec![Frame::Null]), false, None).is_none());
        assert!(look(&Frame::Null, false, None).is_none());
        assert_eq!(other::<()>(&[Frame::Integer(3)]), None);
        let none = NodeChange::<()>::Other("none".to_owned());
        assert_eq!(other(&[Frame::Integer(-2), Frame::Null]), Some(none));
    }
}
