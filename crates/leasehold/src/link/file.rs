//! A node that is a file: for the processes of one machine, without a server.
//!
//! The truth is an LMDB environment that every process maps into its memory. What a step does to a key
//! is [`decide`](leasehold_core::table::decide), inside a write transaction, so the processes take
//! their steps one after the other.
//!
//! # What a key outlives, and what not
//! * **Its process: no.** A record names the process that set it, by pid and start time. A holder that
//!   was killed holds nothing from that moment on. Pids are judged only between processes of one pid
//!   and one time namespace; for the others the TTL has to end.
//! * **A reboot: no.** The file carries the boot's id. A file of an earlier boot is replaced when it is
//!   opened, so a power cut cannot leave anything behind, damage included. This is why on Linux nothing
//!   but the ceiling of the tokens is ever flushed to the disk after the file has been made. A file that some process has open is not
//!   of an earlier boot, whatever id it carries, and is never replaced ([`FileError::InUse`]).
//! * **Its TTL: no,** by the clock that goes on through suspend, which all processes of a machine share.
//!   Processes in different *time namespaces* do not share it, so a store that processes of one have open is refused
//!   to those of another ([`FileError::OtherTimeNamespace`]). A store that nobody has open is taken over, without its
//!   keys. A version that does not note its namespace neither refuses nor is refused.
//!
//! Outside Linux and Android there is neither boot id nor start time: keys last until their TTL ends,
//! and since there the boot-time clock is not shared between processes, TTLs are counted by the wall
//! clock. A wall clock that is set forward there ends them early. Each batch of steps is flushed there,
//! so that the file is whole after a power cut.
//!
//! # What outlives even a reboot
//! The order of fencing tokens. The counters go with the store, but beside it there is a small file,
//! `tokens`, with a number that none of them has passed, and the counters of a new store begin there.
//! Before a counter passes it, a new one is put on the disk, an hour of counting further: a flush of the
//! disk in an hour, for which all processes wait. If it cannot be written, nothing is granted with a
//! token beyond the last one. Without `tokens`, a new store counts on from the time alone: tokens go back
//! if the clock was set back while the machine was down. It is checked when a new store is made, and if
//! it is damaged, none is made ([`FileError::TokensDamaged`]).
//!
//! # What waits
//! A transaction waits for the one before it, and that may belong to a process that was stopped in the
//! middle. A thread per opened store does this waiting, and hints wait for it as steps do; [`FileLink`] never
//! waits. A process that was
//! *killed* in the middle holds nobody up: the lock of LMDB is a robust one.
//!
//! # Hints
//! A link that waits for a key is told when any process changes it: the kernel wakes the store's thread for each
//! commit (inotify) and the thread looks whether the key is another one. It is told within 50 ms that the process
//! which held the key has died, unless that lives in other namespaces, and not that a TTL has ended. In a store in
//! which others commit again and again, the thread looks a thousand times in a second at most, so a hint may be a
//! millisecond late; if very many keys are watched, as late as ten such looks take. While no link watches a key,
//! none of this costs a commit anything.
//!
//! A process that cannot get inotify when it opens the store is told of its own changes alone, and so is every
//! process outside Linux and Android: its links do not promise hints, so a waiter there looks by the clock,
//! often. Each open store takes one of the user's instances (`fs.inotify.max_user_instances`, often 128).
//!
//! # Limits
//! * The file has a fixed size of 64 MiB and a mark, sparse at first: room for at least 10,000 locks at
//!   a time with the longest names, and for some 200,000 with short ones. Ended keys are swept as new
//!   ones come. A full store answers with a fault, and releases are still carried out.
//! * Not for network file systems, of which the known ones are refused. A shared folder between virtual
//!   machines is one too, even where it cannot be told.
//! * Who must lock with whom must see one boot id. Some containers (systemd-nspawn, LXC) have their own:
//!   a shared store that one of them has open is refused to the others, and one that nobody has open is
//!   replaced, with the keys in it. Where no boot id can be read, no store is opened.
//! * Who must lock with whom must run as one user: folder and files are for their owner alone.
//! * After `fork` without `exec`, a child must not use the nodes of its parent.
//! * Programs that a process starts while it has a store open get no descriptor of it, but for one exception: LMDB
//!   opens the data file without close-on-exec, which is set some microseconds later, so a program that another
//!   thread starts in between inherits it. Open the nodes before other threads start programs.
//! * Deleting or replacing `data.mdb` while the store is open breaks mutual exclusion. The processes
//!   that have it open are answered with a fault from then on, but the keys are gone: leases that were
//!   won before stay valid to their guards until their TTL ends, while others win the same locks in the
//!   new file. Deleting `lock.mdb` while the store is open breaks mutual exclusion unseen.
//!
//! # Damage
//! A file that is not a store of this format is refused and left as it is, and so is what is no file: a FIFO, a device,
//! a symbolic link. So are `data.mdb` and `lock.mdb` with a second name (a hard link), which another folder could have
//! with another lock file: a backup by `cp -al` gives them one, and they can be opened again when it is deleted. Checked before it is mapped:
//! size, mark, and both head pages of LMDB, so a file that was cut short is found. Not found before use is
//! damage to the pages in between: LMDB reports some of it, and may crash the process on the rest. A
//! file that is cut short while it is open is noticed before the next batch of steps at the latest by
//! the size that is looked up then, and crashes the process if it happens in between.

mod ceiling;
mod contents;
mod counters;
mod descriptor;
mod error;
mod head;
mod inbox;
mod job;
mod notifier;
mod open_lock;
mod opening;
mod process_identity;
mod queue;
mod record;
mod stopped;
mod store;
mod store_directory;
mod subscriptions;
mod time_namespace;
mod worker;

pub use contents::{Contents, HeldKey};
pub use error::FileError;

use super::{Link, LinkEvent, Message};
use crate::clock::Clock;
use inbox::Inbox;
use job::Job;
use leasehold_core::Resource;
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{self, RecvTimeoutError},
    },
    task::{Context, Poll},
    time::Duration,
};
use store::Store;
use worker::Worker;

/// One node in a folder. Clones are the same node, and so is whatever else opens the same folder, in
/// this process or another one of the machine.
#[derive(Clone, Debug)]
pub struct FileNode(Arc<worker::Tenancy>);

impl FileNode {
    /// Opens the store in the folder `path`, and makes folder (mode 0700), parents and store if they are
    /// not there.
    ///
    /// Waits while another process opens the same store; making one takes a flush of the disk. Not for
    /// the thread of an async runtime.
    ///
    /// # Errors
    /// [`FileError`] says what is in the way. What is not a store is never overwritten.
    ///
    /// # Examples
    /// ```
    /// # use leasehold::{clock::Clock, link::file::FileNode};
    /// # let folder = std::env::temp_dir().join(format!("leasehold-doc-{}", std::process::id()));
    /// let node = FileNode::open(&folder)?;
    /// let link = node.link(Clock::system());
    /// # drop((node, link));
    /// # std::fs::remove_dir_all(&folder).expect("it was just made");
    /// # Ok::<(), leasehold::link::file::FileError>(())
    /// ```
    pub fn open(path: &Path) -> Result<Self, FileError> {
        Worker::open(path).map(|tenancy| Self(Arc::new(tenancy)))
    }

    /// What is in the store: its size, and what is held by processes that live. Changes nothing. Waits for the store's
    /// thread, for ten seconds at most, so not for the thread of an async runtime.
    ///
    /// # Errors
    /// Why the store cannot be read, as a fragment for people.
    pub fn contents(&self, clock: Clock) -> Result<Contents, String> {
        self.ask(LONG, move |store| store.contents(clock))
    }

    /// Whether a lock could be set in the store now: sets one that nobody asked for and takes it back in the same
    /// transaction, which no other process sees. Waits as [`contents`](Self::contents) does, but for a second at most.
    ///
    /// # Errors
    /// Why none could, as a fragment for people: the disk is full, say, or a process that is named was stopped inside a
    /// transaction, for which all others wait.
    pub fn try_out(&self, clock: Clock) -> Result<(), String> {
        self.ask(PATIENCE, move |store| store.try_out(clock))
    }

    /// Who holds this resource, if anybody that lives does. As [`contents`](Self::contents), but reads one key.
    ///
    /// # Errors
    /// As [`contents`](Self::contents).
    pub fn find(&self, resource: &Resource, clock: Clock) -> Result<Option<HeldKey>, String> {
        let found = self.find_all(resource, clock)?;
        Ok(found.into_iter().next())
    }

    /// The same of all who have a part of it.
    pub(crate) fn find_all(
        &self,
        resource: &Resource,
        clock: Clock,
    ) -> Result<Vec<HeldKey>, String> {
        let resource = resource.clone();
        self.ask(LONG, move |store| store.find(&resource, clock))
    }

    fn ask<T: Send + 'static>(
        &self,
        patience: Duration,
        question: impl FnOnce(&mut Store) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let (answer, told) = mpsc::sync_channel(1);
        let errand = move |store: &mut Store| drop(answer.send(question(store)));
        let worker = self.0.worker();
        worker.run_errand(Box::new(errand));
        // The thread itself waits without a limit for the transaction of another process, which may have been stopped.
        let patience = match worker.is_held_up.load(Ordering::Relaxed) {
            true => PATIENCE,
            false => patience,
        };
        told.recv_timeout(patience)
            .unwrap_or_else(|error| match error {
                RecvTimeoutError::Disconnected => {
                    Err("the thread of the store has ended".to_owned())
                }
                RecvTimeoutError::Timeout => {
                    worker.is_held_up.store(true, Ordering::Relaxed);
                    Err(held_up(patience, &stopped::processes(worker.data())))
                }
            })
    }

    /// A link to this node. Does not wait.
    ///
    /// The store stays open until the last node and link of it are gone and what they asked has been
    /// carried out; this happens in the background.
    #[must_use]
    pub fn link(&self, clock: Clock) -> FileLink {
        FileLink {
            node: self.clone(),
            clock,
            inbox: Arc::new(Inbox::new(self.0.worker().reach())),
        }
    }
}

/// What is in the way of a store's thread.
fn held_up(patience: Duration, stopped: &[u32]) -> String {
    let by = match stopped {
        [] => String::new(),
        [one] => format!(", most likely process {one} (stopped; continue or end it)"),
        several => {
            let several: Vec<_> = several.iter().map(ToString::to_string).collect();
            let several = several.join(", ");
            format!(", most likely one of the processes {several} (stopped; continue or end them)")
        }
    };
    format!("no answer within {patience:?}: the store is kept busy by another process{by}")
}

/// How long a question waits for the transactions of other processes, which take microseconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long one waits that may have hundreds of thousands of keys to read.
const LONG: Duration = Duration::from_secs(10);

/// The link to a [`FileNode`]. Up to 4,096 steps wait their turn in a store, and as many releases
/// again; what comes on top is answered [`Busy`](leasehold_core::FaultKind::Busy).
#[derive(Debug)]
pub struct FileLink {
    node: FileNode,
    clock: Clock,
    inbox: Arc<Inbox>,
}

impl Link for FileLink {
    fn send(&mut self, message: &mut Message<'_>) {
        let request = message.request().as_seen_at(self.clock.wall());
        self.node.0.worker().send(Job {
            tag: message.tag(),
            request: request.into_owned(),
            clock: self.clock,
            inbox: self.inbox.clone(),
        });
    }

    fn poll(&mut self, cx: &mut Context<'_>, events: &mut Vec<LinkEvent>, most: usize) -> Poll<()> {
        self.inbox.poll(cx, events, most)
    }
}
