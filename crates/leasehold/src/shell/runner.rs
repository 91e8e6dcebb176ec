//! Where a shell runs.

use super::{
    Answering, ByNumber, MakeLink, Observers, Shell, ShutdownState,
    instrumentation::Instrumentation,
};
use crate::{
    alarm::Alarm,
    deadline::Deadlines,
    handle::{Command, Handle},
    link::{Draft, NodeName},
};
use leasehold_core::{Engine, Instant};
use std::{future::poll_fn, io, sync::Arc, thread};
use tokio::{runtime, sync::mpsc, task::unconstrained};

/// One of the two.
#[derive(Clone, Debug, Default)]
pub(crate) enum Runner {
    /// On a thread of its own.
    #[default]
    Thread,
    /// As a task of a runtime.
    Runtime(runtime::Handle),
}

/// Starts a shell.
pub(crate) fn spawn(
    handle: &Handle,
    commands: mpsc::UnboundedReceiver<Command>,
    links: Vec<MakeLink>,
    observers: Observers,
    runner: &Runner,
) -> io::Result<()> {
    let (engine, deadlines) = (engine(handle), Deadlines::start()?);
    let instrumentation = Instrumentation::new(observers, handle.nodes());
    let operations = Arc::clone(handle.operations());
    let (clock, healths, handle) = (handle.clock(), handle.healths().clone(), handle.downgrade());
    let is_guest = matches!(runner, Runner::Runtime(_));
    let (runtime, own) = match runner {
        Runner::Runtime(runtime) => (runtime.clone(), None),
        Runner::Thread => {
            let own = own_runtime()?;
            (own.handle().clone(), Some(own))
        }
    };
    // Made before anybody could let time pass, so that it counts among those who are waited for.
    let alarm = {
        let _within = runtime.enter();
        Alarm::new(clock)
    };
    let work = async move {
        let mut shell = Shell {
            clock,
            handle,
            healths,
            commands,
            engine,
            answering: Answering::new(links.len()),
            draft: Draft::default(),
            links: links.into_iter().map(|make| make(clock)).collect(),
            heard: Vec::new(),
            deadlines,
            pending: ByNumber::default(),
            held: 0,
            operations,
            alarm,
            ending: ShutdownState::NotYet,
            is_guest,
            epoch_at: Instant::ORIGIN,
            instrumentation,
        };
        // It lets others have their turn by itself. If the runtime made it, what has come would seem not to have, and be late.
        unconstrained(poll_fn(|cx| shell.poll(cx))).await;
    };
    let Some(own) = own else {
        drop(runtime.spawn(work));
        return Ok(());
    };
    let thread = thread::Builder::new().name("leasehold".into());
    thread.spawn(move || {
        own.block_on(work);
        // A name that is being looked up must not keep the thread.
        own.shutdown_background();
    })?;
    Ok(())
}

fn own_runtime() -> io::Result<runtime::Runtime> {
    runtime::Builder::new_current_thread().enable_all().build()
}

fn engine(handle: &Handle) -> Engine {
    let mut engine = Engine::new(handle.quorum());
    engine.name_nodes(handle.nodes().iter().map(NodeName::as_str));
    engine
}
