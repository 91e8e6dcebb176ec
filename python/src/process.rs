//! What belongs to the process that made it.
//!
//! A child that was forked has copies of its parent's objects and none of its threads. A lock of such an object may have been
//! held by one of those threads, and then nobody opens it. So a child neither uses nor drops what is its parent's: it
//! leaks it.

use std::{mem, process};

/// A value of one process. In a fork of that, it is neither told nor dropped.
#[derive(Debug)]
pub(crate) struct Own<T> {
    /// None only while it is dropped, or when it was taken.
    value: Option<T>,
    process: u32,
}

impl<T> Own<T> {
    pub(crate) fn new(value: T) -> Self {
        let process = process::id();
        Self {
            value: Some(value),
            process,
        }
    }

    /// Whether this is the process that made it.
    pub(crate) fn is_ours(&self) -> bool {
        self.process == process::id()
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| self.is_ours())
    }

    pub(crate) fn into_inner(mut self) -> Option<T> {
        if self.is_ours() {
            return self.value.take();
        }
        None
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if !self.is_ours() {
            mem::forget(self.value.take());
        }
    }
}
