//! How a configuration is changed while clients run; why it is safe, is told in the docs of
//! [`Operator::reconfigure`](super::Operator::reconfigure).
//!
//! Look, mark, settle. Each step asks all nodes at once and ends before the next one begins: that *no old quorum
//! is left* must be true before the first node begins to wait for the end of the old leases.

mod marking;

use super::{
    at_once,
    reconfiguration::{Outcome, Reconfiguration, Reconfigured},
    survey::MARK,
};
use crate::{
    builder::{Operated, Spot},
    configuration::{Configuration, Noted, RestartGuard, bare, is_of_others},
    error::{NodeFault, NodeList, ReconfigureError},
    link::{
        NodeName,
        redis::{
            RedisUrl,
            admin_client::{AdminClient, Look, NodeChange, Settled, Settlement},
        },
    },
};
use leasehold_core::{Quorum, quarantine::AbstentionCause};
use std::{collections::BTreeSet, time::Duration};

/// A node of either list, or of both.
struct Site {
    name: NodeName,
    is_former: bool,
    is_new: bool,
    visit: Result<(AdminClient, Look), String>,
    outcome: Outcome,
}

/// What is to be done, after the look.
struct Plan {
    sites: Vec<Site>,
    target: Configuration,
    /// The nodes that must be marked, old and new.
    needed: [(NodeList, usize); 2],
    from: BTreeSet<String>,
    quarantine: Duration,
    /// Whether an earlier run came to its last step.
    is_settled: bool,
    /// Whether one node takes the place of another, and nothing else changes: the others vote on.
    is_replacement: bool,
}

/// Looks, and says what would be done.
pub(super) async fn rehearse(
    operated: Operated,
    former: Option<Vec<RedisUrl>>,
) -> Result<Reconfiguration, ReconfigureError> {
    Ok(plan(operated, former).await?.tell())
}

/// Looks, marks and settles.
pub(super) async fn run(
    operated: Operated,
    former: Option<Vec<RedisUrl>>,
) -> Result<Reconfiguration, ReconfigureError> {
    let mut plan = plan(operated, former).await?;
    let mut counters = plan.mark(|plan, site| !plan.goes_on(site)).await;
    // Argument S9: the node that comes votes for nobody before those that stay vote for the new list.
    plan.check_newcomers()?;
    let others = plan.mark(Plan::goes_on).await;
    plan.check_marks()?;
    merge_counters(&mut counters, &others);
    plan.settle(counters).await;
    Ok(plan.tell())
}

async fn plan(operated: Operated, former: Option<Vec<RedisUrl>>) -> Result<Plan, ReconfigureError> {
    let Operated {
        nodes,
        quorum,
        configuration: target,
        ..
    } = operated;
    check_databases(&nodes, former.as_deref())?;
    let sites = sites(nodes, former);
    // Two addresses of a server become one site, with the name that it has on the new list.
    let listed = sites.iter().filter(|(_, [is_former, _])| *is_former);
    let listed = listed.map(|(url, _)| url.name().to_string()).collect();
    let sites = merge(look(sites, &target).await)?;
    let count = |is: fn(&Site) -> bool| sites.iter().filter(|site| is(site)).count();
    let former = count(|site| site.is_former);
    check_reach(&sites, NodeList::New, quorum.needed())?;
    let (from, noted) = configurations(&sites, &target, &listed)?;
    let majority = Quorum::majority(former).map_or(1, Quorum::needed);
    // The smallest quorum of those that may be in use needs the most nodes to be ended.
    let old_quorum = noted.iter().map(|noted| noted.quorum).min();
    let needed = former + 1 - old_quorum.unwrap_or(majority).clamp(1, former);
    check_reach(&sites, NodeList::Former, needed)?;
    let longest = noted.iter().map(|noted| noted.quarantine).max();
    let quarantine = target.quarantine().max(longest.unwrap_or_default());
    let quarantine = quarantine.max(still_awaited(&sites));
    let settled = |site: &&Site| site.is_former && site.has(&target.fingerprint());
    let is_settled = sites.iter().filter(settled).count() >= needed;
    // So many that the next change, which reaches one of each quorum, finds a node that waits.
    let new = quorum.needed();
    let is_replacement = is_replacement(&sites, &target);
    Ok(Plan {
        sites,
        target,
        needed: [(NodeList::Former, needed), (NodeList::New, new)],
        from,
        quarantine,
        is_settled,
        is_replacement,
    })
}

/// For how long a change before this one still lets nodes wait that leave or stay.
fn still_awaited(sites: &[Site]) -> Duration {
    let former = sites.iter().filter(|site| site.is_former);
    let looks = former.filter_map(Site::look);
    // Argument S9: leases of configurations that ended before may live for so long. What a node waits for by itself is no longer
    // than the quarantine of its configuration.
    let changed = looks.filter(|look| look.cause == AbstentionCause::Reconfigured);
    changed.map(|look| look.left).max().unwrap_or_default()
}

/// Whether one node takes the place of another, the configuration is the same in everything else, and no other change is
/// unfinished.
fn is_replacement(sites: &[Site], target: &Configuration) -> bool {
    let (fingerprint, mark) = (target.fingerprint(), mark_of(target));
    let count = |is: [bool; 2]| {
        let sites = sites.iter();
        sites
            .filter(|site| [site.is_former, site.is_new] == is)
            .count()
    };
    let goes_on = |site: &Site| {
        let Some(seen) = site.look().and_then(|look| look.fingerprint.as_deref()) else {
            return true;
        };
        let is_before = || target.successor(&text_of(sites, seen)).is_some();
        match site.is_former && site.is_new {
            true => seen == fingerprint || is_before(),
            false => seen == fingerprint || seen == mark || is_before(),
        }
    };
    let is_one_for_one = count([true, false]) == 1 && count([false, true]) == 1;
    is_one_for_one && sites.iter().all(goes_on)
}

/// Whether the lists, each of which has one database number, have the same.
fn check_databases(
    nodes: &[(NodeName, Spot)],
    former: Option<&[RedisUrl]>,
) -> Result<(), ReconfigureError> {
    let new = nodes.iter().find_map(|(_, spot)| spot.server());
    let numbers = former.and_then(<[_]>::first).zip(new);
    // Argument S1: a node is visited at one of its databases, and clients of the other would go on.
    match numbers.map(|(former, new)| (former.database(), new.database())) {
        Some((former, new)) if former != new => Err(ReconfigureError::Databases { former, new }),
        _ => Ok(()),
    }
}

/// The nodes of both lists, each once as far as their names tell.
fn sites(
    nodes: Vec<(NodeName, Spot)>,
    former: Option<Vec<RedisUrl>>,
) -> Vec<(RedisUrl, [bool; 2])> {
    let is_same = former.is_none();
    let new = nodes.into_iter().filter_map(|(_, spot)| spot.url());
    let mut sites: Vec<_> = new.map(|url| (url, [is_same, true])).collect();
    for url in former.into_iter().flatten() {
        match sites
            .iter_mut()
            .find(|(other, _)| other.name() == url.name())
        {
            Some((_, [is_former, _])) => *is_former = true,
            None => sites.push((url, [true, false])),
        }
    }
    sites
}

async fn look(sites: Vec<(RedisUrl, [bool; 2])>, target: &Configuration) -> Vec<Site> {
    let node_key = target.node_key();
    let jobs = sites.into_iter().map(|(url, [is_former, is_new])| {
        // A node that leaves need not suit the new guard.
        let guard = match is_new {
            true => target.guard(),
            false => RestartGuard::Off,
        };
        let (name, node_key) = (url.name(), node_key.clone());
        let quarantine = match target.guard() {
            RestartGuard::Off => "0".to_owned(),
            _ => target.quarantine_text(),
        };
        async move {
            let look = async {
                let mut admin_client = AdminClient::visit(url, node_key).await?;
                let look = admin_client.look(guard, &quarantine).await?;
                match look.unsuitable.clone() {
                    Some(why) => Err(why),
                    None => Ok((admin_client, look)),
                }
            };
            let visit = look.await;
            Site {
                name,
                outcome: Outcome::Would,
                is_former,
                is_new,
                visit,
            }
        }
    });
    at_once(jobs).await
}

/// One server may be on the two lists under two addresses; on one list it may not.
fn merge(sites: Vec<Site>) -> Result<Vec<Site>, ReconfigureError> {
    let mut merged: Vec<Site> = Vec::new();
    for site in sites {
        let identity = site.look().map(|look| look.identity.clone());
        let same = merged.iter_mut().find(|other| {
            identity.is_some() && other.look().map(|look| &look.identity) == identity.as_ref()
        });
        match same {
            None => merged.push(site),
            Some(other) => {
                if (other.is_former && site.is_former) || (other.is_new && site.is_new) {
                    let (node, other) = (site.name, other.name.clone());
                    return Err(ReconfigureError::SameServer { node, other });
                }
                other.is_former |= site.is_former;
                other.is_new |= site.is_new;
            }
        }
    }
    Ok(merged)
}

/// The configurations that are ended, as people read them and as far as they matter.
fn configurations(
    sites: &[Site],
    target: &Configuration,
    listed: &BTreeSet<String>,
) -> Result<(BTreeSet<String>, Vec<Noted>), ReconfigureError> {
    let (mut from, mut noted, mut known) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
    for site in sites.iter().filter(|site| site.is_former) {
        let Some(look) = site.look() else { continue };
        let Some(fingerprint) = &look.fingerprint else {
            continue;
        };
        known.insert(fingerprint.clone());
        // What was not marked by anybody and is of the new configuration is not ended.
        if *fingerprint == target.fingerprint() {
            continue;
        }
        let is_marked = fingerprint.starts_with(MARK);
        let text = match (is_marked, &look.text_before) {
            (true, None) if *fingerprint == mark_of(target) => continue,
            // It came with a change that has not told it for how long to wait.
            (true, None) => {
                return Err(ReconfigureError::Begun {
                    node: site.name.clone(),
                    configuration: look.text.clone().unwrap_or_else(|| fingerprint.clone()),
                });
            }
            (true, Some(before)) => before.clone(),
            (false, _) => text_of(sites, fingerprint),
        };
        let (node, configuration) = (site.name.clone(), text.clone());
        let Some(read) = Noted::read(&text) else {
            return Err(ReconfigureError::Unreadable {
                node,
                configuration,
            });
        };
        let text = bare(&text).to_owned();
        // Argument S9: of another list there may be a quorum left that is not visited here.
        if read.count != listed.len() || is_of_others(&text, read.count, listed) {
            return Err(ReconfigureError::FormerNodes {
                node,
                given: listed.len(),
                configuration,
            });
        }
        from.insert(text);
        noted.push(read);
    }
    check_new(sites, target, &known)?;
    Ok((from, noted))
}

/// Whether nobody uses the nodes that come, but with one of these configurations.
fn check_new(
    sites: &[Site],
    target: &Configuration,
    known: &BTreeSet<String>,
) -> Result<(), ReconfigureError> {
    for site in sites.iter().filter(|site| !site.is_former) {
        let Some(look) = site.look() else { continue };
        let Some(fingerprint) = &look.fingerprint else {
            continue;
        };
        let ours = target.fingerprint();
        let is_ours = *fingerprint == ours || *fingerprint == mark_of(target);
        if !is_ours && !known.contains(fingerprint) {
            let text = look.text.clone();
            return Err(ReconfigureError::Foreign {
                node: site.name.clone(),
                key: target.node_key(),
                configuration: text.unwrap_or_else(|| fingerprint.clone()),
            });
        }
    }
    Ok(())
}

/// What a fingerprint stands for, as far as any node tells: one that was flushed may have no more than that.
fn text_of(sites: &[Site], fingerprint: &str) -> String {
    let known = sites.iter().filter(|site| site.has(fingerprint));
    let text = known
        .filter_map(Site::look)
        .find_map(|look| look.text.clone());
    text.unwrap_or_else(|| fingerprint.to_owned())
}

fn check_reach(sites: &[Site], list: NodeList, needed: usize) -> Result<(), ReconfigureError> {
    let on_it = || sites.iter().filter(|site| site.is_on(list));
    let faults: Vec<_> = on_it().filter_map(Site::silence).collect();
    let nodes = on_it().count();
    let reached = nodes - faults.len();
    if reached >= needed {
        return Ok(());
    }
    Err(ReconfigureError::OutOfReach {
        list,
        needed,
        reached,
        nodes,
        faults,
    })
}

impl Site {
    fn look(&self) -> Option<&Look> {
        self.visit.as_ref().ok().map(|(_, look)| look)
    }

    fn has(&self, fingerprint: &str) -> bool {
        let kept = self.look().and_then(|look| look.fingerprint.as_deref());
        kept == Some(fingerprint)
    }

    const fn is_on(&self, list: NodeList) -> bool {
        match list {
            NodeList::Former => self.is_former,
            NodeList::New => self.is_new,
        }
    }

    /// Why it cannot be asked.
    fn silence(&self) -> Option<NodeFault> {
        let why = self.visit.as_ref().err()?;
        Some(NodeFault::down(self.name.clone(), why))
    }

    /// Why it was not told.
    fn fault(&self) -> Option<NodeFault> {
        match &self.outcome {
            Outcome::Missed { why } => Some(NodeFault::down(self.name.clone(), why)),
            _ => None,
        }
    }

    fn missed(&mut self, why: String) {
        self.outcome = Outcome::Missed { why };
    }
}

impl Plan {
    /// Step 3: the marked nodes are told the new configuration, and to wait until all old leases have ended.
    async fn settle(&mut self, counters: Vec<u64>) {
        let fingerprint = self.target.fingerprint();
        let settlement = Settlement {
            mark: mark_of(&self.target),
            fingerprint,
            text: self.target.text().to_owned(),
            quarantine: self.quarantine,
            is_guarded: self.target.guard() != RestartGuard::Off,
            counters,
        };
        let mut jobs = Vec::new();
        for (place, site) in self.sites.iter_mut().enumerate() {
            if let Ok((mut admin_client, look)) =
                std::mem::replace(&mut site.visit, Err("was told".to_owned()))
            {
                let mut settlement = settlement.clone();
                // A client follows a new list if one of the nodes that tell it of that list also says that it comes after the
                // client's own. A node that stays does not say so if it was flushed since. So the node that leaves does.
                if let (true, false, Some(before)) =
                    (self.is_replacement, site.is_new, text_before(&look))
                {
                    settlement.text = self.target.text_after_leaving(&before);
                }
                jobs.push(async move { (place, admin_client.settle(&settlement).await) });
            }
        }
        for (place, answer) in at_once(jobs).await {
            let site = &mut self.sites[place];
            match answer {
                Ok(NodeChange::Done(Settled::Votes(left))) => {
                    site.outcome = Outcome::Changed { left }
                }
                Ok(NodeChange::Done(Settled::Waits(left))) => {
                    site.outcome = Outcome::Waits { left }
                }
                Ok(NodeChange::Other(now)) => {
                    site.missed(format!("it has changed meanwhile: {now}"));
                }
                Err(why) => site.missed(why),
            }
        }
    }

    fn tell(self) -> Reconfiguration {
        let fingerprint = self.target.fingerprint();
        let nodes = self.sites.into_iter().map(|site| {
            let outcome = match (&site.visit, site.outcome.clone()) {
                (Err(why), Outcome::Would) => Outcome::Missed { why: why.clone() },
                (Ok(_), Outcome::Would) if self.is_settled && site.has(&fingerprint) => {
                    Outcome::Already
                }
                (_, outcome) => outcome,
            };
            let node = site.name;
            Reconfigured { node, outcome }
        });
        Reconfiguration {
            nodes: nodes.collect(),
            from: self.from.into_iter().collect(),
            to: self.target.text().to_owned(),
            quarantine: self.quarantine,
            goes_on: self.is_replacement,
        }
    }
}

/// What a node was of before anybody began to change it.
fn text_before(look: &Look) -> Option<String> {
    let is_marked = look
        .fingerprint
        .as_ref()
        .is_some_and(|fingerprint| fingerprint.starts_with(MARK));
    match is_marked {
        true => look.text_before.clone(),
        false => look.text.clone(),
    }
}

/// What a node carries while its configuration is about to be `target`.
fn mark_of(target: &Configuration) -> String {
    format!("{MARK}{}", target.fingerprint())
}

fn merge_counters(largest: &mut Vec<u64>, counters: &[u64]) {
    largest.resize(largest.len().max(counters.len()), 0);
    for (largest, counter) in largest.iter_mut().zip(counters) {
        *largest = (*largest).max(*counter);
    }
}
