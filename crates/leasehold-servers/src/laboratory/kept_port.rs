//! Ports that are kept from others for a while.

use rustix::{
    io::{FdFlags, fcntl_setfd},
    net::{self, AddressFamily, SocketType, sockopt::set_socket_reuseaddr},
};
use std::{
    io,
    net::{Ipv4Addr, SocketAddrV4, TcpListener},
    os::fd::OwnedFd,
};

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
