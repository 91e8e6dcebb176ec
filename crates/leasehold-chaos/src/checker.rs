//! Finds two that held the same resource at the same time.
//!
//! A client claims a resource from the moment at which its acquisition returned until the earliest of:
//! its own end, which it writes before it begins to release; the end of the validity that it was
//! promised; its death. A client that is stopped claims only what it was promised: what it does when it
//! goes on is not asked of a lock.
//!
//! But if it asks its guard again and is told that it is still valid, it relied on the lease up to then,
//! whatever was promised.
//!
//! And it looks at what the leases' fencing tokens say about their order, and at what a store accepted that was
//! shown them: see [`tokens`](crate::tokens) and [`store`](crate::store).

use crate::{
    journal::{Entry, Step},
    moment::Moment,
    store::{self, LostUpdate, StaleWrite, Write},
    tokens::{self, Regression},
};
use std::{collections::BTreeMap, time::Duration};

/// All that one process wrote.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    /// `client-3.2`: the second life of the third client.
    pub(crate) name: String,
    pub(crate) entries: Vec<Entry>,
    /// When it was killed.
    pub(crate) death: Option<Moment>,
}

/// A time in which a client relied on a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) journal: String,
    pub(crate) owner: String,
    pub(crate) from: Moment,
    /// The first moment that is not claimed any more.
    pub(crate) until: Moment,
}

/// Two claims of one resource that have a time in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Overlap {
    pub(crate) resource: String,
    pub(crate) first: Claim,
    pub(crate) second: Claim,
}

impl Overlap {
    /// For how long both claimed.
    pub(crate) fn length(&self) -> Duration {
        let end = self.first.until.min(self.second.until);
        end.since(self.second.from)
    }
}

/// What the journals tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    /// By resource, in the order in which they began.
    pub(crate) claims: BTreeMap<String, Vec<Claim>>,
    pub(crate) acquisitions: usize,
    /// How often a claim followed one of another process.
    pub(crate) hand_overs: usize,
    pub(crate) overlaps: Vec<Overlap>,
    pub(crate) regressions: Vec<Regression>,
    /// How many writes the store accepted, and how many it refused.
    pub(crate) writes: (usize, usize),
    pub(crate) stale_writes: Vec<StaleWrite>,
    pub(crate) lost_updates: Vec<LostUpdate>,
    /// From when until when nobody acquired anything, for [so long](STANDSTILL) or longer.
    pub(crate) standstills: Vec<(Moment, Moment)>,
}

impl Findings {
    /// Whether anything was found that a lock, its tokens and a store that is shown them must not let happen.
    pub(crate) const fn is_clean(&self) -> bool {
        self.overlaps.is_empty()
            && self.regressions.is_empty()
            && self.stale_writes.is_empty()
            && self.lost_updates.is_empty()
    }

    /// Looks for times between these two in which nobody acquired anything. What lasts for longer counts as often as
    /// it is so long.
    pub(crate) fn stand_still(&mut self, begun: Moment, ended: Moment) {
        let mut moments: Vec<Moment> = { self.claims.values().flatten() }
            .map(|claim| claim.from)
            .chain([ended])
            .collect();
        moments.sort_unstable();
        let mut last = begun;
        for moment in moments {
            while moment.since(last) >= STANDSTILL {
                let until = last.plus(STANDSTILL);
                self.standstills.push((last, until));
                last = until;
            }
            last = last.max(moment);
        }
    }

    /// Whether somebody claimed anything at this moment.
    pub(crate) fn is_claimed(&self, at: Moment) -> bool {
        self.claims
            .values()
            .flatten()
            .any(|claim| claim.from <= at && at < claim.until)
    }
}

/// Compares the journals, as far as they tell of the time before `horizon`: what was written later may
/// be in one journal and not yet in the other.
pub(crate) fn check(journals: &[Journal], horizon: Moment) -> Findings {
    let mut findings = Findings::default();
    for journal in journals {
        for (resource, claim) in claims(journal, horizon) {
            findings.acquisitions += 1;
            // A lease that was over before its holder knew of it claims nothing.
            if claim.from < claim.until {
                findings.claims.entry(resource).or_default().push(claim);
            }
        }
    }
    for claims in findings.claims.values_mut() {
        claims.sort_by_key(|claim| (claim.from, claim.until));
    }
    for (resource, claims) in &findings.claims {
        let hand_overs = claims.windows(2);
        findings.hand_overs += hand_overs
            .filter(|pair| pair[0].journal != pair[1].journal)
            .count();
        findings.overlaps.extend(match resource.strip_suffix(READ) {
            None => overlaps(resource, claims, permits(resource)),
            // Those who read exclude those alone who have the name for themselves.
            Some(name) => {
                let writers = findings.claims.get(name).map_or(&[][..], Vec::as_slice);
                beside(name, claims, writers)
            }
        });
    }
    findings.regressions = tokens::regressions(journals, &findings.claims, horizon);
    findings
}

/// As [`check`], with what the store that the clients write to has noted.
pub(crate) fn check_with(journals: &[Journal], writes: &[Write], horizon: Moment) -> Findings {
    let mut findings = check(journals, horizon);
    let accepted = writes.iter().filter(|write| write.is_accepted).count();
    findings.writes = (accepted, writes.len() - accepted);
    findings.stale_writes = store::stale(writes, &findings.claims);
    findings.lost_updates = store::lost(writes);
    findings
}

/// Every claim that began while as many were in force as there may be, with the one of them that lasts longest.
fn overlaps(resource: &str, claims: &[Claim], most: usize) -> Vec<Overlap> {
    let mut found = Vec::new();
    let mut in_force: Vec<&Claim> = Vec::new();
    for claim in claims {
        in_force.retain(|first| claim.from < first.until);
        let longest = in_force.iter().max_by_key(|first| first.until);
        if let Some(first) = longest.filter(|_| in_force.len() >= most) {
            found.push(Overlap {
                resource: resource.to_owned(),
                first: (*first).clone(),
                second: claim.clone(),
            });
        }
        in_force.push(claim);
    }
    found
}

/// Every claim of one who reads that has a time in common with one who writes.
fn beside(resource: &str, readers: &[Claim], writers: &[Claim]) -> Vec<Overlap> {
    let both =
        |reader: &Claim, writer: &Claim| reader.from < writer.until && writer.from < reader.until;
    let met = readers.iter().flat_map(|reader| {
        let met = writers.iter().filter(move |writer| both(reader, writer));
        met.map(move |writer| (reader, writer))
    });
    let overlap = |(reader, writer): (&Claim, &Claim)| {
        let (first, second) = match reader.from <= writer.from {
            true => (reader, writer),
            false => (writer, reader),
        };
        Overlap {
            resource: resource.to_owned(),
            first: first.clone(),
            second: second.clone(),
        }
    };
    met.map(overlap).collect()
}

/// What journals call a share of a name.
pub(crate) fn read_place(name: &str) -> String {
    format!("{name}{READ}")
}

/// What journals call a permit of a name: each slot has one holder.
pub(crate) fn permit_place(name: &str, slot: usize) -> String {
    format!("{name}/{slot}")
}

/// What journals call one of two permits that have no slots.
pub(crate) fn counted_place(name: &str) -> String {
    format!("{name}{COUNTED}")
}

/// How many may have it at once.
fn permits(resource: &str) -> usize {
    if resource.ends_with(COUNTED) { 2 } else { 1 }
}

const READ: &str = "+read";
const COUNTED: &str = "+counted";

/// What a process claimed, with the resource, in the order of its acquisitions.
fn claims(journal: &Journal, horizon: Moment) -> Vec<(String, Claim)> {
    let latest = journal.death.unwrap_or(Moment::NEVER).min(horizon);
    let mut claims: Vec<(String, Claim)> = Vec::new();
    // A process holds one lease at a time, and the last acquisition tells which: of each of its names, if it has several.
    for entry in &journal.entries {
        if entry.at >= horizon {
            break;
        }
        let is_it = |(resource, claim): &&mut (String, Claim)| {
            *resource == entry.resource && claim.owner == entry.owner
        };
        let last = claims.iter_mut().rev().find(is_it);
        match entry.step {
            Step::Acquired { valid_until, .. } => claims.push((
                entry.resource.clone(),
                Claim {
                    journal: journal.name.clone(),
                    owner: entry.owner.clone(),
                    from: entry.at,
                    until: valid_until.min(latest),
                },
            )),
            Step::Extended { valid_until } => {
                if let Some((_, claim)) = last {
                    // Also where the old validity was over when this was written: the holder may have
                    // been stopped between the confirmation and the line.
                    claim.until = claim.until.max(valid_until.min(latest));
                }
            }
            Step::Relied => {
                if let Some((_, claim)) = last {
                    claim.until = claim.until.max(entry.at.min(latest));
                }
            }
            Step::Ended => {
                if let Some((_, claim)) = last {
                    claim.until = claim.until.min(entry.at);
                }
            }
        }
    }
    claims
}

/// Nobody acquires anything for so long: ten times the TTL.
const STANDSTILL: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests;
