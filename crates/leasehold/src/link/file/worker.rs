//! The thread that waits for the file, and who waits for the thread.

use super::{
    error::FileError,
    inbox::{Reach, lock},
    job::Job,
    notifier::Notifier,
    opening::{FileId, file_id},
    process_identity::ProcessIdentity,
    store::Store,
    store_directory::StoreDirectory,
    subscriptions::Subscriptions,
};
use crate::fork::Process;
use leasehold_core::{Fault, FaultKind, Request, Vote};
use std::{
    collections::{HashMap, VecDeque},
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// An open store of this process, with its thread.
#[derive(Debug)]
pub(super) struct Worker {
    /// The file that it has open.
    file: FileId,
    /// Where that is.
    data: PathBuf,
    /// Whether somebody has waited for the thread in vain, and it has not come back since.
    pub(super) is_held_up: AtomicBool,
    /// The one whose thread it is.
    process: Process,
    queue: Mutex<JobQueue>,
    /// There is a job, or the last tenant has left. Who waits for it waits for the notifier instead while keys are
    /// watched.
    news: Condvar,
    /// None where the kernel has none; then this process does not hear of the others.
    notifier: Option<Notifier>,
}

struct JobQueue {
    jobs: VecDeque<Job>,
    errands: VecDeque<Errand>,
    tenants: usize,
    /// Whether the thread waits for the notifier.
    listens: bool,
    /// Why nothing is carried out any more.
    dead: Option<String>,
}

/// Something that is not a step of any link.
type Errand = Box<dyn FnOnce(&mut Store) + Send>;

/// How many steps may wait; releases have as much again for themselves, since a key that is not
/// released stays until its TTL ends.
const LONGEST_QUEUE: usize = 4096;

/// How many steps one transaction takes: so many changed pages fit into the quarter of the map that is
/// kept for it, and other processes get their turn.
const BATCH: usize = 256;

/// The stores that this process has open. LMDB must not open a file twice in one process: closing it
/// once would drop the locks of both.
static OPEN: Mutex<Option<HashMap<FileId, Arc<Worker>>>> = Mutex::new(None);

impl Worker {
    /// Opens the store in a folder, or moves in with those who have it open in this process.
    pub(super) fn open(path: &Path) -> Result<Tenancy, FileError> {
        let directory = StoreDirectory::prepare(path)?;
        let id = directory.id()?;
        let mut open = lock(&OPEN);
        let workers = open.get_or_insert_default();
        if let Some(worker) = workers.get(&id) {
            let worker = worker.clone();
            if !worker.process.is_this() {
                let path = path.to_owned();
                return Err(FileError::Forked { path });
            }
            if file_id(&directory.data()).ok() != Some(worker.file) {
                return Err(FileError::Replaced {
                    path: directory.data(),
                });
            }
            lock(&worker.queue).tenants += 1;
            return Ok(Tenancy(worker));
        }
        let holder = ProcessIdentity::current().map_err(|reason| FileError::NoBootId {
            path: path.to_owned(),
            reason,
        })?;
        let store = directory.open(holder)?;
        let worker = Arc::new(Self {
            notifier: Notifier::new(store.data()),
            file: store.id(),
            data: store.data().to_owned(),
            is_held_up: AtomicBool::new(false),
            process: Process::this(),
            queue: Mutex::new(JobQueue {
                jobs: VecDeque::new(),
                errands: VecDeque::new(),
                tenants: 1,
                listens: false,
                dead: None,
            }),
            news: Condvar::new(),
        });
        let its_thread = worker.clone();
        thread::Builder::new()
            .name("leasehold-file".to_owned())
            .spawn(move || its_thread.run(id, store))
            .map_err(|error| FileError::io(path, &error))?;
        workers.insert(id, worker.clone());
        Ok(Tenancy(worker))
    }

    /// Queues a step. Does not wait.
    pub(super) fn send(&self, job: Job) {
        let mut queue = lock(&self.queue);
        let room = match job.request {
            Request::Release { .. } => 2 * LONGEST_QUEUE,
            _ => LONGEST_QUEUE,
        };
        let fault = if let Some(reason) = &queue.dead {
            Fault::new(FaultKind::Down, reason)
        } else if queue.jobs.len() >= room {
            Fault::new(
                FaultKind::Busy,
                &format_args!("{} steps wait for the store", queue.jobs.len()),
            )
        } else {
            queue.jobs.push_back(job);
            self.wake(queue);
            return;
        };
        drop(queue);
        job.inbox.put([(job.tag, Vote::Unknown(fault))]);
    }

    /// Has the thread do something else than steps. If the thread has died, it is dropped undone.
    pub(super) fn run_errand(&self, errand: Errand) {
        let mut queue = lock(&self.queue);
        if queue.dead.is_none() {
            queue.errands.push_back(errand);
            self.wake(queue);
        }
    }

    /// Tells the thread that there is news in the queue.
    fn wake(&self, mut queue: MutexGuard<'_, JobQueue>) {
        let listens = std::mem::take(&mut queue.listens);
        drop(queue);
        match &self.notifier {
            Some(notifier) if listens => notifier.call(),
            _ => self.news.notify_one(),
        }
    }

    /// Where the file is that it has open.
    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    /// Whose changes its links are told of.
    pub(super) const fn reach(&self) -> Reach {
        match self.notifier {
            Some(_) => Reach::Machine,
            None => Reach::Process,
        }
    }

    fn run(&self, id: FileId, mut store: Store) {
        let mut subscriptions = Subscriptions::new(self.notifier.as_ref());
        loop {
            let turn = self.next(&mut subscriptions);
            let (jobs, done) = match turn {
                Turn::Over => {
                    // The register is locked before the queue, everywhere; so somebody may have moved in.
                    let mut open = lock(&OPEN);
                    let queue = lock(&self.queue);
                    if queue.tenants > 0 || !queue.is_empty() {
                        continue;
                    }
                    open.get_or_insert_default().remove(&id);
                    // Closed before the register is free: nobody must open it twice.
                    drop(store);
                    return;
                }
                Turn::Look => {
                    let look = AssertUnwindSafe(|| subscriptions.look(&store));
                    (Vec::new(), catch_unwind(look).map(|()| Vec::new()))
                }
                Turn::Errand(errand) => {
                    let errand = AssertUnwindSafe(|| {
                        errand(&mut store);
                        self.is_held_up.store(false, Ordering::Relaxed);
                    });
                    (Vec::new(), catch_unwind(errand).map(|()| Vec::new()))
                }
                Turn::Steps(jobs) => {
                    let done = catch_unwind(AssertUnwindSafe(|| store.take(&jobs)));
                    (jobs, done)
                }
            };
            let Ok(answers) = done else {
                let mut open = lock(&OPEN);
                open.get_or_insert_default().remove(&id);
                drop(store);
                drop(open);
                return self.die(&jobs);
            };
            for (job, answer) in jobs.iter().zip(&answers) {
                subscriptions.note(job, answer);
            }
            deliver(&jobs, answers.into_iter().map(|answer| answer.vote));
        }
    }

    /// Waits for something to do.
    fn next(&self, subscriptions: &mut Subscriptions<'_>) -> Turn {
        loop {
            if subscriptions.is_due() {
                return Turn::Look;
            }
            let mut queue = lock(&self.queue);
            match subscriptions.notifier() {
                Some(notifier) if queue.is_quiet() => {
                    queue.listens = true;
                    drop(queue);
                    subscriptions.wait(notifier);
                    lock(&self.queue).listens = false;
                    continue;
                }
                Some(_) => {}
                None => {
                    let quiet = |queue: &mut JobQueue| queue.is_quiet();
                    queue = self
                        .news
                        .wait_while(queue, quiet)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
            if let Some(errand) = queue.errands.pop_front() {
                return Turn::Errand(errand);
            }
            let count = queue.jobs.len().min(BATCH);
            return match count {
                0 => Turn::Over,
                _ => Turn::Steps(queue.jobs.drain(..count).collect()),
            };
        }
    }

    /// A bug: what was asked may or may not have happened, and nothing is carried out any more.
    fn die(&self, jobs: &[Job]) {
        let reason = "the thread of the store panicked, which is a bug of leasehold";
        let mut queue = lock(&self.queue);
        queue.dead = Some(reason.to_owned());
        let rest: Vec<_> = queue.jobs.drain(..).collect();
        queue.errands.clear();
        drop(queue);
        let unknown = |kind| std::iter::repeat(Vote::Unknown(Fault::new(kind, reason)));
        deliver(jobs, unknown(FaultKind::Disconnected));
        deliver(&rest, unknown(FaultKind::Down));
    }
}

/// What the thread does next.
enum Turn {
    Steps(Vec<Job>),
    Errand(Errand),
    Look,
    /// Nobody is left to ask for any step.
    Over,
}

impl JobQueue {
    /// Whether there is nothing to do, but somebody is left who may ask.
    fn is_quiet(&self) -> bool {
        self.is_empty() && self.tenants > 0
    }

    fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.errands.is_empty()
    }
}

impl fmt::Debug for JobQueue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("JobQueue")
            .field("jobs", &self.jobs.len())
            .field("tenants", &self.tenants)
            .field("dead", &self.dead)
            .finish_non_exhaustive()
    }
}

/// The right to ask a worker; it ends its thread with the last one.
#[derive(Debug)]
pub(super) struct Tenancy(Arc<Worker>);

impl Tenancy {
    pub(super) fn worker(&self) -> &Worker {
        &self.0
    }
}

impl Drop for Tenancy {
    fn drop(&mut self) {
        let mut queue = lock(&self.0.queue);
        queue.tenants -= 1;
        self.0.wake(queue);
    }
}

/// Hands the votes out, and wakes each link once for what is in a row for it.
fn deliver(jobs: &[Job], mut votes: impl Iterator<Item = Vote>) {
    for row in jobs.chunk_by(|one, next| Arc::ptr_eq(&one.inbox, &next.inbox)) {
        let tags = row.iter().map(|job| job.tag);
        row[0].inbox.put(tags.zip(votes.by_ref()));
    }
}

#[cfg(test)]
mod tests;
