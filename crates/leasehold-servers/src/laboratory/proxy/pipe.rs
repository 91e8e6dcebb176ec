//! One direction of a connection through a proxy.

use super::Mode;
use crate::wait;
use std::{
    collections::VecDeque,
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// A queue between a thread that reads and a thread that writes, so that a delay of one chunk does not
/// hold up the reading of the next.
#[derive(Debug)]
pub(super) struct Pipe {
    side: Side,
    state: Mutex<State>,
    changed: Condvar,
}

/// Which direction it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// From the client to the server.
    Requests,
    /// From the server to the client.
    Replies,
}

#[derive(Debug)]
struct State {
    mode: Mode,
    // An empty chunk is the end of what one side says.
    queue: VecDeque<(Instant, Vec<u8>)>,
    has_lost: bool,
    closed: bool,
}

impl Pipe {
    pub(super) fn new(side: Side, mode: Mode) -> Self {
        Self {
            side,
            state: Mutex::new(State {
                mode,
                queue: VecDeque::new(),
                has_lost: false,
                closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    pub(super) fn set(&self, mode: Mode) {
        self.lock().mode = mode;
        self.changed.notify_all();
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// The reading thread: until the end, an error, or the closing of the pipe.
    pub(super) fn read_all(&self, mut from: TcpStream) {
        let mut buffer = vec![0; CHUNK];
        loop {
            let length = from.read(&mut buffer);
            let mut state = self.lock();
            let Ok(length) = length else {
                state.closed = true;
                self.changed.notify_all();
                return;
            };
            let delay = match state.mode {
                Mode::Delay(delay) => delay,
                Mode::Pass
                | Mode::DropReplies
                | Mode::DropRepliesThenClose
                | Mode::BlackHole
                | Mode::Refuse => Duration::ZERO,
            };
            let chunk = buffer.get(..length).unwrap_or_default().to_vec();
            state.queue.push_back((wait::now() + delay, chunk));
            self.changed.notify_all();
            if length == 0 || state.closed {
                return;
            }
        }
    }

    /// The writing thread: until the end, an error, or the closing of the pipe.
    pub(super) fn write_all(&self, mut to: TcpStream, from: &TcpStream) {
        while let Some(chunk) = self.next() {
            if chunk.is_empty() {
                // One side has said all; the other may still have an answer to give.
                drop(to.shutdown(Shutdown::Write));
                return;
            }
            if to.write_all(&chunk).is_err() {
                break;
            }
        }
        // Both sockets, so that the reading thread and the threads of the other direction end too.
        self.close();
        drop(to.shutdown(Shutdown::Both));
        drop(from.shutdown(Shutdown::Both));
    }

    /// The next chunk that may leave, once it may. None if the connection is to be closed.
    fn next(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        loop {
            if state.closed || (state.has_lost && state.mode != Mode::DropReplies) {
                return None;
            }
            let Some(&(due, _)) = state.queue.front() else {
                state = self.wait(state, None);
                continue;
            };
            let early = due.saturating_duration_since(wait::now());
            if state.mode == Mode::BlackHole {
                state = self.wait(state, None);
            } else if !early.is_zero() {
                state = self.wait(state, Some(early));
            } else {
                let (_, chunk) = state.queue.pop_front()?;
                let is_reply = self.side == Side::Replies && !chunk.is_empty();
                match state.mode {
                    Mode::DropReplies if is_reply => state.has_lost = true,
                    Mode::DropRepliesThenClose if is_reply => return None,
                    _ => return Some(chunk),
                }
            }
        }
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        limit: Option<Duration>,
    ) -> MutexGuard<'a, State> {
        match limit {
            None => self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner),
            Some(limit) => {
                let wait = self.changed.wait_timeout(state, limit);
                wait.unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const CHUNK: usize = 64 * 1024;
