//! What tells one thing after the other.

use crate::{
    executor::{Executor, Payload},
    failure::Failure,
    told,
};
use leasehold::{Leaders, operate::Watcher};
use napi_derive::napi;
use std::{cell::RefCell, rc::Rc};

pub(crate) enum Source {
    Leaders(Box<Leaders>),
    Watcher(Watcher),
}

/// Who leads, or how a lock stands, as often as it changes.
#[napi]
pub struct NativeStream {
    executor: Executor,
    source: Rc<RefCell<Option<Source>>>,
}

impl NativeStream {
    pub(crate) fn new(executor: &Executor, source: Source) -> Self {
        Self {
            executor: executor.clone(),
            source: Rc::new(RefCell::new(Some(source))),
        }
    }
}

#[napi]
impl NativeStream {
    /// The next one; nothing at the end.
    #[napi]
    pub fn next(&self) -> u32 {
        let place = Rc::clone(&self.source);
        let source = place.borrow_mut().take();
        self.executor.begin(async move {
            let Some(mut source) = source else {
                return Err(Failure::config(
                    &"the next one is waited for already, or nobody looks on any more",
                ));
            };
            let next = match &mut source {
                Source::Leaders(leaders) => {
                    leaders.next().await.map(|state| told::election(&state))
                }
                Source::Watcher(watcher) => {
                    watcher.next().await.map(|seen| told::inspection(&seen))
                }
            };
            place.replace(Some(source));
            Ok(next.map_or(Payload::Nothing, Payload::Value))
        })
    }

    /// Nobody looks on any more.
    #[napi]
    pub fn close(&self) {
        let source = self.source.borrow_mut().take();
        drop(source);
    }
}
