//! Posting an operation to the shell, and being woken once.

use crate::{clock::Clock, error::ConfigError, link::NodeName};
use leasehold_core::{
    AcquireFailure, ExtendFailure, Instant, Lease, OperationId, Quorum, ReleaseOutcome, Wish,
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
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
        answer: oneshot::Sender<Result<Instant, ExtendFailure>>,
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
    ) -> Result<(Self, mpsc::UnboundedReceiver<Command>), ConfigError> {
        let quorum = match nodes.len() {
            0 => return Err(ConfigError::NoNodes),
            count => Quorum::majority(count).ok_or(ConfigError::TooManyNodes { nodes: count })?,
        };
        let (commands, receiver) = mpsc::unbounded_channel();
        let tickets = AtomicU64::new(0);
        Ok((
            Self(Arc::new(Shared {
                commands,
                tickets,
                clock,
                quorum,
                nodes,
            })),
            receiver,
        ))
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

    /// Wishes for a resource; none means that there is no shell any more.
    pub(crate) async fn acquire(&self, wish: Wish) -> Option<AcquireAnswer> {
        let ticket = Ticket(self.0.tickets.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        self.post(Command::Acquire {
            ticket,
            wish,
            answer,
        });
        let mut cancel = CancelOnDrop {
            handle: self,
            ticket: Some(ticket),
        };
        let answer = answered.await.ok();
        cancel.ticket = None;
        answer
    }

    pub(crate) async fn extend(
        &self,
        lease: OperationId,
    ) -> Option<Result<Instant, ExtendFailure>> {
        let (answer, answered) = oneshot::channel();
        self.post(Command::Extend { lease, answer });
        answered.await.ok()
    }

    pub(crate) async fn shut_down(&self) -> Option<usize> {
        let (answer, answered) = oneshot::channel();
        self.post(Command::ShutDown { answer });
        answered.await.ok()
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
    released: bool,
}

impl HeldLease {
    pub(crate) const fn new(handle: Handle, id: OperationId, lease: Lease) -> Self {
        Self {
            handle,
            id,
            lease,
            released: false,
        }
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

    /// Releases, and waits for the outcome; none means that there is no shell any more.
    pub(crate) async fn release(mut self) -> Option<ReleaseOutcome> {
        self.released = true;
        let (answer, answered) = oneshot::channel();
        self.handle.post(Command::Release {
            lease: self.id,
            answer: Some(answer),
        });
        answered.await.ok()
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        if !self.released {
            self.handle.post(Command::Release {
                lease: self.id,
                answer: None,
            });
        }
    }
}
