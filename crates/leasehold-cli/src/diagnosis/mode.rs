//! Which lock a server gives: what results from what it lets its user do.

use super::{
    Options,
    facts::{ServerFacts, VoteFacts},
    findings,
};
use crate::{agreement::Guard, json::Json};
use std::fmt::{self, Display, Formatter};

/// How locks are kept on a server that can keep them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    guard: Guard,
    /// Whether waiters are told when a lock becomes free.
    tells_waiters: bool,
    /// Whether scripts are loaded when a connection is opened.
    loads_scripts: bool,
    /// Whether several locks are asked for in one call.
    takes_several: bool,
}

impl Mode {
    /// None if no lock can be had there as it is, if it did not tell enough, and for plain locks, which are all alike.
    pub(crate) fn of(server: &ServerFacts, options: &Options) -> Option<Self> {
        let guard = options.guard;
        let lacking = server.lacking.as_ref()?;
        let lacks = |right: &str| lacking.iter().any(|other| other == right);
        let is_refused = match &server.vote {
            VoteFacts::Unsuitable(_) => true,
            VoteFacts::NotTold(_) => !findings::votes(server, options),
            _ => !findings::can_vote(server, options),
        };
        let is_old = server.is_proxied || lacks(HELLO);
        let is_tracked = !lacks("+client|tracking") && !lacks("+client|caching");
        (!is_refused && !options.is_plain).then_some(Self {
            guard,
            tells_waiters: !is_old && is_tracked,
            loads_scripts: !server.is_proxied && !lacks("+script|load"),
            takes_several: !is_old,
        })
    }

    pub(crate) fn json(self) -> Json {
        let either = |is_so, yes, no| if is_so { yes } else { no };
        Json::Object(vec![
            ("restart_guard", name(self.guard).into()),
            ("waiters", either(self.tells_waiters, "told", "poll").into()),
            (
                "scripts",
                either(self.loads_scripts, "loaded", "sent").into(),
            ),
            (
                "locks_per_call",
                either(self.takes_several, "several", "one").into(),
            ),
        ])
    }
}

impl Display for Mode {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "mode: restart guard {}", name(self.guard))?;
        out.write_str(match self.tells_waiters {
            true => ", waiters are told",
            false => ", waiters poll",
        })?;
        if !self.loads_scripts {
            out.write_str(", scripts are sent")?;
        }
        if !self.takes_several {
            out.write_str(", one lock a call")?;
        }
        Ok(())
    }
}

const fn name(guard: Guard) -> &'static str {
    match guard {
        Guard::Quarantine => "quarantine",
        Guard::TrustAof => "trust-aof",
        Guard::Off => "off",
    }
}

/// The right to speak the newer protocol, in which a server tells of changes.
pub(crate) const HELLO: &str = "+hello";

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const fn guarded(guard: Guard) -> Options {
        Options {
            ttl: Duration::from_secs(10),
            clock_skew: Duration::ZERO,
            guard,
            is_plain: false,
            replicated: None,
            on_disk: None,
        }
    }

    fn mode(lacking: &[&str], guard: Guard) -> Option<String> {
        let lacking = lacking.iter().map(|right| (*right).to_owned());
        let server = ServerFacts {
            lacking: Some(lacking.collect()),
            ..ServerFacts::default()
        };
        Mode::of(&server, &guarded(guard)).map(|mode| mode.to_string())
    }

    #[test]
    fn what_is_lacking_decides_what_is_left() {
        let guard = Guard::Quarantine;
        let mode = |lacking: &[&str]| mode(lacking, guard);
        let told = |rest: &str| Some(format!("mode: restart guard quarantine, {rest}"));
        assert_eq!(mode(&[]), told("waiters are told"));
        assert_eq!(mode(&["+client|tracking"]), told("waiters poll"));
        assert_eq!(mode(&["+client|caching"]), told("waiters poll"));
        assert_eq!(mode(&["+hello"]), told("waiters poll, one lock a call"));
        let sent = told("waiters are told, scripts are sent");
        assert_eq!(mode(&["+script|load"]), sent);
        for needed in ["+info", "+eval", "+evalsha", "+pexpire"] {
            assert_eq!(mode(&[needed]), None, "{needed}");
        }
    }

    #[test]
    fn without_a_guard_nobody_needs_to_look() {
        let off = Some("mode: restart guard off, waiters are told".to_owned());
        assert_eq!(mode(&["+info"], Guard::Off), off);
        assert_eq!(mode(&["+pexpire"], Guard::Off), None);
    }

    #[test]
    fn a_proxy_leaves_the_least_and_who_is_unfit_has_no_mode() {
        let proxied = ServerFacts {
            lacking: Some(Vec::new()),
            is_proxied: true,
            ..ServerFacts::default()
        };
        let told = Mode::of(&proxied, &guarded(Guard::TrustAof)).map(|mode| mode.to_string());
        let least =
            "mode: restart guard trust-aof, waiters poll, scripts are sent, one lock a call";
        assert_eq!(told.as_deref(), Some(least));
        let unfit = ServerFacts {
            vote: VoteFacts::Unsuitable("is a replica".to_owned()),
            ..proxied
        };
        assert_eq!(Mode::of(&unfit, &guarded(Guard::Quarantine)), None);
        assert_eq!(
            Mode::of(&ServerFacts::default(), &guarded(Guard::Off)),
            None,
            "not told"
        );
    }

    #[test]
    fn a_server_whose_votes_do_not_count_for_want_of_copies_has_no_mode() {
        let alone = ServerFacts {
            lacking: Some(Vec::new()),
            replicas: Some(0),
            ..ServerFacts::default()
        };
        let replicated = Options {
            replicated: Some(1),
            ..guarded(Guard::Quarantine)
        };
        assert!(Mode::of(&alone, &guarded(Guard::Quarantine)).is_some());
        assert_eq!(Mode::of(&alone, &replicated), None);
    }
}
