//! What JavaScript makes first: the place where its calls are carried out.

use crate::{
    executor::{Executor, Outcome, Payload},
    js::{self, thrown},
    lease::NativeLease,
    manager::NativeManager,
    observe::Observed,
    options::ManagerConfig,
};
use napi::bindgen_prelude::Function;
use napi_derive::napi;
use serde_json::Value;

/// Calls of one thread of JavaScript.
#[napi]
pub struct Core {
    executor: Executor,
}

/// How a call ended: its number, then a failure, a value or a lease. A list, since names of members would take longer than
/// all the rest.
type Settled = (u32, Option<Value>, Option<Value>, Option<NativeLease>);

/// What happened since the last turn: calls that ended, events, and how many events were left out.
type Turn = (Vec<Settled>, Vec<Value>, u32);

fn settled(id: u32, outcome: Outcome) -> Settled {
    match outcome {
        Ok(Payload::Nothing) => (id, None, None, None),
        Ok(Payload::Value(value)) => (id, None, Some(value), None),
        Ok(Payload::Lease(lease)) => (id, None, None, Some(*lease)),
        Err(failure) => (id, Some(failure.into_value()), None, None),
    }
}

/// With the thread of JavaScript, also when a worker is terminated: what waits gives up.
impl Drop for Core {
    fn drop(&mut self) {
        self.executor.end();
    }
}

#[napi]
impl Core {
    /// `turn` is called by the event loop when there is something to be taken.
    #[napi(constructor)]
    pub fn new(turn: Function<'_, (), ()>) -> napi::Result<Self> {
        let executor = Executor::new(&turn)?;
        Ok(Self { executor })
    }

    /// Goes on with what can go on.
    #[napi]
    pub fn turn(&self) -> Turn {
        let turned = self.executor.turn();
        let ended = turned.settled.into_iter();
        let ended = ended.map(|(id, outcome)| settled(id, outcome)).collect();
        let missed = u32::try_from(turned.missed).unwrap_or(u32::MAX);
        (ended, turned.events, missed)
    }

    /// Gives up a call. False if it has ended.
    #[napi]
    pub fn cancel(&self, id: u32) -> bool {
        self.executor.cancel(id)
    }

    /// Starts a manager. `number` marks its events.
    #[napi]
    pub fn manager(&self, config: ManagerConfig, number: u32) -> js::Result<NativeManager> {
        thrown(|| {
            let builder = config.builder()?;
            let observed = Observed::new(&config, number, &self.executor);
            NativeManager::start(config, builder, observed, &self.executor)
        })
    }

    pub(crate) const fn executor(&self) -> &Executor {
        &self.executor
    }
}
