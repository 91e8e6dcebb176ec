//! The servers of a cluster that are known, and which of them keeps which slot.

use super::{
    notifiers::{LinkNotifier, LinkPoller},
    slots::{SLOTS, ServerAddress, SlotMap},
};
use crate::link::redis::{RedisLink, url::host_port};
use leasehold_core::Instant;

/// A server, under a number that it keeps.
pub(super) struct ClusterServer {
    pub(super) address: ServerAddress,
    /// The connection, if it was needed.
    pub(super) link: Option<Box<RedisLink>>,
    /// Says that the connection wants to be polled.
    pub(super) notifier: LinkNotifier,
    /// Whether it can be asked.
    pub(super) is_up: bool,
    /// When it was last needed.
    pub(super) used: Instant,
}

pub(super) struct Places {
    /// Who polls the connections of all.
    pub(super) poller: LinkPoller,
    all: Vec<ClusterServer>,
    /// The number of the server of each slot; none if nobody is known to keep it.
    owners: Vec<Option<u16>>,
}

impl Places {
    pub(super) fn nowhere() -> Self {
        Self {
            poller: LinkPoller::default(),
            all: Vec::new(),
            owners: vec![None; usize::from(SLOTS)],
        }
    }

    pub(super) fn get(&mut self, at: usize) -> Option<&mut ClusterServer> {
        self.all.get_mut(at)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Where they are.
    pub(super) fn addresses(&self) -> Vec<ServerAddress> {
        let addresses = self.all.iter().map(|place| place.address.clone());
        addresses.collect()
    }

    /// What the server is called in messages.
    pub(super) fn name(&self, at: usize) -> String {
        let place = self.all.get(at);
        place.map_or_else(String::new, |place| {
            host_port(&place.address.0, place.address.1)
        })
    }

    /// Whether one of them can be asked.
    pub(super) fn is_any_up(&self) -> bool {
        self.all.iter().any(|place| place.is_up)
    }

    /// The number of the server at this address.
    pub(super) fn number(&mut self, address: &ServerAddress, now: Instant) -> usize {
        let known = self.all.iter().position(|place| place.address == *address);
        known.unwrap_or_else(|| {
            self.all.push(ClusterServer {
                address: address.clone(),
                link: None,
                notifier: self.poller.notifier(),
                is_up: false,
                used: now,
            });
            self.all.len() - 1
        })
    }

    /// Who keeps this slot.
    pub(super) fn owner(&self, slot: u16) -> Option<usize> {
        let owner = self.owners.get(usize::from(slot))?;
        owner.map(usize::from)
    }

    /// Who keeps the first of the slots that somebody keeps.
    pub(super) fn first(&self) -> Option<usize> {
        self.owners
            .iter()
            .flatten()
            .next()
            .copied()
            .map(usize::from)
    }

    /// From now on this server keeps the slot. Whether it did not before.
    pub(super) fn set(&mut self, slot: u16, at: usize) -> bool {
        let owner = u16::try_from(at).ok();
        match self.owners.get_mut(usize::from(slot)) {
            Some(known) => std::mem::replace(known, owner) != owner,
            None => false,
        }
    }

    /// From now on the slots are kept as this says. Whether one that was kept has another server now.
    pub(super) fn follow(&mut self, map: &SlotMap, now: Instant) -> bool {
        let mut owners = vec![None; usize::from(SLOTS)];
        for (from, to, server) in &map.ranges {
            let at = u16::try_from(self.number(server, now)).ok();
            if let Some(range) = owners.get_mut(usize::from(*from)..=usize::from(*to)) {
                range.fill(at);
            }
        }
        let mut both = self.owners.iter().zip(&owners);
        let is_changed = both.any(|(before, now)| before.is_some() && before != now);
        self.owners = owners;
        is_changed
    }

    /// Which servers have a connection and no slot.
    pub(super) fn spare(&self) -> Vec<usize> {
        let mut keeps = vec![false; self.all.len()];
        for owner in self.owners.iter().flatten() {
            if let Some(keeps) = keeps.get_mut(usize::from(*owner)) {
                *keeps = true;
            }
        }
        let spare = self.all.iter().zip(keeps).enumerate();
        let spare = spare.filter(|(_, (place, keeps))| place.link.is_some() && !keeps);
        spare.map(|(at, _)| at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_the_server_that_was_told_last() {
        let mut places = Places::nowhere();
        let at = |host: &str| (host.to_owned(), 1);
        let map = |middle: u16| SlotMap {
            ranges: vec![(0, middle, at("a")), (middle + 1, 16_383, at("b"))],
            servers: vec![],
        };
        let now = Instant::ORIGIN;
        assert_eq!(places.owner(0), None);
        assert!(!places.follow(&map(99), now), "nobody kept it before");
        assert_eq!((places.owner(99), places.owner(100)), (Some(0), Some(1)));
        assert!(!places.follow(&map(99), now));
        let third = places.number(&at("c"), now);
        assert!(places.set(100, third) && !places.set(100, third));
        assert_eq!(places.owner(100), Some(third));
        assert!(places.follow(&map(100), now), "the map is newer");
        assert_eq!(places.owner(100), Some(0));
        assert_eq!((places.len(), places.name(1)), (3, "b:1".to_owned()));
    }
}
