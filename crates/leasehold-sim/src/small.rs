//! What the smaller worlds share: clients that run the production engine, each with an application that locks and unlocks, on one
//! queue of events; faults for a while, and then a time in which somebody must get a lock.
//!
//! A world says how a request comes to its nodes, and what else happens.

mod client;
mod stage;

pub(crate) use client::{Rhythm, SmallClient, config};
pub(crate) use stage::{Happening, Stage};

use crate::{
    check::{Holder, Property},
    world::Report,
};
use client::Application;
use leasehold_core::{AcquireRequest, Operation, Send};

/// A world of clients whose ways to the nodes are `W`, in which an `E` may happen.
pub(crate) trait SmallWorld<E, W> {
    fn stage(&mut self) -> &mut Stage<E, W>;

    /// What a client wants next.
    fn acquire_request(&mut self) -> AcquireRequest;

    /// The engine of a client says something to nodes.
    fn send(&mut self, client: usize, send: Send);

    fn happen(&mut self, event: E);

    /// Something goes wrong.
    fn fault(&mut self);

    /// The faults are over.
    fn heal(&mut self);

    /// Lets everything happen, to the end or to the first violation.
    fn run(&mut self) -> Report {
        while let Some(event) = self.stage().next() {
            match event {
                Happening::Own(event) => self.happen(event),
                Happening::Wake { client } => self.turn(client),
                Happening::Act { client, ticket } => self.act(client, ticket),
                Happening::Fault if self.stage().is_healed => {}
                Happening::Fault => {
                    self.fault();
                    self.stage().plan_fault();
                }
                Happening::Heal => {
                    self.stage().is_healed = true;
                    self.stage().tell(|| "-- the faults are over".to_owned());
                    self.heal();
                }
                Happening::End => {
                    let stage = self.stage();
                    if !stage.has_recovered {
                        let what = "nobody has acquired since all is well".to_owned();
                        stage.violate(Property::Progress, what);
                    }
                    break;
                }
            }
        }
        self.stage().finish()
    }

    /// The application acquires, or releases what it holds.
    fn act(&mut self, client: usize, ticket: u32) {
        let stage = self.stage();
        let this = &stage.clients[client];
        if this.ticket != ticket {
            return;
        }
        if stage.now < this.stopped_until {
            let after_ns = this.stopped_until.since_ns(stage.now);
            return stage.plan_common(after_ns, Happening::Act { client, ticket });
        }
        match this.application {
            Application::Idle => {
                let operation = Operation::Acquire(self.acquire_request());
                let stage = self.stage();
                stage.submit(client, operation);
                stage.clients[client].application = Application::Acquiring;
            }
            Application::Acquiring => {}
            Application::Holding(operation, _) => {
                stage.exclusion.ends(Holder { client, operation });
                stage.tell(|| format!("c{client} releases op {}", operation.number()));
                stage.submit(client, Operation::Release(operation));
                stage.clients[client].application = Application::Idle;
                stage.act_later(client, stage.rhythm.rest_ns);
            }
        }
        self.turn(client);
    }

    /// Lets a client do everything that there is to do.
    fn turn(&mut self, client: usize) {
        let stage = self.stage();
        let until = stage.clients[client].stopped_until;
        if stage.now < until {
            let after_ns = until.since_ns(stage.now);
            return stage.plan_common(after_ns, Happening::Wake { client });
        }
        let now = stage.time(client);
        loop {
            let stage = self.stage();
            let engine = &mut stage.clients[client].engine;
            if engine.poll_timeout().is_some_and(|at| at <= now) {
                engine.handle_timeout(now);
            } else if let Some(send) = engine.poll_send() {
                self.send(client, send);
            } else if let Some((operation, told)) = engine.poll_event() {
                stage.told(client, operation, told);
            } else {
                break;
            }
        }
        self.stage().wake_in_time(client);
    }
}
