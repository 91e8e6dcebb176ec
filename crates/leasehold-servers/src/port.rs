//! Free ports.

use rustix::{
    io::{FdFlags, fcntl_setfd},
    net::{self, AddressFamily, SocketType, sockopt::set_socket_reuseaddr},
};
use std::{
    hash::{BuildHasher, Hasher, RandomState},
    io,
    net::{Ipv4Addr, SocketAddrV4, TcpListener},
    os::fd::OwnedFd,
};

/// A port that nobody listens on at this moment.
pub(crate) fn free() -> io::Result<u16> {
    Ok(listen()?.local_addr()?.port())
}

/// Listens on a free port.
///
/// Not on one of the kernel's choice: those come from the range that outgoing connections use too. A
/// client that keeps trying to reach a stopped server there may be given the server's own port as its
/// source, connect to itself, and keep the server from coming back.
pub(crate) fn listen() -> io::Result<TcpListener> {
    let random = RandomState::new().build_hasher().finish();
    let span = u64::from(LAST - FIRST) + 1;
    for step in 0..TRIES {
        // The remainder is below `span`, which was a u16 plus one.
        let offset = u16::try_from((random.wrapping_add(step)) % span).unwrap_or(0);
        match TcpListener::bind((Ipv4Addr::LOCALHOST, FIRST + offset)) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            answer => return answer,
        }
    }
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
}

/// Keeps a port from others while nobody listens on it. Connections to it are refused. The socket has `SO_REUSEADDR` while it is
/// bound, since earlier connections may still wait on the port, and not afterwards, since others could listen then.
pub(crate) fn keep(port: u16) -> io::Result<OwnedFd> {
    let socket = net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    set_socket_reuseaddr(&socket, true)?;
    net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    set_socket_reuseaddr(&socket, false)?;
    Ok(socket)
}

/// Listens on the port that was kept.
pub(crate) fn listen_again(kept: OwnedFd) -> io::Result<TcpListener> {
    set_socket_reuseaddr(&kept, true)?;
    net::listen(&kept, BACKLOG)?;
    Ok(TcpListener::from(kept))
}

/// As the standard library has it.
const BACKLOG: i32 = 128;

// Below Linux's default range of ephemeral ports, which begins at 32768.
const FIRST: u16 = 20_000;
const LAST: u16 = 32_767;
const TRIES: u64 = 500;
