//! Trying until the lock is won, or the patience has run out.

use super::{
    desk::{Desk, SharedNode},
    error::{TimestampAcquireError, TimestampHeld},
    guard::TimestampGuard,
    lease::Lease,
    subject::Subject,
};
use crate::link::redis::stamp::{StampNode, StampVerdict};
use leasehold_core::Instant;
use std::{sync::Arc, time::Duration};
use tokio::{sync::oneshot, time::timeout};

type AcquireResult = Result<TimestampGuard, TimestampAcquireError>;

/// Tries until the answer can be given, or nobody waits for it any more.
pub(super) async fn run(
    subject: Arc<Subject>,
    patience: Option<Duration>,
    desk: Desk,
    node: SharedNode,
    mut answer: oneshot::Sender<AcquireResult>,
) {
    let mut acquisition = Acquisition {
        started: subject.clocks.now(),
        subject,
        patience,
        attempts: 0,
        last: None,
    };
    loop {
        if let Some(outcome) = acquisition.attempt(&desk, &node).await {
            // Nobody may wait for the guard any more. It releases when it is dropped.
            return drop(answer.send(outcome));
        }
        if timeout(acquisition.pause(), answer.closed()).await.is_ok() {
            return;
        }
    }
}

struct Acquisition {
    subject: Arc<Subject>,
    patience: Option<Duration>,
    started: Instant,
    attempts: u32,
    /// What the last attempt failed of.
    last: Option<TimestampAcquireError>,
}

impl Acquisition {
    /// What the caller is told, if this was the last attempt.
    async fn attempt(&mut self, desk: &Desk, node: &SharedNode) -> Option<AcquireResult> {
        if self.attempts > 0 && self.left().is_some_and(|left| left.is_zero()) {
            return Some(Err(self.timed_out()));
        }
        self.attempts = self.attempts.saturating_add(1);
        let (told, heard) = oneshot::channel();
        // A task of its own: a request that has left is heard to its end, also when the patience has not lasted.
        let (subject, desk) = (Arc::clone(&self.subject), desk.clone());
        tokio::spawn(ask(subject, desk, Arc::clone(node), told));
        let heard = match self.left() {
            None => Some(heard.await),
            Some(left) => timeout(left, heard).await.ok(),
        };
        match heard {
            Some(Ok(Ok(guard))) => Some(Ok(guard)),
            Some(Ok(Err(error))) if self.patience.is_some() && error.may_pass() => {
                self.last = Some(error);
                None
            }
            Some(Ok(Err(error))) => Some(Err(error)),
            Some(Err(_)) => Some(Err(TimestampAcquireError::ShutDown {
                resource: self.subject.resource.clone(),
            })),
            None => Some(Err(self.timed_out())),
        }
    }

    fn left(&self) -> Option<Duration> {
        let waited = self.subject.clocks.now().saturating_since(self.started);
        self.patience
            .map(|patience| patience.saturating_sub(waited))
    }

    /// Between half and all of the pause, so that those who wait together do not try together.
    fn pause(&self) -> Duration {
        let pause = match &self.last {
            Some(
                TimestampAcquireError::Unreachable { .. } | TimestampAcquireError::Unclear { .. },
            ) => self.subject.options.pause.max(AWAY),
            _ => self.subject.options.pause,
        };
        let half = pause / 2;
        let noise = self.subject.clocks.now().since_origin().subsec_micros();
        let pause = half + half / 1024 * (noise % 1025);
        self.left().map_or(pause, |left| left.min(pause))
    }

    fn timed_out(&mut self) -> TimestampAcquireError {
        let last = self.last.take().unwrap_or_else(|| {
            let reason = "it has not answered yet".to_owned();
            TimestampAcquireError::Unreachable {
                resource: self.subject.resource.clone(),
                node: self.subject.node.clone(),
                reason,
            }
        });
        TimestampAcquireError::TimedOut {
            resource: self.subject.resource.clone(),
            attempts: self.attempts,
            waited: self.subject.clocks.now().saturating_since(self.started),
            last: Box::new(last),
        }
    }
}

/// A node that cannot be asked is not dialled more often than this.
const AWAY: Duration = Duration::from_millis(200);

/// One attempt, when it is its turn.
async fn ask(
    subject: Arc<Subject>,
    desk: Desk,
    node: SharedNode,
    answer: oneshot::Sender<AcquireResult>,
) {
    let mut node = node.lock().await;
    if answer.is_closed() {
        return;
    }
    let outcome = take(&subject, desk, &mut node).await;
    drop(node);
    // Nobody may wait for the guard any more. It releases when it is dropped.
    drop(answer.send(outcome));
}

async fn take(subject: &Arc<Subject>, desk: Desk, node: &mut StampNode) -> AcquireResult {
    let connected = node.connect().await;
    connected.map_err(|silence| subject.not_acquired(silence))?;
    // Argument T2: read before the request leaves, and behind everything that was waited for.
    let reading = subject.clocks.read();
    let end = reading.end(subject.options.timeout);
    let (resource, name) = (subject.resource.clone(), subject.node.clone());
    if !reading.is_set() {
        let now = reading.now;
        return Err(TimestampAcquireError::ClockNotSet { resource, now });
    }
    match node.acquire(resource.as_bytes(), reading.now, end).await {
        Ok(StampVerdict::Granted) => {
            let valid_until = reading.valid_until(subject.options.timeout);
            let lease = Lease::new(Arc::clone(subject), end, valid_until);
            let guard = TimestampGuard::new(Arc::new(lease), desk);
            // Dropping the guard releases.
            match guard.is_valid() {
                true => Ok(guard),
                false => Err(subject.too_late(reading.started)),
            }
        }
        Ok(StampVerdict::Held(until)) => Err(TimestampAcquireError::Held(TimestampHeld {
            resource,
            node: name,
            until,
            remaining: reading.until_free(until),
        })),
        Ok(StampVerdict::Foreign(found)) => Err(TimestampAcquireError::NotATimestamp {
            resource,
            node: name,
            found,
        }),
        // Argument T4: an answer that was lost is no grant, even if the key carries our value when we look again.
        Err(silence) => Err(subject.not_acquired(silence)),
    }
}
