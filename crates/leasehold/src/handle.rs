//! Posting an operation to the shell, and being woken once.

use crate::{
    clock::Clock,
    configuration::Configuration,
    deadline::Deadlines,
    error::{LeaseLost, Nodes},
    health::Healths,
    link::NodeName,
    state::LeaseStatus,
    trace::Hold,
};
use leasehold_core::{
    AcquireFailure, ExtendFailure, Instant, Lease, NodeId, OperationId, Owner, Quorum,
    ReleaseOutcome, Resource, Terms, Ttl, Vote, Wish,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::{mpsc, oneshot};

/// The way to the shell. Clones lead to the same one; the shell ends when the last is gone and nothing
/// is left to clean up.
#[derive(Clone, Debug)]
pub(crate) struct Handle(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    commands: mpsc::UnboundedSender<Command>,
    tickets: AtomicU64,
    clock: Clock,
    quorum: Quorum,
    nodes: Vec<NodeName>,
    configuration: Arc<Configuration>,
    healths: Healths,
}

/// What the shell can be asked.
#[derive(Debug)]
pub(crate) enum Command {
    Acquire {
        ticket: Ticket,
        wish: Wish,
        answer: oneshot::Sender<AcquireAnswer>,
    },
    Cancel(Ticket),
    Extend {
        lease: OperationId,
        ttl: Option<Ttl>,
        answer: oneshot::Sender<Result<Instant, ExtendFailure>>,
    },
    Prolong {
        resource: Resource,
        owner: Owner,
        terms: Terms,
        answer: oneshot::Sender<Result<Instant, ExtendFailure>>,
    },
    Heartbeat(OperationId),
    HandOver {
        lease: OperationId,
        answer: oneshot::Sender<bool>,
    },
    Inspect {
        resource: Resource,
        limit: Duration,
        answer: oneshot::Sender<Vec<(NodeId, Vote)>>,
    },
    Evict {
        resource: Resource,
        owner: Owner,
        terms: Terms,
        answer: oneshot::Sender<ReleaseOutcome>,
    },
    Release {
        lease: OperationId,
        answer: Option<oneshot::Sender<ReleaseOutcome>>,
    },
    ShutDown {
        answer: oneshot::Sender<usize>,
    },
}

pub(crate) type AcquireAnswer = Result<HeldLease, AcquireFailure>;

/// The number by which a caller names its acquisition before the engine has given it one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ticket(u64);

impl Handle {
    pub(crate) fn new(
        clock: Clock,
        nodes: Vec<NodeName>,
        quorum: Quorum,
        configuration: Arc<Configuration>,
    ) -> (Self, mpsc::UnboundedReceiver<Command>) {
        let (commands, receiver) = mpsc::unbounded_channel();
        let tickets = AtomicU64::new(0);
        let shared = Shared {
            commands,
            tickets,
            clock,
            quorum,
            healths: Healths::new(&nodes),
            nodes,
            configuration,
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

    pub(crate) fn nodes(&self) -> &[NodeName] {
        &self.0.nodes
    }

    /// The nodes as errors call them.
    pub(crate) fn names(&self) -> Nodes<'_> {
        Nodes {
            names: &self.0.nodes,
            quorum: self.0.quorum,
        }
    }

    /// Wishes for a resource; none means that there is no shell any more.
    pub(crate) async fn acquire(&self, wish: Wish) -> Option<AcquireAnswer> {
        let ticket = Ticket(self.0.tickets.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        let resource = wish.resource.clone();
        self.post(Command::Acquire {
            ticket,
            wish,
            answer,
        });
        let mut cancel = CancelOnDrop {
            handle: self,
            ticket: Some(ticket),
        };
        let answer = self.wait("the lock", &resource, answered).await;
        cancel.ticket = None;
        answer
    }

    pub(crate) async fn extend(
        &self,
        resource: &Resource,
        lease: OperationId,
        ttl: Option<Ttl>,
    ) -> Option<Result<Instant, ExtendFailure>> {
        let (answer, answered) = oneshot::channel();
        self.post(Command::Extend { lease, ttl, answer });
        self.wait(EXTENSION, resource, answered).await
    }

    /// Extends the keys of another owner; none means that there is no shell any more.
    pub(crate) async fn prolong(
        &self,
        resource: Resource,
        owner: Owner,
        terms: Terms,
    ) -> Option<Result<Instant, ExtendFailure>> {
        let (answer, answered) = oneshot::channel();
        let of = resource.clone();
        self.post(Command::Prolong {
            resource,
            owner,
            terms,
            answer,
        });
        self.wait(EXTENSION, &of, answered).await
    }

    pub(crate) fn heartbeat(&self, lease: OperationId) {
        self.post(Command::Heartbeat(lease));
    }

    /// What each node says about a key; none means that there is no shell any more.
    pub(crate) async fn inspect(
        &self,
        resource: Resource,
        limit: Duration,
    ) -> Option<Vec<(NodeId, Vote)>> {
        let (answer, answered) = oneshot::channel();
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
        terms: Terms,
    ) -> Option<ReleaseOutcome> {
        let (answer, answered) = oneshot::channel();
        let of = resource.clone();
        self.post(Command::Evict {
            resource,
            owner,
            terms,
            answer,
        });
        self.wait(RELEASE, &of, answered).await
    }

    pub(crate) async fn shut_down(&self) -> Option<usize> {
        let (answer, answered) = oneshot::channel();
        self.post(Command::ShutDown { answer });
        answered.await.ok()
    }

    /// Waits for an answer; none means that there is no shell any more. In a test's time not for ever.
    async fn wait<T>(
        &self,
        what: &str,
        resource: &Resource,
        answered: impl Future<Output = Result<T, oneshot::error::RecvError>>,
    ) -> Option<T> {
        let what = || format!("{what} {:?}", resource.as_str());
        self.0.clock.wait_for(what, answered).await.ok()
    }

    /// A shell that has ended answers nobody: the command is dropped, and with it the way back.
    fn post(&self, command: Command) {
        let _ = self.0.commands.send(command);
    }

    /// The handle as the shell keeps it for the leases that it hands out, without keeping itself alive.
    pub(crate) fn downgrade(&self) -> WeakHandle {
        WeakHandle(Arc::downgrade(&self.0))
    }
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

/// Step 5 for callers who went away: what they may have set is taken back.
struct CancelOnDrop<'a> {
    handle: &'a Handle,
    ticket: Option<Ticket>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.handle.post(Command::Cancel(ticket));
        }
    }
}

/// A lease on its way to a caller, or in a guard. Wherever it is dropped, it is released.
#[derive(Debug)]
pub(crate) struct HeldLease {
    handle: Handle,
    id: OperationId,
    lease: Lease,
    status: Arc<LeaseStatus>,
    released: bool,
    /// The answer to a release that somebody has stopped waiting for, and may wait for again.
    answer: Option<oneshot::Receiver<ReleaseOutcome>>,
    outcome: Option<ReleaseOutcome>,
}

impl HeldLease {
    pub(crate) const fn new(
        handle: Handle,
        id: OperationId,
        lease: Lease,
        status: Arc<LeaseStatus>,
    ) -> Self {
        Self {
            handle,
            id,
            lease,
            status,
            released: false,
            answer: None,
            outcome: None,
        }
    }

    pub(crate) const fn status(&self) -> &Arc<LeaseStatus> {
        &self.status
    }

    /// The holder has it from now on.
    pub(crate) fn begin(&self) -> Hold {
        Hold::begin(&self.lease, &self.status)
    }

    /// Whether the holder has let it go.
    pub(crate) const fn is_released(&self) -> bool {
        self.released
    }

    pub(crate) const fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) const fn id(&self) -> OperationId {
        self.id
    }

    pub(crate) const fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Says that the holder is at work; not more often than the shell can make use of.
    pub(crate) fn heartbeat(&self) {
        let now = self.handle.clock().now();
        if self.status.is_heartbeat_news(now) {
            self.handle.heartbeat(self.id);
        }
    }

    /// Waits for the loss.
    pub(crate) fn lost(&self) -> impl Future<Output = LeaseLost> + Send + Sync + use<> {
        let status = Arc::clone(&self.status);
        async move {
            let mut changes = Deadlines::changes(&status);
            loop {
                if let Some(lost) = status.loss() {
                    return lost;
                }
                changes.next().await;
            }
        }
    }

    /// From now on nothing is lost that was not lost before.
    fn let_go(&mut self) {
        self.released = true;
        self.status.let_go();
    }

    /// Ends the lease, but leaves the keys; false if it was lost before.
    pub(crate) async fn hand_over(mut self) -> bool {
        self.let_go();
        let (answer, answered) = oneshot::channel();
        self.handle.post(Command::HandOver {
            lease: self.id,
            answer,
        });
        let resource = &self.lease.resource;
        let answer = self
            .handle
            .wait("the end of the lease of", resource, answered);
        answer.await.unwrap_or(false)
    }

    /// Releases, and waits for the outcome; none means that there is no shell any more.
    pub(crate) async fn release(mut self) -> Option<ReleaseOutcome> {
        self.release_in_place().await
    }

    /// As [`release`](Self::release). Whoever asks again waits for the same outcome, or is told it again.
    pub(crate) async fn release_in_place(&mut self) -> Option<ReleaseOutcome> {
        if !self.released {
            self.let_go();
            let (answer, answered) = oneshot::channel();
            self.handle.post(Command::Release {
                lease: self.id,
                answer: Some(answer),
            });
            self.answer = Some(answered);
        }
        if let Some(answered) = &mut self.answer {
            // Kept until it has come: this future may be dropped.
            let resource = &self.lease.resource;
            self.outcome = self.handle.wait(RELEASE, resource, answered).await;
            self.answer = None;
        }
        self.outcome.clone()
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        if !self.released {
            self.let_go();
            self.handle.post(Command::Release {
                lease: self.id,
                answer: None,
            });
        }
    }
}
