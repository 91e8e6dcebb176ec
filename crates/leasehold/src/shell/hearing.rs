//! What the links tell, given to those whom it concerns.

use super::Shell;
use crate::{
    health::NodeConnection,
    link::{LinkEvent, NodeName},
};
use leasehold_core::{Instant, LinkChange, NodeId};

impl Shell {
    pub(super) fn hear(&mut self, now: Instant, node: NodeId, event: LinkEvent) {
        if let Some(instrumentation) = &mut self.instrumentation {
            instrumentation.heard(now, node, &event);
        }
        self.answering.hear(now, node, &event);
        match event {
            LinkEvent::Reply(tag, vote) => {
                self.engine.handle_reply(now, node, tag, vote);
            }
            LinkEvent::Clock(reading) => {
                if let Some(step) = self.engine.handle_clock(now, node, reading) {
                    self.healths.step(node.index(), step);
                    if let Some(instrumentation) = &mut self.instrumentation {
                        instrumentation.stepped(node, step);
                    }
                }
            }
            LinkEvent::Changed(resource) => {
                self.onlookers.call(resource.as_ref());
                self.engine.handle_hint(now, node, resource.as_ref());
            }
            LinkEvent::Up(id) => {
                self.healths.connection(node.index(), NodeConnection::Up);
                self.engine.handle_link(now, node, LinkChange::Up(id));
            }
            LinkEvent::Replaced(name) => {
                self.healths.rename(node.index(), &name);
                self.engine.handle_link(now, node, LinkChange::Replaced);
                let names = self.healths.names();
                self.engine.name_nodes(names.iter().map(NodeName::as_str));
            }
            LinkEvent::Down(reason) => {
                self.onlookers.call(None);
                let down = NodeConnection::Down(reason);
                self.healths.connection(node.index(), down);
                self.engine.handle_link(now, node, LinkChange::Down);
            }
        }
    }
}
