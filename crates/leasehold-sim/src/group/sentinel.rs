//! The sentinels of a group: a model of what real ones do, as far as clients can tell.

use super::{Event, Grouped, Party, TICK_NS, server::Role};
use crate::time::{Moment, SECOND};

#[derive(Debug)]
pub(super) struct Sentinel {
    /// Which server it takes for the master, and by which failover.
    pub(super) names: usize,
    pub(super) epoch: u64,
    /// The largest epoch for which it has voted.
    voted: u64,
    /// Since when it has not heard of the master; none if it has just now.
    silent_since: Option<Moment>,
    pub(super) away_until: Moment,
}

impl Sentinel {
    pub(super) const fn new() -> Self {
        Self {
            names: 0,
            epoch: 0,
            voted: 0,
            silent_since: None,
            away_until: Moment::START,
        }
    }
}

impl Grouped {
    pub(super) fn is_awake(&self, sentinel: usize) -> bool {
        self.stage.now >= self.sentinels[sentinel].away_until
    }

    /// A sentinel looks around: at the others, at the master, and at servers that take themselves for one.
    pub(super) fn tick(&mut self, sentinel: usize) {
        let after_ns = self.stage.rng.between(TICK_NS / 2, TICK_NS * 2);
        self.stage.plan(after_ns, Event::Tick { sentinel });
        if !self.is_awake(sentinel) {
            return;
        }
        for other in 0..self.sentinels.len() {
            if other != sentinel && self.stage.rng.coin() {
                self.learn(sentinel, other);
            }
        }
        self.look_at_master(sentinel);
        self.set_right(sentinel);
        let is_silent = self.is_silent(sentinel);
        if is_silent && self.stage.rng.below(4) == 0 {
            self.fail_over(sentinel, true);
        }
    }

    /// Hears what another knows, and believes the later failover.
    fn learn(&mut self, sentinel: usize, other: usize) {
        let hears =
            self.is_awake(other) && self.reach(Party::Sentinel(sentinel), Party::Sentinel(other));
        let (names, epoch) = (self.sentinels[other].names, self.sentinels[other].epoch);
        let this = &mut self.sentinels[sentinel];
        if hears && epoch > this.epoch {
            (this.names, this.epoch) = (names, epoch);
            this.voted = this.voted.max(epoch);
            this.silent_since = None;
            self.stage
                .tell(|| format!("s{sentinel} hears that n{names} is the master, epoch {epoch}"));
        }
    }

    fn sees(&self, sentinel: usize, server: usize) -> bool {
        self.servers[server].is_up && self.reach(Party::Sentinel(sentinel), Party::Server(server))
    }

    fn look_at_master(&mut self, sentinel: usize) {
        let (now, names) = (self.stage.now, self.sentinels[sentinel].names);
        let is_there = self.sees(sentinel, names) && self.servers[names].role == Role::Master;
        let this = &mut self.sentinels[sentinel];
        this.silent_since = match is_there {
            true => None,
            false => this.silent_since.or(Some(now)),
        };
    }

    /// Whether it has not heard of the master for long.
    fn is_silent(&self, sentinel: usize) -> bool {
        let since = self.sentinels[sentinel].silent_since;
        since.is_some_and(|since| self.stage.now.since_ns(since) > SECOND)
    }

    /// Tells servers that follow another master, or take themselves for one, which one to follow.
    fn set_right(&mut self, sentinel: usize) {
        let master = self.sentinels[sentinel].names;
        let is_sane = self.sees(sentinel, master) && self.servers[master].role == Role::Master;
        for server in 0..self.servers.len() {
            let is_right = server == master || self.servers[server].role == Role::Replica(master);
            if is_sane && !is_right && self.sees(sentinel, server) && self.stage.rng.coin() {
                self.demote(server, master);
            }
        }
    }

    /// Makes a master of a replica, if a majority of the sentinels lets it.
    fn fail_over(&mut self, leader: usize, needs_silence: bool) {
        let votes = (0..self.sentinels.len()).filter(|other| {
            let is_silent = !needs_silence || self.is_silent(*other);
            let hears =
                *other == leader || self.reach(Party::Sentinel(leader), Party::Sentinel(*other));
            self.is_awake(*other) && hears && is_silent
        });
        let votes: Vec<_> = votes.collect();
        let replicas = (0..self.servers.len()).filter(|server| {
            self.sees(leader, *server) && self.servers[*server].role != Role::Master
        });
        let replicas: Vec<_> = replicas.collect();
        if votes.len() <= self.sentinels.len() / 2 || replicas.is_empty() {
            return;
        }
        let server = self.stage.rng.pick(&replicas);
        let epochs = votes.iter().map(|vote| self.sentinels[*vote].voted);
        let epoch = epochs.max().unwrap_or(0) + 1;
        for vote in votes {
            self.sentinels[vote].voted = epoch;
        }
        self.stage
            .tell(|| format!("s{leader} leads a failover to n{server}, epoch {epoch}"));
        self.promote(server);
        let this = &mut self.sentinels[leader];
        (this.names, this.epoch, this.silent_since) = (server, epoch, None);
        // Its way to the others may end just now, before it has told them; also that of the new master.
        if self.stage.rng.coin() && !self.stage.is_healed {
            self.cut_off(leader, server);
        }
    }

    /// Cuts a sentinel, and perhaps a server with it, off from all other sentinels and servers.
    fn cut_off(&mut self, sentinel: usize, server: usize) {
        let sentinel = self.number(Party::Sentinel(sentinel));
        let server = self.number(Party::Server(server));
        let with_server = self.stage.rng.below(4) > 0;
        let all = self.stage.clients.len() + self.sentinels.len() + self.servers.len();
        for other in self.stage.clients.len()..all {
            if other != sentinel && other != server {
                self.cut.push((sentinel.min(other), sentinel.max(other)));
                if with_server {
                    self.cut.push((server.min(other), server.max(other)));
                }
            }
        }
        self.stage
            .tell(|| format!("╱ {sentinel} is cut off from sentinels and servers"));
    }

    /// Somebody asks a sentinel for a failover though the master is well.
    pub(super) fn replace_on_purpose(&mut self) {
        let leader = self.stage.rng.index(self.sentinels.len());
        if self.is_awake(leader) {
            self.fail_over(leader, false);
        }
    }
}
