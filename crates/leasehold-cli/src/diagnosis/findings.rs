//! The rules. Each says what was found, why it matters to locks, and what to do.

mod clusters;
mod copies;
pub(super) mod lateness;
mod rights;
mod silence;

use super::{
    Finding, Options, Patient, Weight,
    facts::{FileFacts, NodeState, ServerFacts, VoteFacts},
};
use crate::{agreement::Guard, departure, duration::Shown, hint, judgement::Judgement};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that the rules find, the worst first.
pub(super) fn all(patient: &Patient) -> Vec<Finding> {
    let mut found = silence::found(patient);
    for node in patient.parts() {
        let of_node = match &node.state {
            NodeState::Server(server) => of_server(server, patient),
            NodeState::File(FileFacts {
                unusable: Some(why),
                ..
            }) => vec![unusable_file(why)],
            NodeState::File(file) if file.used > file.room / 10 * 9 => vec![full_file()],
            NodeState::File(_)
            | NodeState::InProcess
            | NodeState::Silent(_)
            | NodeState::Cluster(_) => Vec::new(),
        };
        for mut finding in of_node {
            finding.nodes.push(node.name.clone());
            add(&mut found, finding);
        }
    }
    found.extend(clusters::unkept(patient));
    found.extend(same_server(patient));
    found.extend(patient.replaced.iter().map(replaced));
    found.extend(of_all(patient));
    // Stable: within one weight, those who tell nothing first, then in the order of the nodes.
    found.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    found
}

fn replaced((node, former): &(String, String)) -> Finding {
    Finding {
        nodes: vec![node.clone()],
        ..finding(
            Weight::Warning,
            departure::taken(former),
            "locks go by the list that the servers keep while one name differs, and not with two",
            departure::AMEND,
        )
    }
}

/// What is the same of several nodes is told once.
fn add(found: &mut Vec<Finding>, finding: Finding) {
    let same = found
        .iter_mut()
        .find(|other| (&other.what, &other.remedy) == (&finding.what, &finding.remedy));
    match same {
        Some(other) => other.nodes.extend(finding.nodes),
        None => found.push(finding),
    }
}

fn finding(weight: Weight, what: impl Into<String>, why: &'static str, remedy: &str) -> Finding {
    Finding {
        weight,
        nodes: Vec::new(),
        what: what.into(),
        why,
        remedy: remedy.to_owned(),
    }
}

/// Whether a node tells nothing because it is late, by what the library says of it.
pub(crate) fn hangs(why: &str) -> bool {
    [
        "did not answer within",
        "has not answered",
        "no connection within",
        "timed out",
    ]
    .iter()
    .any(|words| why.contains(words))
}

fn full_file() -> Finding {
    finding(
        Weight::Warning,
        "the store is nearly full",
        "a full store takes no new locks",
        "find out who holds so many locks: `leasehold list`",
    )
}

fn unusable_file(why: &str) -> Finding {
    finding(
        Weight::Problem,
        format!("takes no lock: {why}"),
        "no lock can be acquired there",
        "make room on the disk, or continue or end the process that is in the way",
    )
}

fn of_server(server: &ServerFacts, patient: &Patient) -> Vec<Finding> {
    let options = &patient.options;
    let rules = [
        vote(server, patient),
        version(server),
        address(server),
        rights::missing(server, options),
        rights::for_fair(server),
        rights::keys(server),
        persistence(server, options),
        memory(server),
        clusters::eviction(server, options),
        clock(server, options),
        lateness::found(server, options),
        replicas(server, options),
        copies::lacking(server, options),
    ];
    let lost = rights::lost(server, options.guard);
    rules.into_iter().flatten().chain(lost).collect()
}

fn vote(server: &ServerFacts, patient: &Patient) -> Option<Finding> {
    Some(match &server.vote {
        // One server under two names is a finding of its own, of all its names.
        VoteFacts::Votes | VoteFacts::SameAs(_) => return None,
        // So is what keeps a disk from being trusted.
        VoteFacts::Unsuitable(why) if is_of_trust(why, server, &patient.options) => return None,
        // Its lack of rights is a finding of its own, if there is one.
        VoteFacts::NotTold(_)
            if votes(server, &patient.options) || lacks_votes(server, patient.options.guard) =>
        {
            return None;
        }
        VoteFacts::Unsuitable(why) => unsuitable(why),
        VoteFacts::Abstains(abstention) => finding(
            Weight::Warning,
            abstention.to_string(),
            match patient.judgement() {
                Judgement::Now { .. } => {
                    "until then it does not vote, so fewer other nodes may fail"
                }
                _ => "until then it does not vote, and too few others do: no lock can be acquired",
            },
            &match hint::is_for_leases(abstention.cause) {
                true => format!("wait {}", Shown(abstention.left)),
                false => format!(
                    "wait {}; or, if it has forgotten no lock that is still held, run `leasehold admit`",
                    Shown(abstention.left)
                ),
            },
        ),
        VoteFacts::RefusesWrites(why) => refuses_writes(why),
        VoteFacts::Others(configuration) => finding(
            Weight::Problem,
            format!("is used with another configuration: {configuration}"),
            "clients with different options could hold the same lock at once, so it votes only for its own",
            "use the same options as the others, or change them for all by `leasehold reconfigure`",
        ),
        VoteFacts::Unfinished(change) => finding(
            Weight::Problem,
            change,
            "it votes for nobody until the change is finished",
            "run the same `leasehold reconfigure` again",
        ),
        VoteFacts::NotTold(why) => finding(
            Weight::Problem,
            format!("does not tell whether it votes: {why}"),
            "most likely its user lacks rights that a vote needs",
            "give its user the rights of docs/OPERATING.md",
        ),
    })
}

fn refuses_writes(why: &str) -> Finding {
    let remedy = match why.starts_with("CLUSTERDOWN") {
        true => hint::CLUSTER,
        false => {
            "fix what it names: memory (maxmemory), the disk, or the replicas that min-replicas-to-write asks for"
        }
    };
    let what = format!("refuses every write: {why}");
    finding(Weight::Problem, what, "a vote is a write", remedy)
}

fn unsuitable(why: &str) -> Finding {
    // It may be a good server; it does not tell.
    if why.contains("(INFO)") {
        return finding(
            Weight::Problem,
            why,
            "what it hides is what the restart guard compares to see whether locks were forgotten",
            "use a server that tells it; or, if locks that are granted twice do no harm or fencing tokens prevent it, \
             `leasehold reconfigure` to restart guard off",
        );
    }
    finding(
        Weight::Problem,
        why,
        "such a server could lose a lock or grant it twice",
        "use a master that keeps its keys, or change this one",
    )
}

fn version(server: &ServerFacts) -> Option<Finding> {
    let version = server.version.as_ref()?;
    let number = version.rsplit(' ').next()?;
    let major: u32 = number.split('.').next()?.parse().ok()?;
    (major < 7).then(|| {
        finding(
            Weight::Problem,
            format!("runs {version}"),
            "locks need Redis 7.0 or Valkey 7.2, or newer",
            "upgrade the server",
        )
    })
}

/// Whether something is missing without which it does not vote.
pub(super) fn lacks_votes(server: &ServerFacts, guard: Guard) -> bool {
    let mut lacking = server.lacking.iter().flatten();
    lacking.any(|right| !rights::is_spared(right, guard))
}

/// Whether it would vote for us now. Where the guard is off, nobody asks a server for its past.
pub(super) fn votes(server: &ServerFacts, options: &Options) -> bool {
    let guard = options.guard;
    let is_willing = match &server.vote {
        VoteFacts::Votes => true,
        VoteFacts::NotTold(_) => guard == Guard::Off,
        _ => false,
    };
    is_willing && can_vote(server, options) && !lateness::is_late(server, options)
}

/// Whether its votes would count: nothing is missing, and they can have the copies that are asked for.
pub(super) fn can_vote(server: &ServerFacts, options: &Options) -> bool {
    !lacks_votes(server, options.guard) && copies::can_copy(server, options)
}

/// What stands between this machine and the server.
fn address(server: &ServerFacts) -> Option<Finding> {
    if !server.others.is_empty() {
        let servers = server.others.len() + 1;
        return Some(finding(
            Weight::Problem,
            format!("its address leads to {servers} servers, one after the other"),
            "each of them votes for itself: two may hold the same lock, and no lock notices",
            "give the address of each server as a node of its own, or let the balancer know one server alone (or one master \
             and its replicas, by their role)",
        ));
    }
    server.is_proxied.then(|| {
        finding(
            Weight::Note,
            "is behind a proxy that hangs up at what it does not know",
            "waiters poll, scripts are sent along, and each lock is asked for in a call of its own; the proxy must always \
             send a key to the same server",
            "nothing, if it never moves keys (twemproxy: auto_eject_hosts: false)",
        )
    })
}

/// Whether another rule tells why it does not vote, in the words of the vote.
fn is_of_trust(why: &str, server: &ServerFacts, options: &Options) -> bool {
    let rules = [persistence(server, options), replicas(server, options)];
    rules.iter().flatten().any(|finding| finding.what == why)
}

/// Why it does not vote, if that is about this; else the words of the rule.
fn in_words_of_vote(server: &ServerFacts, about: &str, otherwise: &str) -> String {
    match &server.vote {
        VoteFacts::Unsuitable(why) if why.contains(about) => why.clone(),
        _ => otherwise.to_owned(),
    }
}

fn persistence(server: &ServerFacts, options: &Options) -> Option<Finding> {
    if let Some(what) = &server.failed_write {
        return Some(finding(
            Weight::Warning,
            format!("could not write its {what} the last time"),
            "a server that cannot write its data may refuse to vote",
            "look at the server's log and its disk",
        ));
    }
    let is_durable = server.has_log == Some(true)
        && server.fsync.as_deref() == Some("always")
        && server.fsync_on_rewrite != Some(false);
    match (options.guard, server.has_log) {
        (Guard::TrustAof, Some(_)) if !is_durable && server.fsync.is_some() => Some(finding(
            Weight::Problem,
            in_words_of_vote(
                server,
                "on its disk before it answers",
                "does not write every vote to its disk before it answers",
            ),
            "under restart guard trust-aof it does not vote: after a restart it would vote at once, having forgotten locks",
            "on the server: appendonly yes, appendfsync always, no-appendfsync-on-rewrite no; or use the restart guard quarantine",
        )),
        _ => None,
    }
}

fn memory(server: &ServerFacts) -> Option<Finding> {
    let (used, limit) = server.memory_used.zip(server.memory_limit)?;
    (used > limit / 10 * 9).then(|| {
        finding(
            Weight::Warning,
            "has used nine tenths of its maxmemory",
            "a server whose memory is full takes no new locks",
            "raise maxmemory, or free some",
        )
    })
}

fn clock(server: &ServerFacts, options: &Options) -> Option<Finding> {
    if options.is_plain {
        return None;
    }
    let (is_ahead, by, uncertainty) = server.clock?;
    let certain = by.saturating_sub(uncertainty);
    (certain > options.clock_skew).then(|| {
        let side = if is_ahead { "ahead of" } else { "behind" };
        finding(
            Weight::Warning,
            format!("its clock is {} {side} this machine's", Shown(by)),
            "clocks may differ by --clock-skew: fencing tokens may go back where a node lost its counters, and a clock \
             that is set ends leases early",
            "synchronize both clocks (NTP)",
        )
    })
}

fn replicas(server: &ServerFacts, options: &Options) -> Option<Finding> {
    let replicas = server.replicas.filter(|replicas| *replicas > 0)?;
    let plural = if replicas == 1 { "" } else { "s" };
    let what = format!("has {replicas} replica{plural}");
    if options.guard == Guard::TrustAof {
        return Some(finding(
            Weight::Problem,
            in_words_of_vote(server, "has replicas", &what),
            "restart guard trust-aof is not for servers whose place another may take, and refuses them",
            "use the restart guard quarantine, or a server without replicas",
        ));
    }
    // What plain locks are is told of all clusters at once.
    (!options.is_plain).then(|| finding(
        Weight::Note,
        what,
        "replicas make no lock safer; one that takes over does not vote until every lock that it may have missed has \
         ended",
        "see \"One master with replicas\" in docs/OPERATING.md",
    ))
}

/// One server under two names has two votes.
fn same_server(patient: &Patient) -> Vec<Finding> {
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in &patient.nodes {
        for identity in node.identities() {
            names.entry(identity).or_default().push(node.name.clone());
        }
    }
    let names: BTreeSet<_> = names.into_values().collect();
    let twice = names.into_iter().filter(|names| names.len() > 1);
    twice
        .map(|nodes| Finding {
            nodes,
            ..finding(
                Weight::Problem,
                "are the same server",
                "a server or cluster has one vote, whatever its address: fewer nodes vote than are listed",
                "list each once",
            )
        })
        .collect()
}

fn of_all(patient: &Patient) -> Vec<Finding> {
    let nodes = patient.nodes.len();
    let is_server = |state: &NodeState| {
        use NodeState::{Cluster, Server, Silent};
        matches!(state, Server(_) | Cluster(_) | Silent(_))
    };
    let servers = patient.nodes.iter().filter(|node| is_server(&node.state));
    if servers.count() < nodes {
        return Vec::new();
    }
    let mut found = Vec::new();
    if patient.options.is_plain {
        found.push(clusters::plain(nodes));
    } else if patient.options.guard == Guard::Off {
        found.push(finding(
            Weight::Warning,
            "the restart guard is off",
            "a server that restarts without its data votes at once: two may hold a lock that it has forgotten",
            "use the restart guard quarantine, for all, by `leasehold reconfigure`",
        ));
    }
    if nodes == 1 && !patient.options.is_plain {
        found.push(finding(
            Weight::Note,
            "there is one node",
            "while it is down, no lock can be acquired",
            "use three servers that do not fail together: they tolerate the failure of one",
        ));
    }
    if nodes.is_multiple_of(2) {
        found.push(finding(
            Weight::Note,
            format!("{nodes} nodes tolerate no more failures than {}", nodes - 1),
            "a majority is needed",
            "use an odd number",
        ));
    }
    found
}

#[cfg(test)]
pub(super) mod tests;
