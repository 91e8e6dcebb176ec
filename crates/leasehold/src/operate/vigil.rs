//! The wait for a lock to be free, by somebody who does not want it.

use super::listing::key;
use crate::{
    builder::{Operated, Spot},
    clock::Clock,
    configuration::Configuration,
    error::NodeFault,
    inspection::{Inspection, Key, NodeKey},
    link::redis::{RedisUrl, steward::Steward},
};
use leasehold_core::Resource;
use std::{sync::Weak, time::Duration};
use tokio::{
    sync::mpsc::{UnboundedSender, unbounded_channel},
    task::JoinSet,
    time::{sleep, timeout},
};

/// What a node had when it was looked at, by the node's number.
type Seen = UnboundedSender<(usize, Result<Key, String>)>;

/// Looks until a quorum has nothing under the name, or nobody waits for it any more.
pub(super) async fn until_free(
    operated: Operated,
    resource: Resource,
    limit: Option<Duration>,
    is_waited_for: Weak<()>,
) -> Inspection {
    let clock = Clock::system();
    let end = limit.map(|limit| clock.now().saturating_add(limit));
    let (names, spots): (Vec<_>, Vec<_>) = operated.nodes.into_iter().unzip();
    let nodes = names.into_iter().map(|node| NodeKey {
        key: Key::Unknown(NodeFault::down(node.clone(), "it has not answered yet")),
        node,
    });
    let mut seen = Inspection::of(resource.clone(), operated.quorum, nodes.collect());
    let (tell, mut told) = unbounded_channel();
    // Ends with this function, whatever its tasks are waiting for.
    let mut sentries = JoinSet::new();
    for (number, spot) in spots.into_iter().enumerate() {
        let sentry = Sentry {
            number,
            tell: tell.clone(),
            configuration: operated.configuration.clone(),
            resource: resource.clone(),
        };
        sentries.spawn(sentry.stand(spot));
    }
    let mut known = clock.now();
    loop {
        let now = clock.now();
        if seen.is_unclear() {
            let dark = now.saturating_since(known);
            if dark >= DARK_FOR {
                return seen;
            }
        } else {
            known = now;
        }
        // However short the limit is, the nodes get their time to say a first word.
        let is_heard = !seen.is_unclear() || now.saturating_since(known) >= FIRST_WORD;
        let is_alone = is_waited_for.strong_count() == 0;
        if seen.is_free() || is_alone || is_heard && end.is_some_and(|end| end <= now) {
            return seen;
        }
        let left = end.map_or(DARK_FOR, |end| end.saturating_since(now));
        // Woken in time to notice that nobody has answered.
        let rest = left.min(DARK_FOR).max(Duration::from_millis(1));
        if let Ok(Some((number, key))) = timeout(rest, told.recv()).await {
            seen.note(number, key);
        }
    }
}

/// Stands before one node.
struct Sentry {
    number: usize,
    tell: Seen,
    configuration: Configuration,
    resource: Resource,
}

impl Sentry {
    async fn stand(self, spot: Spot) {
        match spot {
            Spot::Elsewhere => {
                let why = "it can be looked at by its own process only".to_owned();
                self.tell(Err(why));
            }
            Spot::Server(url) => loop {
                if let Err(why) = self.before_server(&url).await {
                    self.tell(Err(why));
                }
                sleep(AGAIN).await;
            },
            #[cfg(all(feature = "file", unix))]
            Spot::File(file) => loop {
                let found = file.find(&self.resource, Clock::system());
                self.tell(found.map(|held| {
                    held.map_or(Key::Free, |held| Key::Held {
                        holder: held.owner,
                        remaining: Some(held.remaining),
                    })
                }));
                sleep(FILE_AGAIN).await;
            },
        }
    }

    /// Looks, waits for news, and looks again. Ends with the connection.
    async fn before_server(&self, url: &RedisUrl) -> Result<(), String> {
        let format = self.configuration.key_format();
        let name = format.key(self.resource.as_str());
        let mut steward = Steward::visit(url.clone(), self.configuration.node_key()).await?;
        loop {
            // Asked first and looked then: a change between the two is told.
            let is_told = steward.watch(&name).await;
            let stored = steward
                .read(format, std::slice::from_ref(&self.resource))
                .await?;
            let Some(stored) = stored.into_iter().next() else {
                return Err("gave no answer to a question".to_owned());
            };
            let key = key(stored);
            // The key's end is told late or never.
            let ends = match &key {
                Key::Held {
                    remaining: Some(remaining),
                    ..
                } => *remaining + Duration::from_millis(1),
                _ => AGAIN,
            };
            self.tell(Ok(key));
            match is_told {
                true => {
                    if let Ok(news) = timeout(ends.min(AGAIN), steward.hear_of_change()).await {
                        news?;
                    }
                }
                false => sleep(ends.min(AGAIN)).await,
            }
        }
    }

    fn tell(&self, key: Result<Key, String>) {
        // Nobody listens any more at the end of the wait.
        drop(self.tell.send((self.number, key)));
    }
}

/// How long nodes may take to be known at all.
const FIRST_WORD: Duration = Duration::from_secs(1);
/// How long a node is left alone that told nothing new.
const AGAIN: Duration = Duration::from_secs(1);
/// A file is read in some microseconds.
#[cfg(all(feature = "file", unix))]
const FILE_AGAIN: Duration = Duration::from_millis(50);
/// So long too few nodes may be silent. As long as `leasehold run` waits for them.
const DARK_FOR: Duration = Duration::from_secs(3);
