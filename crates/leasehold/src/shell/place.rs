//! Where a shell runs.

use super::{Ending, MakeLink, Shell};
use crate::{
    alarm::Alarm,
    deadline::Deadlines,
    handle::{Command, Handle},
    link::NodeName,
};
use leasehold_core::{Engine, Instant};
use std::{collections::HashMap, future::poll_fn, io, thread};
use tokio::{runtime, sync::mpsc};

/// One of the two.
#[derive(Clone, Debug, Default)]
pub(crate) enum Place {
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
    place: &Place,
) -> io::Result<()> {
    let mut engine = Engine::new(handle.quorum());
    engine.name_nodes(handle.names().names.iter().map(NodeName::as_str));
    let (clock, healths, handle) = (handle.clock(), handle.healths().clone(), handle.downgrade());
    let deadlines = Deadlines::start()?;
    let is_guest = matches!(place, Place::Runtime(_));
    let work = async move {
        let mut shell = Shell {
            clock,
            handle,
            healths,
            commands,
            engine,
            links: links.into_iter().map(|make| make(clock)).collect(),
            heard: Vec::new(),
            answers: HashMap::new(),
            leases: HashMap::new(),
            deadlines,
            tickets: HashMap::new(),
            alarm: Alarm::new(),
            sleeps_until: Instant::ORIGIN,
            ending: Ending::NotYet,
            is_guest,
        };
        poll_fn(|cx| shell.poll(cx)).await;
    };
    match place {
        Place::Runtime(runtime) => drop(runtime.spawn(work)),
        Place::Thread => {
            let runtime = runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            thread::Builder::new()
                .name("leasehold".into())
                .spawn(move || {
                    runtime.block_on(work);
                    // A name that is being looked up must not keep the thread.
                    runtime.shutdown_background();
                })?;
        }
    }
    Ok(())
}
