//! Several servers.

use crate::{
    launch::StartError,
    server::{Server, ServerBuilder},
};
use std::{io, ops::Deref, thread};

/// Several independent servers, started together.
///
/// # Examples
/// ```
/// use leasehold_servers::{ServerBinary, ServerSet};
///
/// if ServerBinary::find().is_ok() {
///     let servers = ServerSet::start(3)?;
///     assert_eq!(servers.nodes().split(',').count(), 3);
///     servers[2].kill()?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ServerSet {
    servers: Vec<Server>,
}

impl ServerSet {
    /// Starts `count` servers at the same time. Waits until all answer, for twenty seconds at most.
    ///
    /// # Errors
    /// The first [`StartError`]; the other servers are stopped.
    pub fn start(count: usize) -> Result<Self, StartError> {
        Self::start_with(count, |_, builder| builder)
    }

    /// As [`start`](Self::start), with options: `options` is asked once per server, with its number from
    /// 0.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(
        count: usize,
        mut options: impl FnMut(usize, ServerBuilder) -> ServerBuilder,
    ) -> Result<Self, StartError> {
        thread::scope(|scope| {
            let starting: Vec<_> = (0..count)
                .map(|number| options(number, Server::builder()))
                .map(|builder| scope.spawn(|| builder.start()))
                .collect();
            // All are waited for before the first error is returned, so that none is left behind.
            let started: Vec<_> = starting
                .into_iter()
                .map(|thread| {
                    thread.join().unwrap_or_else(|_| {
                        Err(io::Error::other("the starting thread panicked").into())
                    })
                })
                .collect();
            let servers = started.into_iter().collect::<Result<_, _>>()?;
            Ok(Self { servers })
        })
    }

    /// The addresses, separated by commas: `redis://127.0.0.1:P0,redis://127.0.0.1:P1`.
    #[must_use]
    pub fn nodes(&self) -> String {
        self.urls().join(",")
    }

    /// The addresses, one by one.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.servers.iter().map(Server::url).collect()
    }
}

impl Deref for ServerSet {
    type Target = [Server];

    fn deref(&self) -> &[Server] {
        &self.servers
    }
}
