//! Where the line of a resource stands.
//!
//! A table of buckets, which is asked several times in the life of each lock. Users may let strangers choose names, and the
//! names' hash has no key, so there may be as many names for one bucket as somebody likes: what a full bucket has no room
//! for is in a tree. So nothing takes longer than a look at one bucket and one at a tree.

use super::Line;
use crate::{hash::GOLDEN, resource::Resource};
use alloc::{collections::BTreeMap, vec, vec::Vec};
use core::{
    cmp::Ordering,
    hash::{Hash, Hasher},
};

/// The lines of resources that somebody here wants or has.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// As many as a power of two, half full in all at the most.
    buckets: Vec<Bucket>,
    others: BTreeMap<LineKey, u32>,
    lines: Vec<Option<(Resource, Line)>>,
    free: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// A part of each name's hash: few lines are looked at in vain.
    marks: [u32; WIDTH],
    lines: [u32; WIDTH],
}

/// A resource, in the order of hashes: most are told apart by a word then.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LineKey(Resource);

/// Where a line stands, until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot(u32);

impl Lines {
    pub(super) const fn new() -> Self {
        Self {
            buckets: Vec::new(),
            others: BTreeMap::new(),
            lines: Vec::new(),
            free: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn find(&self, resource: &Resource) -> Option<Spot> {
        let mark = mark(resource);
        let bucket = self.buckets.get(self.bucket(resource))?;
        // Most of those who ask find nothing, which all marks at once tell.
        let is_met = bucket
            .marks
            .iter()
            .fold(false, |is_met, other| is_met | (*other == mark));
        if !is_met && self.others.is_empty() {
            return None;
        }
        self.find_in(bucket, resource)
    }

    #[inline(never)]
    fn find_in(&self, bucket: &Bucket, resource: &Resource) -> Option<Spot> {
        let is_it = |line: &&u32| {
            let line = self.lines.get(index(**line));
            matches!(line, Some(Some((other, _))) if other == resource)
        };
        if let Some(line) = bucket.lines.iter().find(is_it) {
            return Some(Spot(*line));
        }
        let line = self.others.get(&LineKey(resource.clone()));
        line.copied().map(Spot)
    }

    /// Where it is from now on, if it was nowhere.
    pub(super) fn find_or_insert(&mut self, resource: &Resource) -> Spot {
        if let Some(spot) = self.find(resource) {
            return spot;
        }
        let line = Some((resource.clone(), Line::default()));
        let number = match self.free.pop() {
            Some(number) => {
                self.lines[index(number)] = line;
                number
            }
            None => {
                self.lines.push(line);
                u32::try_from(self.lines.len().saturating_sub(1)).expect("memory ends before")
            }
        };
        if self.lines.len() > self.buckets.len().saturating_mul(WIDTH / 2) {
            self.grow();
        } else {
            self.put(resource, number);
        }
        Spot(number)
    }

    pub(super) fn get(&self, spot: Spot) -> Option<&Line> {
        let (_, line) = self.lines.get(index(spot.0))?.as_ref()?;
        Some(line)
    }

    pub(super) fn get_mut(&mut self, spot: Spot) -> Option<&mut Line> {
        let (_, line) = self.lines.get_mut(index(spot.0))?.as_mut()?;
        Some(line)
    }

    pub(super) fn remove(&mut self, spot: Spot) {
        let line = self.lines.get_mut(index(spot.0)).and_then(Option::take);
        let Some((resource, _)) = line else {
            return;
        };
        let bucket = self.bucket(&resource);
        match self.buckets.get_mut(bucket).and_then(|it| it.find(spot.0)) {
            Some((mark, line)) => (*mark, *line) = (0, NOTHING),
            None => drop(self.others.remove(&LineKey(resource))),
        }
        self.free.push(spot.0);
        // What a rush has needed is given back when nothing is under way any more.
        if self.free.len() == self.lines.len() && self.lines.len() > KEPT {
            *self = Self::new();
        }
    }

    #[cfg(test)]
    pub(super) const fn is_empty(&self) -> bool {
        self.free.len() == self.lines.len()
    }

    fn bucket(&self, resource: &Resource) -> usize {
        // The low bits of the hash depend on those of the name alone: they are spread.
        let spread = resource.fingerprint().wrapping_mul(GOLDEN) >> 32;
        usize::try_from(spread).unwrap_or_default() & self.buckets.len().saturating_sub(1)
    }

    fn grow(&mut self) {
        let more = self.buckets.len().saturating_mul(2).max(1);
        self.buckets = vec![EMPTY; more];
        self.others.clear();
        let all: Vec<_> = (0..)
            .zip(&self.lines)
            .filter_map(|(number, line)| Some((line.as_ref()?.0.clone(), number)))
            .collect();
        for (resource, number) in all {
            self.put(&resource, number);
        }
    }

    fn put(&mut self, resource: &Resource, line: u32) {
        let bucket = self.bucket(resource);
        let mark = mark(resource);
        match self.buckets.get_mut(bucket).and_then(|it| it.find(NOTHING)) {
            Some(place) => (*place.0, *place.1) = (mark, line),
            None => drop(self.others.insert(LineKey(resource.clone()), line)),
        }
    }
}

impl Bucket {
    /// The place of this line, by its mark and its number.
    fn find(&mut self, line: u32) -> Option<(&mut u32, &mut u32)> {
        let mut places = self.marks.iter_mut().zip(&mut self.lines);
        places.find(|(_, other)| **other == line)
    }
}

/// By the lines alone: where they stand changes nothing.
impl Hash for Lines {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut all: Vec<_> = self.lines.iter().flatten().collect();
        all.sort_unstable_by_key(|(resource, _)| resource);
        all.hash(state);
    }
}

impl Ord for LineKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_hash = self.0.fingerprint().cmp(&other.0.fingerprint());
        by_hash.then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for LineKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn mark(resource: &Resource) -> u32 {
    u32::try_from(resource.fingerprint() & u64::from(u32::MAX)).unwrap_or_default()
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// How many lines a bucket has room for: as many as there are in what a processor reads at once.
const WIDTH: usize = 8;

/// The line of a place that has none.
const NOTHING: u32 = u32::MAX;

const EMPTY: Bucket = Bucket {
    marks: [0; WIDTH],
    lines: [NOTHING; WIDTH],
};

/// How many lines are kept although there are none.
const KEPT: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{hash::splitmix, request::OperationId};
    use alloc::format;

    fn named(number: u64) -> Resource {
        Resource::new(&format!("orders/{number}")).expect("a name")
    }

    #[test]
    fn a_line_is_found_by_its_name_until_it_is_removed() {
        let (mut lines, mut expected) = (Lines::new(), BTreeMap::new());
        let mut most_others = 0;
        for turn in 0..20_000_u64 {
            let dice = splitmix(turn);
            // More and more of them, so that the table grows.
            let resource = named(dice % (turn / 20 + 2));
            let spot = lines.find(&resource);
            let id = |spot| lines.get(spot).and_then(|line| line.first);
            assert_eq!(spot.and_then(id), expected.get(&resource).copied());
            match spot {
                Some(spot) => {
                    expected.remove(&resource);
                    lines.remove(spot);
                }
                None => {
                    let spot = lines.find_or_insert(&resource);
                    assert_eq!(lines.find_or_insert(&resource), spot, "once");
                    let id = OperationId::new(turn);
                    lines.get_mut(spot).expect("it is there").first = Some(id);
                    expected.insert(resource, id);
                }
            }
            assert_eq!(lines.lines.len() - lines.free.len(), expected.len());
            most_others = most_others.max(lines.others.len());
        }
        assert!(most_others > 0, "full buckets are tried");
    }

    #[test]
    fn any_number_of_names_may_have_one_bucket() {
        let mut lines = Lines::new();
        let of_one =
            |resource: &Resource| resource.fingerprint().wrapping_mul(GOLDEN) >> 32 & 0xff == 0;
        let all: Vec<_> = (0..20_000).map(named).filter(of_one).take(50).collect();
        let spots: Vec<_> = all.iter().map(|it| lines.find_or_insert(it)).collect();
        assert_eq!(lines.others.len(), all.len() - WIDTH);
        for (resource, spot) in all.iter().zip(&spots) {
            assert_eq!(lines.find(resource), Some(*spot));
            lines.remove(*spot);
            assert_eq!(lines.find(resource), None);
        }
        assert!(lines.is_empty() && lines.others.is_empty());
    }

    #[test]
    fn what_a_rush_has_needed_is_given_back() {
        let mut lines = Lines::new();
        let all: Vec<_> = (0..5_000).map(named).collect();
        let spots: Vec<_> = all.iter().map(|it| lines.find_or_insert(it)).collect();
        spots.into_iter().for_each(|spot| lines.remove(spot));
        assert!(lines.is_empty());
        assert_eq!((lines.lines.capacity(), lines.buckets.capacity()), (0, 0));
    }
}
