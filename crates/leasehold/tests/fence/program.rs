//! A program that is the resource itself.

use crate::contest;
use leasehold::{
    FencingToken,
    fence::{Fence, Stale},
};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

#[derive(Default)]
struct Log {
    inner: Mutex<(Fence, Vec<u64>)>,
}

impl Log {
    fn write(&self, token: FencingToken) -> Result<(), Stale> {
        let mut inner = self.lock();
        inner.0.admit(token)?;
        // Whoever is to be in between has time for it.
        thread::yield_now();
        inner.1.push(token.get());
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, (Fence, Vec<u64>)> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[test]
fn a_program_refuses_what_is_late() {
    let log = Log::default();
    contest::tokens_are_compared_as_numbers(|token| log.write(token));
}

#[test]
fn a_program_keeps_the_order_among_many_writers() {
    let log = Log::default();
    contest::nothing_is_written_behind_a_newer_token(
        || |token| log.write(token),
        || log.lock().1.clone(),
    );
}
