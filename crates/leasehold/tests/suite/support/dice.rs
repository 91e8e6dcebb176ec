//! Chance that is the same each time, and the requests that it throws.

use super::driven::{by, name};
use leasehold_core::{
    FencingToken, Owner, Permit, PermitCount, Place, Request, Resource, Ticket, Ttl, Waiter,
};
use std::time::Duration;

/// The numbers of those who wait. The highest bit is of those who want a share, the next of those who want a permit.
pub(crate) const WAITERS: [u64; 6] = [0, 1, 1 << 63, 1 << 63 | 1, 1 << 62, 1 << 62 | 1];

/// The owners but for those of permits.
pub(crate) const OWNERS: [&str; 3] = ["a", "b", "c"];

/// Those who want a permit: two in each slot, of two permits or of three.
pub(crate) fn permit_owners() -> impl Iterator<Item = Owner> {
    let slots = [2, 3].into_iter().flat_map(|of| {
        let of = PermitCount::new(of).expect("in range");
        of.slots().filter_map(move |slot| Permit::new(slot, of))
    });
    slots.flat_map(|permit| {
        [(b'a', "a"), (b'b', "b")]
            .map(|(digit, name)| Owner::of_permit(&[digit; 20], permit, &by(name)))
    })
}

/// A token of our time, which has all the digits.
pub(crate) const OF_OUR_TIME: u64 = 1_700_000_000_000_000;

pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.roll(from.len() as u64)).expect("few")]
    }

    /// A request for one of two locks, or a share or a permit of one, or for several of three, by one of three owners, with one of
    /// these TTLs. Tokens are small, or about as large as this.
    pub(crate) fn request(&mut self, ttls: &[Duration], large: u64) -> Request {
        let (resource, [owner, from]) = self.parties();
        let ttl = Ttl::new(self.pick(ttls)).expect("in range");
        // Small ones meet each other.
        let number = self.pick(&[1, 1, 1, 1, 1, large]) + self.roll(50);
        let token = FencingToken::new(number).expect("in range");
        let proposal = Some(token).filter(|_| self.roll(5) > 0);
        let place = self.place_for(&resource);
        match self.roll(11) {
            3 => Request::Repair {
                resource,
                owner,
                ttl,
                proposal,
            },
            0..=2 => Request::Acquire {
                resource,
                owner,
                ttl,
                proposal,
                place,
            },
            4 => Request::Transfer {
                resource,
                from,
                owner,
                ttl,
                proposal,
            },
            5 => Request::Raise {
                resource,
                owner,
                token,
            },
            6 => Request::Extend {
                resource,
                owner,
                ttl,
            },
            7 => Request::Inspect { resource },
            8 if !resource.is_several() => Request::Leave {
                resource,
                waiter: self.waiter(),
            },
            9 if self.roll(4) == 0 => Request::Release {
                resource,
                owner,
                keep: Some(ttl),
            },
            _ => Request::Release {
                resource,
                owner,
                keep: None,
            },
        }
    }

    /// What it is about, who asks for it, and who may have had it before.
    fn parties(&mut self) -> (Resource, [Owner; 2]) {
        let (resource, owner) = match self.roll(4) {
            0 => self.permit(),
            _ => (self.resource(), by(self.pick(&OWNERS))),
        };
        // Now and then a permit is made of the name, or of a share, or the other way round.
        let from = match self.roll(8) {
            ..6 if resource.permits().is_some() => self.permit().1,
            6 => self.permit().1,
            _ => by(self.pick(&OWNERS)),
        };
        (resource, [owner, from])
    }

    /// Half of those who want one name wait for it in a queue. Nobody queues for several.
    fn place_for(&mut self, resource: &Resource) -> Option<Place> {
        let place = self.place().filter(|_| self.roll(2) == 0);
        place.filter(|_| !resource.is_several())
    }

    fn resource(&mut self) -> Resource {
        if self.roll(4) > 0 {
            let one = self.pick(&["r", "s"]);
            return match self.roll(3) {
                0 => Resource::shared(one).expect("a good name"),
                _ => name(one),
            };
        }
        let names = self.pick(&[&["r", "s"][..], &["s", "t"], &["r", "s", "t"]]);
        Resource::several(names.iter().copied()).expect("good names")
    }

    /// What somebody wants of the same name who may ask in the same call: a part, or to give one back.
    pub(crate) fn for_another_part(&mut self, request: &Request) -> Option<Request> {
        let whole = request.resource().as_str();
        let (resource, owner) = match self.roll(2) {
            0 => (Resource::shared(whole), by(self.pick(&OWNERS))),
            _ => {
                let (permit, owner) = self.permit();
                let of = permit.permits().expect("it is of one");
                (Resource::permit(whole, of), owner)
            }
        };
        let resource = resource.expect("a good name");
        let place = self.place_for(&resource);
        let mut other = request.clone();
        let (its_resource, its_owner) = match &mut other {
            Request::Acquire {
                resource,
                owner,
                place: its_place,
                ..
            } => {
                *its_place = place;
                (resource, owner)
            }
            Request::Release {
                resource,
                owner,
                keep: None,
            } => (resource, owner),
            _ => return None,
        };
        (*its_resource, *its_owner) = (resource, owner);
        Some(other)
    }

    /// A permit of one lock, and one who wants it. Of two there are more often than of three.
    fn permit(&mut self) -> (Resource, Owner) {
        let all: Vec<_> = permit_owners().collect();
        let two = all.iter().take(4).chain(&all);
        let owners: Vec<_> = two.collect();
        let place = usize::try_from(self.roll(owners.len() as u64)).expect("few");
        let owner = owners[place].clone();
        let of = owner.permit().expect("it is of one").of();
        let name = self.pick(&["r", "s"]);
        (Resource::permit(name, of).expect("a good name"), owner)
    }

    /// One of four who wait, half of them for a share.
    fn waiter(&mut self) -> Waiter {
        Waiter::new(WAITERS[usize::try_from(self.roll(4)).expect("few")])
    }

    /// One of four who wait, with a ticket of its own now and then.
    fn place(&mut self) -> Option<Place> {
        let waiter = self.waiter();
        let ticket = Ticket::new(self.roll(60)).filter(|_| self.roll(3) == 0);
        Some(Place { waiter, ticket })
    }
}
