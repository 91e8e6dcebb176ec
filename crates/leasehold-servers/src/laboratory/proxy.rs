//! A network that can be made bad.

use super::kept_port;
use crate::{port, resp::Connection, wait};
use std::{
    io,
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

mod pipe;

use pipe::{Pipe, Side};

/// Stands before a server on loopback, and passes, delays, swallows or cuts what goes through, as its
/// [`Mode`] says. Dropping it closes all connections and ends its threads.
///
/// # Examples
/// ```
/// use leasehold_servers::{Connection, Mode, Proxy, Server, ServerBinary};
///
/// if ServerBinary::find().is_ok() {
///     let server = Server::start()?;
///     let proxy = Proxy::start(server.port())?;
///     proxy.set(Mode::DropRepliesThenClose);
///     assert!(Connection::open(proxy.port())?.command(&["SET", "a", "1"]).is_err());
///     // The request arrived; only its answer was lost.
///     assert_eq!(server.command(&["GET", "a"])?.text(), Some("1"));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    gate: Option<JoinHandle<()>>,
}

/// What a [`Proxy`] does. It counts at the moment at which bytes would leave the proxy, so a change also
/// concerns what is already inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Mode {
    /// Passes everything.
    #[default]
    Pass,
    /// Passes everything, each direction this much later. Order is kept, and what is sent in quick
    /// succession arrives in quick succession. Counts from when the bytes came in.
    Delay(Duration),
    /// Requests reach the server, answers are swallowed, connections stay open. A connection that has
    /// lost an answer is closed when the mode changes: it could not be made sense of any more.
    DropReplies,
    /// Requests reach the server; where an answer would come, the connection is closed instead.
    DropRepliesThenClose,
    /// Nothing passes, connections stay open, new ones are accepted. When the mode changes, what was
    /// held back passes: TCP repeats what a partition swallowed.
    BlackHole,
    /// Connections are closed and new ones refused, as if no process were there.
    Refuse,
}

impl Proxy {
    /// Starts to pass connections on to `target_port` of 127.0.0.1, where nobody needs to listen yet.
    ///
    /// # Errors
    /// If there is no free port.
    pub fn start(target_port: u16) -> io::Result<Self> {
        let listener = port::listen()?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                target_port,
                mode: Mode::Pass,
                ending: false,
                listening: true,
                accepted: 0,
                lines: Vec::new(),
            }),
            changed: Condvar::new(),
        });
        let gate = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.accept_all(listener, port)
        });
        Ok(Self {
            port,
            shared,
            gate: Some(gate),
        })
    }

    /// The port of 127.0.0.1 it listens on. It stays the same.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address: `redis://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// How many connections it has accepted.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.shared.lock().accepted
    }

    /// Changes what it does, at once and for all connections.
    ///
    /// # Panics
    /// If the port was taken by another process while connections were refused.
    pub fn set(&self, mode: Mode) {
        let mut state = self.shared.lock();
        state.mode = mode;
        for line in &state.lines {
            line.set(mode);
        }
        self.shared.changed.notify_all();
        let listen = mode != Mode::Refuse;
        if state.listening == listen {
            return;
        }
        drop(state);
        if !listen {
            self.wake_gate();
        }
        let state = self.shared.lock();
        let wait = self
            .shared
            .changed
            .wait_timeout_while(state, PATIENCE, |state| state.listening != listen);
        let (state, _) = wait.unwrap_or_else(PoisonError::into_inner);
        assert_eq!(
            state.listening, listen,
            "the port of the proxy can be opened and closed"
        );
    }

    /// Closes all connections of this moment. New ones are treated as the mode says.
    pub fn cut(&self) {
        for line in &self.shared.lock().lines {
            line.close();
        }
    }

    /// Passes new connections on to another port, as an address does that moves to another machine. Those of this
    /// moment are closed.
    pub fn retarget(&self, target_port: u16) {
        self.shared.lock().target_port = target_port;
        self.cut();
    }

    /// The gate waits for a connection and for nothing else, so it is given one.
    fn wake_gate(&self) {
        drop(Connection::open(self.port));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let listening = {
            let mut state = self.shared.lock();
            state.ending = true;
            for line in &state.lines {
                line.close();
            }
            self.shared.changed.notify_all();
            state.listening
        };
        if listening {
            self.wake_gate();
        }
        if let Some(gate) = self.gate.take() {
            // A panic of that thread has been printed; a second one from a drop would abort the test.
            drop(gate.join());
        }
        let lines = std::mem::take(&mut self.shared.lock().lines);
        for line in lines {
            line.end();
        }
    }
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    target_port: u16,
    mode: Mode,
    ending: bool,
    listening: bool,
    accepted: usize,
    lines: Vec<Line>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread at the gate: lets connections in until the proxy ends.
    fn accept_all(&self, mut listener: TcpListener, port: u16) {
        loop {
            let client = listener.accept();
            let mut state = self.lock();
            if state.ending {
                return;
            }
            if state.mode == Mode::Refuse {
                drop(client);
                drop(listener);
                // Otherwise another test's server may come to listen there. The port cannot be had while a process that
                // another test is just starting has a copy of the listener, until it runs its program.
                let keep = || kept_port::keep(port).ok();
                let kept = wait::until(PATIENCE / 2, keep);
                state.listening = false;
                self.changed.notify_all();
                state = self
                    .changed
                    .wait_while(state, |state| !state.ending && state.mode == Mode::Refuse)
                    .unwrap_or_else(PoisonError::into_inner);
                if state.ending {
                    return;
                }
                let again = kept.and_then(|kept| kept_port::listen_again(kept).ok());
                // A connection of the time before may hold the port for a moment.
                let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok();
                match again.or_else(|| wait::until(PATIENCE / 2, bind)) {
                    Some(again) => listener = again,
                    None => return,
                }
                state.listening = true;
                self.changed.notify_all();
            } else if let Ok((client, _)) = client {
                state.accepted += 1;
                state.lines.retain(|line| !line.is_over());
                if let Ok(line) = Line::open(client, state.target_port, state.mode) {
                    state.lines.push(line);
                }
            }
        }
    }
}

/// A connection through the proxy: two pipes, two threads each.
#[derive(Debug)]
struct Line {
    pipes: [Arc<Pipe>; 2],
    sockets: [TcpStream; 2],
    threads: Vec<JoinHandle<()>>,
}

impl Line {
    fn open(client: TcpStream, target_port: u16, mode: Mode) -> io::Result<Self> {
        let server = TcpStream::connect((Ipv4Addr::LOCALHOST, target_port))?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let mut threads = Vec::new();
        let mut pipe = |side, from: &TcpStream, to: &TcpStream| -> io::Result<Arc<Pipe>> {
            let pipe = Arc::new(Pipe::new(side, mode));
            let (reader, source) = (Arc::clone(&pipe), from.try_clone()?);
            let (writer, target, back) = (Arc::clone(&pipe), to.try_clone()?, from.try_clone()?);
            threads.push(thread::spawn(move || reader.read_all(source)));
            threads.push(thread::spawn(move || writer.write_all(target, &back)));
            Ok(pipe)
        };
        let pipes = [
            pipe(Side::Requests, &client, &server)?,
            pipe(Side::Replies, &server, &client)?,
        ];
        Ok(Self {
            pipes,
            sockets: [client, server],
            threads,
        })
    }

    fn set(&self, mode: Mode) {
        for pipe in &self.pipes {
            pipe.set(mode);
        }
        if mode == Mode::Refuse {
            self.close();
        }
    }

    fn close(&self) {
        for pipe in &self.pipes {
            pipe.close();
        }
        for socket in &self.sockets {
            // It may be closed already.
            drop(socket.shutdown(Shutdown::Both));
        }
    }

    fn is_over(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    fn end(self) {
        self.close();
        for thread in self.threads {
            drop(thread.join());
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;
