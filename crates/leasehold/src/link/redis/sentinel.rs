//! A talk with one sentinel.

use super::{
    codec::{self, Frame, ReceiveBuffer},
    handshake::{Manners, log_in},
    reply::words,
    socket::{Stream, Target},
    talk::{Halt, hear, send},
    url::{Endpoint, RedisUrl, Sentinels},
};
use leasehold_core::{Identity, discovery::Naming};
use std::time::Duration;
use tokio::time::timeout;

/// A connection to a sentinel.
pub(super) struct Sentinel {
    stream: Stream,
    received: ReceiveBuffer,
    /// Which sentinel it is, whatever its address; none if it does not tell.
    id: Option<Identity>,
}

/// Where a master is, as a sentinel says.
pub(super) type Address = (String, u16);

impl Sentinel {
    /// Connects and logs in. The error is a fragment for people, without the password.
    pub(super) async fn meet(sentinels: &Sentinels, turn: usize) -> Result<Self, String> {
        let (host, port) = sentinels.hosts.get(turn).ok_or("is not in the list")?;
        let target = Target {
            url: RedisUrl {
                place: Endpoint::Tcp {
                    host: host.clone(),
                    port: *port,
                    tls: sentinels.tls.clone(),
                },
                login: sentinels.login.clone(),
                database: 0,
            },
            named: None,
        };
        // They know few commands.
        let talk = within(log_in(&target, Manners::Bare)).await;
        let talk = talk.and_then(|talk| talk.map_err(String::from));
        let told = |reason: String| way_in(&reason, sentinels.tls.is_some()).unwrap_or(reason);
        let (mut stream, mut received) = talk.map_err(told)?;
        let mut wire = Vec::new();
        codec::encode(&mut wire, &[b"SENTINEL", b"MYID"]);
        let answer = async {
            send(&mut stream, &wire).await?;
            hear(&mut stream, &mut received, id).await
        };
        let id = within(answer).await?.map_err(String::from)?;
        Ok(Self {
            stream,
            received,
            id,
        })
    }

    /// Asks where the master of this name is, and by which failover it came to be that.
    pub(super) async fn ask(&mut self, master: &str) -> Result<Word, String> {
        let mut wire = Vec::new();
        let name = master.as_bytes();
        // The epoch before the address, so that a failover between the two makes the epoch too small and not too
        // large. The facts have an address too, which is the old one while a failover is being carried out.
        codec::encode(&mut wire, &[b"SENTINEL", b"MASTER", name]);
        codec::encode(&mut wire, &[b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", name]);
        let answer = async {
            send(&mut self.stream, &wire).await?;
            let (stream, received) = (&mut self.stream, &mut self.received);
            let epoch = hear(stream, received, epoch).await?;
            let address = hear(stream, received, |frame| {
                failure(frame).map_or_else(|| Ok(address(frame)), Err)
            });
            Ok::<_, Halt>((epoch, address.await?))
        };
        let by = self.id.clone();
        let (epoch, address) = within(answer).await?.map_err(String::from)?;
        match (address?, epoch) {
            (SentinelReply::Unknown, _) => Ok(Word::NoMaster(self.unknown(master).await)),
            (SentinelReply::This(server), Ok(Some(epoch))) => {
                Ok(Word::Named(Naming { server, epoch, by }))
            }
            (SentinelReply::This(_), Err(words)) => Err(format!(
                "does not tell of the last failover (+sentinel|master): {words}"
            )),
            (SentinelReply::This(_), Ok(None)) | (SentinelReply::Odd, _) => {
                Err("gave an answer that sentinels never give".to_owned())
            }
        }
    }

    /// That it knows no such master, and which it does know if it tells.
    async fn unknown(&mut self, master: &str) -> String {
        let known = self.say(&[b"SENTINEL", b"MASTERS"], names).await;
        let known = known.unwrap_or_default();
        match known.len() {
            0 => format!("knows no master \"{master}\""),
            _ => format!(
                "knows no master \"{master}\", only {}",
                words(known.join(", ").as_bytes())
            ),
        }
    }

    async fn say<T>(
        &mut self,
        parts: &[&[u8]],
        read: impl Fn(&Frame<'_>) -> T,
    ) -> Result<T, String> {
        let mut wire = Vec::new();
        codec::encode(&mut wire, parts);
        let read = |frame: &Frame<'_>| failure(frame).map_or_else(|| Ok(read(frame)), Err);
        let answer = async {
            send(&mut self.stream, &wire).await?;
            hear(&mut self.stream, &mut self.received, read).await
        };
        within(answer).await?.map_err(String::from)?
    }
}

/// Why a sentinel does not let us in, with the option of the address that is about it; none if no option is.
fn way_in(reason: &str, is_tls: bool) -> Option<String> {
    let (what, option) = match is_tls {
        _ if reason.starts_with("needs a password") => (
            "needs a password",
            "of its own, as sentinel_password=… in the address: that of the server is not used for sentinels",
        ),
        _ if reason.starts_with("authentication failed") => (
            "authentication failed",
            "with sentinel_user and sentinel_password of the address, which are the sentinels' own",
        ),
        true if reason.starts_with("TLS failed") => (
            "TLS failed",
            "(sentinel_ca=… in the address if another authority has signed for the sentinels, sentinel_tls=no if they \
             speak none)",
        ),
        // A sentinel without TLS waits for the end of what is no command.
        true if reason.starts_with("did not answer") || reason.starts_with("TLS took") => {
            return Some(format!(
                "{reason} (sentinel_tls=no in the address if it speaks no TLS)"
            ));
        }
        // One with TLS alone hangs up at what is none.
        false if HUNG_UP.iter().any(|words| reason.ends_with(words)) => {
            return Some(format!(
                "{reason} (sentinel_tls=yes in the address if it wants TLS)"
            ));
        }
        _ => return None,
    };
    let rest = reason.strip_prefix(what)?;
    Some(format!("{what} {option}{rest}"))
}

/// What a sentinel says when it is asked for a master.
pub(super) enum Word {
    Named(Naming<Address>),
    /// It knows no master of this name; which it knows, for people.
    NoMaster(String),
}

/// What a sentinel says about the address of a master.
#[derive(Debug, PartialEq)]
enum SentinelReply {
    This(Address),
    Unknown,
    Odd,
}

/// The error in an answer, as a fragment for people.
fn failure(frame: &Frame<'_>) -> Option<String> {
    match frame {
        // A server that is no sentinel does not know the command, and repeats it.
        Frame::Error(error) if error.starts_with(b"ERR unknown command") => {
            Some("is no sentinel".to_owned())
        }
        Frame::Error(error) => Some(words(error)),
        _ => None,
    }
}

/// Which sentinel it is; none if it does not say.
fn id(frame: &Frame<'_>) -> Option<Identity> {
    match frame {
        Frame::Text(id) => str::from_utf8(id).ok().map(Identity::new),
        _ => None,
    }
}

/// The number of the failover that made the master what it is, among the facts about it.
fn epoch(frame: &Frame<'_>) -> Result<Option<u64>, String> {
    let facts = match frame {
        Frame::List(facts) => facts,
        frame => return failure(frame).map_or(Ok(None), Err),
    };
    let epoch = facts.chunks(2).find_map(|fact| match fact {
        [Frame::Text(b"config-epoch"), Frame::Text(epoch)] => Some(*epoch),
        _ => None,
    });
    Ok(epoch.and_then(|epoch| str::from_utf8(epoch).ok()?.parse().ok()))
}

fn address(frame: &Frame<'_>) -> SentinelReply {
    let parts = match frame {
        Frame::Null => return SentinelReply::Unknown,
        Frame::List(parts) => parts,
        _ => return SentinelReply::Odd,
    };
    let [Frame::Text(host), Frame::Text(port)] = parts[..] else {
        return SentinelReply::Odd;
    };
    let port = str::from_utf8(port)
        .ok()
        .and_then(|port| port.parse().ok())
        .filter(|port| *port != 0);
    match (str::from_utf8(host), port) {
        (Ok(host), Some(port)) if !host.is_empty() && !host.contains(char::is_control) => {
            SentinelReply::This((host.to_owned(), port))
        }
        _ => SentinelReply::Odd,
    }
}

fn names(frame: &Frame<'_>) -> Vec<String> {
    let Frame::List(masters) = frame else {
        return Vec::new();
    };
    let name = |master: &Frame<'_>| match master {
        Frame::List(facts) => facts.chunks(2).find_map(|fact| match fact {
            [Frame::Text(b"name"), Frame::Text(name)] => {
                Some(format!("\"{}\"", String::from_utf8_lossy(name)))
            }
            _ => None,
        }),
        _ => None,
    };
    masters.iter().filter_map(name).collect()
}

async fn within<T>(what: impl Future<Output = T>) -> Result<T, String> {
    let limited = timeout(LIMIT, what).await;
    limited.map_err(|_| format!("did not answer within {LIMIT:?}"))
}

/// What is said of a connection that ended where an answer was due.
const HUNG_UP: [&str; 2] = ["closed the connection", "connection reset"];

/// Shorter than a server gets: there is another to ask.
const LIMIT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn list<'a>(parts: &[&'a str]) -> Frame<'a> {
        let parts = parts.iter().map(|part| Frame::Text(part.as_bytes()));
        Frame::List(parts.collect())
    }

    #[test]
    fn a_master_is_somewhere_or_unknown_and_anything_else_is_odd() {
        let found = |host: &str, port| SentinelReply::This((host.to_owned(), port));
        assert_eq!(
            address(&list(&["10.0.0.1", "6380"])),
            found("10.0.0.1", 6380)
        );
        assert_eq!(address(&list(&["::1", "1"])), found("::1", 1));
        assert_eq!(address(&Frame::Null), SentinelReply::Unknown);
        for odd in [
            &["", "1"][..],
            &["h", "0"],
            &["h", "70000"],
            &["h\n", "1"],
            &["h"],
        ] {
            assert_eq!(address(&list(odd)), SentinelReply::Odd, "{odd:?}");
        }
        assert_eq!(address(&Frame::Integer(1)), SentinelReply::Odd);
    }

    #[test]
    fn the_epoch_is_read_from_the_facts_about_the_master() {
        let told = |parts: &[&str]| epoch(&list(parts));
        assert_eq!(
            told(&["name", "config-epoch", "config-epoch", "7"]),
            Ok(Some(7))
        );
        assert_eq!(told(&["name", "m", "config-epoch", "soon"]), Ok(None));
        assert_eq!(told(&["name", "m"]), Ok(None));
        assert_eq!(epoch(&Frame::Null), Ok(None));
        let refused = epoch(&Frame::Error(b"NOPERM no"));
        assert_eq!(refused, Err("NOPERM no".to_owned()));
    }

    #[test]
    fn the_masters_that_a_sentinel_knows_are_read_from_its_facts() {
        let masters = Frame::List(vec![
            list(&["name", "cache", "ip", "name"]),
            list(&["ip", "h", "name", "locks"]),
            Frame::Null,
        ]);
        assert_eq!(names(&masters), ["\"cache\"", "\"locks\""]);
        assert!(names(&Frame::Null).is_empty());
    }

    #[test]
    fn an_option_is_named_where_it_may_help() {
        let slow = "did not answer within 1s";
        let named = way_in(slow, true).expect("it may speak no TLS");
        assert!(named.contains("sentinel_tls=no"), "{named}");
        assert_eq!(way_in(slow, false), None);
        assert_eq!(way_in("refused the connection", true), None);
    }
}
