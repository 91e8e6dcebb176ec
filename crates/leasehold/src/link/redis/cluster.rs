//! A node that is a Redis Cluster: many servers, of which each keeps the locks of some slots, and one vote.
//!
//! Each master that is needed has a [`RedisLink`](super::RedisLink) of its own, which promises all that a link must. What is added here is the
//! choice among them, and what to do when it was the wrong one:
//!
//! * Servers say MOVED, ASK, TRYAGAIN and CLUSTERDOWN before they run a command, so a request that is answered so has not taken
//!   effect, and is given again: at once to the server that was named, or after a pause. That is not the sending twice which
//!   a link must not do. A request whose connection was lost is never given again.
//! * Giving again changes the order, and a release that acts before its acquire leaves a ghost. So `leasehold_core::outstanding` knows the
//!   requests for each lock: a later one of the same owner goes the way of an earlier one, and the earlier one is not
//!   given again when it is redirected after that.
//! * A slot that moves has its keys at two servers, some here and some there. Whoever has the slot says ASK of a
//!   key that it has not; the other answers for it to those who say ASKING, which counts for one command. So requests
//!   leave alone.
//!
//! `giving` chooses, and deals with redirections, which `redirection` reads. `slots` knows which slot a key is in, `places` the
//! servers and what each of them keeps, and `watch` asks once a second where the slots are, while
//! requests are under way: a master that hangs redirects nobody.
//! By its one of the `notifiers` each link says that it wants to be polled: the others are not.

mod giving;
mod notifiers;
mod places;
pub(super) mod redirection;
pub(super) mod slots;
pub(super) mod watch;

use super::{Encoder, RedisUrl, unsaid};
use crate::{
    clock::Clock,
    configuration::Configuration,
    disks::Disks,
    link::{Link, LinkEvent, Message},
};
use leasehold_core::{
    Fault, FaultKind, Instant, Request, Vote,
    outstanding::{Outstanding, number_of},
};
use notifiers::LinkNotifier;
use places::Places;
use slots::{SlotMap, slot_of_all};
use std::{
    collections::VecDeque,
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Sleep;
use watch::ClusterWatch;

/// The link to a Redis Cluster, for plain locks.
///
/// As [`RedisLink`](super::RedisLink), it connects at the first [`poll`](Link::poll) within a tokio runtime: to a server that tells where the
/// slots are, and then to each master that is needed.
pub struct ClusterLink {
    url: RedisUrl,
    encoder: Encoder,
    clock: Clock,
    watch: Option<ClusterWatch>,
    /// Says that the watch wants to be polled.
    notifier: LinkNotifier,
    state: ClusterState,
    places: Places,
    outstanding: Outstanding,
    /// What is given when it is known where the slots are.
    early: Vec<u64>,
    /// What is given again at these times, in their order.
    paused: VecDeque<(Instant, u64)>,
    timer: Option<Pin<Box<Sleep>>>,
    /// Whether servers tell of changes to keys.
    gives_hints: bool,
    /// What was answered when it was given.
    refused: Vec<LinkEvent>,
    /// Room for what one server tells.
    heard: Vec<LinkEvent>,
}

/// Whether the cluster can be asked.
enum ClusterState {
    Unknown,
    Up,
    /// Not, and why.
    Down(String),
}

impl ClusterLink {
    /// A link to the cluster at `url`. `clock` spaces the tries.
    #[must_use]
    pub fn new(url: RedisUrl, clock: Clock, configuration: &Configuration) -> Self {
        Self::speaking(url, clock, Encoder::new(configuration))
    }

    /// The same, which says things as all do that have a clone of this.
    pub(crate) fn speaking(url: RedisUrl, clock: Clock, encoder: Encoder) -> Self {
        let places = Places::nowhere();
        Self {
            url,
            encoder: encoder.sharded(),
            clock,
            watch: None,
            notifier: places.poller.notifier(),
            state: ClusterState::Unknown,
            places,
            outstanding: Outstanding::default(),
            early: Vec::new(),
            paused: VecDeque::new(),
            timer: None,
            gives_hints: false,
            refused: Vec::new(),
            heard: Vec::new(),
        }
    }

    /// As [`RedisLink::replicated`](super::RedisLink::replicated), of the replicas of the master that voted.
    #[must_use]
    pub fn replicated(mut self, replicas: u32, within: Duration) -> Self {
        self.encoder = self.encoder.heard_by(replicas, within);
        self
    }

    /// As [`RedisLink::on_disk`](super::RedisLink::on_disk), of the master that voted and its replicas.
    #[must_use]
    pub fn on_disk(mut self, disks: Disks, within: Duration) -> Self {
        self.encoder = self.encoder.written_to(disks, within);
        self
    }

    /// The slot of a request, or why it is not taken at all.
    fn accept(&self, request: &Request) -> Result<u16, Fault> {
        let rejected = |why: &str| Fault::new(FaultKind::Rejected, why);
        if let ClusterState::Down(reason) = &self.state {
            return Err(Fault::new(FaultKind::Down, reason));
        }
        if self.encoder.is_fenced() {
            return Err(rejected(FENCED));
        }
        let slot = slot_of_all(request.resource(), |name| self.encoder.key_of(name));
        let slot = slot.ok_or_else(|| rejected(DIVIDED))?;
        let waiting = self.early.len() + self.paused.len();
        let limit = match request {
            Request::Release { .. } => 3 * MOST_WAIT,
            _ => MOST_WAIT,
        };
        if waiting >= limit {
            let words = format!("{waiting} requests wait for this cluster already");
            return Err(Fault::new(FaultKind::Busy, &words));
        }
        Ok(slot)
    }

    /// Takes what the link to a server tells.
    fn hear(&mut self, at: usize, event: LinkEvent, events: &mut Vec<LinkEvent>) {
        match event {
            LinkEvent::Reply(tag, vote) => self.answered(at, number_of(tag), vote, events),
            LinkEvent::Changed(resource) => {
                self.gives_hints |= resource.is_none();
                events.push(LinkEvent::Changed(resource));
            }
            // Each server has a clock of its own: one after the other, they would look like one that is set.
            // Nor is one of them replaced by what an operator says to others.
            LinkEvent::Clock(_) | LinkEvent::Replaced(_) => {}
            LinkEvent::Up(_) => self.note(at, true, events),
            LinkEvent::Down(_) => self.note(at, false, events),
        }
    }

    /// Whether the server can be asked.
    fn note(&mut self, at: usize, is_up: bool, events: &mut Vec<LinkEvent>) {
        let Some(place) = self.places.get(at) else {
            return;
        };
        let was_up = std::mem::replace(&mut place.is_up, is_up);
        if !is_up {
            self.hurry();
            if was_up {
                self.wake(events);
            }
        }
    }

    /// Whoever waits may have missed a change.
    fn wake(&self, events: &mut Vec<LinkEvent>) {
        if self.gives_hints {
            events.push(LinkEvent::Changed(None));
        }
    }

    /// Takes what was told of the slots, or why nobody tells.
    fn learn(&mut self, told: Result<SlotMap, String>, events: &mut Vec<LinkEvent>) {
        match told {
            Ok(map) => {
                let is_changed = self.places.follow(&map, self.clock.now());
                if !matches!(self.state, ClusterState::Up) {
                    self.state = ClusterState::Up;
                    events.push(LinkEvent::Up(None));
                    self.wake(events);
                    self.meet_one();
                    for number in std::mem::take(&mut self.early) {
                        self.give_first(number, events);
                    }
                } else if is_changed {
                    self.wake(events);
                }
                self.retire(events);
            }
            // Who can still be asked answers, or says who can.
            Err(_) if self.places.is_any_up() => {}
            Err(reason) => {
                self.early.clear();
                self.paused.clear();
                for at in 0..self.places.len() {
                    self.disconnect(at);
                }
                // None of it has left: what was on its way over a connection was answered when that was lost.
                for number in self.outstanding.numbers(None) {
                    let fault = Fault::new(FaultKind::Down, &reason);
                    self.tell(number, Vote::Unknown(fault), events);
                }
                events.push(LinkEvent::Down(reason.clone()));
                self.state = ClusterState::Down(reason);
            }
        }
    }

    /// Gives up the connections to servers that keep no slot any more: nobody needs them; or another server has taken the
    /// place of one that hangs, and would be asked behind it for ever.
    fn retire(&mut self, events: &mut Vec<LinkEvent>) {
        let now = self.clock.now();
        for at in self.places.spare() {
            let used = self.places.get(at).map_or(now, |place| place.used);
            let oldest = self.outstanding.oldest(at);
            let is_over = match oldest {
                Some(given) => now.saturating_since(given) >= STALE,
                None => now.saturating_since(used) >= IDLE,
            };
            if !is_over {
                continue;
            }
            let name = self.places.name(at);
            self.disconnect(at);
            for number in self.outstanding.numbers(Some(at)) {
                let words = format!("{name} keeps no slot of the cluster any more: {REPLACED}");
                let fault = Fault::new(FaultKind::Disconnected, &words);
                self.tell(number, Vote::Unknown(fault), events);
            }
            self.wake(events);
        }
    }

    fn disconnect(&mut self, at: usize) {
        if let Some(place) = self.places.get(at) {
            (place.link, place.is_up) = (None, false);
        }
    }

    /// Goes one step on, as far as `limit` events. Whether there may be another.
    fn advance(&mut self, cx: &mut Context<'_>, events: &mut Vec<LinkEvent>, limit: usize) -> bool {
        let mut goes_on = false;
        let (url, places, is_busy) = (&self.url, &self.places, !self.outstanding.is_empty());
        let watch = self
            .watch
            .get_or_insert_with(|| ClusterWatch::begin(url, places.addresses(), is_busy));
        if self.notifier.take()
            && let Poll::Ready(told) = watch.poll(&mut self.notifier.context())
        {
            self.notifier.notify();
            self.learn(told, events);
            goes_on = true;
        }
        goes_on |= self.resume(cx, events);
        let mut heard = std::mem::take(&mut self.heard);
        for at in 0..self.places.len() {
            let most = limit.saturating_sub(events.len());
            let Some(place) = self.places.get(at) else {
                continue;
            };
            if most == 0 {
                goes_on = true;
                break;
            }
            let Some(link) = place.link.as_mut().filter(|_| place.notifier.take()) else {
                continue;
            };
            if link
                .poll(&mut place.notifier.context(), &mut heard, most)
                .is_ready()
            {
                place.notifier.notify();
                goes_on = true;
            }
            for event in heard.drain(..) {
                // What is given again leaves at the next step.
                goes_on = true;
                self.hear(at, event, events);
            }
        }
        self.heard = heard;
        goes_on
    }
}

impl Link for ClusterLink {
    fn send(&mut self, message: &mut Message<'_>) {
        let (tag, request, given) = (message.tag(), message.request(), message.given());
        let slot = match self.accept(request) {
            Ok(slot) => slot,
            Err(fault) => {
                self.refused.push(unsaid((tag, fault)));
                return;
            }
        };
        if self.outstanding.is_empty() {
            self.set_busy(true);
        }
        let (number, way) = self.outstanding.add(tag, (request, slot), given);
        match self.state {
            ClusterState::Up => self.pass(message, number, way),
            ClusterState::Unknown | ClusterState::Down(_) => self.early.push(number),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, events: &mut Vec<LinkEvent>, most: usize) -> Poll<()> {
        let limit = events.len().saturating_add(most);
        self.places.poller.polls(cx);
        if !self.refused.is_empty() {
            events.append(&mut self.refused);
        }
        while events.len() < limit {
            if !self.advance(cx, events, limit) {
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    }

    fn change_runtime(&mut self) {
        // Both wait by the runtime before: begin anew.
        (self.watch, self.timer) = (None, None);
        self.notifier.notify();
        for at in 0..self.places.len() {
            if let Some(place) = self.places.get(at) {
                place.notifier.notify();
                if let Some(link) = &mut place.link {
                    link.change_runtime();
                }
            }
        }
    }
}

impl fmt::Debug for ClusterLink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            ClusterState::Unknown => "connecting",
            ClusterState::Up => "up",
            ClusterState::Down(reason) => reason,
        };
        out.debug_struct("ClusterLink")
            .field("url", &self.url)
            .field("state", &state)
            .finish_non_exhaustive()
    }
}

/// How long a server that keeps no slot is waited for: it answers, or it hangs.
const STALE: Duration = Duration::from_secs(2);

/// How long the connection to such a server is kept: a slot that is about to come is asked for there.
const IDLE: Duration = Duration::from_secs(10);

const MOST_WAIT: usize = 4_096;

const FENCED: &str = "locks with fencing tokens are not kept on a Redis Cluster";
const DIVIDED: &str = "names of several slots of a Redis Cluster cannot be locked together, since no server keeps them all: give \
                       them a common part in braces, such as {orders}/1 and {orders}/2, or lock them one by one, in one \
                       order everywhere";
const REPLACED: &str = "another server has taken its place";

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::{Owner, Resource, Ttl};

    #[test]
    fn what_waits_for_a_cluster_is_bounded_and_releases_have_room_of_their_own() {
        let url = "redis://127.0.0.1:1".parse().expect("an address");
        let mut link = ClusterLink::new(url, Clock::system(), &Configuration::plain());
        let resource = Resource::new("a").expect("a plain name");
        let owner = Owner::from_bytes(b"o").expect("an owner");
        let extension = Request::Extend {
            resource: resource.clone(),
            owner: owner.clone(),
            ttl: Ttl::DEFAULT,
        };
        let release = Request::Release {
            resource,
            owner,
            keep: None,
        };
        link.paused.push_back((Instant::ORIGIN, 0));
        assert!(link.accept(&extension).is_ok());
        link.early = (1..4_096).collect();
        let refused = link.accept(&extension).map_err(|fault| fault.kind());
        assert_eq!(refused, Err(FaultKind::Busy));
        assert!(link.accept(&release).is_ok());
    }
}
