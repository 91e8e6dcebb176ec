//! Who leads, told with every change.

use crate::{
    args::elect::ElectArguments, exit_code, failure::Failure, label::Holder, output,
    signals::Signals, told_lease::json_text,
};
use leasehold::{Inspection, LockManager, Owner};
use tokio::{select, time::sleep};

/// What is known of the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Leader {
    /// A quorum names this one.
    Known(Owner),
    /// A quorum has nobody.
    Nobody,
    /// Too few nodes answered, or they do not agree: somebody may be about to lead.
    Unknown,
}

/// Looks on until a signal comes.
pub(super) async fn run(
    manager: &LockManager,
    arguments: &ElectArguments,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    let resource = &arguments.lock.resource;
    let mut told = None;
    loop {
        let looked = async {
            let seen = manager.inspect(resource).await;
            seen.map_err(|error| Failure::own(format!("cannot {error}")))
        };
        let leader = select! {
            biased;
            _ = signals.next_end() => return Ok(exit_code::SUCCESS),
            seen = looked => Leader::of(&seen?),
        };
        if told.as_ref() != Some(&leader) {
            output::data(if arguments.json {
                leader.json(resource)
            } else {
                leader.line()
            });
            told = Some(leader);
        }
        select! {
            biased;
            _ = signals.next_end() => return Ok(exit_code::SUCCESS),
            () = sleep(arguments.every) => {}
        }
    }
}

impl Leader {
    fn of(seen: &Inspection) -> Self {
        match seen.holder() {
            Some(owner) => Self::Known(owner.clone()),
            None if seen.is_free() => Self::Nobody,
            None => Self::Unknown,
        }
    }

    fn line(&self) -> String {
        match self {
            Self::Known(owner) => format!("led by {}", Holder::of(owner.as_bytes())),
            Self::Nobody => "led by nobody".to_owned(),
            Self::Unknown => "not known".to_owned(),
        }
    }

    fn json(&self, resource: &str) -> String {
        let resource = json_text(resource);
        let (state, owner) = match self {
            Self::Known(owner) => ("led", json_text(&owner.to_string())),
            Self::Nobody => ("free", "null".to_owned()),
            Self::Unknown => ("unknown", "null".to_owned()),
        };
        format!("{{\"resource\":{resource},\"state\":\"{state}\",\"owner\":{owner}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_is_told_to_people_and_to_programs() {
        let digits = "a7".repeat(20);
        let owner = Owner::from_bytes(format!("{digits}.db1.7").as_bytes()).expect("a few bytes");
        let leaders = [
            (
                Leader::Known(owner),
                "led by pid 7 on db1",
                format!("\"led\",\"owner\":\"{digits}.db1.7\""),
            ),
            (
                Leader::Nobody,
                "led by nobody",
                "\"free\",\"owner\":null".to_owned(),
            ),
            (
                Leader::Unknown,
                "not known",
                "\"unknown\",\"owner\":null".to_owned(),
            ),
        ];
        for (leader, line, json) in leaders {
            assert_eq!(leader.line(), line);
            assert_eq!(
                leader.json("s"),
                format!("{{\"resource\":\"s\",\"state\":{json}}}")
            );
        }
    }
}
