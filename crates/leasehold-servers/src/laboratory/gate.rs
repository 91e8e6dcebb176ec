//! Where the clients of a proxy come in.

use crate::{port, resp::Connection};
use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

/// Listens on a port, and serves each client in a thread of its own. Dropping it closes all connections.
#[derive(Debug)]
pub(crate) struct Gate {
    port: u16,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    is_ending: AtomicBool,
    clients: Mutex<Vec<TcpStream>>,
}

impl Gate {
    /// Takes a free port. A client is served until `serve` returns, and hung up at.
    pub(crate) fn open<F>(serve: F) -> io::Result<Self>
    where
        F: Fn(&TcpStream) -> io::Result<()> + Send + Sync + 'static,
    {
        let listener = port::listen()?;
        let port = listener.local_addr()?.port();
        let shared = Arc::<Shared>::default();
        let thread = thread::spawn({
            let (shared, serve) = (Arc::clone(&shared), Arc::new(serve));
            move || shared.accept_all(&listener, &serve)
        });
        Ok(Self {
            port,
            shared,
            thread: Some(thread),
        })
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.shared.is_ending.store(true, Ordering::SeqCst);
        // The thread waits for a connection and for nothing else, so it is given one.
        drop(Connection::open(self.port));
        if let Some(thread) = self.thread.take() {
            // A panic of that thread has been printed; a second one from a drop would abort the test.
            drop(thread.join());
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

    fn accept_all<F>(&self, listener: &TcpListener, serve: &Arc<F>)
    where
        F: Fn(&TcpStream) -> io::Result<()> + Send + Sync + 'static,
    {
        loop {
            let client = listener.accept();
            if self.is_ending.load(Ordering::SeqCst) {
                return;
            }
            if let Ok((client, _)) = client
                && let Ok(copy) = client.try_clone()
            {
                self.clients().push(copy);
                let serve = Arc::clone(serve);
                thread::spawn(move || {
                    // How it ended does not matter: the client sees that it did.
                    drop(serve(&client));
                    drop(client.shutdown(Shutdown::Both));
                });
            }
        }
    }
}
