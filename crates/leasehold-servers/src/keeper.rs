//! A proxy that hides restarts.

use crate::{port, resp::Connection};
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Stands before a server on loopback and passes on request by request, as proxies do that understand Redis: when
/// the server goes and comes back, the clients' connections stay open, and only a request that was under way is
/// answered with an error. It hangs up at commands that it does not know, among them `HELLO`, `SELECT` and `SCRIPT`.
///
/// # Examples
/// ```
/// use leasehold_servers::{Connection, Keeper, Server, ServerBinary};
///
/// if ServerBinary::find().is_ok() {
///     let server = Server::start()?;
///     let keeper = Keeper::start(server.port())?;
///     let mut connection = Connection::open(keeper.port())?;
///     connection.command(&["SET", "a", "1"])?;
///     server.restart()?;
///     // Nothing tells the client that the server has forgotten.
///     assert!(connection.command(&["SET", "a", "2", "NX"])?.text().is_some());
///     assert_eq!(keeper.hidden(), 1);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Keeper {
    port: u16,
    shared: Arc<Shared>,
    gate: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    target_port: u16,
    is_ending: AtomicBool,
    hidden: AtomicUsize,
    clients: Mutex<Vec<TcpStream>>,
}

impl Keeper {
    /// Starts to pass requests on to `target_port` of 127.0.0.1, where nobody needs to listen yet.
    ///
    /// # Errors
    /// If there is no free port.
    pub fn start(target_port: u16) -> io::Result<Self> {
        let listener = port::listen()?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            target_port,
            is_ending: AtomicBool::new(false),
            hidden: AtomicUsize::new(0),
            clients: Mutex::default(),
        });
        let gate = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.accept_all(&listener)
        });
        Ok(Self {
            port,
            shared,
            gate: Some(gate),
        })
    }

    /// The port of 127.0.0.1 it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How often the server went and came back without a word to a client.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.shared.hidden.load(Ordering::Relaxed)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.shared.is_ending.store(true, Ordering::SeqCst);
        // The gate waits for a connection and for nothing else, so it is given one.
        drop(Connection::open(self.port));
        if let Some(gate) = self.gate.take() {
            // A panic of that thread has been printed; a second one from a drop would abort the test.
            drop(gate.join());
        }
        for client in self.shared.clients().drain(..) {
            // It may be closed already. The thread that serves it ends by this.
            drop(client.shutdown(Shutdown::Both));
        }
    }
}

impl Shared {
    fn clients(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept_all(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            let client = listener.accept();
            if self.is_ending.load(Ordering::SeqCst) {
                return;
            }
            if let Ok((client, _)) = client
                && let Ok(copy) = client.try_clone()
            {
                self.clients().push(copy);
                let shared = Arc::clone(self);
                thread::spawn(move || {
                    // How it ended does not matter: the client sees that it did.
                    drop(shared.serve(&client));
                    drop(client.shutdown(Shutdown::Both));
                });
            }
        }
    }

    /// Passes the requests of one client on, until it goes or says what is not understood.
    fn serve(&self, client: &TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let (mut requests, mut replies) = (BufReader::new(client), client);
        let mut server: Option<BufReader<TcpStream>> = None;
        let mut was_lost = false;
        loop {
            let request = read_message(&mut requests)?;
            if !is_known(&request) {
                return Ok(());
            }
            // What has gone since the last request is nobody's business.
            if server.as_ref().is_some_and(|server| !is_open(server)) {
                server = None;
                was_lost = true;
            }
            match self.ask(&mut server, &request) {
                Ok(reply) => {
                    self.hidden
                        .fetch_add(usize::from(was_lost), Ordering::Relaxed);
                    replies.write_all(&reply)?;
                }
                Err(_) => {
                    server = None;
                    replies.write_all(b"-ERR the server is away\r\n")?;
                }
            }
            was_lost = false;
        }
    }

    fn ask(
        &self,
        server: &mut Option<BufReader<TcpStream>>,
        request: &[u8],
    ) -> io::Result<Vec<u8>> {
        let server = match server {
            Some(server) => server,
            None => {
                let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.target_port))?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                server.insert(BufReader::new(stream))
            }
        };
        server.get_mut().write_all(request)?;
        read_message(server)
    }
}

/// Whether the other side has not gone.
fn is_open(server: &BufReader<TcpStream>) -> bool {
    let stream = server.get_ref();
    let look = || -> io::Result<usize> {
        stream.set_nonblocking(true)?;
        let seen = stream.peek(&mut [0]);
        stream.set_nonblocking(false)?;
        seen
    };
    matches!(look(), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

fn is_known(request: &[u8]) -> bool {
    // `*3`, `$4`, `EVAL`, …
    let name = request.split(|&byte| byte == b'\n').nth(2);
    let name = name.map(<[u8]>::trim_ascii_end).unwrap_or_default();
    KNOWN
        .iter()
        .any(|known| known.as_bytes().eq_ignore_ascii_case(name))
}

/// Reads one request or answer, byte by byte as it came.
fn read_message(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let (mut message, mut expected) = (Vec::new(), 1_u64);
    while expected > 0 {
        expected -= 1;
        let start = message.len();
        stream.read_until(b'\n', &mut message)?;
        let line = message.get(start..).unwrap_or_default();
        let Some((kind, rest)) = line.trim_ascii_end().split_first() else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let rest = str::from_utf8(rest).unwrap_or_default();
        let count = || rest.parse::<i64>().map_err(io::Error::other);
        match kind {
            // -1 is nil.
            b'*' => expected += u64::try_from(count()?).unwrap_or(0),
            b'$' => {
                if let Ok(length) = u64::try_from(count()?) {
                    let whole = length + 2;
                    if stream.take(whole).read_to_end(&mut message)? as u64 != whole {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
            }
            _ => {}
        }
    }
    Ok(message)
}

const KNOWN: [&str; 10] = [
    "AUTH", "DEL", "EVAL", "EVALSHA", "EXISTS", "GET", "PEXPIRE", "PING", "PTTL", "SET",
];
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_whole_and_no_further() {
        let wire = b"*2\r\n$4\r\nEV\r\n\r\n*1\r\n:1\r\n$-1\r\n-ERR x\r\n";
        let mut stream = &wire[..];
        let mut next = || read_message(&mut stream).map(|message| message.len());
        assert_eq!(next().unwrap(), 22);
        assert_eq!(next().unwrap(), 5);
        assert_eq!(next().unwrap(), 8);
        assert!(next().is_err());
        assert!(read_message(&mut &b"$9\r\nshort"[..]).is_err());
    }

    #[test]
    fn what_it_does_not_know_it_does_not_pass() {
        assert!(is_known(b"*1\r\n$4\r\nping\r\n"));
        assert!(!is_known(b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"));
        assert!(!is_known(b"garbage"));
    }
}
