//! Noticing that another server has become the master.
//!
//! A connection does not tell. A master that hangs keeps its connections, and requests in it have no time limit;
//! one that is cut off from its sentinels, or is replaced on purpose, goes on answering for a while. Whatever it
//! answers then is lost with it. So the sentinels are asked, once in a while, for as long as a connection lasts.

use super::{
    search::Told,
    sentinel::{self, Sentinel},
    url::Sentinels,
};
use std::{pin::Pin, time::Duration};
use tokio::time::sleep;

/// Ready, with a fragment for people, when another server is the master.
pub(super) type Failover = Pin<Box<dyn Future<Output = String> + Send>>;

/// Waits until a sentinel that had named the server named another one.
///
/// Of a sentinel that never named it nothing follows: it may be the one that is behind the times.
pub(super) async fn notice(sentinels: Sentinels, told: Told) -> String {
    let mut has_named = vec![false; sentinels.hosts.len()];
    // All are heard once, so that any of them can tell later: the one that is asked may go down with the master.
    for (turn, has_named) in has_named.iter_mut().enumerate() {
        let named = |address| address == told.address;
        *has_named = turn == told.by || sentinel::ask(&sentinels, turn).await.is_ok_and(named);
    }
    let mut turn = told.by;
    loop {
        if let Ok(mut sentinel) = Sentinel::meet(&sentinels, turn).await {
            while let Ok(address) = sentinel.ask(&sentinels.master).await {
                if address == told.address {
                    has_named[turn] = true;
                } else if has_named[turn] {
                    return format!(
                        "sentinel {} names another server as the master \"{}\" now",
                        sentinels.name(turn),
                        sentinels.master
                    );
                } else {
                    break;
                }
                sleep(PERIOD).await;
            }
        }
        turn = (turn + 1) % sentinels.hosts.len();
        sleep(PERIOD).await;
    }
}

const PERIOD: Duration = Duration::from_secs(1);
