//! Who is measured.

use crate::{Fallible, effort::Effort};
use leasehold::{Fenced, LeaseGuard, LockManager, LockOptions, Mode, Plain};
use leasehold_servers::ServerSet;
use std::{sync::Arc, time::Duration};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Who locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Plain,
    Fenced,
    /// On a thread of its own instead of as a task of the runtime.
    PlainApart,
    FencedApart,
    /// Callers of one manager do not wait for each other.
    Unqueued,
    /// Nobody asks one node first.
    AllAtOnce,
    Rslock,
    /// A mutex of the runtime, and no node: what tasks and their runtime take for themselves.
    InProcess,
}

/// Everybody, but the bare wire, which is no library.
pub(crate) const LIBRARIES: [Subject; 3] = [Subject::Plain, Subject::Fenced, Subject::Rslock];

/// The same, and ours in both places that it can run in.
pub(crate) const PLACES: [Subject; 5] = [
    Subject::Plain,
    Subject::PlainApart,
    Subject::Fenced,
    Subject::FencedApart,
    Subject::Rslock,
];

/// Without something that is there for those who want what others want.
const SWITCHED: [Subject; 2] = [Subject::Unqueued, Subject::AllAtOnce];

/// All who want what others want: what is done about that can be switched off, and a full run shows what it is worth.
pub(crate) const fn rivals(effort: &Effort) -> &'static [Subject] {
    match effort.is_quick {
        true => &LIBRARIES,
        false => &[
            Subject::Plain,
            Subject::Unqueued,
            Subject::AllAtOnce,
            Subject::Fenced,
            Subject::Rslock,
        ],
    }
}

/// The name of the bare wire in tables.
pub(crate) const BARE: &str = "bare";

/// The same, saying what our fenced locks say.
pub(crate) const BARE_FENCED: &str = "bare, fenced votes";

/// What nodes, network and runtime leave of the hand-offs of tasks: computed, not run.
pub(crate) const LIMIT: &str = "limit";

/// The same for our fenced locks.
pub(crate) const LIMIT_FENCED: &str = "limit, fenced votes";

impl Subject {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Fenced => "fenced",
            Self::PlainApart => "plain, own thread",
            Self::FencedApart => "fenced, own thread",
            Self::Unqueued => "plain, no local queue",
            Self::AllAtOnce => "plain, all asked at once",
            Self::Rslock => "rslock",
            Self::InProcess => "tokio's mutex",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        let mut all = PLACES.into_iter().chain(SWITCHED);
        all.find(|subject| subject.name() == name)
    }

    /// Makes its manager, which begins to connect. Must be called within the caller's runtime. Fenced votes are given at
    /// once only by nodes that were admitted.
    pub(crate) fn manager(self, urls: &[String]) -> Fallible<Locker> {
        self.manager_for(urls, TTL)
    }

    /// With this TTL, if it is one of ours.
    pub(crate) fn manager_for(self, urls: &[String], ttl: Duration) -> Fallible<Locker> {
        let options = LockOptions::new().ttl(ttl);
        let ours = |options| LockManager::builder().nodes(urls).defaults(options);
        let apart = |options| ours(options).own_thread();
        Ok(match self {
            Self::Plain => Locker::Plain(ours(options).build_plain()?),
            Self::Fenced => Locker::Fenced(ours(options).build()?),
            Self::PlainApart => Locker::Plain(apart(options).build_plain()?),
            Self::FencedApart => Locker::Fenced(apart(options).build()?),
            Self::Unqueued => Locker::Plain(ours(options.no_local_queue()).build_plain()?),
            Self::AllAtOnce => Locker::Plain(ours(options.ask_all_at_once()).build_plain()?),
            Self::Rslock => Locker::Rslock(rslock::LockManager::new(urls.to_vec())),
            Self::InProcess => Locker::InProcess(Arc::default()),
        })
    }
}

/// Where a subject stands in tables.
pub(crate) fn rank(name: &str) -> usize {
    let ours = PLACES.into_iter().filter(|it| *it != Subject::Rslock);
    let order = ours
        .chain(SWITCHED)
        .map(Subject::name)
        .chain([BARE, BARE_FENCED])
        .chain([Subject::InProcess.name(), LIMIT, LIMIT_FENCED])
        .chain([Subject::Rslock.name()]);
    order.take_while(|known| *known != name).count()
}

/// The nodes are new: nobody can hold what they may have forgotten, and nobody has to wait.
pub(crate) async fn admit(urls: &[String]) -> Fallible<()> {
    let builder = LockManager::builder().nodes(urls);
    builder.operator()?.admit().await?;
    Ok(())
}

/// A manager of locks.
pub(crate) enum Locker {
    Plain(LockManager<Plain>),
    Fenced(LockManager<Fenced>),
    Rslock(rslock::LockManager),
    InProcess(Arc<Mutex<()>>),
}

/// What an earlier library has not got, with which `--against` builds this program. Where a library has it, its own comes
/// first.
#[expect(dead_code, reason = "this library has it")]
trait Together<M: Mode> {
    fn mutex_all(&self, _: &[String]) -> Fallible<leasehold::Mutex<M>> {
        Err("this library locks no names together".into())
    }
}

impl<M: Mode> Together<M> for LockManager<M> {}

/// A lock in somebody's hands.
#[must_use = "it has to be released"]
pub(crate) enum Held {
    Plain(LeaseGuard<Plain>),
    Fenced(LeaseGuard<Fenced>),
    Rslock(rslock::LockGuard),
    InProcess(OwnedMutexGuard<()>),
}

impl Locker {
    /// Acquires as the library does without being told more.
    pub(crate) async fn acquire(&self, name: &str) -> Fallible<Held> {
        Ok(match self {
            Self::Plain(manager) => Held::Plain(manager.mutex(name)?.acquire().await?),
            Self::Fenced(manager) => Held::Fenced(manager.mutex(name)?.acquire().await?),
            Self::Rslock(manager) => Held::Rslock(manager.acquire(name, TTL).await?),
            Self::InProcess(mutex) => Held::InProcess(Arc::clone(mutex).lock_owned().await),
        })
    }

    /// Acquires several names together, all or none, which the other library cannot.
    pub(crate) async fn acquire_all(&self, names: &[String]) -> Fallible<Held> {
        Ok(match self {
            Self::Plain(manager) => Held::Plain(manager.mutex_all(names)?.acquire().await?),
            Self::Fenced(manager) => Held::Fenced(manager.mutex_all(names)?.acquire().await?),
            Self::Rslock(_) | Self::InProcess(_) => {
                return Err("only ours locks several names together".into());
            }
        })
    }

    /// Acquires however long that takes, up to a minute. The other library never gives up by itself.
    pub(crate) async fn wait(&self, name: &str) -> Fallible<Held> {
        Ok(match self {
            Self::Plain(manager) => {
                Held::Plain(manager.mutex(name)?.acquire_within(PATIENCE).await?)
            }
            Self::Fenced(manager) => {
                Held::Fenced(manager.mutex(name)?.acquire_within(PATIENCE).await?)
            }
            Self::Rslock(manager) => {
                let acquire = manager.acquire(name, TTL);
                Held::Rslock(tokio::time::timeout(PATIENCE, acquire).await??)
            }
            Self::InProcess(_) => return self.acquire(name).await,
        })
    }
}

impl Held {
    /// Whether it may be relied upon, as far as the library can tell.
    pub(crate) fn is_valid(&self) -> bool {
        match self {
            Self::Plain(guard) => guard.is_valid(),
            Self::Fenced(guard) => guard.is_valid(),
            Self::Rslock(_) | Self::InProcess(_) => true,
        }
    }

    pub(crate) async fn release(self) {
        match self {
            Self::Plain(guard) => drop(guard.release().await),
            Self::Fenced(guard) => drop(guard.release().await),
            Self::Rslock(guard) => guard.release().await,
            Self::InProcess(guard) => drop(guard),
        }
    }
}

/// New servers that vote for everybody.
pub(crate) async fn servers(nodes: usize) -> Fallible<ServerSet> {
    let servers = ServerSet::start(nodes)?;
    admit(&servers.urls()).await?;
    Ok(servers)
}

/// A manager for each of them, connected and used once.
pub(crate) async fn managers(
    subjects: &[Subject],
    urls: &[String],
) -> Fallible<Vec<(Subject, Locker)>> {
    let mut managers = Vec::new();
    for &subject in subjects {
        let manager = subject.manager(urls)?;
        manager.acquire("warm-up").await?.release().await;
        managers.push((subject, manager));
    }
    Ok(managers)
}

/// The TTL of every lock.
pub(crate) const TTL: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(60);
