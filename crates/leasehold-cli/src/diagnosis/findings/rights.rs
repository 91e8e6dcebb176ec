//! What a server's user may not do, and what is lost by it.

use super::{Finding, Options, Weight, finding, lacks_votes};
use crate::{
    agreement::Guard,
    diagnosis::{facts::ServerFacts, mode::HELLO},
};

/// What locks do without.
pub(super) fn is_spared(right: &str, guard: Guard) -> bool {
    [HELLO, "+client|tracking", "+client|caching", "+script|load"].contains(&right)
        || right == "+info" && guard == Guard::Off
}

/// Without which there is no vote.
pub(super) fn missing(server: &ServerFacts, options: &Options) -> Option<Finding> {
    let guard = options.guard;
    if !lacks_votes(server, guard) {
        return None;
    }
    let lacking = server.lacking.as_ref()?;
    let list = lacking.join(" ");
    let needed: Vec<_> = lacking
        .iter()
        .filter(|right| !is_spared(right, guard))
        .collect();
    let is_all = |rights: &[&str]| needed.iter().all(|right| rights.contains(&right.as_str()));
    let otherwise = if is_all(&["+info"]) {
        "; or, where a service forbids it, restart guard off, which does without INFO and sees no restart, failover or \
         eviction"
    } else if is_all(&["+eval", "+evalsha"]) && !options.is_plain {
        "; or, in a program, plain locks (`build_plain`): on Valkey 9.0, Redis 8.4 or newer they need no scripts, and they have \
         neither fencing tokens nor a restart guard"
    } else {
        ""
    };
    Some(finding(
        Weight::Problem,
        format!("its user lacks rights: {list}"),
        "a vote needs them",
        &format!("{}{otherwise}", allow(&list)),
    ))
}

/// What locks do without, and what that costs.
pub(super) fn lost(server: &ServerFacts, guard: Guard) -> Vec<Finding> {
    if lacks_votes(server, guard) {
        return Vec::new();
    }
    let lacking = server.lacking.iter().flatten();
    let costs = |right: &str| match right {
        HELLO => {
            "nobody is told when a lock becomes free or its key is deleted: waiters poll, and a holder hears of it with its \
             next extension; and each lock is asked for in a call of its own, in case a proxy stands there that spreads its \
             keys over servers"
        }
        "+client|tracking" | "+client|caching" => {
            "nobody is told when a lock becomes free or its key is deleted: waiters poll, and a holder hears of it with its next extension"
        }
        "+script|load" => {
            "scripts are sent along with the first requests that need them; otherwise the same"
        }
        _ => {
            "with restart guard off it is not needed, and nobody can see whether the server evicts locks"
        }
    };
    let mut found: Vec<Finding> = Vec::new();
    for right in lacking {
        let why = costs(right);
        match found.iter_mut().find(|finding| finding.why == why) {
            Some(finding) => {
                finding.what = format!("{} {right}", finding.what);
                finding.remedy = format!("{} {right}", finding.remedy);
            }
            None => found.push(finding(
                Weight::Note,
                format!("its user lacks rights: {right}"),
                why,
                &allow(right),
            )),
        }
    }
    found
}

fn allow(list: &str) -> String {
    format!("undo any rename-command on the server, and then ACL SETUSER … {list}")
}

/// Nobody knows here whether anybody wants such a lock.
pub(super) fn for_fair(server: &ServerFacts) -> Option<Finding> {
    let lacking = server.lacking_for_fair.as_ref()?;
    if lacking.is_empty() {
        return None;
    }
    let list = lacking.join(" ");
    // All of them need keys, and those who share a lock commands as well.
    let (kinds, why) = match lacking.iter().any(|right| right.starts_with('~')) {
        true => (
            "fair locks, readers and permits",
            "without them it does not vote for `--fair`, `--shared` and `--permits`; other locks do not need them",
        ),
        false => (
            "readers and permits",
            "without them it does not vote for `--shared` and `--permits`; other locks do not need them",
        ),
    };
    Some(finding(
        Weight::Note,
        format!("its user lacks rights for {kinds}: {list}"),
        why,
        &format!("if there are such locks, on the server: ACL SETUSER … {list}"),
    ))
}

/// Nobody knows here which keys locks have.
pub(super) fn keys(server: &ServerFacts) -> Option<Finding> {
    let key = server.out_of_reach.as_ref()?;
    Some(finding(
        Weight::Note,
        format!("its user may use some keys only, and not {key:?}"),
        "it votes for no lock whose key its user may not use; which locks there are is not known here",
        "ask about a lock of yours: `leasehold status RESOURCE`",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const fn options(guard: Guard) -> Options {
        Options {
            ttl: Duration::from_secs(10),
            clock_skew: Duration::ZERO,
            guard,
            is_plain: false,
            replicated: None,
            on_disk: None,
        }
    }

    fn server(lacking: &[&str]) -> ServerFacts {
        let lacking = lacking.iter().map(|right| (*right).to_owned());
        ServerFacts {
            lacking: Some(lacking.collect()),
            ..ServerFacts::default()
        }
    }

    #[test]
    fn what_is_lost_is_told_once_for_each_loss() {
        let lacking = [
            "+client|tracking",
            "+client|caching",
            "+script|load",
            "+info",
        ];
        let found = lost(&server(&lacking), Guard::Off);
        let what: Vec<_> = found.iter().map(|finding| finding.what.as_str()).collect();
        assert_eq!(
            what,
            [
                "its user lacks rights: +client|tracking +client|caching",
                "its user lacks rights: +script|load",
                "its user lacks rights: +info",
            ]
        );
        assert!(
            found[0]
                .remedy
                .ends_with("+client|tracking +client|caching")
        );
        assert!(missing(&server(&lacking), &options(Guard::Off)).is_none());
        // Where there is no vote, nothing else matters.
        assert_eq!(lost(&server(&lacking), Guard::Quarantine), []);
    }

    #[test]
    fn a_way_out_is_told_where_there_is_one() {
        let remedy = |lacking: &[&str]| {
            let found = missing(&server(lacking), &options(Guard::Quarantine));
            found.expect("a vote needs it").remedy
        };
        assert!(remedy(&["+info"]).contains("restart guard off"));
        assert!(remedy(&["+info", "+hello"]).contains("restart guard off"));
        assert!(remedy(&["+eval", "+script|load"]).contains("plain locks"));
        for lacking in [&["+info", "+hset"][..], &["+pexpire"], &["+info", "+eval"]] {
            let told = remedy(lacking);
            assert!(
                !told.contains("restart guard") && !told.contains("plain"),
                "{told}"
            );
        }
    }
}
