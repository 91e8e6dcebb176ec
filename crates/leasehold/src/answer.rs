//! An answer that one waits for: the shell gives it, a caller takes it, and either may go before.

use crate::sync::{Mutex, MutexGuard, PoisonError};
use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

/// A place for one answer.
#[derive(Debug)]
pub(crate) struct Awaited<T>(Mutex<AnswerState<T>>);

#[derive(Debug)]
enum AnswerState<T> {
    /// The shell owes it, and a caller may wait for it.
    Owed(Option<Waker>),
    /// It has come, and nobody has taken it.
    Come(T),
    /// It was taken, or its caller has gone.
    Closed,
    /// There is no shell any more to give it.
    Deserted,
}

/// What a caller leaves behind who goes.
#[derive(Debug)]
pub(crate) enum Leftover<T> {
    /// The shell still owed the answer.
    Owed,
    /// The answer had come.
    Come(T),
    /// Nothing: the caller had it, or there is no shell.
    Nothing,
}

impl<T> Awaited<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(AnswerState::Owed(None)))
    }

    /// Gives the answer; back if nobody waits for it any more.
    pub(crate) fn give(&self, answer: T) -> Result<(), T> {
        let mut state = self.lock();
        if !matches!(*state, AnswerState::Owed(_)) {
            return Err(answer);
        }
        let before = mem::replace(&mut *state, AnswerState::Come(answer));
        drop(state);
        before.wake();
        Ok(())
    }

    /// The shell ends, or forgets the operation: what it owes does not come any more.
    pub(crate) fn desert(&self) {
        let mut state = self.lock();
        if matches!(*state, AnswerState::Owed(_)) {
            let before = mem::replace(&mut *state, AnswerState::Deserted);
            drop(state);
            before.wake();
        }
    }

    /// Whether the shell owes it to somebody.
    pub(crate) fn is_owed(&self) -> bool {
        matches!(*self.lock(), AnswerState::Owed(_))
    }

    /// Takes the answer, or waits for it; none if it cannot come any more.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<Option<T>> {
        let mut state = self.lock();
        match &mut *state {
            AnswerState::Owed(Some(waker)) if waker.will_wake(cx.waker()) => Poll::Pending,
            AnswerState::Owed(waiting) => {
                let before = waiting.replace(cx.waker().clone());
                drop(state);
                drop(before);
                Poll::Pending
            }
            AnswerState::Come(_) => match mem::replace(&mut *state, AnswerState::Closed) {
                AnswerState::Come(answer) => Poll::Ready(Some(answer)),
                _ => Poll::Ready(None),
            },
            AnswerState::Closed | AnswerState::Deserted => Poll::Ready(None),
        }
    }

    /// The caller goes, with the answer or without.
    pub(crate) fn leave(&self) -> Leftover<T> {
        let before = mem::replace(&mut *self.lock(), AnswerState::Closed);
        match before {
            AnswerState::Owed(_) => Leftover::Owed,
            AnswerState::Come(answer) => Leftover::Come(answer),
            AnswerState::Closed | AnswerState::Deserted => Leftover::Nothing,
        }
    }

    fn lock(&self) -> MutexGuard<'_, AnswerState<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> AnswerState<T> {
    /// Only when nothing is locked any more: a caller that is woken may be dropped by it, and leave.
    fn wake(self) {
        if let Self::Owed(Some(waker)) = self {
            waker.wake();
        }
    }
}

/// A place for the answer to something that one caller asks once: the shell's side and the caller's.
pub(crate) fn promise<T>() -> (Promise<T>, Promised<T>) {
    let answer = Arc::new(Awaited::new());
    (Promise(Arc::clone(&answer)), Promised(answer))
}

/// The shell's side. If it is dropped, the answer does not come any more.
#[derive(Debug)]
pub(crate) struct Promise<T>(Arc<Awaited<T>>);

impl<T> Promise<T> {
    /// Gives the answer, if anybody waits for it.
    pub(crate) fn give(self, answer: T) {
        drop(self.0.give(answer));
    }

    /// Whether anybody waits for it.
    pub(crate) fn is_wanted(&self) -> bool {
        self.0.is_owed()
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        self.0.desert();
    }
}

/// The caller's side: the answer; none if it cannot come any more.
#[derive(Debug)]
pub(crate) struct Promised<T>(Arc<Awaited<T>>);

impl<T> Future for Promised<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(cx)
    }
}

impl<T> Drop for Promised<T> {
    fn drop(&mut self) {
        drop(self.0.leave());
    }
}
