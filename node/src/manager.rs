//! A manager, as JavaScript has it.

use crate::{
    executor::{Executor, Outcome, Payload},
    failure::{Failure, owner},
    guard::Guard,
    js::{self, thrown},
    lease::NativeLease,
    observe::Observed,
    operate::NativeOperator,
    options::{ManagerConfig, OptionsOfLock, duration},
    stream::{NativeStream, Source},
    told,
};
use leasehold::{
    ConfigError, Election, LeaseGuard, LockManager, LockOptions, ManagerBuilder, Mode, Mutex,
    Owner, Plain,
};
use napi_derive::napi;
use serde_json::{Value, json};
use std::time::Duration;

/// A running manager. Its work is done on a thread of its own.
#[napi]
pub struct NativeManager {
    executor: Executor,
    manager: Manager,
    builder: ManagerBuilder,
    defaults: LockOptions,
    /// Its time passes only if a test says so: nobody may wait for it without end.
    is_of_test: bool,
}

enum Manager {
    Fenced(LockManager),
    Plain(LockManager<Plain>),
}

/// The manager within, whichever it is.
macro_rules! either {
    ($manager:expr, $name:ident => $work:expr) => {
        match $manager {
            Manager::Fenced($name) => $work,
            Manager::Plain($name) => $work,
        }
    };
}

impl NativeManager {
    pub(crate) fn start(
        config: ManagerConfig,
        builder: ManagerBuilder,
        observed: Option<Observed>,
        executor: &Executor,
    ) -> Result<Self, Failure> {
        let mut builder = config.complete(builder)?;
        if let Some(observed) = observed {
            builder = builder.observer(observed);
        }
        let manager = match config.plain {
            Some(true) => Manager::Plain(builder.clone().build_plain()?),
            _ => Manager::Fenced(builder.clone().build()?),
        };
        Ok(Self {
            executor: executor.clone(),
            manager,
            builder,
            defaults: config.defaults.unwrap_or_default().options()?,
            is_of_test: false,
        })
    }

    pub(crate) fn of_test(self) -> Self {
        Self {
            is_of_test: true,
            ..self
        }
    }

    /// Waits for a lock of one name or of several.
    fn acquiring<M: Mode>(
        &self,
        mutex: Result<Mutex<M>, ConfigError>,
        patience: Option<f64>,
        options: Option<&OptionsOfLock>,
        guard: fn(LeaseGuard<M>) -> Guard,
    ) -> Result<u32, Failure> {
        let mutex = match options {
            None => mutex?,
            Some(options) => {
                options.check()?;
                mutex?.with(|usual| options.over(usual))?
            }
        };
        let executor = self.executor.clone();
        Ok(self.executor.begin(async move {
            let won = match patience {
                None => mutex.acquire().await?,
                Some(patience) => mutex.acquire_within(duration(patience)).await?,
            };
            Ok(NativeLease::won(&executor, guard(won)))
        }))
    }

    fn campaigning<M: Mode>(
        &self,
        election: Election<M>,
        patience: Option<f64>,
        guard: fn(leasehold::Leadership<M>) -> Guard,
    ) -> u32 {
        let executor = self.executor.clone();
        self.executor.begin(async move {
            let won = match patience.map(duration) {
                None => election.campaign().await?,
                Some(Duration::ZERO) => election.try_campaign().await?,
                Some(patience) => election.campaign_within(patience).await?,
            };
            Ok(NativeLease::won(&executor, guard(won)))
        })
    }

    fn fenced(&self, what: &str) -> Result<&LockManager, Failure> {
        match &self.manager {
            Manager::Fenced(manager) => Ok(manager),
            Manager::Plain(_) => Err(Failure::config(&format!(
                "plain locks have no {what}; make a manager without `plain`"
            ))),
        }
    }
}

/// An election with options of its own.
fn with<M: Mode>(
    election: Election<M>,
    options: Option<&OptionsOfLock>,
) -> Result<Election<M>, Failure> {
    match options {
        None => Ok(election),
        Some(options) => {
            options.check()?;
            Ok(election.with(|usual| options.over(usual))?)
        }
    }
}

#[napi]
impl NativeManager {
    #[napi]
    pub fn acquire(
        &self,
        name: String,
        patience: Option<f64>,
        options: Option<OptionsOfLock>,
    ) -> js::Result<u32> {
        let options = options.as_ref();
        thrown(|| match &self.manager {
            Manager::Fenced(manager) => {
                self.acquiring(manager.mutex(&name), patience, options, Guard::Mutex)
            }
            Manager::Plain(manager) => {
                self.acquiring(manager.mutex(&name), patience, options, Guard::Plain)
            }
        })
    }

    #[napi]
    pub fn acquire_all(
        &self,
        names: Vec<String>,
        patience: Option<f64>,
        options: Option<OptionsOfLock>,
    ) -> js::Result<u32> {
        let options = options.as_ref();
        thrown(|| match &self.manager {
            Manager::Fenced(manager) => {
                self.acquiring(manager.mutex_all(&names), patience, options, Guard::Mutex)
            }
            Manager::Plain(manager) => {
                self.acquiring(manager.mutex_all(&names), patience, options, Guard::Plain)
            }
        })
    }

    /// To read, or alone to write.
    #[napi]
    pub fn share(
        &self,
        name: String,
        writes: bool,
        patience: Option<f64>,
        options: Option<OptionsOfLock>,
    ) -> js::Result<u32> {
        thrown(|| {
            let mut lock = either!(&self.manager, manager => manager.rwlock(&name))?;
            if let Some(options) = &options {
                options.check()?;
                lock = lock.with(|usual| options.over(usual))?;
            }
            let (executor, patience) = (self.executor.clone(), patience.map(duration));
            Ok(self.executor.begin(async move {
                let guard = match (writes, patience) {
                    (true, None) => Guard::Write(lock.write().await?),
                    (true, Some(patience)) => Guard::Write(lock.write_within(patience).await?),
                    (false, None) => Guard::Read(lock.read().await?),
                    (false, Some(patience)) => Guard::Read(lock.read_within(patience).await?),
                };
                Ok(NativeLease::won(&executor, guard))
            }))
        })
    }

    /// One of so many.
    #[napi]
    pub fn permit(
        &self,
        name: String,
        permits: u32,
        patience: Option<f64>,
        options: Option<OptionsOfLock>,
    ) -> js::Result<u32> {
        thrown(|| {
            let permits = usize::try_from(permits).unwrap_or(usize::MAX);
            let any = either!(&self.manager, manager => manager.semaphore(&name, permits));
            let mut any = any?;
            if let Some(options) = &options {
                options.check()?;
                any = any.with(|usual| options.over(usual))?;
            }
            let executor = self.executor.clone();
            Ok(self.executor.begin(async move {
                let permit = match patience.map(duration) {
                    None => any.acquire().await?,
                    Some(patience) => any.acquire_within(patience).await?,
                };
                Ok(NativeLease::won(&executor, Guard::Permit(permit)))
            }))
        })
    }

    /// The work of a period, if nobody has done it.
    #[napi]
    pub fn begin_once(
        &self,
        name: String,
        period: f64,
        starting: f64,
        patience: Option<f64>,
        options: Option<OptionsOfLock>,
    ) -> js::Result<u32> {
        thrown(|| {
            let manager = self.fenced("periods")?;
            let once = manager.mutex(&name)?.once_per(duration(period))?;
            let mut once = once.starting(duration(starting));
            if let Some(options) = &options {
                options.check()?;
                once = once.with(|usual| options.over(usual))?;
            }
            let executor = self.executor.clone();
            Ok(self.executor.begin(async move {
                let turn = match patience.map(duration) {
                    None => once.begin().await?,
                    Some(patience) => once.begin_within(patience).await?,
                };
                Ok(NativeLease::won(&executor, Guard::Once(turn)))
            }))
        })
    }

    #[napi]
    pub fn campaign(
        &self,
        name: String,
        patience: Option<f64>,
        options: Option<OptionsOfLock>,
    ) -> js::Result<u32> {
        let options = options.as_ref();
        thrown(|| match &self.manager {
            Manager::Fenced(manager) => {
                let election = with(manager.election(&name)?, options)?;
                Ok(self.campaigning(election, patience, Guard::Leader))
            }
            Manager::Plain(manager) => {
                let election = with(manager.election(&name)?, options)?;
                Ok(self.campaigning(election, patience, Guard::PlainLeader))
            }
        })
    }

    /// Who leads now.
    #[napi]
    pub fn leader(&self, name: String) -> js::Result<u32> {
        async fn ask<M: Mode>(election: Election<M>) -> Outcome {
            Ok(Payload::Value(told::election(&election.leader().await?)))
        }
        thrown(|| {
            Ok(either!(&self.manager, manager => {
                self.executor.begin(ask(manager.election(&name)?))
            }))
        })
    }

    #[napi]
    pub fn observe_election(&self, name: String) -> js::Result<NativeStream> {
        thrown(|| {
            let leaders = either!(&self.manager, manager => manager.election(&name)?.observe());
            Ok(NativeStream::new(
                &self.executor,
                Source::Leaders(Box::new(leaders)),
            ))
        })
    }

    #[napi]
    pub fn inspect(&self, name: String) -> u32 {
        async fn ask<M: Mode>(manager: LockManager<M>, name: String) -> Outcome {
            Ok(Payload::Value(told::inspection(
                &manager.inspect(&name).await?,
            )))
        }
        either!(&self.manager, manager => self.executor.begin(ask(manager.clone(), name)))
    }

    #[napi]
    pub fn force_release(&self, name: String) -> u32 {
        async fn ask<M: Mode>(manager: LockManager<M>, name: String) -> Outcome {
            let eviction = manager.force_release(&name).await?;
            let evicted = eviction.evicted.iter().map(|(of, outcome)| {
                json!({ "holder": crate::failure::holder(of), "owner": owner(of), "outcome": told::release(outcome) })
            });
            Ok(Payload::Value(json!({
                "before": told::inspection(&eviction.before),
                "evicted": evicted.collect::<Value>(),
            })))
        }
        either!(&self.manager, manager => self.executor.begin(ask(manager.clone(), name)))
    }

    /// Takes a lease over that another process handed over.
    #[napi]
    pub fn adopt(&self, text: String, options: Option<OptionsOfLock>) -> js::Result<u32> {
        async fn take<M: Mode>(
            manager: LockManager<M>,
            text: String,
            options: Option<LockOptions>,
        ) -> Result<LeaseGuard<M>, leasehold::AdoptError> {
            match options {
                None => manager.adopt(&text).await,
                Some(options) => manager.adopt_with(&text, options).await,
            }
        }
        thrown(|| {
            let options = options.map(|options| options.labelled_over(self.defaults.clone()));
            let (options, executor) = (options.transpose()?, self.executor.clone());
            Ok(match &self.manager {
                Manager::Fenced(manager) => {
                    let taken = take(manager.clone(), text, options);
                    self.executor.begin(async move {
                        Ok(NativeLease::won(&executor, Guard::Mutex(taken.await?)))
                    })
                }
                Manager::Plain(manager) => {
                    let taken = take(manager.clone(), text, options);
                    self.executor.begin(async move {
                        Ok(NativeLease::won(&executor, Guard::Plain(taken.await?)))
                    })
                }
            })
        })
    }

    /// A lease that was detached, to be extended and released by hand.
    #[napi]
    pub fn detached(
        &self,
        kind: String,
        names: Vec<String>,
        owner: String,
    ) -> js::Result<NativeLease> {
        thrown(|| {
            let manager = self.fenced("detached leases")?;
            let owner = Owner::from_bytes(owner.as_bytes());
            let owner = owner.ok_or_else(|| Failure::config(&"an owner has 1 to 255 bytes"))?;
            let first = names.first().map(String::as_str).unwrap_or_default();
            let lease = match kind.as_str() {
                "shared" => manager.detached_shared(first, owner)?,
                "permit" => manager.detached_permit(first, owner)?,
                _ => manager.detached_all(&names, owner)?,
            };
            Ok(NativeLease::new(&self.executor, Guard::Detached(lease)))
        })
    }

    #[napi(getter)]
    pub fn nodes(&self) -> Vec<String> {
        let names = either!(&self.manager, manager => manager.nodes());
        names.iter().map(|name| name.as_str().to_owned()).collect()
    }

    #[napi]
    pub fn health(&self) -> Vec<Value> {
        let health = either!(&self.manager, manager => manager.health());
        health.iter().map(told::health).collect()
    }

    #[napi]
    pub fn operator(&self) -> js::Result<NativeOperator> {
        thrown(|| {
            Ok(NativeOperator::new(
                &self.executor,
                self.builder.operator()?,
            ))
        })
    }

    /// Ends all waiting, and waits for the releases that are under way: a second at most and a little.
    #[napi]
    pub fn close(&self) -> u32 {
        async fn end<M: Mode>(manager: LockManager<M>) -> Outcome {
            Ok(Payload::Value(manager.shutdown().await.into()))
        }
        either!(&self.manager, manager => self.executor.begin(end(manager.clone())))
    }

    /// The same at the end of the process, when no event loop turns any more: blocks.
    #[napi]
    pub fn farewell(&self) {
        if !self.is_of_test {
            either!(&self.manager, manager => {
                let _ = manager.blocking().shutdown();
            });
        }
    }
}
