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

/// How a call ended.
#[napi(object, object_from_js = false)]
pub struct Settled {
    pub id: u32,
    pub failure: Option<Value>,
    pub value: Option<Value>,
    pub lease: Option<NativeLease>,
}

/// What happened since the last turn.
#[napi(object, object_from_js = false)]
pub struct Turn {
    pub settled: Vec<Settled>,
    pub events: Vec<Value>,
    pub missed: u32,
}

impl Settled {
    fn of(id: u32, outcome: Outcome) -> Self {
        let mut settled = Self {
            id,
            failure: None,
            value: None,
            lease: None,
        };
        match outcome {
            Ok(Payload::Nothing) => {}
            Ok(Payload::Value(value)) => settled.value = Some(value),
            Ok(Payload::Lease(lease)) => settled.lease = Some(*lease),
            Err(failure) => settled.failure = Some(failure.into_value()),
        }
        settled
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
        let settled = turned.settled.into_iter();
        Turn {
            settled: settled
                .map(|(id, outcome)| Settled::of(id, outcome))
                .collect(),
            events: turned.events,
            missed: u32::try_from(turned.missed).unwrap_or(u32::MAX),
        }
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
