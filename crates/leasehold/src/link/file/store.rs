//! The keys in the file, and one step after the other on them.

mod found;
mod several;
mod sights;
mod telling;
mod trial;

use super::{
    counters::GrantCounters,
    descriptor::close_on_exec,
    error::{FileError, words},
    head::{FILE_SIZE, FORMAT, MAP_SIZE},
    job::{Job, StepResult},
    open_lock::OpenLock,
    opening::{FileId, limit_below},
    process_identity::ProcessIdentity,
    queue::{self, queue_key_of},
    record::{Record, Shares, key_of},
    time_namespace::Notes,
};
use crate::{clock::Clock, link::watch::is_watched};
use found::Found;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, RwTxn, WithoutTls, types::Bytes};
use leasehold_core::{
    Fault, FaultKind, FencingToken, Instant, Request, Resource, Vote,
    queue::Queue,
    table::{Change, Stored, decide},
};
use std::{
    fs,
    ops::Bound,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    slice,
};

/// An open store. Its methods wait for the transactions of other processes.
#[derive(Debug)]
pub(super) struct Store {
    env: Env<WithoutTls>,
    locks: Database<Bytes, Bytes>,
    counters: GrantCounters,
    holder: ProcessIdentity,
    data: PathBuf,
    /// The key up to which the keys were swept.
    swept: Vec<u8>,
    /// The last field, so that LMDB has closed the file before others may replace it.
    open_lock: OpenLock,
}

/// How many keys are looked at for each new one: the ended keys cannot pile up to more than about a
/// third of the living.
const SWEEP: usize = 4;
/// How many are looked at when the store is full.
const LONG_SWEEP: usize = 1024;

/// How many watched keys are looked at in one transaction, so that others get their turn.
const LOOKS: usize = 256;

/// The store cannot be read; each step is answered with the reason.
#[derive(Debug)]
pub(super) struct Lost;

impl Store {
    /// Makes an empty store in the file `path`, which must not be there. It counts on from `ceiling`.
    pub(super) fn create(path: &Path, ceiling: Option<FencingToken>) -> Result<(), FileError> {
        let failed = |error: heed::Error| FileError::lmdb(path, &error);
        let env = environment(path, path, EnvFlags::NO_SUB_DIR).map_err(failed)?;
        let fill = || {
            let mut txn = env.write_txn()?;
            let format: Database<Bytes, Bytes> =
                env.create_database(&mut txn, Some(FORMAT_NAME))?;
            format.put(&mut txn, FORMAT_NAME.as_bytes(), &FORMAT.to_le_bytes())?;
            let _: Database<Bytes, Bytes> = env.create_database(&mut txn, Some(LOCKS_NAME))?;
            let counters = env.create_database(&mut txn, Some(GrantCounters::NAME))?;
            GrantCounters::begin(counters, &mut txn, ceiling)?;
            txn.commit()
        };
        fill().map_err(failed)
    }

    /// Opens the store in `folder`, whose head was checked in the file of `open_lock`. Under the folder's lock.
    pub(super) fn open(
        folder: &Path,
        data: PathBuf,
        holder: ProcessIdentity,
        mut open_lock: OpenLock,
    ) -> Result<Self, FileError> {
        let failed = |error: heed::Error| FileError::lmdb(&data, &error);
        let env = environment(folder, &data, EnvFlags::empty()).map_err(failed)?;
        env.clear_stale_readers().map_err(failed)?;
        let txn = env.read_txn().map_err(failed)?;
        let format: Option<Database<Bytes, Bytes>> =
            env.open_database(&txn, Some(FORMAT_NAME)).map_err(failed)?;
        let number = match format {
            Some(format) => format
                .get(&txn, FORMAT_NAME.as_bytes())
                .map_err(failed)?
                .and_then(|bytes| bytes.try_into().ok())
                .map(u32::from_le_bytes),
            None => None,
        };
        let locks = env.open_database(&txn, Some(LOCKS_NAME)).map_err(failed)?;
        let counters = env
            .open_database(&txn, Some(GrantCounters::NAME))
            .map_err(failed)?;
        let (Some(FORMAT), Some(notes), Some(locks), Some(counters)) =
            (number, format, locks, counters)
        else {
            return Err(FileError::Damaged {
                reason: "it does not name its format".to_owned(),
                path: data,
            });
        };
        txn.commit().map_err(failed)?;
        let namespace = Notes {
            env: &env,
            notes,
            locks,
        };
        namespace.agree(&data, &holder, &open_lock)?;
        open_lock
            .welcome()
            .map_err(|error| FileError::io(&data, &error))?;
        Ok(Self {
            env,
            locks,
            counters: GrantCounters::new(counters, folder),
            holder,
            data,
            swept: Vec::new(),
            open_lock,
        })
    }

    /// The file that is open.
    pub(super) const fn id(&self) -> FileId {
        self.open_lock.id()
    }

    /// Where that file is.
    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    /// Whether the store is still the file in its place; if not, a fragment that says what else is there.
    fn misplaced(&self) -> Option<String> {
        let data = &self.data;
        match fs::metadata(data) {
            Ok(found) if (found.dev(), found.ino()) != self.id() => {
                Some(format!("the store {data:?} was replaced; open it again"))
            }
            // Reading on would kill the process.
            Ok(found) if found.len() != FILE_SIZE => Some(format!(
                "the store {data:?} was cut to {} bytes",
                found.len()
            )),
            // Writing on would, too.
            Ok(_) => limit_below(FILE_SIZE).map(|limit| {
                format!("this process may write files of {limit} bytes at most, less than the store {data:?} has")
            }),
            Err(error) => Some(format!(
                "the store {data:?} cannot be found any more: {error}"
            )),
        }
    }

    /// Takes these steps, in this order.
    pub(super) fn take(&mut self, jobs: &[Job]) -> Vec<StepResult> {
        let unknown = |fault: &Fault| StepResult {
            vote: Vote::Unknown(fault.clone()),
            sights: Vec::new(),
        };
        let all = |fault: Fault| jobs.iter().map(|_| unknown(&fault)).collect();
        // Others may have made a new store in this one's place and grant by it.
        if let Some(reason) = self.misplaced() {
            return all(Fault::new(FaultKind::Down, &reason));
        }
        match self.transact(jobs) {
            Ok(answers) => answers,
            // One step of many may be in the others' way.
            Err(fault) if jobs.len() > 1 && !fault.may_have_happened() => jobs
                .iter()
                .map(|job| match self.transact(slice::from_ref(job)) {
                    Ok(mut answers) => answers.pop().expect("one step has one answer"),
                    Err(fault) => unknown(&fault),
                })
                .collect(),
            Err(fault) => all(fault),
        }
    }

    /// Takes these steps in one transaction: all of them or, if it fails, none.
    fn transact(&mut self, jobs: &[Job]) -> Result<Vec<StepResult>, Fault> {
        let data = self.data.clone();
        let undone = |error: heed::Error| {
            Fault::new(
                FaultKind::Rejected,
                &format_args!("the store failed: {}", words(&data, &error)),
            )
        };
        // A clone of the handle, so that the transaction does not borrow the store.
        let env = self.env.clone();
        let mut txn = env.write_txn().map_err(undone)?;
        let answers = jobs
            .iter()
            .map(|job| {
                let vote = self.step(&mut txn, job)?;
                let sights = match is_watched(&job.request, &vote) {
                    true => self.sights(&txn, job.request.resource(), &vote)?,
                    false => Vec::new(),
                };
                Ok(StepResult { vote, sights })
            })
            .collect::<heed::Result<Vec<_>>>()
            .map_err(undone)?;
        // LMDB cannot say whether a head page that it failed to write was written.
        txn.commit().map_err(|error| {
            let words = words(&data, &error);
            let detail = format!("the store failed to commit: {words}");
            Fault::new(FaultKind::Disconnected, &detail)
        })?;
        Ok(answers)
    }

    /// Whether the keys of that process are void.
    pub(super) fn knows_gone(&self, holder: &ProcessIdentity) -> bool {
        self.holder.knows_gone(holder)
    }

    /// Takes one step.
    fn step(&mut self, txn: &mut RwTxn<'_>, job: &Job) -> heed::Result<Vote> {
        // Argument S2: read after the wait for the transaction, so the TTL begins after the request
        // was sent.
        let now = node_time(job.clock);
        let resource = job.request.resource();
        if resource.is_several() {
            return self.step_of_several(txn, now, &job.request);
        }
        let found = match self.found(txn, resource, now)? {
            Ok(found) => found,
            Err(damaged) => return Ok(damaged),
        };
        let counter = job.request.counter();
        let counted = self.counters.get(txn, counter)?;
        let (queue, readers) = (self.queue(txn, &job.request)?, found.readers());
        let stored = Stored {
            key: found.key.as_ref(),
            readers: &readers,
            counter: counted,
            queue: queue.as_ref(),
        };
        let ruling = decide(stored, now, &job.request);
        self.keep_queue(txn, resource, ruling.queue.as_ref())?;
        if let Some(token) = ruling.counter {
            self.counters.put(txn, counter, token)?;
        }
        let sets = matches!(ruling.change, Change::Set(_)) || ruling.readers.is_some();
        if found.is_new && sets && !self.make_room(txn, now)? {
            return self.is_full(txn);
        }
        self.change(txn, resource, (&found, ruling.change))?;
        if let Some(readers) = ruling.readers {
            self.keep_readers(txn, resource, (&found, readers))?;
        }
        Ok(ruling.vote)
    }

    fn change(
        &mut self,
        txn: &mut RwTxn<'_>,
        resource: &Resource,
        (found, change): (&Found, Change),
    ) -> heed::Result<()> {
        let place = key_of(resource);
        match change {
            Change::Keep => {}
            Change::Delete => {
                self.locks.delete(txn, &place)?;
            }
            Change::Set(key) => {
                // Argument S1: a key ends with the process that won it, and not with one that extends it and ends before.
                let holder = found.holder_of(&key.owner).unwrap_or(self.holder);
                let record = Record {
                    holder,
                    key,
                    name: resource.as_str().to_owned(),
                };
                self.locks.put(txn, &place, &record.encode())?;
            }
        }
        Ok(())
    }

    fn is_full(&self, txn: &RwTxn<'_>) -> heed::Result<Vote> {
        let locks = self.locks.len(txn)?;
        Ok(rejected(&format_args!(
            "the store is full with {locks} locks"
        )))
    }

    /// Who waits for the resource of a request that is about a fair lock.
    fn queue(&self, txn: &RwTxn<'_>, request: &Request) -> heed::Result<Option<Queue>> {
        if request.place().is_none() && !matches!(request, Request::Leave { .. }) {
            return Ok(None);
        }
        let bytes = self.locks.get(txn, &queue_key_of(request.resource()))?;
        Ok(bytes.and_then(queue::decode))
    }

    fn keep_queue(
        &self,
        txn: &mut RwTxn<'_>,
        resource: &Resource,
        queue: Option<&Queue>,
    ) -> heed::Result<()> {
        let Some(queue) = queue else {
            return Ok(());
        };
        let place = queue_key_of(resource);
        if queue.entries().is_empty() {
            self.locks.delete(txn, &place)?;
        } else if !self.full(txn)? {
            // Nobody is refused for want of room: a queue that is not written down costs order alone.
            self.locks.put(txn, &place, &queue::encode(queue))?;
        }
        Ok(())
    }

    /// Sweeps a little, or more if the store is full, and says whether it has room for a key.
    fn make_room(&mut self, txn: &mut RwTxn<'_>, now: Instant) -> heed::Result<bool> {
        self.sweep(txn, now, SWEEP)?;
        if !self.full(txn)? {
            return Ok(true);
        }
        // What a reader that was killed once saw is kept for it for ever.
        self.env.clear_stale_readers()?;
        self.sweep(txn, now, LONG_SWEEP)?;
        Ok(!self.full(txn)?)
    }

    /// Whether the keys fill three quarters of the map. LMDB writes each page that it changes to a new
    /// place, so even deleting needs room: with the rest, no batch runs out of it.
    fn full(&self, txn: &RwTxn<'_>) -> heed::Result<bool> {
        let stat = self.locks.stat(txn)?;
        let pages = stat.branch_pages + stat.leaf_pages + stat.overflow_pages;
        let bytes = (pages as u64).saturating_mul(stat.page_size.into());
        Ok(bytes >= MAP_SIZE / 4 * 3)
    }

    /// Looks at the next `count` keys, round and round, and deletes those that have ended.
    fn sweep(&mut self, txn: &mut RwTxn<'_>, now: Instant, count: usize) -> heed::Result<()> {
        let from = match &*self.swept {
            [] => Bound::Unbounded,
            last => Bound::Excluded(last),
        };
        let mut ended = Vec::new();
        let mut last = Vec::new();
        for (number, entry) in self
            .locks
            .range(txn, &(from, Bound::Unbounded))?
            .enumerate()
        {
            let (place, bytes) = entry?;
            if number == count {
                break;
            }
            last = place.to_vec();
            if is_over(bytes, now) {
                ended.push(last.clone());
            }
        }
        for place in &ended {
            self.locks.delete(txn, place)?;
        }
        // Empty if there was nothing more: then it goes on with the first key.
        self.swept = last;
        Ok(())
    }
}

/// Opens the LMDB environment of this path, which has its keys in the file `data`.
fn environment(path: &Path, data: &Path, kind: EnvFlags) -> heed::Result<Env<WithoutTls>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options
        .map_size(usize::try_from(MAP_SIZE).expect("64 MiB are within every address space"))
        .max_dbs(3);
    // Two calls that heed cannot vouch for. The flag: NO_SYNC can cost the file its order in a power cut
    // and nothing else; it is set only where a file of before the cut is known by its boot id, and then
    // the file is replaced unread. The opening:
    // the file is mapped, so what is read must not be changed but by LMDB, and must be there. It has
    // all its pages (`head`), nobody but LMDB writes to it by the contract of the module's page, and
    // this process has it open only once (`worker`).
    #[expect(
        unsafe_code,
        reason = "mapping a file cannot be safe; the comment above says what it stands on"
    )]
    let env = unsafe {
        options.flags(FLUSHING | kind);
        options.open(path)?
    };
    close_on_exec(data)?;
    Ok(env)
}

/// A power cut is a reboot, and no file outlives one: flushing would protect what is thrown away.
#[cfg(any(target_os = "linux", target_os = "android"))]
const FLUSHING: EnvFlags = EnvFlags::NO_SYNC;

/// Without a boot id the file is trusted after a power cut, so it must be whole.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const FLUSHING: EnvFlags = EnvFlags::empty();

/// The time that TTLs are counted by: the same for all processes of the machine.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn node_time(clock: Clock) -> Instant {
    clock.of_the_machine()
}

/// Elsewhere every process has another origin for its clock; the wall is all that they share.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn node_time(clock: Clock) -> Instant {
    Instant::from_origin(clock.wall())
}

/// Whether this is a key whose TTL has ended, or a queue of which all places are over.
fn is_over(bytes: &[u8], now: Instant) -> bool {
    match queue::decode(bytes) {
        Some(queue) => queue.is_over(now),
        None => {
            let last = Shares::decode(bytes).and_then(|shares| shares.last().cloned());
            let record = last.or_else(|| Record::decode(bytes));
            record.is_some_and(|record| record.key.expires_at <= now)
        }
    }
}

fn rejected(detail: &(impl std::fmt::Display + ?Sized)) -> Vote {
    Vote::Unknown(Fault::new(FaultKind::Rejected, detail))
}

const FORMAT_NAME: &str = "leasehold";
const LOCKS_NAME: &str = "locks";

#[cfg(test)]
pub(super) mod tests;
