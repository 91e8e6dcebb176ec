//! Whether this process is a fork of the one that made something.
//!
//! A child has the memory of its parent, but none of its threads, and the same sockets: if it went on with what the parent
//! has begun, two streams of requests would be mixed into one.

use std::{
    io,
    sync::{
        Mutex, Once, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

/// How often this process is a fork of one that had something to keep.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// One process among those that were forked of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// The process that asks.
    pub(crate) fn this() -> Self {
        static COUNTED: Once = Once::new();
        COUNTED.call_once(count);
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Whether this is still the process, and not a fork of it.
    pub(crate) fn is_this(self) -> bool {
        self.0 == FORKS.load(Ordering::Relaxed)
    }
}

/// Has each child count from now on.
#[cfg(unix)]
fn count() {
    extern "C" fn child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    #[expect(
        unsafe_code,
        reason = "the function is called in a child that has one thread, and adds to a number: that is allowed there"
    )]
    // Without memory for it, children are not told; the call has no other error.
    let _ = unsafe { libc::pthread_atfork(None, None, Some(child)) };
}

/// Elsewhere no process is forked.
#[cfg(not(unix))]
const fn count() {}

/// Something of which each process has one of its own, for its threads.
#[derive(Debug)]
pub(crate) struct PerProcess<T: 'static>(Mutex<Option<(Process, &'static T)>>);

impl<T> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// That of this process; if it has none, `new` makes one and `start` lets its thread run.
    ///
    /// # Errors
    /// That of `start`.
    pub(crate) fn get_or_start(
        &self,
        new: impl FnOnce() -> T,
        start: impl FnOnce(&'static T) -> io::Result<()>,
    ) -> io::Result<&'static T> {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((process, own)) = *own
            && process.is_this()
        {
            return Ok(own);
        }
        let new = Box::leak(Box::new(new()));
        start(new)?;
        *own = Some((Process::this(), new));
        Ok(new)
    }
}
