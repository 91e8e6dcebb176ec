//! Whether fencing tokens order the leases of a resource as they were held.
//!
//! Three things must be so (Argument S4): no two leases have the same token; if one acquisition had returned before
//! another was begun, its token is smaller; and so it is if one lease was held before the other.
//!
//! The second holds whatever the clocks do. The third is stronger, since an acquisition may be begun long before it
//! returns, and needs what exclusion needs.

use crate::{
    checker::{Claim, Journal},
    journal::{Fence, Step},
    moment::Moment,
};
use std::collections::{BTreeMap, HashMap};

/// An acquisition and its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) journal: String,
    pub(crate) owner: String,
    pub(crate) fence: Fence,
    /// When it returned.
    pub(crate) returned: Moment,
}

/// A later acquisition whose token is not larger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Regression {
    pub(crate) resource: String,
    pub(crate) earlier: Grant,
    pub(crate) later: Grant,
}

/// Finds those that were granted before `horizon`, each later acquisition once.
pub(crate) fn regressions(
    journals: &[Journal],
    claims: &BTreeMap<String, Vec<Claim>>,
    horizon: Moment,
) -> Vec<Regression> {
    let mut found = Vec::new();
    for (resource, grants) in grants(journals, horizon) {
        let held = claims.get(&resource).map_or(&[][..], Vec::as_slice);
        let mut pairs = repeated(&grants);
        pairs.extend(against_time(&grants));
        pairs.extend(against_holders(&grants, held));
        pairs.sort_by_key(|(_, later)| (later.returned, &later.owner));
        pairs.dedup_by_key(|(_, later)| &later.owner);
        found.extend(pairs.into_iter().map(|(earlier, later)| Regression {
            resource: resource.clone(),
            earlier: earlier.clone(),
            later: later.clone(),
        }));
    }
    found
}

fn grants(journals: &[Journal], horizon: Moment) -> BTreeMap<String, Vec<Grant>> {
    let mut grants: BTreeMap<String, Vec<Grant>> = BTreeMap::new();
    for journal in journals {
        let entries = journal.entries.iter();
        for entry in entries.take_while(|entry| entry.at < horizon) {
            if let Step::Acquired {
                fence: Some(fence), ..
            } = entry.step
            {
                grants
                    .entry(entry.resource.clone())
                    .or_default()
                    .push(Grant {
                        journal: journal.name.clone(),
                        owner: entry.owner.clone(),
                        fence,
                        returned: entry.at,
                    });
            }
        }
    }
    grants
}

type Pair<'a> = (&'a Grant, &'a Grant);

/// Two of the same token.
fn repeated(grants: &[Grant]) -> Vec<Pair<'_>> {
    let mut sorted: Vec<&Grant> = grants.iter().collect();
    sorted.sort_by_key(|grant| (grant.fence.token, grant.returned));
    let pairs = sorted.windows(2);
    pairs
        .filter(|pair| pair[0].fence.token == pair[1].fence.token)
        .map(|pair| (pair[0], pair[1]))
        .collect()
}

/// One that had returned before the other was begun, and is not smaller.
fn against_time(grants: &[Grant]) -> Vec<Pair<'_>> {
    let (mut by_begin, mut by_return): (Vec<&Grant>, Vec<&Grant>) =
        (grants.iter().collect(), grants.iter().collect());
    by_begin.sort_by_key(|grant| grant.fence.begun);
    by_return.sort_by_key(|grant| grant.returned);
    let mut returned = by_return.into_iter().peekable();
    let mut largest: Option<&Grant> = None;
    let mut pairs = Vec::new();
    for later in by_begin {
        while let Some(earlier) = returned.next_if(|grant| grant.returned < later.fence.begun) {
            if largest.is_none_or(|largest| largest.fence.token < earlier.fence.token) {
                largest = Some(earlier);
            }
        }
        pairs.extend(
            largest
                .filter(|largest| largest.fence.token >= later.fence.token)
                .map(|largest| (largest, later)),
        );
    }
    pairs
}

/// One that held before the other, and is not smaller.
fn against_holders<'a>(grants: &'a [Grant], held: &[Claim]) -> Vec<Pair<'a>> {
    let by_owner: HashMap<&str, &Grant> =
        grants.iter().map(|grant| (&*grant.owner, grant)).collect();
    let mut largest: Option<&Grant> = None;
    let mut pairs = Vec::new();
    // In the order in which they began.
    for later in held.iter().filter_map(|claim| by_owner.get(&*claim.owner)) {
        match largest {
            Some(earlier) if earlier.fence.token >= later.fence.token => {
                pairs.push((earlier, *later));
            }
            _ => largest = Some(later),
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{checker, journal};

    fn found(texts: &[&str]) -> Vec<(u64, u64)> {
        let journals: Vec<Journal> = texts
            .iter()
            .enumerate()
            .map(|(number, text)| Journal {
                name: format!("client-{number}.1"),
                entries: journal::parse(text).unwrap(),
                death: None,
            })
            .collect();
        let found = checker::check(&journals, Moment::NEVER).regressions;
        let pairs = found.iter();
        pairs
            .map(|pair| (pair.earlier.fence.token, pair.later.fence.token))
            .collect()
    }

    #[test]
    fn tokens_that_grow_are_in_order() {
        let one = "10 acquired r0 a 20 5 7\n50 acquired r0 b 60 45 9\n";
        let other = "30 acquired r0 c 40 1 8\n70 acquired r1 d 80 65 1\n";
        assert_eq!(found(&[one, other]), []);
    }

    #[test]
    fn the_same_token_twice_is_found() {
        // Neither held, and neither returned before the other was begun.
        let (one, other) = ("90 acquired r0 a 20 5 7\n", "91 acquired r0 b 20 5 7\n");
        assert_eq!(found(&[one, other]), [(7, 7)]);
        assert_eq!(found(&[one, "91 acquired r1 b 20 5 7\n"]), []);
    }

    #[test]
    fn a_smaller_token_of_a_later_attempt_is_found_even_if_nobody_held() {
        let late = "50 acquired r0 a 20 5 7\n";
        assert_eq!(found(&[late, "60 acquired r0 b 40 51 6\n"]), [(7, 6)]);
        // Begun before the other had returned: any order will do.
        assert_eq!(found(&[late, "60 acquired r0 b 40 50 6\n"]), []);
    }

    #[test]
    fn a_smaller_token_of_a_later_holder_is_found_however_early_it_was_begun() {
        let first = "10 acquired r0 a 20 5 7\n";
        assert_eq!(found(&[first, "30 acquired r0 b 40 1 6\n"]), [(7, 6)]);
        // The largest before counts, not the last.
        let third = "50 acquired r0 c 60 1 7\n";
        assert_eq!(found(&[first, "30 acquired r0 b 40 1 6\n", third]).len(), 2);
    }
}
