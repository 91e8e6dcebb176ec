//! The servers of a group: one master, and replicas that copy it late.

use super::{Event, Group, Grouped, Party, TICK_NS};
use crate::{
    node::{Data, Node},
    rng::Rng,
    time::{MILLISECOND, SECOND},
};
use leasehold_core::quarantine::Quarantine;

#[derive(Debug)]
pub(super) struct Server {
    pub(super) node: Node,
    pub(super) role: Role,
    pub(super) is_up: bool,
    /// Counts what ends its connections.
    pub(super) starts: u32,
}

/// What a server takes itself for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Master,
    /// It copies this one.
    Replica(usize),
}

/// Servers of which the first is the master, and may vote at once.
pub(super) fn start(group: &Group, guard: Quarantine, rng: &mut Rng) -> Vec<Server> {
    // Keys end by wall clocks, which agree when the world begins.
    let clocks = rng.clone();
    let _ = rng.next();
    let server = |index: usize| {
        let ppm = i64::try_from(rng.below(2_000)).expect("few millionths") - 1_000;
        let machine = u64::try_from(index).expect("few servers");
        let mut node = Node::new(&mut clocks.clone(), ppm).on_machine(machine);
        node.guard = Some(guard);
        let role = match index {
            0 => Role::Master,
            _ => Role::Replica(0),
        };
        Server {
            node,
            role,
            is_up: true,
            starts: 0,
        }
    };
    let mut servers: Vec<_> = (0..group.servers).map(server).collect();
    servers[0].node.admit(crate::time::Moment::START);
    if let Some(marker) = &mut servers[0].node.data.marker {
        marker.failover = Some(0);
    }
    servers
}

impl Grouped {
    /// A replica copies its master, all of it or nothing.
    pub(super) fn copy(&mut self, server: usize) {
        let after_ns = self.stage.rng.between(MILLISECOND, 2 * TICK_NS);
        self.stage.plan(after_ns, Event::Copy { server });
        let Role::Replica(master) = self.servers[server].role else {
            return;
        };
        let is_there = self.servers[server].is_up
            && self.servers[master].is_up
            && self.servers[master].role == Role::Master
            && self.reach(Party::Server(server), Party::Server(master));
        if is_there {
            let mut data = self.servers[master].node.data.clone();
            if let Some(marker) = &mut data.marker {
                marker.seen_ms = None;
            }
            self.servers[server].node.data = data;
        }
    }

    /// A replica becomes the master.
    pub(super) fn promote(&mut self, server: usize) {
        let now = self.stage.now;
        let this = &mut self.servers[server];
        this.role = Role::Master;
        this.node.serve_anew(now, true, true);
        self.stage.tell(|| format!("n{server} is promoted"));
    }

    /// A server becomes a replica of this one.
    pub(super) fn demote(&mut self, server: usize, master: usize) {
        let now = self.stage.now;
        let hangs_up = self.stage.rng.coin();
        let this = &mut self.servers[server];
        if this.role == Role::Master {
            this.node.serve_anew(now, true, true);
            this.starts += u32::from(hangs_up);
            self.stage
                .tell(|| format!("n{server} becomes a replica of n{master}"));
        }
        self.servers[server].role = Role::Replica(master);
    }

    /// A server dies, and comes back with what it had or with nothing.
    pub(super) fn crash(&mut self) {
        let (server, now) = (self.stage.rng.index(self.servers.len()), self.stage.now);
        let forgets = self.stage.rng.coin();
        let after_ns = self.stage.rng.between(SECOND / 10, 5 * SECOND);
        let this = &mut self.servers[server];
        if !this.is_up {
            return;
        }
        this.is_up = false;
        this.starts += 1;
        if forgets {
            this.node.data = Data::default();
        }
        this.node.serve_anew(now, this.role != Role::Master, false);
        self.stage
            .tell(|| format!("n{server} crashes, and forgets everything: {forgets}"));
        self.stage.plan(after_ns, Event::Back { server });
    }
}
