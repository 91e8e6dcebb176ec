//! Posting an operation to the shell, and being woken once.

use crate::{
    answer::{Leftover, Promise, Promised, promise},
    cell::{Cell, Ended, ShellSide},
    clock::Clock,
    configuration::Configuration,
    deadline::Deadlines,
    error::{LeaseLost, Nodes},
    fork::Process,
    guardian::GuardianHandle,
    health::Healths,
    link::NodeName,
    trace::Hold,
};
use leasehold_core::{
    AcquireFailure, AcquireRequest, ExtendFailure, Instant, Lease, NodeId, OperationId, Owner,
    Quorum, ReleaseOutcome, Resource, Timing, Ttl, Vote,
};
use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::mpsc;

/// The way to the shell. Clones lead to the same one; the shell ends when the last is gone and nothing
/// is left to clean up.
#[derive(Clone, Debug)]
pub(crate) struct Handle(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    commands: mpsc::UnboundedSender<Command>,
    operations: Arc<AtomicU64>,
    clock: Clock,
    quorum: Quorum,
    configuration: Arc<Configuration>,
    healths: Healths,
    process: Process,
    /// Who looks after the shell, if that has no thread of its own.
    farewell: Farewell,
}

/// Tells the guardian when nobody is left who could post: dropped behind the way to the shell.
#[derive(Debug)]
struct Farewell(Option<GuardianHandle>);

impl Drop for Farewell {
    fn drop(&mut self) {
        if let Some(guardian) = &self.0 {
            guardian.posted();
        }
    }
}

/// What the shell can be asked. It is copied on its way, so what is large and rare is in a box.
#[derive(Debug)]
pub(crate) enum Command {
    Acquire {
        acquire: AcquireRequest,
        cell: ShellSide,
    },
    /// The caller of this acquisition has gone.
    Cancel(OperationId),
    Extend {
        lease: OperationId,
        ttl: Option<Ttl>,
        answer: Promise<Extended>,
    },
    Prolong {
        resource: Resource,
        owner: Owner,
        timing: Box<Timing>,
        answer: Promise<Extended>,
    },
    Heartbeat(OperationId),
    HandOver(OperationId),
    Inspect {
        resource: Resource,
        limit: Duration,
        answer: Promise<Inspected>,
    },
    Evict {
        resource: Resource,
        owner: Owner,
        timing: Box<Timing>,
        answer: Promise<ReleaseOutcome>,
    },
    Release(OperationId),
    LookOut(Onlooker),
    ShutDown(Promise<usize>),
}

/// Somebody who wants to be called when the key of a resource may be another one, and at this time in any case.
#[derive(Debug)]
pub(crate) struct Onlooker {
    pub(crate) resource: Resource,
    pub(crate) by: Instant,
    pub(crate) answer: Promise<()>,
}

pub(crate) type Extended = Result<Instant, ExtendFailure>;
pub(crate) type Inspected = Vec<(NodeId, Vote)>;

impl Handle {
    pub(crate) fn new(
        clock: Clock,
        nodes: &[NodeName],
        quorum: Quorum,
        configuration: Arc<Configuration>,
        guardian: Option<GuardianHandle>,
    ) -> (Self, mpsc::UnboundedReceiver<Command>) {
        let (commands, receiver) = mpsc::unbounded_channel();
        let shared = Shared {
            commands,
            operations: Arc::default(),
            clock,
            quorum,
            healths: Healths::new(nodes),
            configuration,
            process: Process::this(),
            farewell: Farewell(guardian),
        };
        (Self(Arc::new(shared)), receiver)
    }

    pub(crate) fn healths(&self) -> &Healths {
        &self.0.healths
    }

    pub(crate) fn configuration(&self) -> &Configuration {
        &self.0.configuration
    }

    pub(crate) fn clock(&self) -> Clock {
        self.0.clock
    }

    pub(crate) fn quorum(&self) -> Quorum {
        self.0.quorum
    }

    /// What the nodes are called, in their order.
    pub(crate) fn nodes(&self) -> Arc<[NodeName]> {
        self.0.healths.names()
    }

    /// The nodes as errors call them.
    pub(crate) fn names(&self) -> Nodes {
        Nodes {
            names: self.nodes(),
            quorum: self.0.quorum,
        }
    }

    /// What draws the numbers of operations.
    pub(crate) fn operations(&self) -> &Arc<AtomicU64> {
        &self.0.operations
    }

    /// Wishes for a resource; none means that there is no shell any more.
    pub(crate) async fn acquire(
        &self,
        acquire: AcquireRequest,
    ) -> Option<Result<HeldLease, Box<AcquireFailure>>> {
        let operation = next_operation(&self.0.operations);
        let cell = Arc::new(Cell::new(operation, acquire.resource.clone(), self.clock()));
        let caller = Caller {
            handle: self,
            cell: &cell,
        };
        let end = ShellSide(Arc::clone(&cell));
        self.post(Command::Acquire { acquire, cell: end });
        let acquired = poll_fn(|cx| cell.acquired.poll(cx));
        let acquired = self.wait("the lock", cell.resource(), acquired).await?;
        // The answer was taken: nothing is left behind.
        std::mem::forget(caller);
        Some(acquired.map(|lease| HeldLease::new(self.clone(), lease, cell)))
    }

    pub(crate) async fn extend(
        &self,
        resource: &Resource,
        lease: OperationId,
        ttl: Option<Ttl>,
    ) -> Option<Extended> {
        let (answer, answered) = promise();
        self.post(Command::Extend { lease, ttl, answer });
        self.wait(EXTENSION, resource, answered).await
    }

    /// Extends the keys of another owner; none means that there is no shell any more.
    pub(crate) async fn prolong(
        &self,
        resource: Resource,
        owner: Owner,
        timing: Timing,
    ) -> Option<Extended> {
        let (answer, answered) = promise();
        let of = resource.clone();
        self.post(Command::Prolong {
            resource,
            owner,
            timing: Box::new(timing),
            answer,
        });
        self.wait(EXTENSION, &of, answered).await
    }

    pub(crate) fn heartbeat(&self, lease: OperationId) {
        self.post(Command::Heartbeat(lease));
    }

    /// What each node says about a key; none means that there is no shell any more.
    pub(crate) async fn inspect(&self, resource: Resource, limit: Duration) -> Option<Inspected> {
        let (answer, answered) = promise();
        let of = resource.clone();
        self.post(Command::Inspect {
            resource,
            limit,
            answer,
        });
        self.wait("what the nodes say about the lock", &of, answered)
            .await
    }

    /// Releases the keys of another owner; none means that there is no shell any more.
    pub(crate) async fn evict(
        &self,
        resource: Resource,
        owner: Owner,
        timing: Timing,
    ) -> Option<ReleaseOutcome> {
        let (answer, answered) = promise();
        let of = resource.clone();
        self.post(Command::Evict {
            resource,
            owner,
            timing: Box::new(timing),
            answer,
        });
        self.wait(RELEASE, &of, answered).await
    }

    /// As [`evict`](Self::evict), in the background: nobody waits for what becomes of it.
    pub(crate) fn evict_later(&self, resource: Resource, owner: Owner, timing: Timing) {
        let (answer, answered) = promise();
        drop(answered);
        self.post(Command::Evict {
            resource,
            owner,
            timing: Box::new(timing),
            answer,
        });
    }

    /// Is done when the key of the resource may have become another one since, and at `by` in any case; with none if there is
    /// no shell any more, or it was shut down.
    pub(crate) fn look_out(&self, resource: &Resource, by: Instant) -> Promised<()> {
        let (answer, called) = promise();
        let resource = resource.clone();
        self.post(Command::LookOut(Onlooker {
            resource,
            by,
            answer,
        }));
        called
    }

    pub(crate) async fn shut_down(&self) -> Option<usize> {
        let (answer, answered) = promise();
        self.post(Command::ShutDown(answer));
        answered.await
    }

    /// Waits for an answer; none means that there is no shell any more. In a test's time not for ever.
    async fn wait<T>(
        &self,
        what: &str,
        resource: &Resource,
        answered: impl Future<Output = Option<T>>,
    ) -> Option<T> {
        let what = || format!("{what} {}", resource.quoted());
        self.0.clock.wait_for(what, answered).await
    }

    /// A shell that has ended answers nobody: the command is dropped, and with it the way back. Nor does one answer a fork.
    fn post(&self, command: Command) {
        if self.is_inherited() {
            return;
        }
        let _ = self.0.commands.send(command);
        if let Some(guardian) = self.guardian() {
            guardian.posted();
        }
    }

    /// Whether this process is a fork of the one that has the shell.
    pub(crate) fn is_inherited(&self) -> bool {
        !self.0.process.is_this()
    }

    /// Who looks after the shell, if that has no thread of its own.
    pub(crate) fn guardian(&self) -> Option<&GuardianHandle> {
        self.0.farewell.0.as_ref()
    }

    /// The handle as the shell keeps it for the leases that it hands out, without keeping itself alive.
    pub(crate) fn downgrade(&self) -> WeakHandle {
        WeakHandle(Arc::downgrade(&self.0))
    }
}

/// The number of a new operation.
pub(crate) fn next_operation(operations: &AtomicU64) -> OperationId {
    OperationId::new(operations.fetch_add(1, Ordering::Relaxed))
}

const EXTENSION: &str = "an extension of the lock";
const RELEASE: &str = "the release of the lock";

/// A handle that does not keep the shell running.
#[derive(Debug)]
pub(crate) struct WeakHandle(std::sync::Weak<Shared>);

impl WeakHandle {
    pub(crate) fn upgrade(&self) -> Option<Handle> {
        self.0.upgrade().map(Handle)
    }
}

/// Who waits for an acquisition. Step 5 for callers who go away: what they may have set is taken back.
struct Caller<'a> {
    handle: &'a Handle,
    cell: &'a Cell,
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        let operation = self.cell.operation();
        match self.cell.acquired.leave() {
            Leftover::Owed => self.handle.post(Command::Cancel(operation)),
            Leftover::Come(Ok(_)) => self.handle.post(Command::Release(operation)),
            Leftover::Come(Err(_)) | Leftover::Nothing => {}
        }
    }
}

/// A lease in somebody's hands. Wherever it is dropped, it is released.
#[derive(Debug)]
pub(crate) struct HeldLease {
    handle: Handle,
    lease: Lease,
    cell: Arc<Cell>,
    released: bool,
    outcome: Option<ReleaseOutcome>,
}

impl HeldLease {
    const fn new(handle: Handle, lease: Lease, cell: Arc<Cell>) -> Self {
        Self {
            handle,
            lease,
            cell,
            released: false,
            outcome: None,
        }
    }

    pub(crate) const fn cell(&self) -> &Arc<Cell> {
        &self.cell
    }

    /// The holder has it from now on.
    pub(crate) fn begin(&self) -> Hold {
        Hold::begin(&self.lease, &self.cell)
    }

    /// Whether the holder has let it go.
    pub(crate) const fn is_released(&self) -> bool {
        self.released
    }

    pub(crate) const fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn id(&self) -> OperationId {
        self.cell.operation()
    }

    pub(crate) const fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Says that the holder is at work; not more often than the shell can make use of.
    pub(crate) fn heartbeat(&self) {
        let now = self.handle.clock().now();
        if self.cell.is_heartbeat_news(now) {
            self.handle.heartbeat(self.id());
        }
    }

    /// Waits for the loss.
    pub(crate) fn lost(&self) -> impl Future<Output = LeaseLost> + Send + Sync + use<> {
        let cell = Arc::clone(&self.cell);
        async move {
            let mut changes = Deadlines::changes(&cell);
            loop {
                if let Some(lost) = cell.loss() {
                    return lost;
                }
                changes.next().await;
            }
        }
    }

    /// From now on nothing is lost that was not lost before.
    fn let_go(&mut self) {
        self.released = true;
        self.cell.let_go();
    }

    /// Waits for what becomes of the lease that was let go; none means that there is no shell any more.
    async fn ended(&self, what: &str) -> Option<Ended> {
        let ended = poll_fn(|cx| self.cell.ended.poll(cx));
        self.handle.wait(what, &self.lease.resource, ended).await
    }

    /// Ends the lease, but leaves the keys; false if it was lost before.
    pub(crate) async fn hand_over(mut self) -> bool {
        self.let_go();
        if self.handle.is_inherited() {
            return false;
        }
        self.handle.post(Command::HandOver(self.id()));
        let ended = self.ended("the end of the lease of").await;
        matches!(ended, Some(Ended::HandedOver(true)))
    }

    /// Releases, and waits for the outcome; none means that there is no shell any more. A caller that asks again waits for
    /// the same outcome, or is told it again.
    pub(crate) async fn release(&mut self) -> Option<ReleaseOutcome> {
        if !self.released {
            self.let_go();
            self.handle.post(Command::Release(self.id()));
        }
        // In a child that was forked nobody answers: the shell of this memory is turned by no thread.
        if self.outcome.is_none() && !self.handle.is_inherited() {
            // It stays in the cell until it is taken: this future may be dropped.
            if let Some(Ended::Released(outcome)) = self.ended(RELEASE).await {
                self.outcome = Some(outcome);
            }
        }
        self.outcome.clone()
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        if self.outcome.is_none() {
            // Nobody waits for what becomes of it any more.
            drop(self.cell.ended.leave());
        }
        if !self.released {
            self.let_go();
            self.handle.post(Command::Release(self.id()));
        }
    }
}
