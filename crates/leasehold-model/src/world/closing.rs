//! The end of every course: all let go, nothing is in the way, and time passes until nothing goes on.
//!
//! What is left then would be left for ever, so nothing must be, and no key must wait for its TTL to end. One
//! way to the end is taken from each world, not all.

use super::{World, replacing::Replacement};
use crate::{client::resources, flaw::Flaw, news::News, shape::Shape, step::Step, story::Story};
use leasehold_core::Resource;

/// After how many ticks nothing may go on any more: enough for every attempt that is left, and then for all
/// pauses between releases that were refused.
const PATIENCE: u8 = 60;

impl World {
    pub(super) fn let_go(&mut self, shape: &Shape, story: &mut Story) {
        story.tell(self.tick, || {
            "all let go, and nothing is in the way any more".to_owned()
        });
        for client in 0..shape.clients.len() {
            if self.clients[client].is_stopped {
                self.act(shape, Step::GoOn(client), story);
            }
        }
        for _ in 0..PATIENCE {
            while self.flaw.is_none() && self.move_all(shape, story) {}
            if self.flaw.is_some() {
                return;
            }
            // Argument S5: a key that can be released is, and is not left to its TTL. Only a link that had no
            // room is given time before it is asked again.
            if shape.faults.refusals == 0 || self.is_quiet() {
                self.look_for_keys(shape, story);
            }
            if self.is_quiet() {
                self.look_for_places(shape, story);
                return self.look_round(shape, story);
            }
            self.pass(shape);
            self.look(shape, story);
        }
        self.fail(shape, Flaw::Rest, story, || {
            "something still goes on, long after".to_owned()
        });
    }

    /// Takes every step that can be taken, once each. Says whether there was any.
    fn move_all(&mut self, shape: &Shape, story: &mut Story) -> bool {
        let mut moved = false;
        for client in 0..shape.clients.len() {
            for node in 0..shape.nodes {
                let link = self.link(shape, client, node);
                let step = if link.is_down() {
                    Step::ComeUp(client, node)
                } else if link.has_requests() {
                    Step::CarryOut(client, node)
                } else if link.has_replies() {
                    Step::Hear(client, node)
                } else {
                    continue;
                };
                self.act(shape, step, story);
                moved = true;
            }
            let held = self.clients[client].held.iter();
            let held = held
                .filter(|held| !held.is_released)
                .map(|held| held.operation);
            for operation in held.collect::<Vec<_>>() {
                self.act(shape, Step::Release(client, operation), story);
                moved = true;
            }
            if self.clients[client].is_due(self.client_time()) {
                self.act(shape, Step::Wake(client), story);
                moved = true;
            }
        }
        moved
    }

    /// Whether no engine waits for anything any more.
    fn is_quiet(&self) -> bool {
        let mut clients = self.clients.iter();
        clients.all(|client| client.engine.poll_timeout().is_none())
    }

    fn look_round(&mut self, shape: &Shape, story: &mut Story) {
        for number in 0..shape.clients.len() {
            let client = &self.clients[number];
            let (releases, open) = (client.engine.releases(), client.open_operations().count());
            if releases > 0 || open > 0 {
                self.fail(shape, Flaw::Rest, story, || {
                    format!(
                        "c{number} has {open} operations and {releases} releases that never end"
                    )
                });
            }
        }
        if self.flaw.is_none() {
            // Ends that are well are all one.
            (self.clients, self.tables, self.links) = (Vec::new(), Vec::new(), Vec::new());
            (self.left, self.touched, self.leases, self.tick) = Default::default();
            self.replacement = Replacement::default();
            self.tidings = Default::default();
            self.tidings.add(News::Ended);
            self.has_ended = true;
        }
    }

    /// Argument S10: whoever waits no longer keeps nobody else waiting.
    fn look_for_places(&mut self, shape: &Shape, story: &mut Story) {
        for node in 0..shape.nodes {
            // What is lost with a connection ends by itself, after longer than a world lasts.
            let has_queue = |of: &&Resource| self.tables[node].queue(of).is_some();
            if shape.faults.breaks == 0 && resources().iter().any(has_queue) {
                self.fail(shape, Flaw::Rest, story, || {
                    format!("n{node} keeps a place for nobody")
                });
            }
        }
    }

    fn look_for_keys(&mut self, shape: &Shape, story: &mut Story) {
        // Nobody who knows the new list asks the node that left.
        let stay = if shape.newcomer.is_some() {
            shape.nodes - 1
        } else {
            shape.nodes
        };
        for node in 0..stay {
            let key = self.keys(shape, node).next().cloned();
            if let Some(key) = key {
                self.fail(shape, Flaw::Rest, story, || {
                    format!("n{node} still has a key of {}", key.owner)
                });
            }
        }
    }
}
