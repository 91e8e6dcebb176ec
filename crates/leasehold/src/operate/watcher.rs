//! Looking on while a lock changes hands, by somebody who does not want it.

use super::{Operator, UNLISTED, elsewhere, listing};
use crate::{
    builder::{Operated, Spot},
    clock::Clock,
    configuration::Configuration,
    error::{ConfigError, NodeFault},
    inspection::{Inspection, Key, NodeKey},
    link::{
        NodeName,
        redis::{
            RedisUrl,
            admin_client::{AdminClient, cluster::ClusterClient},
        },
    },
};
use leasehold_core::{FencingToken, PermitCount, Quorum, Resource};
use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        watch,
    },
    task::JoinSet,
    time::{sleep, timeout},
};

/// What a node had when it was looked at.
struct Seen {
    number: usize,
    key: Result<Key, String>,
    counter: Option<FencingToken>,
}

/// Somebody who looks on while a lock changes hands; see [`look_on`](super::Operator::look_on). Ends when it is
/// dropped.
#[derive(Debug)]
pub struct Watcher(watch::Receiver<Inspection>);

impl Watcher {
    /// What the nodes have under the lock's name, when any of them has told something that was not told before, if only
    /// for how long. The last state counts: what was over before anybody asked is left out.
    ///
    /// Waits until then. None if the thread behind it has ended, which would be a bug.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Inspection> {
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().clone())
    }

    /// What was seen last.
    pub(super) fn seen(&self) -> Inspection {
        self.0.borrow().clone()
    }

    /// One that has seen nothing yet, and the work behind it.
    pub(super) fn begin(
        operated: Operated,
        resource: Resource,
    ) -> (Self, impl Future<Output = ()>) {
        let (names, spots): (Vec<_>, Vec<_>) = operated.nodes.into_iter().unzip();
        let seen = unseen(&resource, operated.quorum, names);
        let (tell, told) = watch::channel(seen.clone());
        let configuration = operated.configuration;
        let work = async move {
            let (_sentries, heard) = post(spots, &configuration, &resource);
            keep(tell, seen, heard).await;
        };
        (Self(told), work)
    }
}

/// Notes what the nodes tell, for as long as anybody is told.
async fn keep(
    tell: watch::Sender<Inspection>,
    mut seen: Inspection,
    mut heard: UnboundedReceiver<Seen>,
) {
    let mut deserted = pin!(tell.closed());
    let mut hear = |cx: &mut Context<'_>| match deserted.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => heard.poll_recv(cx),
    };
    while let Some(news) = poll_fn(&mut hear).await {
        seen.note(news.number, news.key, news.counter);
        tell.send_replace(seen.clone());
    }
}

fn unseen(resource: &Resource, quorum: Quorum, names: Vec<NodeName>) -> Inspection {
    let nodes = names.into_iter().map(|node| NodeKey {
        key: Key::Unknown(NodeFault::down(node.clone(), "it has not answered yet")),
        counter: None,
        node,
    });
    Inspection::of(resource.clone(), quorum, nodes.collect())
}

/// A sentry before each node, and what they tell. They end with the set, whatever they are waiting for.
fn post(
    spots: Vec<Spot>,
    configuration: &Configuration,
    resource: &Resource,
) -> (JoinSet<()>, UnboundedReceiver<Seen>) {
    let (tell, told) = unbounded_channel();
    let mut sentries = JoinSet::new();
    for (number, spot) in spots.into_iter().enumerate() {
        let sentry = Sentry {
            number,
            tell: tell.clone(),
            configuration: configuration.clone(),
            resource: resource.clone(),
        };
        sentries.spawn(sentry.stand(spot));
    }
    (sentries, told)
}

impl Operator {
    /// Waits as [`until_free`](Self::until_free) does, but until one of so many [permits](crate::Semaphore) of `name` can be had, and
    /// takes none. Tells what the nodes had at the end: [`free_permits`](Inspection::free_permits) says which end it was. It gives
    /// up at once where others have permits of another number ([`permits`](Inspection::permits)).
    ///
    /// # Errors
    /// As [`until_free`](Self::until_free), and [`ConfigError::Permits`] if there cannot be so many.
    ///
    /// # Cancel safety
    /// As [`until_free`](Self::until_free).
    pub async fn until_permit(
        &self,
        name: &str,
        permits: usize,
        limit: Option<Duration>,
    ) -> Result<Inspection, ConfigError> {
        let count = u16::try_from(permits).ok().and_then(PermitCount::new);
        let of = count.ok_or(ConfigError::Permits { permits })?;
        wait(self.operated.clone(), Resource::permit(name, of)?, limit).await
    }
}

/// Waits until that can be had, on a thread of its own.
pub(super) async fn wait(
    operated: Operated,
    wanted: Resource,
    limit: Option<Duration>,
) -> Result<Inspection, ConfigError> {
    let waits = Arc::new(());
    let is_waited_for = Arc::downgrade(&waits);
    let seen = elsewhere(until_free(operated, wanted, limit, is_waited_for)).await;
    drop(waits);
    seen
}

/// Looks until a quorum has nothing under the name, or a permit can be had if one is wanted, or nobody waits for it any more.
async fn until_free(
    operated: Operated,
    wanted: Resource,
    limit: Option<Duration>,
    is_waited_for: Weak<()>,
) -> Inspection {
    let (resource, of) = (wanted.whole(), wanted.permits().map(PermitCount::get));
    let clock = Clock::system();
    let end = limit.map(|limit| clock.now().saturating_add(limit));
    let (names, spots): (Vec<_>, Vec<_>) = operated.nodes.into_iter().unzip();
    let mut seen = unseen(&resource, operated.quorum, names);
    let (_sentries, mut told) = post(spots, &operated.configuration, &resource);
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
        let is_other = |of| seen.permits().is_some_and(|permits| permits.of != of);
        let is_in_vain = seen.other_type().is_some() || of.is_some_and(is_other);
        let can_be_had = seen.is_free() || of.is_some_and(|of| seen.free_permits(of) > 0);
        if can_be_had || is_in_vain || is_alone || is_heard && end.is_some_and(|end| end <= now) {
            return seen;
        }
        let left = end.map_or(DARK_FOR, |end| end.saturating_since(now));
        // Woken in time to notice that nobody has answered.
        let rest = left.min(DARK_FOR).max(Duration::from_millis(1));
        if let Ok(Some(news)) = timeout(rest, told.recv()).await {
            seen.note(news.number, news.key, news.counter);
        }
    }
}

/// Stands before one node.
struct Sentry {
    number: usize,
    tell: UnboundedSender<Seen>,
    configuration: Configuration,
    resource: Resource,
}

impl Sentry {
    async fn stand(self, spot: Spot) {
        match spot {
            Spot::Elsewhere => {
                self.tell(Err(UNLISTED.to_owned()), None);
            }
            Spot::Server(url) => loop {
                let ended = match url.is_cluster() {
                    true => self.before_cluster(&url).await,
                    false => self.before_server(&url).await,
                };
                if let Err(why) = ended {
                    self.tell(Err(why), None);
                }
                sleep(AGAIN).await;
            },
            #[cfg(all(feature = "file", unix))]
            Spot::File(file) => loop {
                let found = file.find_all(&self.resource, Clock::system());
                let found = found.map(|held| {
                    let key = listing::file_keys(held, "").remove(&self.resource);
                    key.unwrap_or(Key::Free)
                });
                self.tell(found, None);
                sleep(FILE_AGAIN).await;
            },
        }
    }

    /// Looks, waits for news, and looks again. Ends with the connection.
    async fn before_server(&self, url: &RedisUrl) -> Result<(), String> {
        let format = self.configuration.key_format();
        let name = format.key(self.resource.as_str());
        let mut admin_client =
            AdminClient::visit(url.clone(), self.configuration.node_key()).await?;
        loop {
            // Asked first and looked then: a change between the two is told.
            let is_told = admin_client.watch(&name).await;
            let stored = admin_client
                .read(format, std::slice::from_ref(&self.resource))
                .await?;
            let Some(stored) = stored.into_iter().next() else {
                return Err("gave no answer to a question".to_owned());
            };
            let key = listing::key(stored);
            // The key's end is told late or never.
            let ends = ends(&key);
            // Read behind the key: counters only grow.
            let counter = admin_client.counter(&self.resource).await?;
            self.tell(Ok(key), counter);
            match is_told {
                true => {
                    if let Ok(news) = timeout(ends.min(AGAIN), admin_client.hear_of_change()).await
                    {
                        news?;
                    }
                }
                false => sleep(ends.min(AGAIN)).await,
            }
        }
    }

    /// Looks once a second, since the key's slot may move to a server that was not asked to tell of changes. Ends with the
    /// connections.
    async fn before_cluster(&self, url: &RedisUrl) -> Result<(), String> {
        let node_key = self.configuration.node_key();
        let mut client = ClusterClient::visit(url.clone(), node_key, None).await?;
        loop {
            let wanted = std::slice::from_ref(&self.resource);
            let stored = client.read(self.configuration.key_format(), wanted).await?;
            let Some(stored) = stored.into_iter().next() else {
                return Err("gave no answer to a question".to_owned());
            };
            let key = listing::key(stored);
            let ends = ends(&key);
            self.tell(Ok(key), None);
            sleep(ends.min(AGAIN)).await;
        }
    }

    fn tell(&self, key: Result<Key, String>, counter: Option<FencingToken>) {
        let number = self.number;
        // Nobody listens any more at the end of the wait.
        drop(self.tell.send(Seen {
            number,
            key,
            counter,
        }));
    }
}

/// When the key has ended.
fn ends(key: &Key) -> Duration {
    match key {
        Key::Held {
            remaining: Some(remaining),
            ..
        } => *remaining + Duration::from_millis(1),
        _ => AGAIN,
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
