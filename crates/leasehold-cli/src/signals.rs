//! The signals that are not for leasehold but for the command it runs.

use crate::{exit::Exit, failure::Failure, terminal::Terminal};
use nix::sys::signal::{self, SigHandler};
use rustix::process::{Signal, getpid, kill_process};
use std::{
    future::poll_fn,
    io,
    pin::pin,
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
    ///
    /// A signal that leasehold's parent had it ignore, as `nohup` does, stays ignored: by leasehold and by the
    /// command, which inherits that.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let stream = |signal: Signal| {
            let stream = unix::signal(SignalKind::from_raw(signal.as_raw()))?;
            Ok((signal, stream))
        };
        let streams = LISTENED
            .into_iter()
            .filter(|&signal| NEEDED.contains(&signal) || !is_ignored(signal))
            .map(stream)
            .collect::<io::Result<_>>()
            .map_err(|error| Failure::own(format!("cannot listen to signals: {error}")))?;
        Ok(Self { streams })
    }

    /// What comes of the work. The error is the end by the signal that broke it off, or a failure.
    pub(crate) async fn or_else<T>(
        &mut self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Result<Exit, Failure>> {
        select! {
            biased;
            signal = self.next_end() => Err(Ok(Exit::by(signal))),
            done = work => done.map_err(Err),
        }
    }

    /// Does the work to its end, and tells which key of the terminal was pressed meanwhile, if one was.
    pub(crate) async fn heed_keys<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> (T, Option<Signal>) {
        let (mut work, mut key) = (pin!(work), None);
        loop {
            select! {
                biased;
                signal = self.next() => key = Some(signal).filter(|signal| KEYS.contains(signal)).or(key),
                done = &mut work => return (done, key),
            }
        }
    }

    /// Waits for the next signal of any kind; cancel safe.
    pub(crate) async fn next(&mut self) -> Signal {
        poll_fn(|context| self.poll(context)).await
    }

    /// Waits for a signal that means: give up; cancel safe. Ctrl-Z stops this process, as it stops any that does not
    /// listen.
    pub(crate) async fn next_end(&mut self) -> Signal {
        loop {
            match self.next().await {
                signal if ENDING.contains(&signal) => return signal,
                Signal::TSTP if Terminal::has_job_control() => {
                    // No error is left: the process is our own. It goes on here when it is continued.
                    let _ = kill_process(getpid(), Signal::STOP);
                }
                _ => {}
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

/// Whether the process ignores a signal.
fn is_ignored(signal: Signal) -> bool {
    let Ok(number) = signal::Signal::try_from(signal.as_raw()) else {
        return false;
    };
    // The system tells what it did with a signal only to those who change it.
    let action = set_action(number, SigHandler::SigDfl);
    let is_ignored = matches!(action, Ok(SigHandler::SigIgn));
    if is_ignored {
        let _ = set_action(number, SigHandler::SigIgn);
    }
    is_ignored
}

/// Has a signal ignored or take its default action, and tells what it did before.
fn set_action(number: signal::Signal, action: SigHandler) -> nix::Result<SigHandler> {
    #[expect(
        unsafe_code,
        reason = "handlers can be unsafe and neither of these is one; there is no safe binding for them alone"
    )]
    // SAFETY: no code of ours runs in a handler; called before this module has one.
    unsafe {
        signal::signal(number, action)
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

/// What the keys Ctrl-C and Ctrl-\\ of a terminal send to its foreground process group.
pub(crate) const KEYS: [Signal; 2] = [Signal::INT, Signal::QUIT];

/// Without these nobody learns that the command stopped or ended.
const NEEDED: [Signal; 2] = [Signal::CONT, Signal::CHILD];

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
