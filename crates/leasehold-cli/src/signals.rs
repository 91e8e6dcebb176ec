//! The signals that are not for leasehold but for the command it runs.

use crate::{exit_code, failure::Failure};
use rustix::process::Signal;
use std::{
    future::poll_fn,
    io,
    task::{Context, Poll},
};
use tokio::{
    select,
    signal::unix::{self, SignalKind},
};

/// Everything that leasehold is sent and that it passes on, and the news that a child changed.
///
/// From the making of this on, none of these signals ends the process by itself.
#[derive(Debug)]
pub(crate) struct Signals {
    streams: Vec<(Signal, unix::Signal)>,
}

impl Signals {
    /// Listens. Made before the lock is asked for, so that no signal leaves a lock behind.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let stream = |signal: Signal| {
            let stream = unix::signal(SignalKind::from_raw(signal.as_raw()))?;
            Ok((signal, stream))
        };
        let streams = LISTENED
            .into_iter()
            .map(stream)
            .collect::<io::Result<_>>()
            .map_err(|error| Failure::own(format!("cannot listen to signals: {error}")))?;
        Ok(Self { streams })
    }

    /// What comes of the work, or the end that a signal asks for: its code, or a failure.
    pub(crate) async fn or_else<T>(
        &mut self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Result<u8, Failure>> {
        select! {
            biased;
            signal = self.next_end() => Err(Ok(exit_code::of_signal(signal.as_raw()))),
            done = work => done.map_err(Err),
        }
    }

    /// Waits for the next signal of any kind; cancel safe.
    pub(crate) async fn next(&mut self) -> Signal {
        poll_fn(|context| self.poll(context)).await
    }

    /// Waits for a signal that means: give up; cancel safe.
    pub(crate) async fn next_end(&mut self) -> Signal {
        loop {
            let signal = self.next().await;
            if ENDING.contains(&signal) {
                return signal;
            }
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal> {
        for (signal, stream) in &mut self.streams {
            if stream.poll_recv(context).is_ready() {
                return Poll::Ready(*signal);
            }
        }
        Poll::Pending
    }
}

/// What ends a wait: by default each of these would have ended the process.
const ENDING: [Signal; 6] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::USR1,
    Signal::USR2,
];

/// CHILD is not passed on: it says that the command stopped or ended.
const LISTENED: [Signal; 9] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::USR1,
    Signal::USR2,
    Signal::TSTP,
    Signal::CONT,
    Signal::CHILD,
];
