//! What an operator of the nodes can do: look at them and at their locks, let them vote, and change what all agree on.
//!
//! An [`Operator`] is made of the options that a manager of locks would be
//! [built](crate::ManagerBuilder::build) with, so it means the same nodes and the same configuration. Its calls need no
//! runtime: each has a short-lived thread of its own, and its future can be awaited anywhere.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use leasehold::{LockManager, operate::NodeAnswer};
//!
//! let nodes = ["redis://db1", "redis://db2", "redis://db3"];
//! for surveyed in LockManager::builder().nodes(nodes).operator()?.survey().await? {
//!     println!("{}: {}", surveyed.node, surveyed.answer);
//! }
//! // Nodes in memory and in files have no past that they could forget.
//! let told = LockManager::builder().memory(1).operator()?.admit().await?;
//! assert_eq!(told[0].answer, NodeAnswer::NeedsNone);
//! # Ok(())
//! # }
//! ```

mod admission;
mod examination;
mod listing;
mod onlooking;
mod operator;
mod procedure;
mod reconfiguration;
mod survey;
mod watcher;

pub use admission::Admission;
pub use examination::{
    ClockOffset, ClusterExamination, Examination, FileExamination, Memory, Persistence,
    ShardExamination,
};
pub use listing::{Listing, Scanned, Search};
pub use operator::Operator;
pub use reconfiguration::{Former, Outcome, Reconfiguration, Reconfigured};
pub use survey::{Log, Membership, Survey};
pub use watcher::Watcher;

use crate::{
    builder::{ManagerBuilder, Operated},
    configuration::Configuration,
    error::ConfigError,
    link::{
        NodeName,
        redis::{RedisUrl, admin_client::AdminClient},
    },
};
use std::{fmt, future::Future, io, panic, thread, time::Duration};
use tokio::{runtime, sync::oneshot, time::timeout};

/// A node, and what came of asking it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Told<T> {
    /// The node.
    pub node: NodeName,
    /// The node of the list whose place it has taken, as the other nodes say, if it is not on the list itself: locks go by
    /// that. Told by [`examine`](Operator::examine) and [`examine_votes`](Operator::examine_votes) alone.
    pub former: Option<NodeName>,
    /// What came of it.
    pub answer: NodeAnswer<T>,
}

/// What came of asking a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeAnswer<T> {
    /// It answered.
    Told(T),
    /// It is no server: it has no past to forget, and no configuration to agree on.
    NeedsNone,
    /// It has no list of its locks for others than its own process: it is in memory, or of a kind of the user's own. A
    /// manager's [`inspect`](crate::LockManager::inspect) looks at single locks.
    CannotBeListed,
    /// It could not be asked, or its answer did not come: why, as a fragment for people.
    Silent(String),
}

impl<T: fmt::Display> fmt::Display for NodeAnswer<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Told(told) => told.fmt(out),
            Self::NeedsNone => out.write_str("is no server, and needs none of this"),
            Self::CannotBeListed => out.write_str(UNLISTED),
            Self::Silent(why) => out.write_str(why),
        }
    }
}

impl ManagerBuilder {
    /// What an operator can do with these nodes: see [`operate`](crate::operate). Asks nobody.
    ///
    /// # Errors
    /// A [`ConfigError`] as of [`build`](Self::build), except that a Redis Cluster is no error here.
    pub fn operator(&self) -> Result<Operator, ConfigError> {
        Ok(Operator::new(self.clone().into_operated()?))
    }
}

/// Of a node whose locks its own process alone can see.
const UNLISTED: &str =
    "its own process alone can see its locks, one by one: call `inspect` of a manager there";

async fn survey_of(
    admin_client: &mut AdminClient,
    configuration: &Configuration,
) -> Result<Survey, String> {
    let look = admin_client
        .look(configuration.guard(), &configuration.quarantine_text())
        .await?;
    Ok(Survey::of(look, configuration))
}

/// Asks all nodes at once, those that are servers.
async fn ask_all<T, F>(
    operated: Operated,
    limit: Option<Duration>,
    ask: impl Fn(AdminClient) -> F + Clone + Send + Sync + 'static,
) -> Vec<Told<T>>
where
    T: Send + 'static,
    F: Future<Output = Result<T, String>> + Send,
{
    let node_key = operated.configuration.node_key();
    let jobs = operated.nodes.into_iter().map(|(node, spot)| {
        let (node_key, ask) = (node_key.clone(), ask.clone());
        async move {
            let answer = match spot.url() {
                None => NodeAnswer::NeedsNone,
                Some(url) => {
                    let visit = in_time(limit, visit(url, node_key, ask)).await;
                    visit.map_or_else(NodeAnswer::Silent, NodeAnswer::Told)
                }
            };
            Told {
                node,
                former: None,
                answer,
            }
        }
    });
    at_once(jobs).await
}

async fn visit<T, F>(
    url: RedisUrl,
    node_key: String,
    ask: impl FnOnce(AdminClient) -> F,
) -> Result<T, String>
where
    F: Future<Output = Result<T, String>>,
{
    ask(AdminClient::visit(url, node_key).await?).await
}

/// What comes of it within the limit.
async fn in_time<T>(
    limit: Option<Duration>,
    work: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    match limit {
        None => work.await,
        Some(limit) => {
            let done = timeout(limit, work).await;
            done.unwrap_or_else(|_| Err("did not answer within the time limit".to_owned()))
        }
    }
}

/// Does all of it at once, and keeps the order.
async fn at_once<T: Send + 'static>(
    jobs: impl IntoIterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let running: Vec<_> = jobs.into_iter().map(tokio::spawn).collect();
    let mut done = Vec::with_capacity(running.len());
    for job in running {
        match job.await {
            Ok(answer) => done.push(answer),
            Err(error) => panic::resume_unwind(error.into_panic()),
        }
    }
    done
}

/// Does it on a thread of its own, so that any runtime can wait for it and nobody's going away stops it.
async fn elsewhere<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, ConfigError> {
    let (answer, told) = oneshot::channel();
    begin(async { drop(answer.send(work.await)) })?;
    told.await
        .map_err(|_| io::Error::other("it ended before its work was done").into())
}

/// Begins it on a thread of its own, which ends with it.
fn begin(work: impl Future<Output = ()> + Send + 'static) -> Result<(), ConfigError> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    thread::Builder::new()
        .name("leasehold-operate".into())
        .spawn(move || runtime.block_on(work))?;
    Ok(())
}
