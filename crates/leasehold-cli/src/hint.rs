//! What to try next, by what went wrong. The library tells facts; these are advice.

use crate::nodes::Nodes;
use leasehold::{AbstentionCause, AcquireError, NodeFault};

/// A way out for somebody who did not get the lock.
pub(crate) fn not_acquired(error: &AcquireError, nodes: &Nodes, waited: bool) -> Option<String> {
    let hint = match (error, nodes) {
        (AcquireError::TooLate { .. }, _) => "a longer --ttl leaves the nodes more time to answer",
        (AcquireError::Disagreement { .. }, _) => SAY_THE_SAME,
        (error, _) if error.abstains().is_some() && is_reconfigured(error) => return None,
        (error, _) if error.abstains().is_some() => ADMIT,
        (error, Nodes::Servers(_)) if error.is_unreachable() => by_fault(error.faults()),
        (error, _) if error.is_contention() && !waited => {
            "--wait 30s waits for it; without --no-wait, leasehold waits for ever"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// Whether a node waits for the end of leases that nobody has forgotten: nobody's word can shorten that.
pub(crate) fn is_reconfigured(error: &AcquireError) -> bool {
    let abstentions = error.faults().iter().filter_map(NodeFault::abstention);
    abstentions
        .into_iter()
        .any(|abstention| abstention.cause == AbstentionCause::Reconfigured)
}

/// A way out by what the first of the silent nodes said.
pub(crate) fn by_fault(faults: &[NodeFault]) -> &'static str {
    let said = faults.first().map(ToString::to_string).unwrap_or_default();
    let knows = |(words, _): &&(&str, &str)| said.contains(words);
    REMEDIES.iter().find(knows).map_or(
        "check the nodes' addresses; for a try, `leasehold servers start` starts servers here",
        |(_, remedy)| remedy,
    )
}

/// What a server says, and what to do about it.
const REMEDIES: [(&str, &str); 16] = [
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
        "is a replica",
        "a replica cannot vote: name servers that are nobody's replica",
    ),
    (
        "the same server",
        "list each server once: it has one vote, whatever its address",
    ),
    ("with another configuration", SAY_THE_SAME),
    (
        "NOAUTH",
        "give the password by LEASEHOLD_NODES (redis://user:password@host), or by password_file or nodes_file of the \
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

const HANGS: &str = "`leasehold doctor` tells which nodes hang or are too far away; a longer --ttl leaves them more time";

const PERMISSIONS: &str = "the server's user needs the keys, evalsha, eval, script|load, info, time, and set, get, del, \
                           pexpire, pttl, hget, hmget, hset; behind sentinels role as well, and with --fair the keys \
                           leasehold:queue:* (of the namespace leasehold); `leasehold doctor` tells what is missing";

/// For those who want something else than the others.
pub(crate) const SAY_THE_SAME: &str = "say the same --nodes, --max-ttl, --restart-guard, --cluster, --key-format and so on as the \
                                       others; `leasehold reconfigure` changes them for all, or ends a change that was \
                                       begun";

/// For those who wait for servers that may have forgotten something.
pub(crate) const ADMIT: &str = "if these nodes have forgotten no lock that is still held (they are brand-new, say), \
                                `leasehold admit` lets them vote at once";
