//! The course of a world: faults, silence, recovery, silence.
//!
//! Faults until the 14th second, or an earlier one where much happens in each. Then everybody lets go, and after a
//! second of silence nothing of theirs may be left on nodes that they could reach, long before it would expire by
//! itself. Then everybody wants to lock again, and somebody must succeed within a bound. At last, everybody lets go once
//! more, and no operation may be open.

use crate::{
    application::State,
    check::leftovers,
    queue::Event,
    setting::Links,
    time::{MILLISECOND, Moment, SECOND},
    world::{World, signer},
};
use leasehold_core::{Timing, table::Key};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Faults,
    /// Everybody has let go.
    Silence,
    /// Everybody wants again, and nothing goes wrong any more; since when.
    Recovery(Moment),
    LastSilence,
    Over,
}

impl Phase {
    const fn name(self) -> &'static str {
        match self {
            Self::Faults => "the time of faults",
            Self::Silence | Self::LastSilence => "silence",
            Self::Recovery(_) => "recovery",
            Self::Over => "nothing",
        }
    }
}

/// How long things go wrong, and how long nothing does while everybody locks, unless somebody has yet to acquire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    pub(crate) faults_ns: u64,
    pub(crate) recovery_ns: u64,
}

impl Course {
    pub(crate) const LONG: Self = Self {
        faults_ns: 14 * SECOND,
        recovery_ns: 4 * SECOND,
    };

    /// One for worlds in which much happens every second.
    pub(crate) const fn short(faults_ns: u64) -> Self {
        Self {
            faults_ns,
            recovery_ns: SECOND,
        }
    }
}

const SILENCE_NS: u64 = SECOND;

impl World {
    /// No fault begins or lasts beyond this.
    pub(crate) const fn faults_end(&self) -> Moment {
        Moment::from_ns(self.setting.course.faults_ns)
    }

    pub(crate) fn next_phase(&mut self) {
        let from = self.phase;
        self.phase = match from {
            Phase::Faults => {
                self.network.heal();
                for link in self.network.misled() {
                    self.break_connection(link);
                }
                self.everybody_lets_go();
                Phase::Silence
            }
            Phase::Silence => {
                self.look_for_leftovers();
                self.everybody_wants();
                Phase::Recovery(self.now)
            }
            Phase::Recovery(since) => self.judge_recovery(since),
            Phase::LastSilence | Phase::Over => {
                self.look_for_leftovers();
                let nothing_open = self.checks.progress.nothing_open();
                self.note(nothing_open);
                Phase::Over
            }
        };
        let (now, to) = (self.now, self.phase);
        if to != from {
            self.trace.tell(now, || {
                format!("-- {} is over, {} begins", from.name(), to.name())
            });
        }
        let next = match to {
            Phase::Recovery(_) if to != from => now.after(self.setting.course.recovery_ns),
            Phase::Recovery(_) => now.after(100 * MILLISECOND),
            _ => now.after(SILENCE_NS),
        };
        self.queue.plan(next, Event::Phase);
    }

    fn everybody_lets_go(&mut self) {
        self.is_resting = true;
        self.offers.clear();
        self.detached.clear();
        for client in 0..self.clients.len() {
            for slot in 0..self.setting.slots {
                match self.clients[client].slots[slot].state {
                    State::Acquiring(_) => self.cancel(client, slot),
                    State::Holding(_) => self.release(client, slot),
                    State::Idle
                    | State::Releasing(_)
                    | State::HandingOver(..)
                    | State::Tending(_) => {}
                }
            }
            self.turn(client);
        }
    }

    fn everybody_wants(&mut self) {
        self.is_resting = false;
        for client in 0..self.clients.len() {
            for slot in 0..self.setting.slots {
                self.act_later(client, slot, MILLISECOND);
            }
        }
    }

    /// Looks for keys that their owner, who has let go of everything, could have taken back.
    fn look_for_leftovers(&mut self) {
        if !self.setting.can_be_tidy() {
            return;
        }
        for index in 0..self.nodes.len() {
            let node = &self.nodes[index];
            if self.has_left(index) {
                continue;
            }
            // With several kinds of faults, not only refusals make pauses longer, and the silence may be too short for
            // the last one.
            let refused = (node.rejects_until > Moment::START
                && self.now < node.rejects_until.after(2 * self.setting.ttl_ns))
                || self.setting.links.room < Links::ROOM;
            let asks_late = refused && self.setting.has_several_faults();
            if !node.is_up || self.now <= node.hung_until || asks_late {
                continue;
            }
            for resource in &self.resources {
                let keys = node.keys(self.now, resource);
                if let Some(key) = keys.iter().find(|key| self.could_be_gone(index, key)) {
                    let remaining = key.expires_at.saturating_since(node.time(self.now));
                    let left = leftovers::left(index, resource, remaining);
                    return self.note(Err(left));
                }
            }
        }
    }

    /// Whether the owner of a key on the node could have taken it back.
    fn could_be_gone(&self, index: usize, key: &Key) -> bool {
        let node = &self.nodes[index];
        let Some((client, generation)) = signer(&key.owner) else {
            return false;
        };
        let owner = &self.clients[client];
        let remaining = key.expires_at.saturating_since(node.time(self.now));
        let node_limit = Timing::usual_node_limit(Duration::from_nanos(self.setting.ttl_ns));
        // What lives only because the node's clock was set back has ended for all that its owner knows.
        remaining > Duration::from_nanos(node.set_back_ns)
            && !self.haunted.contains(&key.owner)
            && !self.handed_over.contains(&key.owner)
            && self.now > node.in_vain.asks_until(&key.owner, node_limit)
            && owner.is_alive
            && owner.generation == generation
            && self
                .network
                .leading_to(index)
                .into_iter()
                .all(|link| self.network.ends(link).0 != client || self.network.is_quiet(link))
    }

    fn judge_recovery(&mut self, since: Moment) -> Phase {
        let progress = &self.checks.progress;
        if progress.has_acquired_since(since) {
            self.everybody_lets_go();
            return Phase::LastSilence;
        }
        // A node that is kept away is wrong until it is back.
        if self.now.since_ns(since.max(self.nodes_back)) > progress.bound_ns {
            let missed = progress.missed(since, self.now);
            self.note(Err(missed));
        }
        Phase::Recovery(since)
    }
}
