//! Bytes to and from a server, over whatever its address says.

use super::url::Place;
use socket2::{SockRef, TcpKeepalive};
use std::{io, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
};

/// A connection of any kind.
pub(super) trait Socket: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Socket for T {}

/// How long a connection may take to come about.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);

/// After this time without a sign of life from the other *machine*, the connection is given up. A
/// process that was only stopped does not count: its machine goes on confirming what we send.
const VANISHED: Duration = Duration::from_secs(12);

/// Connects; the reason of a failure is a lower-case fragment.
pub(super) async fn connect(place: &Place) -> Result<Box<dyn Socket>, String> {
    let connecting = async {
        match place {
            Place::Tcp { host, port } => Ok(Box::new(tcp(host, *port).await?) as Box<dyn Socket>),
            Place::Unix { path } => {
                let stream = UnixStream::connect(path)
                    .await
                    .map_err(|error| reason(&error))?;
                Ok(Box::new(stream) as Box<dyn Socket>)
            }
            #[cfg(feature = "tls")]
            Place::Tls {
                host,
                port,
                authority,
            } => {
                let stream = tcp(host, *port).await?;
                Ok(
                    Box::new(super::tls::secure(stream, host, authority.as_deref()).await?)
                        as Box<dyn Socket>,
                )
            }
            #[cfg(not(feature = "tls"))]
            Place::Tls { .. } => Err("this build has no TLS".to_owned()),
        }
    };
    tokio::time::timeout(CONNECT_LIMIT, connecting)
        .await
        .unwrap_or_else(|_| Err(format!("no connection within {CONNECT_LIMIT:?}")))
}

async fn tcp(host: &str, port: u16) -> Result<TcpStream, String> {
    let stream = TcpStream::connect((host, port))
        .await
        .map_err(|error| reason(&error))?;
    let tune = || -> io::Result<()> {
        stream.set_nodelay(true)?;
        let socket = SockRef::from(&stream);
        let probe = Duration::from_secs(3);
        socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(probe).with_interval(probe))?;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        socket.set_tcp_user_timeout(Some(VANISHED))?;
        Ok(())
    };
    tune().map_err(|error| reason(&error))?;
    Ok(stream)
}

/// An error of the operating system in lower case, without its number.
pub(super) fn reason(error: &io::Error) -> String {
    let text = match error.kind() {
        io::ErrorKind::ConnectionRefused => return "connection refused".to_owned(),
        io::ErrorKind::ConnectionReset => return "connection reset".to_owned(),
        io::ErrorKind::TimedOut => return "the machine does not answer any more".to_owned(),
        _ => error.to_string(),
    };
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut characters = text.chars();
    let first = characters
        .next()
        .map(|first| first.to_lowercase().to_string());
    format!("{}{}", first.unwrap_or_default(), characters.as_str())
}
