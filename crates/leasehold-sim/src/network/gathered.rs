//! The order in which requests leave a client: that of the production link, which is not always the order in which they
//! were given.
//!
//! The link keeps first votes and releases until it can write, and then says the releases first and the votes behind them. A
//! plain vote is a command of its own, and leaves before the releases that the link still keeps. Requests for one lock, or for
//! one part of a name, keep their order, and every other request leaves behind all that was given before it.

use super::{Parcel, is_release};
use crate::{client::name, time::Moment, world::World};
use leasehold_core::Request;
use std::rc::Rc;

/// A request on its way over a connection.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) parcel: Rc<Parcel>,
    /// Before which it does not arrive, although others that were given before it may have by now.
    pub(super) not_before: Moment,
}

/// How many of the last requests of a connection have not left: releases, and votes behind them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gathered {
    releases: usize,
    votes: usize,
}

/// How a request leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Departure {
    /// With the votes that wait.
    Vote,
    /// With the releases that wait, before the votes.
    Release,
    /// At once, before the releases that wait.
    Command,
    /// Behind all that waits.
    Last,
}

impl World {
    /// Puts a request where it leaves among the others of the connection. Where it overtakes some of them, it does not arrive
    /// before `at`: they have waited for it.
    pub(super) fn put(&mut self, link: usize, parcel: &Rc<Parcel>, at: Moment) {
        let departure = self.departure(&parcel.request);
        let connection = &mut self.network.connections[link];
        let waiting = connection.gathered;
        let Gathered { releases, votes } = waiting;
        let length = connection.requests.len();
        let is_for_it = |sent: &Sent| is_for_same_lock(&sent.parcel.request, &parcel.request);
        let may_wait = releases + votes > 0 && releases + votes <= length;
        // No two of a call are for one lock, and no release overtakes a vote for its lock.
        let last = || connection.requests.iter().rev();
        let is_in_votes = may_wait && last().take(votes).any(is_for_it);
        let is_in_releases = may_wait && last().skip(votes).take(releases).any(is_for_it);
        let keeps_order = match departure {
            Departure::Vote => is_in_votes,
            Departure::Release => is_in_votes || is_in_releases,
            Departure::Command => is_in_releases,
            Departure::Last => true,
        };
        let waits = may_wait && !keeps_order && self.network.departures.coin();
        let mut gathered = if waits { waiting } else { Gathered::default() };
        let behind = match departure {
            Departure::Vote => {
                gathered.votes += 1;
                0
            }
            Departure::Release => {
                gathered.releases += 1;
                gathered.votes
            }
            Departure::Command => gathered.releases,
            Departure::Last => 0,
        };
        let place = length - behind;
        let answer = connection.pending.len() - behind;
        let waits_for_answer = (parcel.tag, is_release(&parcel.request));
        connection.pending.insert(answer, waits_for_answer);
        let sent = Sent {
            parcel: Rc::clone(parcel),
            not_before: if behind > 0 { at } else { Moment::START },
        };
        connection.requests.insert(place, sent);
        connection.gathered = gathered;
        if behind > 0 {
            let (client, node) = self.network.ends(link);
            self.trace.tell(self.now, || {
                let name = name(parcel.tag);
                format!(
                    "c{client} → n{node}  {name} leaves before {behind} that were given earlier"
                )
            });
        }
    }

    fn departure(&self, request: &Request) -> Departure {
        match request {
            Request::Acquire { .. } | Request::Repair { .. } if self.setting.is_plain() => {
                Departure::Command
            }
            Request::Acquire { place: None, .. } => Departure::Vote,
            Request::Acquire { resource, .. } if resource.is_part() => Departure::Vote,
            Request::Release { keep: None, .. } => Departure::Release,
            _ => Departure::Last,
        }
    }
}

/// Each part of a name is a lock of its own.
pub(super) fn is_for_same_lock(one: &Request, other: &Request) -> bool {
    let resource = one.resource();
    resource == other.resource() && (!resource.is_part() || one.owner() == other.owner())
}

#[cfg(test)]
mod tests {
    use crate::{
        network::Parcel, rng::Rng, scenario::Scenario, time::Moment, trace::Trace, world::World,
    };
    use leasehold_core::{AttemptId, FencingToken, Instant, OperationId, Request, Tag};
    use std::rc::Rc;

    /// Gives so many requests for a few locks to a connection that is not up, and tells the order in which they leave:
    /// which they are, of which lock, and whether they are releases.
    fn departures(seed: u64, count: u32) -> Vec<(u32, usize, bool)> {
        let together = Scenario::find("together").expect("it is there");
        let mut world = World::new(together, seed, Trace::Off);
        let config = world.config(0);
        let proposal = (!world.setting.is_plain()).then_some(FencingToken::FIRST);
        let mut rng = Rng::new(seed);
        for step in 0..count {
            let resource = rng.pick_ref(&world.resources).clone();
            let owner = config.owners.owner(&[9; 20]).expect("not empty");
            let request = if rng.coin() {
                let (ttl, place) = (config.timing.ttl(), None);
                Request::Acquire {
                    resource,
                    owner,
                    ttl,
                    proposal,
                    place,
                }
            } else {
                Request::Release {
                    resource,
                    owner,
                    keep: None,
                }
            };
            let (operation, number) = (OperationId::new(1), 0);
            let attempt = AttemptId { operation, number };
            let parcel = Parcel {
                client: 0,
                tag: Tag { attempt, step },
                request,
                list: 0,
                asked: Instant::ORIGIN,
            };
            world.put(0, &Rc::new(parcel), Moment::START);
        }
        let connection = &world.network.connections[0];
        let answered: Vec<_> = { connection.pending.iter() }
            .map(|(tag, _)| tag.step)
            .collect();
        let left = connection.requests.iter().map(|sent| {
            let request = &sent.parcel.request;
            let lock = world
                .resources
                .iter()
                .position(|it| it == request.resource());
            (
                sent.parcel.tag.step,
                lock.expect("one of them"),
                matches!(request, Request::Release { .. }),
            )
        });
        let left: Vec<_> = left.collect();
        assert!(
            left.iter().map(|(step, ..)| *step).eq(answered),
            "answers come in order"
        );
        left
    }

    #[test]
    fn requests_overtake_only_what_the_production_link_lets_them() {
        let mut overtaken = [0, 0];
        for seed in 0..200_u64 {
            let is_plain = !seed.is_multiple_of(3);
            let left = departures(seed, 40);
            for (place, &(step, lock, is_release)) in left.iter().enumerate() {
                for &(earlier, other, was_release) in &left[place + 1..] {
                    if earlier > step {
                        continue;
                    }
                    assert_ne!(lock, other, "requests for one lock keep their order");
                    let overtakes = (is_release, was_release);
                    let allowed = if is_plain {
                        (false, true)
                    } else {
                        (true, false)
                    };
                    assert_eq!(overtakes, allowed, "seed {seed}");
                    overtaken[usize::from(is_plain)] += 1;
                }
            }
        }
        assert!(overtaken.iter().all(|count| *count > 100), "{overtaken:?}");
    }
}
