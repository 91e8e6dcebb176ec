//! Getting to the node: name, socket, TLS.

#[cfg(feature = "tls")]
mod tls;

use super::url::{Endpoint, RedisUrl};
use socket2::{SockRef, TcpKeepalive};
use std::{io, net::SocketAddr, os::fd::AsFd as _, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream, lookup_host},
    time::timeout,
};

/// A server to be tried.
pub(super) struct Target {
    pub(super) url: RedisUrl,
    /// By whose word it is the node: sentinels', and not that of its own address.
    pub(super) named: Option<Named>,
}

/// A server is the node because sentinels say so.
#[derive(Clone, Copy)]
pub(super) struct Named {
    /// By the failover of this number, if a majority said so.
    pub(super) failover: Option<u64>,
}

/// A stream of bytes to and from a node.
pub(super) type Stream = Box<dyn Duplex>;

pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {
    /// Waits by the runtime that runs here from now on, for the same connection.
    fn change_runtime(&mut self) -> io::Result<()>;
}

impl Duplex for TcpStream {
    fn change_runtime(&mut self) -> io::Result<()> {
        // Another descriptor of the same socket: what the runtime before has of the first goes with it.
        let same = self.as_fd().try_clone_to_owned()?;
        *self = Self::from_std(same.into())?;
        Ok(())
    }
}

impl Duplex for UnixStream {
    fn change_runtime(&mut self) -> io::Result<()> {
        let same = self.as_fd().try_clone_to_owned()?;
        *self = Self::from_std(same.into())?;
        Ok(())
    }
}

#[cfg(test)]
impl Duplex for tokio::io::DuplexStream {
    fn change_runtime(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Connects. Takes at most [`LOOKUP`] for the name, [`CONNECT`] for each of at most four addresses and as
/// much again for TLS. The error is a fragment for people.
pub(super) async fn connect(url: &RedisUrl) -> Result<Stream, String> {
    match &url.place {
        Endpoint::Unix(path) => match UnixStream::connect(path).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(format!("no socket at {}", path.display()))
            }
            Err(error) => Err(reason(&error)),
        },
        Endpoint::Named(sentinels) => Err(format!("{sentinels} was not asked for")),
        Endpoint::Cluster(_) => Err(NOT_ONE.to_owned()),
        Endpoint::Tcp { host, port, tls } => {
            let stream = connect_tcp(host, *port).await?;
            match tls {
                None => Ok(Box::new(stream)),
                #[cfg(feature = "tls")]
                Some(roots) => tls::wrap(stream, host, roots).await,
                #[cfg(not(feature = "tls"))]
                Some(_) => Err("TLS is not compiled in".to_owned()),
            }
        }
    }
}

async fn connect_tcp(host: &str, port: u16) -> Result<TcpStream, String> {
    let addresses: Vec<SocketAddr> = timeout(LOOKUP, lookup_host((host, port)))
        .await
        .map_err(|_| format!("{host} could not be resolved within {LOOKUP:?}"))?
        .map_err(|error| format!("{host} could not be resolved: {}", reason(&error)))?
        .take(4)
        .collect();
    let mut failure = format!("{host} has no address");
    for address in addresses {
        match timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                tune(&stream).map_err(|error| reason(&error))?;
                return Ok(stream);
            }
            Ok(Err(error)) => failure = reason(&error),
            Err(_) => failure = format!("no connection within {CONNECT:?}"),
        }
    }
    Err(failure)
}

/// Small requests leave at once, and a host that vanished is noticed after eleven or twelve seconds
/// whether or not something is on its way to it. A node whose process merely stopped keeps its connection: its
/// kernel goes on answering.
fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(5))
        .with_interval(Duration::from_secs(2))
        .with_retries(3);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    socket.set_tcp_user_timeout(Some(Duration::from_secs(12)))?;
    Ok(())
}

/// An I/O error as a lower-case fragment.
pub(super) fn reason(error: &io::Error) -> String {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::UnexpectedEof => "the node closed the connection".to_owned(),
        // Kinds that the standard library names well; its words for the error itself would begin with
        // a capital and end with a number.
        kind @ (Kind::ConnectionRefused
        | Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::BrokenPipe
        | Kind::HostUnreachable
        | Kind::NetworkUnreachable
        | Kind::NetworkDown
        | Kind::PermissionDenied
        | Kind::TimedOut) => kind.to_string(),
        _ => error.to_string(),
    }
}

/// Whoever has many servers to choose from must choose first.
const NOT_ONE: &str =
    "a Redis Cluster is not one server, as this needs; give a server that stands alone";

const LOOKUP: Duration = Duration::from_secs(2);
const CONNECT: Duration = Duration::from_secs(1);
