//! Free ports.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    io,
    net::{Ipv4Addr, TcpListener},
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

// Below Linux's default range of ephemeral ports, which begins at 32768.
const FIRST: u16 = 20_000;
const LAST: u16 = 32_767;
const TRIES: u64 = 500;
