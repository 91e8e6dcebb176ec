//! How connections come about, and what waits for the first one of a process.

use super::{Network, State, gathered::Gathered};
use crate::{client::Input, queue::Event, setting::Twin, time::MILLISECOND, world::World};
use leasehold_core::{Vote, backoff::Backoff};

impl Network {
    /// The address leads to this server from now on.
    pub(crate) fn lead(&mut self, link: usize, server: usize) {
        self.connections[link].home = server;
    }

    /// The connections that lead where their address does not.
    pub(crate) fn misled(&self) -> Vec<usize> {
        let all = 0..self.links();
        all.filter(|link| self.connections[*link].server != self.connections[*link].home)
            .collect()
    }
}

impl World {
    /// The next try, after as long a rest as the link of production takes.
    pub(super) fn connect_later(&mut self, link: usize) {
        let (client, _) = self.network.ends(link);
        let now = self.clients[client].time(self.now);
        let connection = &mut self.network.connections[link];
        let epoch = connection.epoch;
        let rest = connection.backoff.failed(now).as_nanos();
        let rest_ns = u64::try_from(rest).expect("some seconds");
        // It takes a few answers of the node until it can be asked for locks.
        let greeting_ns = 3 * self.delay_ns();
        let at = self.now.after(rest_ns + greeting_ns);
        self.queue.plan(at, Event::Connect { link, epoch });
    }

    pub(crate) fn connect(&mut self, link: usize, epoch: u32) {
        let connection = &mut self.network.connections[link];
        if connection.epoch != epoch || connection.state != State::Down {
            return;
        }
        let (detour, until) = connection.detour;
        connection.server = match self.now < until {
            true => detour,
            false => connection.home,
        };
        let (client, node) = self.network.ends(link);
        let answers = self.nodes[node].is_up && self.now > self.nodes[node].hung_until;
        let connection = &mut self.network.connections[link];
        let is_cut = self.now < connection.cut_there.max(connection.cut_back);
        if !answers || is_cut {
            self.fail_first(link);
            return self.connect_later(link);
        }
        connection
            .backoff
            .succeeded(self.clients[client].time(self.now));
        connection.epoch += 1;
        connection.state = State::Up;
        let waiting = std::mem::take(&mut connection.is_first);
        self.meet(link);
        let now = self.now;
        self.trace
            .tell(now, || format!("c{client} ⇄ n{node}  connected"));
        let met = self.nodes[node].identity().clone();
        let told = Some(met).filter(|_| !self.setting.hides_identities);
        self.input(link, |node| Input::Up(node, told));
        self.begin_hints(link);
        if waiting {
            self.send_what_waits(link);
        }
    }

    /// No connection comes about: what waits for the first one is told so.
    fn fail_first(&mut self, link: usize) {
        let connection = &mut self.network.connections[link];
        connection.is_first = false;
        connection.requests.clear();
        connection.gathered = Gathered::default();
        for (tag, _) in std::mem::take(&mut connection.pending) {
            let vote = Vote::Unknown(self.network.down.clone());
            self.reply(link, tag, vote, None);
        }
    }

    /// The requests that waited for the first connection set out.
    fn send_what_waits(&mut self, link: usize) {
        let connection = &self.network.connections[link];
        let (epoch, count) = (connection.epoch, connection.requests.len());
        for _ in 0..count {
            let at = self.now.after(self.delay_ns());
            let at = at.max(self.network.connections[link].last_arrival);
            self.network.connections[link].last_arrival = at;
            self.queue.plan(at, Event::Arrive { link, epoch });
        }
    }

    /// A first connection takes its time where servers have two addresses: whichever comes up first.
    pub(crate) fn first_dial_ns(&mut self) -> u64 {
        match self.setting.twin {
            Twin::None => MILLISECOND,
            Twin::Tells | Twin::GrantsAgain => self.setting.ttl_ns / 8,
        }
    }

    /// The process at the client's end is gone: its kernel closes the connection.
    pub(crate) fn hang_up(&mut self, link: usize) {
        self.break_connection(link);
        self.forget_watches(link);
        let connection = &mut self.network.connections[link];
        connection.epoch += 1;
        connection.state = State::Down;
        connection.replies.clear();
        connection.requests.clear();
        connection.gathered = Gathered::default();
        connection.pending.clear();
        connection.backoff = Backoff::NEW;
    }

    /// The client gives its connection up, and begins anew.
    pub(crate) fn dial_anew(&mut self, link: usize) {
        self.break_connection(link);
        let epoch = self.network.connections[link].epoch;
        self.network.connections[link].backoff = Backoff::NEW;
        self.detect(link, epoch);
    }

    /// A new process connects.
    pub(crate) fn dial(&mut self, link: usize) {
        let epoch = self.network.connections[link].epoch;
        if self.setting.twin == Twin::None {
            return self.connect(link, epoch);
        }
        self.network.connections[link].is_first = true;
        let within_ns = self.first_dial_ns();
        let at = self.now.after(1 + self.rng.below(within_ns));
        self.queue.plan(at, Event::Connect { link, epoch });
    }
}
