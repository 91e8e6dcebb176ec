//! From a node's address to the server that it is.

use super::{
    codec::ReceiveBuffer,
    connection::Connection,
    failover::SentinelWatch,
    handshake::{self, Manners},
    scripts::Encoder,
    socket::{Named, Stream, Target},
    talk::Halt,
    url::{Endpoint, RedisUrl},
};
use crate::clock::Clock;

/// Goes to the node, for locks. The error is a fragment for people, without the password.
pub(super) async fn dial(
    url: RedisUrl,
    encoder: Encoder,
    clock: Clock,
) -> Result<Connection, String> {
    let (target, watch) = find(&url, clock).await?;
    match handshake::meet(&target, &encoder).await {
        Ok(opened) => {
            let connection = Connection::new(opened, encoder);
            Ok(match watch {
                Some(watch) => connection.watched(watch),
                None => connection,
            })
        }
        Err(halt) => Err(refusal(halt, watch)),
    }
}

/// A connection for somebody who does not come for locks.
pub(super) struct VisitingConnection {
    pub(super) stream: Stream,
    pub(super) received: ReceiveBuffer,
    /// In how many words it was introduced.
    pub(super) manners: Manners,
    /// By which failover the server is the master, if sentinels say so.
    pub(super) failover: Option<u64>,
}

/// Goes to the node, for somebody who does not come for locks.
pub(super) async fn visit(url: &RedisUrl) -> Result<VisitingConnection, String> {
    let (target, watch) = find(url, Clock::system()).await?;
    let visit = handshake::visit(&target).await;
    let (stream, received, manners) = visit.map_err(|halt| refusal(halt, watch))?;
    Ok(VisitingConnection {
        stream,
        received,
        manners,
        failover: target.named.and_then(|named| named.failover),
    })
}

/// Where the node is now, and who goes on asking for that.
async fn find(url: &RedisUrl, clock: Clock) -> Result<(Target, Option<SentinelWatch>), String> {
    let Endpoint::Named(sentinels) = &url.place else {
        let target = Target {
            url: url.clone(),
            named: None,
        };
        return Ok((target, None));
    };
    let mut watch = SentinelWatch::begin(sentinels, clock);
    let (host, port) = watch.find().await?;
    let place = Endpoint::Tcp {
        host,
        port,
        tls: sentinels.server_tls.clone(),
    };
    let url = RedisUrl {
        place,
        ..url.clone()
    };
    let named = Some(Named {
        failover: watch.failover(),
    });
    Ok((Target { url, named }, Some(watch)))
}

/// Why the server could not be used, with whose word it is that it is the node.
fn refusal(halt: Halt, watch: Option<SentinelWatch>) -> String {
    let reason = String::from(halt);
    watch.map_or_else(|| reason.clone(), |watch| watch.refused(&reason))
}
