//! What to try next, by what went wrong. The library tells facts; these are advice.

use crate::{diagnosis::Patient, judgement::Judgement, nodes::Nodes};
use leasehold::{AbstentionCause, AcquireError, LockOptions, NodeFault};
use std::time::Duration;

/// A way out for somebody who did not get the lock.
pub(crate) fn not_acquired(
    error: &AcquireError,
    ttl: Duration,
    nodes: &Nodes,
    waited: bool,
) -> Option<String> {
    let hint = match (error, nodes) {
        (AcquireError::TooLate { .. }, _) if gains_time(ttl) => {
            "a longer --ttl leaves the nodes more time to answer"
        }
        (AcquireError::Disagreement { .. }, _) => SAY_THE_SAME,
        (AcquireError::OtherPermits { .. }, _) => SAY_ONE_NUMBER,
        (error, _) if error.abstains().is_some() && must_wait(error) => return None,
        (error, _) if error.abstains().is_some() => ADMIT,
        (error, nodes) if error.is_unreachable() => {
            let hint = by_fault(error.faults(), nodes)?;
            let is_timely = hint != HANGS || !gains_time(ttl);
            return Some(if is_timely { hint } else { hint + MORE_TIME });
        }
        // What was done is kept to the end of its period.
        (error, _)
            if error
                .holder()
                .is_some_and(|holder| holder.done_until().is_some()) =>
        {
            return None;
        }
        (error, _) if error.is_contention() && !waited => {
            "--wait 30s waits for it; without --no-wait, leasehold waits for ever"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// A way out for somebody who asked nodes on which nobody can have a lock.
pub(crate) fn not_usable(patient: &Patient) -> Option<String> {
    if let Some((_, why)) = patient.unusable_store() {
        return by_store(why).map(str::to_owned);
    }
    let hint = match patient.judgement() {
        Judgement::Later(_) if patient.must_wait() => return None,
        Judgement::Later(_) => ADMIT,
        Judgement::OtherConfiguration => SAY_THE_SAME,
        Judgement::Now { .. } | Judgement::NotInSlots(_) | Judgement::No => DOCTOR,
    };
    Some(hint.to_owned())
}

/// Whether a node waits for the end of leases that are known to be held, or that it has evicted: nobody's word may shorten
/// that.
pub(crate) fn must_wait(error: &AcquireError) -> bool {
    let mut abstentions = error.faults().iter().filter_map(NodeFault::abstention);
    abstentions.any(|abstention| is_for_leases(abstention.cause))
}

/// Whether a node abstains for leases that there may well be.
pub(crate) const fn is_for_leases(cause: AbstentionCause) -> bool {
    matches!(
        cause,
        AbstentionCause::Reconfigured | AbstentionCause::Evicted
    )
}

/// A way out by what a store on this machine said. None where its words have it, or there is none.
pub(crate) fn by_store(said: &str) -> Option<&'static str> {
    let is_late = said.contains("no answer within") && !said.contains("(stopped; ");
    match said.contains("the disk is full") {
        true => Some(MAKE_ROOM),
        false => is_late.then_some(WRITER),
    }
}

/// A way out by what the first of the silent nodes said.
pub(crate) fn by_fault(faults: &[NodeFault], nodes: &Nodes) -> Option<String> {
    let said = faults.first().map(ToString::to_string).unwrap_or_default();
    let Nodes::Servers(list) = nodes else {
        return by_store(&said).map(str::to_owned);
    };
    let knows = |(words, _): &&(&str, &str)| said.contains(words);
    let known = REMEDIES.iter().find(knows).map(|(_, remedy)| *remedy);
    let is_down_here = |fault: &NodeFault| {
        let name = fault.node().to_string();
        let is_here = LOOPBACK.iter().any(|host| name.starts_with(host));
        is_here && fault.to_string().ends_with("connection refused")
    };
    // A user whose servers are all on this machine, and do not run, is trying leasehold out. An attempt that has given up before
    // all have answered does not know.
    let all_down = faults.len() == list.urls().len() && faults.iter().all(is_down_here);
    let is_cluster = |fault: &NodeFault| fault.node().to_string().starts_with("cluster@");
    let unknown = match all_down {
        true => "start these servers; for a try, `leasehold servers start` starts some here",
        false if faults.first().is_some_and(is_cluster) => CLUSTER,
        false => DOCTOR,
    };
    Some(known.unwrap_or(unknown).to_owned())
}

/// How the addresses of this machine alone begin.
const LOOPBACK: [&str; 3] = ["127.", "localhost:", "[::1]:"];

/// What a server says, and what to do about it.
const REMEDIES: [(&str, &str); 20] = [
    (
        "maxmemory-policy",
        "on the server: CONFIG SET maxmemory-policy noeviction, and the same in its configuration",
    ),
    (
        "to be found: sentinel",
        "check the sentinels' addresses, the master's name and both passwords: \
         redis+sentinel://:password@host:26379,host:26379/mymaster?sentinel_password=...",
    ),
    (
        "sentinels have named",
        "see to the sentinels that do not answer, or to the way to them: most of those in the list must name the master",
    ),
    (
        "cluster support disabled",
        "a server that is no part of a Redis Cluster: write redis://host:port",
    ),
    ("replicas confirmed", COPIES),
    ("replicas had it", COPIES),
    (
        "is a replica",
        "a replica cannot vote: name servers that are nobody's replica",
    ),
    (
        "the same server",
        "list each server once: it has one vote, whatever its address",
    ),
    ("with another configuration", SAY_THE_SAME),
    (
        "locked together behind a proxy",
        "give the servers' own addresses, or lock one name that stands for all, everywhere",
    ),
    (
        "NOAUTH",
        "give the password in LEASEHOLD_NODES (redis://user:password@host), or in password_file or nodes_file of the \
         configuration file; on a command line everybody on the machine can read it",
    ),
    (
        "authentication failed",
        "check user and password in the address: redis://user:password@host",
    ),
    (
        "READONLY",
        "a replica cannot vote: name servers that are nobody's replica",
    ),
    (
        "OOM",
        "the server has reached its maxmemory: raise it, or free some",
    ),
    ("answer within", HANGS),
    ("no connection within", HANGS),
    ("NOPERM", PERMISSIONS),
    ("ACL failure", PERMISSIONS),
    ("can't run this command", PERMISSIONS),
    (
        "Redis protocol",
        "something else listens there, or it wants TLS: rediss://host",
    ),
];

const COPIES: &str = "`leasehold doctor` tells how many replicas each server has; connect the others, or ask for fewer with \
                      --replicated or --on-disk, with all clients";

const DOCTOR: &str = "`leasehold doctor` says what is wrong with each node";

pub(crate) const CLUSTER: &str = "`redis-cli --cluster check HOST:PORT` says which slots of the cluster nobody keeps, and who is away";

const WRITER: &str = "`leasehold doctor` tells which process keeps the store from the others: one that was stopped, most likely";

const MAKE_ROOM: &str = "make room on the disk: a store takes 100 kB at first, and 64 MiB with as many locks as it can have";

const HANGS: &str = "`leasehold doctor` tells which nodes hang or are too far away";

const MORE_TIME: &str = "; a longer --ttl leaves them more time";

const PERMISSIONS: &str = "the server's user needs the keys, evalsha, eval, script|load, info, time, and set, get, mget, del, \
                           pexpire, pttl, hget, hmget, hset; behind sentinels role as well, with --fair the keys leasehold:queue:* (of the \
                           namespace leasehold), and with --shared and --permits these keys and zadd, zrem, zscore, zrange, \
                           zremrangebyscore, pexpireat; `leasehold doctor` tells what is missing";

/// For those who meet a key that does not end.
pub(crate) const NO_TTL: &str = "find out which program has set the key, or choose another name for the lock; a wait ends only when \
                                 somebody deletes the key";

/// For those whose locks have this TTL, and whose nodes are far away.
pub(crate) fn nearer(ttl: Duration) -> &'static str {
    match gains_time(ttl) {
        // That is what keeps the usual TTL so short.
        true => {
            "use nodes that are nearer, or a longer --max-ttl, for all, by `leasehold reconfigure`"
        }
        false => "use nodes that are nearer: a longer TTL gives them no more time",
    }
}

/// Whether nodes have more time to answer with a longer TTL than this.
fn gains_time(ttl: Duration) -> bool {
    let limit = LockOptions::usual_node_limit;
    limit(ttl) < limit(LONG)
}

/// A longer TTL than this gives no node more time to answer.
const LONG: Duration = Duration::from_secs(10);

/// For those who want something else than the others.
pub(crate) const SAY_THE_SAME: &str = "use the same --nodes, --max-ttl, --restart-guard, --cluster, --key-format and so on as \
                                       the other clients; `leasehold reconfigure` changes them for all, or ends a \
                                       change that was begun";

/// For those who want one of more or fewer permits than the others.
pub(crate) const SAY_ONE_NUMBER: &str = "say the same --permits everywhere; to change the number, end the commands that have one first, \
                              which `leasehold status` shows, or choose another name";

/// For those who wait for servers that may have forgotten something.
pub(crate) const ADMIT: &str = "if these nodes have forgotten no lock that is still held (they are brand-new, say), and no program locks with \
                                another list, `leasehold admit` lets them vote at once";

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold::LockManager;

    /// The hint after an attempt on these nodes, where nobody listens.
    fn hint(urls: &str) -> Option<String> {
        let list = crate::node_list::NodeList::parse(urls).expect("addresses");
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().expect("a runtime");
        let manager = LockManager::builder().nodes(list.urls()).build();
        let mutex = manager.expect("addresses").mutex("r").expect("a name");
        let error = runtime.block_on(mutex.try_acquire()).map(drop);
        let error = error.expect_err("nobody is there");
        not_acquired(&error, LONG, &Nodes::Servers(list), false)
    }

    #[test]
    fn servers_to_try_are_for_those_whose_own_do_not_run() {
        let toy = "leasehold servers start";
        let all = hint("redis://127.0.0.1:1");
        assert!(all.is_some_and(|hint| hint.contains(toy)));
        // An attempt ends when no quorum is left, and says nothing of the others.
        let hint = hint("redis://0.0.0.0:1");
        let hint = hint.expect("there is a way out");
        assert!(
            hint.contains("leasehold doctor") && !hint.contains(toy),
            "{hint}"
        );
    }
}
