//! Locks that are shared with older programs, by a Unix time in the key.

use crate::{
    core::Core,
    executor::{Executor, Payload},
    failure::{Failure, millis},
    js::{self, thrown},
    options::duration,
    told::release_of_timestamp,
};
use leasehold::timestamp::{TimestampGuard, TimestampLock, TimestampOptions};
use napi_derive::napi;
use std::{cell::RefCell, rc::Rc};

#[napi]
pub struct NativeTimestampLock {
    executor: Executor,
    lock: Rc<TimestampLock>,
    /// What is held, until it is released.
    guard: Rc<RefCell<Option<Rc<TimestampGuard>>>>,
}

#[napi]
impl NativeTimestampLock {
    #[napi(constructor)]
    pub fn new(
        core: &Core,
        url: String,
        name: String,
        timeout: Option<f64>,
        pause: Option<f64>,
    ) -> js::Result<Self> {
        thrown(|| {
            let mut options = TimestampOptions::new();
            if let Some(timeout) = timeout {
                options = options.timeout(duration(timeout));
            }
            if let Some(pause) = pause {
                options = options.pause(duration(pause));
            }
            let lock = TimestampLock::with_options(&url, &name, options)?;
            Ok(Self {
                executor: core.executor().clone(),
                lock: Rc::new(lock),
                guard: Rc::default(),
            })
        })
    }

    /// Waits for it, and keeps it.
    #[napi]
    pub fn acquire(&self, patience: Option<f64>) -> u32 {
        let (lock, place) = (Rc::clone(&self.lock), Rc::clone(&self.guard));
        self.executor.begin(async move {
            let guard = match patience.map(duration) {
                None => lock.acquire().await?,
                Some(patience) => lock.acquire_within(patience).await?,
            };
            let value = guard.value();
            place.replace(Some(Rc::new(guard)));
            Ok(Payload::Value(value.into()))
        })
    }

    #[napi(getter)]
    pub fn remaining(&self) -> f64 {
        let guard = self.guard.borrow();
        guard
            .as_ref()
            .map_or(0.0, |guard| millis(guard.remaining()))
    }

    #[napi]
    pub fn extend(&self) -> u32 {
        let guard = self.guard.borrow().clone();
        self.executor.begin(async move {
            let Some(guard) = guard else {
                return Err(Failure::config(&"the lock is not held"));
            };
            guard.extend().await?;
            Ok(Payload::Nothing)
        })
    }

    #[napi]
    pub fn release(&self) -> u32 {
        let guard = self.guard.borrow_mut().take();
        self.executor.begin(async move {
            let guard = guard.and_then(|guard| Rc::try_unwrap(guard).ok());
            let Some(guard) = guard else {
                return Err(Failure::config(
                    &"the lock is not held, or is being extended",
                ));
            };
            Ok(Payload::Value(release_of_timestamp(&guard.release().await)))
        })
    }
}
