//! From a node's address to the servers that it may be at.

use super::{
    codec::{self, Frame, Inbox},
    connection::Connection,
    failover,
    handshake::{self, Manners},
    reply::words,
    scripts::Encoder,
    sentinel::{self, Address},
    socket::Stream,
    talk::{Halt, hear, send},
    url::{Place, RedisUrl, Sentinels, host_port},
};

/// Goes to the node, for locks. The error is a fragment for people, without the password.
pub(super) async fn dial(url: RedisUrl, encoder: Encoder) -> Result<Connection, String> {
    let mut search = Search::new(&url);
    while let Some(target) = search.next().await {
        match handshake::meet(&target, &encoder).await {
            Ok(connection) => {
                return Ok(match (&url.place, target.told) {
                    (Place::Named(sentinels), Some(told)) => {
                        connection.until(Box::pin(failover::notice(sentinels.clone(), told)))
                    }
                    _ => connection,
                });
            }
            Err(halt) => search.failed(target, halt.into()),
        }
    }
    Err(search.reasons())
}

/// Goes to the node, for somebody who does not come for locks.
pub(super) async fn visit(url: &RedisUrl) -> Result<(Stream, Inbox), String> {
    let mut search = Search::new(url);
    while let Some(target) = search.next().await {
        match handshake::log_in(&target, Manners::Visit).await {
            Ok(visit) => return Ok(visit),
            Err(halt) => search.failed(target, halt.into()),
        }
    }
    Err(search.reasons())
}

/// Asks a server that somebody else named as a master whether it is one: a sentinel may have missed that it is
/// none any more, and to a plain lock nothing else would tell.
pub(super) async fn confirm(stream: &mut Stream, inbox: &mut Inbox) -> Result<(), Halt> {
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
    Ok(hear(stream, inbox, role).await??)
}

/// Goes through the servers that a node may be at. For most addresses there is just one.
struct Search<'a> {
    url: &'a RedisUrl,
    /// Who is asked next.
    turn: usize,
    failed: Vec<Address>,
    reasons: Vec<String>,
}

/// A server to be tried.
pub(super) struct Target {
    pub(super) url: RedisUrl,
    /// By whose word it is the node; none if by its own address.
    pub(super) told: Option<Told>,
}

/// What a sentinel has told.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// Which in the list.
    pub(super) by: usize,
    pub(super) address: Address,
}

impl<'a> Search<'a> {
    const fn new(url: &'a RedisUrl) -> Self {
        Self {
            url,
            turn: 0,
            failed: Vec::new(),
            reasons: Vec::new(),
        }
    }

    /// The next server to be tried, if there is one.
    ///
    /// A sentinel that knows nothing, or names what cannot be used, is no reason to give up: it may be cut off
    /// from the others and have missed a failover.
    async fn next(&mut self) -> Option<Target> {
        let url = self.url;
        let Place::Named(sentinels) = &url.place else {
            let target = (self.turn == 0).then(|| Target {
                url: url.clone(),
                told: None,
            });
            self.turn = 1;
            return target;
        };
        while self.turn < sentinels.hosts.len() {
            let by = self.turn;
            self.turn += 1;
            let name = sentinels.name(by);
            match sentinel::ask(sentinels, by).await {
                Ok(address) if self.failed.contains(&address) => {
                    self.reasons.push(format!("sentinel {name} names it too"));
                }
                Ok(address) => {
                    let (host, port) = address.clone();
                    return Some(Target {
                        url: RedisUrl {
                            place: Place::Tcp {
                                host,
                                port,
                                tls: sentinels.tls.clone(),
                            },
                            ..url.clone()
                        },
                        told: Some(Told { by, address }),
                    });
                }
                Err(reason) => self.reasons.push(format!("sentinel {name}: {reason}")),
            }
        }
        None
    }

    /// The server could not be used, for this reason.
    fn failed(&mut self, target: Target, reason: String) {
        let reason = match (target.told, &self.url.place) {
            (Some(Told { by, address }), Place::Named(sentinels)) => {
                let (host, port) = &address;
                let place = host_port(host, *port);
                self.failed.push(address);
                format!("sentinel {} names {place}: {reason}", sentinels.name(by))
            }
            _ => reason,
        };
        self.reasons.push(reason);
    }

    /// Why none of them was the node.
    fn reasons(self) -> String {
        let reasons = self.reasons.join("; ");
        match &self.url.place {
            Place::Named(Sentinels { master, .. }) => {
                format!("no master \"{master}\" to be found: {reasons}")
            }
            _ => reasons,
        }
    }
}
