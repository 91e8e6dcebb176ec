//! Waiting that can be called off.

use std::{
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// Rings once, when a scenario is over; whoever rests is woken.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    pub(crate) fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Rests for this long. False if the bell rang before.
    #[must_use]
    pub(crate) fn rest(&self, time: Duration) -> bool {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = self.changed.wait_timeout_while(rung, time, |rung| !*rung);
        let (rung, _) = wait.unwrap_or_else(PoisonError::into_inner);
        !*rung
    }
}

/// Rings the bell when it is dropped, by a panic as well: otherwise those who rest would rest for ever.
#[derive(Debug)]
pub(crate) struct RingOnDrop<'a>(pub(crate) &'a Bell);

impl Drop for RingOnDrop<'_> {
    fn drop(&mut self) {
        self.0.ring();
    }
}

/// From now on the signals that ask a program to end are only noted, so that it can tidy up.
///
/// # Errors
/// If the operating system refuses.
pub(crate) fn note_interrupts() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let entered = runtime.enter();
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let streams: Vec<_> = kinds.into_iter().map(signal).collect::<Result<_, _>>()?;
    drop(entered);
    std::thread::spawn(move || {
        for mut stream in streams {
            runtime.spawn(async move {
                stream.recv().await;
                INTERRUPTED.store(true, Ordering::Relaxed);
            });
        }
        runtime.block_on(std::future::pending::<()>());
    });
    Ok(())
}

/// Whether somebody wants the program to end.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
