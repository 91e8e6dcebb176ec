//! What is tried: the table of scenarios.

use std::time::Duration;

/// A way to be disturbed, and whether that must be survived.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) law: Law,
    pub(crate) clients: Kind,
    pub(crate) nodes: usize,
    pub(crate) ttl: Duration,
    /// Whether nodes write everything to disk before they answer.
    pub(crate) durable: bool,
    /// Whether proxies stand between clients and nodes.
    pub(crate) proxied: bool,
    pub(crate) strikes: &'static [Strike],
}

/// What must come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Law {
    /// Nobody ever holds together with another. The control shows that the disturbance is strong enough
    /// for a defence to matter, and that the checker sees.
    Lawful { control: &'static str },
    /// A defence is off: overlaps must be found.
    Control,
}

/// Which program the clients are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The library, used as it is meant to be.
    Careful,
    /// A small client of its own without one of the library's defences.
    Reckless(Missing),
}

/// The defence that a reckless client does without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Deletes keys at its start without comparing the owner (Argument S3).
    Comparison,
    /// Never looks at its validity again (Argument S6).
    Deadline,
    /// Counts validity from the replies instead of from before the send (Argument S2).
    SendTime,
    /// Signs all its attempts with one owner (Argument S8).
    FreshOwner,
}

/// What the nemesis does, over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strike {
    /// `kill -9` of clients, which are started again.
    KillClients,
    /// SIGSTOP of clients, often beyond the TTL, and SIGCONT.
    StopClients,
    /// `kill -9` of servers, started again with their data.
    RestartWithData,
    /// `kill -9` of most servers, started again at once without their data (against assumption A3).
    RestartWithoutData,
    /// `kill -9` of servers, started again without their data after the longest TTL.
    RestartDelayed,
    /// Cuts, delays and swallows, by each proxy on its own.
    Network,
    /// SIGSTOP of servers and SIGCONT: what waits in their buffers acts late.
    HangServers,
}

impl Strike {
    /// As a person is told of it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::KillClients => "killed clients",
            Self::StopClients => "stopped clients",
            Self::RestartWithData => "restart with data",
            Self::RestartWithoutData => "restart without data",
            Self::RestartDelayed => "delayed restart",
            Self::Network => "bad network",
            Self::HangServers => "stopped servers",
        }
    }
}

impl Kind {
    pub(crate) const ALL: [(&'static str, Self); 5] = [
        ("careful", Self::Careful),
        ("without-comparison", Self::Reckless(Missing::Comparison)),
        ("without-deadline", Self::Reckless(Missing::Deadline)),
        ("without-send-time", Self::Reckless(Missing::SendTime)),
        ("without-fresh-owner", Self::Reckless(Missing::FreshOwner)),
    ];

    pub(crate) fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(_, kind)| *kind == self);
        named.map_or("", |(name, _)| name)
    }

    pub(crate) fn find(name: &str) -> Option<Self> {
        let named = Self::ALL.iter().find(|(other, _)| *other == name);
        named.map(|(_, kind)| *kind)
    }
}

impl Scenario {
    /// All, each lawful one before its control.
    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        ALL.iter()
    }

    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        Self::all().find(|scenario| scenario.name == name)
    }

    /// These scenarios and the controls of the lawful ones, in the order of the table, each once.
    pub(crate) fn with_controls(names: &[&str]) -> Vec<&'static Self> {
        let is_wanted = |scenario: &&Self| {
            names.contains(&scenario.name)
                || names.iter().any(|name| {
                    Self::find(name).is_some_and(|lawful| lawful.control() == Some(scenario.name))
                })
        };
        Self::all().filter(is_wanted).collect()
    }

    pub(crate) const fn control(&self) -> Option<&'static str> {
        match self.law {
            Law::Lawful { control } => Some(control),
            Law::Control => None,
        }
    }
}

const USUAL: Scenario = Scenario {
    name: "",
    about: "",
    law: Law::Control,
    clients: Kind::Careful,
    nodes: 3,
    ttl: Duration::from_millis(300),
    durable: false,
    proxied: false,
    strikes: &[],
};

/// Where what happens is measured in TTLs, a short one lets more happen.
const SHORT: Duration = Duration::from_millis(200);

static ALL: [Scenario; 13] = [
    Scenario {
        name: "kill-clients",
        about: "clients are killed with kill -9 and started again",
        law: Law::Lawful {
            control: "blind-tidying",
        },
        strikes: &[Strike::KillClients],
        ..USUAL
    },
    Scenario {
        name: "blind-tidying",
        about: "the same; a client deletes the keys when it starts, whoever owns them",
        clients: Kind::Reckless(Missing::Comparison),
        strikes: &[Strike::KillClients],
        ..USUAL
    },
    Scenario {
        name: "stop-clients",
        about: "clients are stopped, often beyond their TTL, and go on",
        law: Law::Lawful {
            control: "unwatched-deadline",
        },
        strikes: &[Strike::StopClients],
        ..USUAL
    },
    Scenario {
        name: "unwatched-deadline",
        about: "the same; a client that won never looks at its validity again",
        clients: Kind::Reckless(Missing::Deadline),
        strikes: &[Strike::StopClients],
        ..USUAL
    },
    Scenario {
        name: "restart-with-data",
        about: "servers are killed and restart at once with their data (appendfsync always)",
        law: Law::Lawful {
            control: "restart-without-data",
        },
        ttl: Duration::from_millis(400),
        durable: true,
        strikes: &[Strike::RestartWithData],
        ..USUAL
    },
    Scenario {
        name: "delayed-restart",
        about: "servers are killed and restart without data, after the longest TTL",
        law: Law::Lawful {
            control: "restart-without-data",
        },
        nodes: 5,
        ttl: Duration::from_millis(400),
        strikes: &[Strike::RestartDelayed],
        ..USUAL
    },
    Scenario {
        name: "restart-without-data",
        about: "most servers are killed and restart at once without their data",
        ttl: Duration::from_millis(400),
        strikes: &[Strike::RestartWithoutData],
        ..USUAL
    },
    Scenario {
        name: "network",
        about: "proxies cut, delay (also beyond the TTL), swallow and refuse",
        law: Law::Lawful {
            control: "validity-from-reply",
        },
        ttl: SHORT,
        proxied: true,
        strikes: &[Strike::Network],
        ..USUAL
    },
    Scenario {
        name: "validity-from-reply",
        about: "the same; a client counts its validity from the replies, not from before the send",
        clients: Kind::Reckless(Missing::SendTime),
        ttl: SHORT,
        proxied: true,
        strikes: &[Strike::Network],
        ..USUAL
    },
    Scenario {
        name: "hung-servers",
        about: "servers are stopped and go on, and act late on what waited",
        law: Law::Lawful {
            control: "reused-owner",
        },
        ttl: SHORT,
        strikes: &[Strike::HangServers],
        ..USUAL
    },
    Scenario {
        name: "reused-owner",
        about: "the same; a client signs all its attempts alike, and repeats releases that hung",
        clients: Kind::Reckless(Missing::FreshOwner),
        ttl: SHORT,
        strikes: &[Strike::HangServers],
        ..USUAL
    },
    Scenario {
        name: "everything",
        about: "all of the above that must be survived, at once",
        law: Law::Lawful {
            control: "everything-forgotten",
        },
        nodes: 5,
        durable: true,
        proxied: true,
        strikes: &[
            Strike::KillClients,
            Strike::StopClients,
            Strike::RestartWithData,
            Strike::RestartDelayed,
            Strike::Network,
            Strike::HangServers,
        ],
        ..USUAL
    },
    Scenario {
        name: "everything-forgotten",
        about: "the same; servers come back at once without their data",
        nodes: 5,
        proxied: true,
        strikes: &[
            Strike::KillClients,
            Strike::StopClients,
            Strike::RestartWithoutData,
            Strike::Network,
            Strike::HangServers,
        ],
        ..USUAL
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lawful_scenario_names_its_control() {
        for scenario in Scenario::all() {
            if let Some(name) = scenario.control() {
                let control = Scenario::find(name).expect("the control is in the table");
                assert_eq!(control.law, Law::Control);
                assert_eq!(scenario.clients, Kind::Careful);
            }
            assert!(!scenario.strikes.is_empty() && !scenario.about.is_empty());
        }
    }

    #[test]
    fn every_control_belongs_to_a_lawful_scenario() {
        for control in Scenario::all().filter(|scenario| scenario.law == Law::Control) {
            assert!(Scenario::all().any(|lawful| lawful.control() == Some(control.name)));
        }
    }

    #[test]
    fn a_lawful_scenario_brings_its_control() {
        let names = |asked: &[&str]| -> Vec<_> {
            let chosen = Scenario::with_controls(asked);
            chosen.iter().map(|scenario| scenario.name).collect()
        };
        assert_eq!(names(&["kill-clients"]), ["kill-clients", "blind-tidying"]);
        assert_eq!(names(&["blind-tidying"]), ["blind-tidying"]);
        assert_eq!(names(&["delayed-restart", "restart-with-data"]).len(), 3);
    }

    #[test]
    fn kinds_are_found_by_their_names() {
        for (name, kind) in Kind::ALL {
            assert_eq!((Kind::find(name), kind.name()), (Some(kind), name));
        }
    }
}
