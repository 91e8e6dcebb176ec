//! From a node's address to the server that it is.

use super::{
    codec::{self, Frame, Inbox},
    connection::Connection,
    failover::Watch,
    handshake::{self, Manners},
    reply::words,
    scripts::Encoder,
    socket::Stream,
    talk::{Halt, hear, send},
    url::{Place, RedisUrl},
};
use crate::clock::Clock;

/// Goes to the node, for locks. The error is a fragment for people, without the password.
pub(super) async fn dial(
    url: RedisUrl,
    encoder: Encoder,
    clock: Clock,
) -> Result<Connection, String> {
    let (target, watch) = find(&url, clock).await?;
    let met = handshake::meet(&target, &encoder).await;
    match (met, watch) {
        (Ok(connection), Some(watch)) => Ok(connection.watched(watch)),
        (Ok(connection), None) => Ok(connection),
        (Err(halt), watch) => Err(refusal(halt, watch)),
    }
}

/// Goes to the node, for somebody who does not come for locks.
pub(super) async fn visit(url: &RedisUrl) -> Result<(Stream, Inbox), String> {
    let (target, watch) = find(url, Clock::system()).await?;
    let visit = handshake::log_in(&target, Manners::Visit).await;
    visit.map_err(|halt| refusal(halt, watch))
}

/// Where the node is now, and who goes on asking for that.
async fn find(url: &RedisUrl, clock: Clock) -> Result<(Target, Option<Watch>), String> {
    let Place::Named(sentinels) = &url.place else {
        let target = Target {
            url: url.clone(),
            is_named: false,
        };
        return Ok((target, None));
    };
    let mut watch = Watch::begin(sentinels, clock);
    let (host, port) = watch.find().await?;
    let place = Place::Tcp {
        host,
        port,
        tls: sentinels.tls.clone(),
    };
    let url = RedisUrl {
        place,
        ..url.clone()
    };
    let is_named = true;
    Ok((Target { url, is_named }, Some(watch)))
}

/// Why the server could not be used, with whose word it is that it is the node.
fn refusal(halt: Halt, watch: Option<Watch>) -> String {
    let reason = String::from(halt);
    watch.map_or_else(|| reason.clone(), |watch| watch.refused(&reason))
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

/// A server to be tried.
pub(super) struct Target {
    pub(super) url: RedisUrl,
    /// Whether it is the node by the word of sentinels, and not by its own address.
    pub(super) is_named: bool,
}
