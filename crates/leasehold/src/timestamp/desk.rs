//! The thread that asks the node. It has one connection; what it is told to do has its turn in that order.

use super::{
    acquisition,
    error::{TimestampAcquireError, TimestampExtendError, TimestampLossCause},
    guard::TimestampGuard,
    lease::Lease,
    outcome::TimestampReleaseOutcome,
    subject::Subject,
};
use crate::{
    error::ConfigError,
    link::redis::{
        RedisUrl,
        stamp::{Kept, Silence, StampNode},
    },
};
use std::{sync::Arc, thread, time::Duration};
use tokio::{
    runtime,
    sync::{Mutex, mpsc, oneshot},
    task::JoinSet,
};

/// The way to the thread, which ends when the last is gone and everything is done.
#[derive(Clone, Debug)]
pub(super) struct Desk(mpsc::UnboundedSender<Order>);

/// What the thread can be told to do.
pub(super) enum Order {
    Acquire {
        subject: Arc<Subject>,
        /// None: one attempt.
        patience: Option<Duration>,
        /// The guard releases by it, and until there is one it keeps the thread.
        desk: Desk,
        answer: oneshot::Sender<Result<TimestampGuard, TimestampAcquireError>>,
    },
    Extend {
        lease: Arc<Lease>,
        answer: oneshot::Sender<Result<(), TimestampExtendError>>,
    },
    Release {
        lease: Arc<Lease>,
        answer: Option<oneshot::Sender<TimestampReleaseOutcome>>,
    },
}

impl Desk {
    /// Starts the thread, which connects when it has something to ask.
    pub(super) fn open(url: RedisUrl) -> Result<Self, ConfigError> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (orders, incoming) = mpsc::unbounded_channel();
        thread::Builder::new()
            .name("leasehold-timestamp".into())
            .spawn(move || runtime.block_on(serve(StampNode::new(url), incoming)))?;
        Ok(Self(orders))
    }

    /// If the thread has ended, the order is dropped, and a caller that waits for its answer learns that there is none.
    pub(super) fn post(&self, order: Order) {
        drop(self.0.send(order));
    }
}

/// The node, for one at a time, first come, first served.
pub(super) type SharedNode = Arc<Mutex<StampNode>>;

async fn serve(node: StampNode, mut orders: mpsc::UnboundedReceiver<Order>) {
    let node = Arc::new(Mutex::new(node));
    let mut tasks = JoinSet::new();
    while let Some(order) = orders.recv().await {
        while tasks.try_join_next().is_some() {}
        tasks.spawn(carry_out(order, Arc::clone(&node)));
    }
    // What was dropped last is still released.
    while tasks.join_next().await.is_some() {}
}

async fn carry_out(order: Order, node: SharedNode) {
    match order {
        Order::Acquire {
            subject,
            patience,
            desk,
            answer,
        } => acquisition::run(subject, patience, desk, node, answer).await,
        // A caller that has gone away loses the answer, and nothing else.
        Order::Extend { lease, answer } => drop(answer.send(extend(&lease, &node).await)),
        Order::Release { lease, answer } => {
            let outcome = release(&lease, &node).await;
            drop(answer.map(|answer| answer.send(outcome)));
        }
    }
}

async fn extend(lease: &Lease, node: &SharedNode) -> Result<(), TimestampExtendError> {
    let subject = &lease.subject;
    let lost = |cause| TimestampExtendError::Lost {
        resource: subject.resource.clone(),
        cause,
    };
    let mut node = node.lock().await;
    let connected = node.connect().await;
    connected.map_err(|silence| subject.not_extended(silence))?;
    if let Some(cause) = lease.lost() {
        return Err(lost(cause));
    }
    let reading = subject.clocks.read();
    let (end, timeout) = (
        reading.end(subject.options.timeout),
        subject.options.timeout,
    );
    let ours = lease.ours();
    // Before it is sent: if its answer is lost, the key is ours with either value.
    lease.may_carry(end);
    let key = subject.resource.as_bytes();
    match node.extend(key, reading.now, end, &ours).await {
        // Argument T2: an end that is later than what this reading comes to was written by another, which may have been
        // the right one. It is not ours to count from this one.
        Ok(Kept::Done(written)) if written > end => {
            lease.carries_only(vec![written]);
            let resource = subject.resource.clone();
            return Err(TimestampExtendError::ClockSetBack { resource });
        }
        Ok(Kept::Done(_)) => lease.confirm(end, reading.valid_until(timeout)),
        Ok(Kept::Over) => return Err(lost(lease.lose(TimestampLossCause::TimedOut))),
        Ok(Kept::Gone) => return Err(lost(lease.lose(TimestampLossCause::Gone))),
        Ok(Kept::Other(found)) => {
            return Err(lost(lease.lose(TimestampLossCause::Overwritten { found })));
        }
        Err(silence) => {
            if matches!(silence, Silence::Untouched(_)) {
                lease.carries_only(ours);
            }
            return Err(subject.not_extended(silence));
        }
    }
    // Argument T2: the answer may have come long after the clock was read.
    lease.lost().map_or(Ok(()), |cause| Err(lost(cause)))
}

async fn release(lease: &Lease, node: &SharedNode) -> TimestampReleaseOutcome {
    let subject = &lease.subject;
    let mut node = node.lock().await;
    if let Err(Silence::Untouched(reason) | Silence::Unclear(reason)) = node.connect().await {
        return TimestampReleaseOutcome::Unknown { reason };
    }
    let now = subject.clocks.read().now;
    // Argument T4: once. If it was carried out and said again, it could delete the key of somebody who has acquired the
    // lock in the same second, since that one's value is the same.
    let key = subject.resource.as_bytes();
    match node.release(key, now, &lease.ours()).await {
        Ok(Kept::Done(())) => TimestampReleaseOutcome::Released,
        Ok(Kept::Over) => TimestampReleaseOutcome::AlreadyExpired,
        Ok(Kept::Gone) => TimestampReleaseOutcome::Gone,
        Ok(Kept::Other(found)) => TimestampReleaseOutcome::Overwritten { found },
        Err(Silence::Untouched(reason) | Silence::Unclear(reason)) => {
            TimestampReleaseOutcome::Unknown { reason }
        }
    }
}
