//! The thread that waits for the file, and who waits for the thread.

use super::{
    error::FileError,
    holder::Holder,
    place::{FileId, Place, file_id},
    store::Store,
};
use crate::{clock::Clock, link::LinkEvent};
use leasehold_core::{Fault, FaultKind, Request, Tag, Vote};
use std::{
    collections::{HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    thread,
};

/// An open store of this process, with its thread.
#[derive(Debug)]
pub(super) struct Station {
    /// The file that it has open.
    file: FileId,
    queue: Mutex<Queue>,
    /// There is a job, or the last tenant has left.
    news: Condvar,
}

#[derive(Debug)]
struct Queue {
    jobs: VecDeque<Job>,
    tenants: usize,
    /// Why nothing is carried out any more.
    dead: Option<String>,
}

/// A step on its way through the thread.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) tag: Tag,
    pub(super) request: Request,
    pub(super) clock: Clock,
    pub(super) mailbox: Arc<Mailbox>,
}

/// How many steps may wait; releases have as much again for themselves, since a key that is not
/// released stays until its TTL ends.
const LONGEST_QUEUE: usize = 4096;

/// How many steps one transaction takes: so many changed pages fit into the quarter of the map that is
/// kept for it, and other processes get their turn.
const BATCH: usize = 256;

/// The stores that this process has open. LMDB must not open a file twice in one process: closing it
/// once would drop the locks of both.
static OPEN: Mutex<Option<HashMap<FileId, Arc<Station>>>> = Mutex::new(None);

impl Station {
    /// Opens the store in a folder, or moves in with those who have it open in this process.
    pub(super) fn open(path: &Path) -> Result<Tenancy, FileError> {
        let place = Place::prepare(path)?;
        let id = place.id()?;
        let mut open = lock(&OPEN);
        let stations = open.get_or_insert_default();
        if let Some(station) = stations.get(&id) {
            let station = station.clone();
            if file_id(&place.data()).ok() != Some(station.file) {
                return Err(FileError::Replaced { path: place.data() });
            }
            lock(&station.queue).tenants += 1;
            return Ok(Tenancy(station));
        }
        let holder = Holder::current().map_err(|reason| FileError::NoBootId {
            path: path.to_owned(),
            reason,
        })?;
        let store = place.open(holder)?;
        let station = Arc::new(Self {
            file: store.id(),
            queue: Mutex::new(Queue {
                jobs: VecDeque::new(),
                tenants: 1,
                dead: None,
            }),
            news: Condvar::new(),
        });
        let worker = station.clone();
        thread::Builder::new()
            .name("leasehold-file".to_owned())
            .spawn(move || worker.run(id, store))
            .map_err(|error| FileError::io(path, &error))?;
        stations.insert(id, station.clone());
        Ok(Tenancy(station))
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
            drop(queue);
            self.news.notify_one();
            return;
        };
        drop(queue);
        job.mailbox.put([(job.tag, Vote::Unknown(fault))]);
    }

    fn run(&self, id: FileId, mut store: Store) {
        loop {
            let jobs = self.next_batch();
            if jobs.is_empty() {
                // The register is locked before the queue, everywhere; so somebody may have moved in.
                let mut open = lock(&OPEN);
                let queue = lock(&self.queue);
                if queue.tenants > 0 || !queue.jobs.is_empty() {
                    continue;
                }
                open.get_or_insert_default().remove(&id);
                // Closed before the register is free: nobody must open it twice.
                drop(store);
                return;
            }
            let Ok(votes) = catch_unwind(AssertUnwindSafe(|| store.take(&jobs))) else {
                let mut open = lock(&OPEN);
                open.get_or_insert_default().remove(&id);
                drop(store);
                drop(open);
                return self.die(&jobs);
            };
            deliver(&jobs, votes);
        }
    }

    /// Waits for steps. Empty if nobody is left to ask for any.
    fn next_batch(&self) -> Vec<Job> {
        let mut queue = lock(&self.queue);
        while queue.jobs.is_empty() && queue.tenants > 0 {
            queue = self
                .news
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let count = queue.jobs.len().min(BATCH);
        queue.jobs.drain(..count).collect()
    }

    /// A bug: what was asked may or may not have happened, and nothing is carried out any more.
    fn die(&self, jobs: &[Job]) {
        let reason = "the thread of the store panicked, which is a bug of leasehold";
        let mut queue = lock(&self.queue);
        queue.dead = Some(reason.to_owned());
        let rest: Vec<_> = queue.jobs.drain(..).collect();
        drop(queue);
        let unknown = |kind| Vote::Unknown(Fault::new(kind, reason));
        deliver(jobs, vec![unknown(FaultKind::Disconnected); jobs.len()]);
        deliver(&rest, vec![unknown(FaultKind::Down); rest.len()]);
    }
}

/// The right to ask a station; it ends its thread with the last one.
#[derive(Debug)]
pub(super) struct Tenancy(Arc<Station>);

impl Tenancy {
    pub(super) fn station(&self) -> &Station {
        &self.0
    }
}

impl Drop for Tenancy {
    fn drop(&mut self) {
        lock(&self.0.queue).tenants -= 1;
        self.0.news.notify_one();
    }
}

/// What a link has to tell, and whom to wake.
#[derive(Debug, Default)]
pub(super) struct Mailbox(Mutex<Letters>);

#[derive(Debug, Default)]
struct Letters {
    events: VecDeque<LinkEvent>,
    waker: Option<Waker>,
    state: State,
}

/// What the link was told of the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    New,
    Up,
    Down,
}

impl Mailbox {
    /// Puts answers in, and *up* and *down* where they tell of one.
    fn put(&self, answers: impl IntoIterator<Item = (Tag, Vote)>) {
        let mut letters = lock(&self.0);
        for (tag, vote) in answers {
            let reason = match &vote {
                Vote::Unknown(fault) if fault.kind() == FaultKind::Down => Some(fault.to_string()),
                _ => None,
            };
            if reason.is_none() && letters.state != State::Up {
                letters.state = State::Up;
                letters.events.push_back(LinkEvent::Up(None));
            }
            letters.events.push_back(LinkEvent::Reply(tag, vote));
            if let Some(reason) = reason.filter(|_| letters.state != State::Down) {
                letters.state = State::Down;
                letters.events.push_back(LinkEvent::Down(reason));
            }
        }
        let waker = letters.waker.take();
        drop(letters);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes the oldest event.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<LinkEvent> {
        let mut letters = lock(&self.0);
        if letters.state == State::New {
            letters.state = State::Up;
            return Poll::Ready(LinkEvent::Up(None));
        }
        match letters.events.pop_front() {
            Some(event) => Poll::Ready(event),
            None => {
                letters.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Hands the votes out, and wakes each link once for what is in a row for it.
fn deliver(jobs: &[Job], votes: Vec<Vote>) {
    let mut votes = votes.into_iter();
    for row in jobs.chunk_by(|one, next| Arc::ptr_eq(&one.mailbox, &next.mailbox)) {
        let tags = row.iter().map(|job| job.tag);
        row[0].mailbox.put(tags.zip(votes.by_ref()));
    }
}

/// No step of ours leaves the value half changed when it panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
