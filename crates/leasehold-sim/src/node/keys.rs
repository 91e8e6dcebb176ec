//! What a node has of a name, as checkers see it.

use super::Node;
use crate::time::Moment;
use leasehold_core::{
    FencingToken, Instant, Lease, Owner, Permit, Request, Resource, Ttl, Vote, table::Key,
};
#[cfg(feature = "lua")]
use std::time::Duration;

impl Node {
    /// The key of a resource that is no part of a name; of several names the one that all of them have, as long as the first of them has it.
    pub(crate) fn key(&self, now: Moment, resource: &Resource) -> Option<Key> {
        self.whole(Some(now), resource)
    }

    /// The key that a request is about: of a share or a permit, its owner's.
    pub(crate) fn key_for(&self, now: Moment, request: &Request) -> Option<Key> {
        let resource = request.resource();
        match request.owner() {
            Some(owner) if resource.is_part() => self.key_of(now, resource, owner),
            _ => self.key(now, resource),
        }
    }

    /// The key of a resource, if it is this owner's.
    pub(crate) fn key_of(&self, now: Moment, resource: &Resource, owner: &Owner) -> Option<Key> {
        self.of(Some(now), resource, owner)
    }

    /// What the node has of a key, however late it is.
    pub(crate) fn kept(&self, resource: &Resource, owner: &Owner) -> Option<Key> {
        self.of(None, resource, owner)
    }

    /// All that keep others from having this name: who has it, or those who have parts of it.
    pub(crate) fn keys(&self, now: Moment, name: &Resource) -> Vec<Key> {
        let readers = self.readers(Some(now), name);
        self.key(now, name).into_iter().chain(readers).collect()
    }

    /// Whether some have keys of the name who must not have them beside each other.
    pub(crate) fn is_torn(&self, now: Moment, name: &Resource) -> bool {
        let parts = self.readers(Some(now), name);
        let permits: Vec<_> = parts.iter().map(|part| part.owner.permit()).collect();
        let are_apart = |at: usize, one: &Option<Permit>| {
            let mut others = permits[..at].iter();
            others.all(|other| match (one, other) {
                (None, None) => true,
                (Some(one), Some(other)) => one.of() == other.of() && one.slot() != other.slot(),
                _ => false,
            })
        };
        let mut each = permits.iter().enumerate();
        (self.key(now, name).is_some() && !parts.is_empty())
            || !each.all(|(at, one)| are_apart(at, one))
    }

    /// Whether the counter of this permit is at least at the token, so that the next who has the slot gets a larger one.
    pub(crate) fn has_counted(&self, now: Moment, permit: &Lease, token: FencingToken) -> bool {
        let (mut node, time) = (self.data.table.clone(), self.time(now));
        let whole = permit.resource.whole();
        let share = Resource::shared(whole.as_str()).expect("it is a name already");
        for key in self.keys(now, &whole) {
            // Where keys are deleted by force, somebody else may have all of the name by now.
            for resource in [&permit.resource, &whole, &share] {
                node.apply(time, &released(resource, &key.owner));
            }
        }
        let next = Request::Acquire {
            resource: permit.resource.clone(),
            owner: permit.owner.clone(),
            ttl: Ttl::DEFAULT,
            proposal: FencingToken::new(1),
            place: None,
        };
        matches!(node.apply(time, &next), Vote::Granted { counter } if counter > Some(token))
    }

    fn of(&self, now: Option<Moment>, resource: &Resource, owner: &Owner) -> Option<Key> {
        let key = if resource.is_part() {
            let readers = self.readers(now, &resource.whole());
            readers.into_iter().find(|reader| reader.owner == *owner)
        } else {
            self.whole(now, resource)
        };
        key.filter(|key| key.owner == *owner)
    }

    /// At that time, or at any.
    fn whole(&self, now: Option<Moment>, resource: &Resource) -> Option<Key> {
        if resource.is_several() {
            let keys = resource.each().map(|name| self.whole(now, &name));
            return keys.reduce(in_common).flatten();
        }
        if resource.is_part() {
            return None;
        }
        #[cfg(feature = "lua")]
        if self.scripted.is_some() {
            let name = resource.as_bytes();
            let (owner, expires_ms) = self.data.keys.text(name, self.wall_ms(now))?;
            return self.served(owner, expires_ms?);
        }
        self.data.table.key(self.reading(now), resource).cloned()
    }

    fn readers(&self, now: Option<Moment>, name: &Resource) -> Vec<Key> {
        #[cfg(feature = "lua")]
        if self.scripted.is_some() {
            let now_ms = self.wall_ms(now);
            let shares = self.data.keys.sorted(name.as_bytes(), now_ms);
            let shares =
                shares.filter_map(|(owner, ends)| Some((owner, u64::try_from(ends).ok()?)));
            return shares
                .filter(|(_, ends)| *ends > now_ms)
                .filter_map(|(owner, ends)| self.served(owner, ends))
                .collect();
        }
        let tables = [&self.data.table, &self.data.shares];
        let readers = tables.map(|table| table.readers(self.reading(now), name));
        readers.into_iter().flatten().cloned().collect()
    }

    fn reading(&self, now: Option<Moment>) -> Instant {
        now.map_or(Instant::ORIGIN, |now| self.time(now))
    }

    #[cfg(feature = "lua")]
    fn wall_ms(&self, now: Option<Moment>) -> u64 {
        now.map_or(0, |now| self.wall_us(now) / 1_000)
    }

    #[cfg(feature = "lua")]
    fn served(&self, owner: &[u8], expires_ms: u64) -> Option<Key> {
        let since_origin = expires_ms.saturating_sub(self.epoch_ms());
        Some(Key {
            owner: Owner::from_bytes(owner)?,
            expires_at: Instant::from_origin(Duration::from_millis(since_origin)),
        })
    }

    /// Deletes whatever stands under the name, without asking whose it is.
    pub(crate) fn delete(&mut self, now: Moment, name: &Resource) {
        let keys = self.keys(now, name);
        if keys.is_empty() {
            return;
        }
        #[cfg(feature = "lua")]
        if let Some((scripted, data, us)) = self.server(now) {
            return scripted.delete(data, us, name);
        }
        let share = Resource::shared(name.as_str()).expect("a name");
        let time = self.time(now);
        for key in keys {
            for resource in [name, &share] {
                self.data.table.apply(time, &released(resource, &key.owner));
            }
        }
    }
}

pub(super) fn released(resource: &Resource, owner: &Owner) -> Request {
    Request::Release {
        resource: resource.clone(),
        owner: owner.clone(),
        keep: None,
    }
}

/// The key that both names have, until the first of them ends.
fn in_common(one: Option<Key>, other: Option<Key>) -> Option<Key> {
    let (one, other) = (one?, other?);
    let expires_at = one.expires_at.min(other.expires_at);
    (one.owner == other.owner).then_some(Key { expires_at, ..one })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check::lone, rng::Rng};
    use leasehold_core::PermitCount;

    fn acquire(resource: &Resource, owner: &Owner, proposal: u64) -> Request {
        Request::Acquire {
            resource: resource.clone(),
            owner: owner.clone(),
            ttl: Ttl::DEFAULT,
            proposal: FencingToken::new(proposal),
            place: None,
        }
    }

    #[test]
    fn a_slot_has_counted_whoever_has_the_name_by_now() {
        let owner = |text: &str| Owner::from_bytes(text.as_bytes()).expect("a few bytes");
        let (mut node, now) = (Node::new(&mut Rng::new(1), 0), Moment::START);
        let of = PermitCount::new(1).expect("one can be had");
        let mut permit = lone::lease();
        permit.resource = Resource::permit("r", of).expect("a name");
        permit.owner = owner(&format!("{}+permit0/1.c2", "a7".repeat(20)));
        let token = FencingToken::new(7).expect("it is positive");
        let granted = node.execute(now, &acquire(&permit.resource, &permit.owner, 7));
        assert!(matches!(granted, Vote::Granted { .. }), "{granted:?}");
        assert!(node.has_counted(now, &permit, token));
        node.execute(now, &released(&permit.resource, &permit.owner));
        for other in [
            permit.resource.whole(),
            Resource::shared("r").expect("a name"),
        ] {
            let others = acquire(&other, &owner("another"), 1);
            assert!(matches!(node.execute(now, &others), Vote::Granted { .. }));
            assert!(node.has_counted(now, &permit, token), "beside {other}");
            let later = FencingToken::new(8).expect("it is positive");
            assert!(!node.has_counted(now, &permit, later), "beside {other}");
            node.execute(now, &released(&other, &owner("another")));
        }
    }
}
