//! A proxy that hides restarts.

use super::{gate::Gate, message};
use std::{
    io::{self, BufReader, Write},
    net::{Ipv4Addr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
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
    gate: Gate,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target_port: u16,
    hidden: AtomicUsize,
}

impl Keeper {
    /// Starts to pass requests on to `target_port` of 127.0.0.1, where nobody needs to listen yet.
    ///
    /// # Errors
    /// If there is no free port.
    pub fn start(target_port: u16) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            target_port,
            hidden: AtomicUsize::new(0),
        });
        let gate = Gate::open({
            let shared = Arc::clone(&shared);
            move |client| shared.serve(client)
        })?;
        Ok(Self { gate, shared })
    }

    /// The port of 127.0.0.1 it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.gate.port()
    }

    /// How often the server went and came back without a word to a client.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.shared.hidden.load(Ordering::Relaxed)
    }
}

impl Shared {
    /// Passes the requests of one client on, until it goes or says what is not understood.
    fn serve(&self, client: &TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let (mut requests, mut replies) = (BufReader::new(client), client);
        let mut server: Option<BufReader<TcpStream>> = None;
        let mut was_lost = false;
        loop {
            let request = message::read(&mut requests)?;
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
        message::read(server)
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

const KNOWN: [&str; 10] = [
    "AUTH", "DEL", "EVAL", "EVALSHA", "EXISTS", "GET", "PEXPIRE", "PING", "PTTL", "SET",
];
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_does_not_know_it_does_not_pass() {
        assert!(is_known(b"*1\r\n$4\r\nping\r\n"));
        assert!(!is_known(b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"));
        assert!(!is_known(b"garbage"));
    }
}
