//! Nodes that tell nothing: why, and what helps against that.

use super::{Finding, Patient, Weight, hangs};
use crate::{diagnosis::facts::NodeState, judgement::Judgement};

/// A finding for each cause, of all nodes that it keeps silent.
pub(super) fn found(patient: &Patient) -> Vec<Finding> {
    let mut causes: Vec<(Cause<'_>, Vec<String>)> = Vec::new();
    for node in patient.parts() {
        if let NodeState::Silent(why) = &node.state {
            let cause = Cause::of(why);
            match causes.iter_mut().find(|(other, _)| *other == cause) {
                Some((_, nodes)) => nodes.push(node.name.clone()),
                None => causes.push((cause, vec![node.name.clone()])),
            }
        }
    }
    let finding = |(cause, nodes): (Cause<'_>, Vec<String>)| {
        let is_one = nodes.len() == 1;
        Finding {
            weight: Weight::Problem,
            what: cause.what(is_one),
            why: why(patient.judgement(), is_one),
            remedy: cause.remedy(is_one).to_owned(),
            nodes,
        }
    };
    causes.into_iter().map(finding).collect()
}

/// By what the library says of a node. The lines of the nodes have its words in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause<'a> {
    NoPassword,
    WrongPassword,
    Hangs,
    Refused,
    UnknownName,
    NoTls,
    Other(&'a str),
}

impl<'a> Cause<'a> {
    fn of(why: &'a str) -> Self {
        match why {
            _ if why.starts_with("needs a password") => Self::NoPassword,
            _ if why.starts_with("authentication failed") => Self::WrongPassword,
            _ if why.starts_with("TLS took") => Self::NoTls,
            _ if hangs(why) => Self::Hangs,
            "connection refused" => Self::Refused,
            _ if why.contains("could not be resolved") || why.ends_with("has no address") => {
                Self::UnknownName
            }
            _ => Self::Other(why),
        }
    }

    fn what(self, is_one: bool) -> String {
        let (needs, does) = match is_one {
            true => ("needs", "does"),
            false => ("need", "do"),
        };
        match self {
            Self::NoPassword => format!("{needs} a password"),
            Self::WrongPassword => "authentication failed".to_owned(),
            Self::Hangs => format!("{does} not answer"),
            Self::Refused => "cannot be reached: connection refused".to_owned(),
            Self::UnknownName => {
                "cannot be reached: the host's name has no known address".to_owned()
            }
            Self::NoTls => format!("{does} not answer when TLS begins"),
            Self::Other(why) => format!("cannot be used: {why}"),
        }
    }

    const fn remedy(self, is_one: bool) -> &'static str {
        match (self, is_one) {
            (Self::NoPassword, true) => {
                "give the password in its address: redis://:PASSWORD@HOST, or redis://USER:PASSWORD@HOST"
            }
            (Self::NoPassword, false) => {
                "give the password in their addresses: redis://:PASSWORD@HOST, or redis://USER:PASSWORD@HOST"
            }
            (Self::WrongPassword, true) => "correct the user or the password in its address",
            (Self::WrongPassword, false) => "correct the user or the password in their addresses",
            (Self::Hangs, true) => {
                "see whether its process is stopped or overloaded, and whether a firewall drops what is sent to it"
            }
            (Self::Hangs, false) => {
                "see whether their processes are stopped or overloaded, and whether a firewall drops what is sent to them"
            }
            (Self::Refused, true) => "start it, or correct its address",
            (Self::Refused, false) => "start them, or correct their addresses",
            (Self::UnknownName, true) => {
                "correct the host in its address, or this machine's name service"
            }
            (Self::UnknownName, false) => {
                "correct the hosts in their addresses, or this machine's name service"
            }
            (Self::NoTls, true) => {
                "if it does not speak TLS on this port, write redis:// in its address; else see whether its process is stopped"
            }
            (Self::NoTls, false) => {
                "if they do not speak TLS on these ports, write redis:// in their addresses; else see whether they are stopped"
            }
            (Self::Other(_), true) => "correct what it says, or its address",
            (Self::Other(_), false) => "correct what they say, or their addresses",
        }
    }
}

fn why(judgement: Judgement, is_one: bool) -> &'static str {
    match (judgement, is_one) {
        (Judgement::Now { .. }, true) => "it does not vote, so fewer other nodes may fail",
        (Judgement::Now { .. }, false) => "they do not vote, so fewer other nodes may fail",
        (Judgement::NotInSlots(_), true) => {
            "it does not vote, and too few others do for some names: no lock of these can be acquired"
        }
        (Judgement::NotInSlots(_), false) => {
            "they do not vote, and too few others do for some names: no lock of these can be acquired"
        }
        (_, true) => "it does not vote, and too few others do: no lock can be acquired",
        (_, false) => "they do not vote, and too few others do: no lock can be acquired",
    }
}
