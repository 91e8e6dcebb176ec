//! Where a shell runs.

use super::{
    Answering, ByNumber, MakeLink, Observers, Shell, ShutdownState,
    driver::{self, Driver},
    instrumentation::Instrumentation,
    onlookers::Onlookers,
};
use crate::{
    alarm::Alarm,
    clock::{self, Clock},
    deadline::Deadlines,
    handle::{Command, Handle},
    link::{Draft, NodeName},
};
use leasehold_core::{Engine, Instant};
use std::{future::poll_fn, io, panic::catch_unwind, sync::Arc, thread};
use tokio::{runtime, sync::mpsc, task::unconstrained};

/// Where it is to run.
#[derive(Clone, Debug, Default)]
pub(crate) enum Runner {
    /// As a task of the runtime that runs where it is started; without one, on a thread of its own.
    #[default]
    Here,
    /// On a thread of its own.
    Thread,
    /// As a task of this runtime.
    Runtime(runtime::Handle),
}

impl Runner {
    /// The runtime of the shell's task; none if it is to have a thread.
    pub(crate) fn runtime(&self, clock: Clock) -> Option<runtime::Handle> {
        match self {
            // A test that lets time pass waits until the shell is at rest, and must not wait for its own thread.
            Self::Here if clock.passes() => {
                let here = runtime::Handle::try_current().ok();
                here.filter(|here| is_fit(here, clock))
            }
            Self::Here | Self::Thread => None,
            Self::Runtime(runtime) => Some(runtime.clone()),
        }
    }
}

/// Whether this runtime has sockets and timers, and timers by the machine's time.
fn is_fit(runtime: &runtime::Handle, clock: Clock) -> bool {
    let _here = runtime.enter();
    // It does not say what it lacks, but panics where that is wanted. Where a panic ends the program, that is here and not
    // at the first lock.
    let try_both = || {
        drop(Alarm::new(clock));
        #[cfg(all(unix, feature = "redis"))]
        drop(tokio::net::UnixStream::pair());
    };
    catch_unwind(try_both).is_ok() && clock::is_time_of_the_runtime()
}

/// Starts a shell: as a task of this runtime, or else on a thread of its own.
pub(crate) fn spawn(
    handle: &Handle,
    commands: mpsc::UnboundedReceiver<Command>,
    links: Vec<MakeLink>,
    observers: Observers,
    runtime: Option<runtime::Handle>,
) -> io::Result<()> {
    let (clock, is_guest) = (handle.clock(), runtime.is_some());
    let new = || -> io::Result<Shell> {
        Ok(Shell {
            clock,
            handle: handle.downgrade(),
            healths: handle.healths().clone(),
            commands,
            engine: engine(handle),
            answering: Answering::new(links.len()),
            draft: Draft::default(),
            links: Vec::new(),
            unmade: links,
            heard: Vec::new(),
            deadlines: Deadlines::start()?,
            pending: ByNumber::default(),
            held: 0,
            onlookers: Onlookers::default(),
            patience: driver::MOST_PATIENCE,
            rests_until: Instant::NEVER,
            operations: Arc::clone(handle.operations()),
            // Made before anybody could let time pass, so that it counts among those who are waited for.
            alarm: Alarm::new(clock),
            ending: ShutdownState::NotYet,
            is_guest,
            votes_in_calls: handle.configuration().is_fenced(),
            epoch_at: Instant::ORIGIN,
            instrumentation: Instrumentation::new(observers, &handle.nodes()),
        })
    };
    match runtime {
        None => on_own_thread(new, |mut shell| async move { turn(&mut shell).await }),
        Some(runtime) => {
            let shell = {
                let _within = runtime.enter();
                new()?
            };
            let guardian = handle.guardian().cloned();
            drop(runtime.spawn(unconstrained(Driver::new(shell, guardian))));
            Ok(())
        }
    }
}

/// Turns a shell until its work is done.
pub(super) async fn turn(shell: &mut Shell) {
    // It lets others have their turn by itself. If the runtime made it, what has come would seem not to have, and be late.
    unconstrained(poll_fn(|cx| shell.poll(cx))).await;
}

/// Lets a thread of its own do what comes of this, which is begun at once and within the thread's runtime.
pub(super) fn on_own_thread<T: Send + 'static, F: Future<Output = ()>>(
    begin: impl FnOnce() -> io::Result<T>,
    work: impl FnOnce(T) -> F + Send + 'static,
) -> io::Result<()> {
    let own = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let begun = {
        let _within = own.enter();
        begin()?
    };
    let thread = thread::Builder::new().name("leasehold".into());
    thread.spawn(move || {
        own.block_on(work(begun));
        // A name that is being looked up must not keep the thread.
        own.shutdown_background();
    })?;
    Ok(())
}

fn engine(handle: &Handle) -> Engine {
    let mut engine = Engine::new(handle.quorum());
    engine.name_nodes(handle.nodes().iter().map(NodeName::as_str));
    engine
}
