//! A lease, as JavaScript has it.

use crate::{
    executor::{Executor, Outcome, Payload},
    failure::{Failure, millis, owner},
    guard::Guard,
    options::duration,
    told,
};
use leasehold::{Owner, Resource};
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use serde_json::{Value, json};
use std::{cell::RefCell, future::Future, rc::Rc};

/// What is won. Released when JavaScript has no use for it any more, also at the end of a worker.
#[napi]
pub struct NativeLease {
    executor: Executor,
    guard: RefCell<Option<Rc<Guard>>>,
    /// Calls that use the guard.
    busy: RefCell<Vec<u32>>,
    resource: Resource,
    owner: Owner,
    token: Option<u64>,
    slot: Option<u32>,
    kind: &'static str,
}

impl NativeLease {
    pub(crate) fn new(executor: &Executor, guard: Guard) -> Self {
        Self {
            executor: executor.clone(),
            resource: guard.resource().clone(),
            owner: guard.owner().clone(),
            token: guard.token().map(leasehold::FencingToken::get),
            slot: guard.slot().and_then(|slot| u32::try_from(slot).ok()),
            kind: guard.kind(),
            guard: RefCell::new(Some(Rc::new(guard))),
            busy: RefCell::default(),
        }
    }

    pub(crate) fn won(executor: &Executor, guard: Guard) -> Payload {
        Payload::Lease(Box::new(Self::new(executor, guard)))
    }

    fn guard(&self) -> Option<Rc<Guard>> {
        self.guard.borrow().clone()
    }

    /// A call that leaves the lease where it is.
    fn using<F: Future<Output = Outcome> + 'static>(
        &self,
        work: impl FnOnce(Rc<Guard>) -> F,
    ) -> u32 {
        let Some(guard) = self.guard() else {
            return self.over();
        };
        let id = self.executor.begin(work(guard));
        self.busy.borrow_mut().push(id);
        id
    }

    /// A call that ends the lease. What else is under way with it fails.
    fn ending<F: Future<Output = Outcome> + 'static>(&self, work: impl FnOnce(Guard) -> F) -> u32 {
        let Some(guard) = self.guard.borrow_mut().take() else {
            return self.over();
        };
        for id in self.busy.take() {
            self.executor.fail(id, Failure::released(&self.resource));
        }
        match Rc::try_unwrap(guard) {
            Ok(guard) => self.executor.begin(work(guard)),
            // Nobody else has one: each call that had was just dropped.
            Err(_) => self.over(),
        }
    }

    fn over(&self) -> u32 {
        let failure = Failure::released(&self.resource);
        self.executor.begin(async { Err(failure) })
    }

    fn has_ended(&self, id: u32) {
        self.busy.borrow_mut().retain(|other| *other != id);
    }
}

#[napi]
impl NativeLease {
    #[napi(getter)]
    pub fn kind(&self) -> String {
        self.kind.to_owned()
    }

    #[napi(getter)]
    pub fn names(&self) -> Vec<String> {
        self.resource.names().map(str::to_owned).collect()
    }

    #[napi(getter)]
    pub fn owner(&self) -> String {
        owner(&self.owner)
    }

    #[napi(getter)]
    pub fn token(&self) -> Option<BigInt> {
        self.token.map(BigInt::from)
    }

    #[napi(getter)]
    pub fn slot(&self) -> Option<u32> {
        self.slot
    }

    /// By the clock, at this moment; zero after a release.
    #[napi(getter)]
    pub fn remaining(&self) -> f64 {
        self.guard().map_or(0.0, |guard| millis(guard.remaining()))
    }

    #[napi(getter)]
    pub fn state(&self) -> Value {
        let state = self.guard().and_then(|guard| guard.state());
        state.map_or_else(
            || json!({ "is": "released", "message": "released" }),
            |state| told::state(&state),
        )
    }

    #[napi]
    pub fn heartbeat(&self) {
        if let Some(guard) = self.guard() {
            guard.heartbeat();
        }
    }

    #[napi]
    pub fn extend(&self, ttl: Option<f64>) -> u32 {
        self.using(|guard| async move {
            let left = guard.extend(ttl.map(duration)).await?;
            Ok(Payload::Value(millis(left).into()))
        })
    }

    #[napi]
    pub fn ensure(&self, remaining: f64) -> u32 {
        self.using(|guard| async move {
            guard.ensure(duration(remaining)).await?;
            Ok(Payload::Nothing)
        })
    }

    #[napi]
    pub fn changed(&self) -> u32 {
        self.using(|guard| async move {
            let state = guard.changed().await;
            Ok(state.map_or(Payload::Nothing, |state| {
                Payload::Value(told::state(&state))
            }))
        })
    }

    /// Told that a call has ended, so that a lease that is extended often does not remember all of it.
    #[napi]
    pub fn ended(&self, id: u32) {
        self.has_ended(id);
    }

    /// Fails when the lease is lost, and ends in no other way.
    #[napi]
    pub fn lost(&self) -> u32 {
        let lost = self.guard().and_then(|guard| guard.lost());
        self.executor.begin(async move {
            match lost {
                Some(lost) => Err(lost.await.into()),
                None => std::future::pending().await,
            }
        })
    }

    #[napi]
    pub fn release(&self) -> u32 {
        self.ending(
            |guard| async move { Ok(Payload::Value(told::own_release(&guard.release().await))) },
        )
    }

    #[napi]
    pub fn detach(&self) -> u32 {
        let kind = self.kind;
        self.ending(move |guard| async move {
            match guard.detach().await {
                Some(detached) => Ok(Payload::Value(owner(&detached?).into())),
                None => Err(cannot(kind, "be detached")),
            }
        })
    }

    #[napi]
    pub fn hand_over(&self) -> u32 {
        let kind = self.kind;
        self.ending(move |guard| async move {
            match guard.hand_over().await {
                Some(text) => Ok(Payload::Value(text?.into())),
                None => Err(cannot(kind, "be handed over")),
            }
        })
    }

    /// From writing to reading.
    #[napi]
    pub fn downgrade(&self) -> u32 {
        let (executor, kind) = (self.executor.clone(), self.kind);
        self.ending(move |guard| async move {
            match guard {
                Guard::Write(guard) => {
                    let reader = guard.downgrade().await?;
                    Ok(Self::won(&executor, Guard::Read(reader)))
                }
                _ => Err(cannot(kind, "be downgraded")),
            }
        })
    }

    /// The work of this period is done.
    #[napi]
    pub fn done(&self) -> u32 {
        let kind = self.kind;
        self.ending(move |guard| async move {
            match guard {
                Guard::Once(guard) => {
                    guard.done().await?;
                    Ok(Payload::Nothing)
                }
                _ => Err(cannot(kind, "be done for a period")),
            }
        })
    }

    /// When the next period begins, in milliseconds since 1970.
    #[napi(getter)]
    pub fn next_period(&self) -> Option<f64> {
        let guard = self.guard()?;
        let Guard::Once(guard) = &*guard else {
            return None;
        };
        let since = guard.next_period().duration_since(std::time::UNIX_EPOCH);
        since.ok().map(millis)
    }

    /// Gives it back in the background: nobody waits for it.
    #[napi]
    pub fn abandon(&self) {
        for id in self.busy.take() {
            self.executor.cancel(id);
        }
        let guard = self.guard.borrow_mut().take();
        drop(guard);
    }
}

fn cannot(kind: &str, what: &str) -> Failure {
    Failure::config(&format!(
        "a lease of the kind {kind:?} cannot {what}; it was released"
    ))
}
