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
    store::{self, StaleWrite, Write},
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
}

impl Findings {
    /// Whether anything was found that a lock, its tokens and a store that is shown them must not let happen.
    pub(crate) const fn is_clean(&self) -> bool {
        self.overlaps.is_empty() && self.regressions.is_empty() && self.stale_writes.is_empty()
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
    for (resource, claims) in &mut findings.claims {
        claims.sort_by_key(|claim| (claim.from, claim.until));
        let hand_overs = claims.windows(2);
        findings.hand_overs += hand_overs
            .filter(|pair| pair[0].journal != pair[1].journal)
            .count();
        findings.overlaps.extend(overlaps(resource, claims));
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
    findings
}

/// Every claim that began while an earlier one was in force, with that one.
fn overlaps(resource: &str, claims: &[Claim]) -> Vec<Overlap> {
    let mut found = Vec::new();
    let mut longest: Option<&Claim> = None;
    for claim in claims {
        if let Some(first) = longest
            && claim.from < first.until
        {
            found.push(Overlap {
                resource: resource.to_owned(),
                first: first.clone(),
                second: claim.clone(),
            });
        }
        if longest.is_none_or(|first| first.until < claim.until) {
            longest = Some(claim);
        }
    }
    found
}

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

#[cfg(test)]
mod tests;
