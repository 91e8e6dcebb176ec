//! Who leads, told with every change.

use crate::{
    args::elect::ElectArguments, exit::Exit, failure::Failure, nodes::Nodes, output,
    told_lease::json_text,
};
use leasehold::{FencingToken, Holder, Inspection, Owner};
use std::time::Duration;
use tokio::{
    select,
    time::{Instant, sleep_until},
};

/// What is known of the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Leader {
    /// A quorum names this one, whose term is this one at most if that is known.
    Known(Owner, Option<FencingToken>),
    /// A quorum has nobody.
    Nobody,
    /// Too few nodes answered, or they do not agree: somebody may be about to lead.
    Unknown,
}

/// Looks on until a signal ends the process: there is nothing to give back.
pub(super) async fn run(nodes: &Nodes, arguments: &ElectArguments) -> Result<Exit, Failure> {
    let lock = &arguments.lock;
    let builder = nodes.to_look_at(&lock.place.agreement)?;
    let watcher = builder.operator();
    let watcher = watcher.and_then(|operator| operator.look_on(lock.resource().as_str()));
    let mut watcher = watcher.map_err(|error| nodes.wrong(&error))?;
    let (mut told, mut sight) = (None, Sight::begin(Instant::now()));
    loop {
        select! {
            biased;
            seen = watcher.next() => {
                let seen = seen.ok_or_else(|| Failure::own("cannot look on: the thread behind it has ended"))?;
                sight.see(Leader::of(&seen), Instant::now());
            }
            () = sleep_until(sight.settles()), if told.as_ref() != Some(&sight.leader) => {
                let leader = &sight.leader;
                output::data(match arguments.json {
                    true => leader.json(lock.resource().as_str()),
                    false => leader.line(),
                })?;
                told = Some(leader.clone());
            }
        }
    }
}

/// What is known of the leader, and since when.
struct Sight {
    leader: Leader,
    since: Instant,
    /// Who led last.
    last: Option<Known>,
}

/// Somebody who leads, or did.
struct Known {
    owner: Owner,
    term: Option<FencingToken>,
    since: Instant,
}

impl Sight {
    const fn begin(now: Instant) -> Self {
        Self {
            leader: Leader::Unknown,
            since: now,
            last: None,
        }
    }

    fn see(&mut self, seen: Leader, now: Instant) {
        if let Leader::Known(owner, term) = seen {
            // Who was out of sight for a while is the one it was.
            let last = self.last.take().filter(|last| last.owner == owner);
            let mut known = last.unwrap_or(Known {
                owner,
                term,
                since: now,
            });
            // Later it is other locks that are counted.
            if now < known.since + DOUBT {
                known.term = known.term.max(term);
            }
            self.leader = Leader::Known(known.owner.clone(), known.term);
            self.since = known.since;
            self.last = Some(known);
        } else if seen != self.leader {
            (self.leader, self.since) = (seen, now);
        }
    }

    /// When it is to be told.
    fn settles(&self) -> Instant {
        match self.leader {
            // A new holder is on some nodes before the others, and that is no news.
            Leader::Unknown => self.since + DOUBT,
            _ => self.since,
        }
    }
}

impl Leader {
    fn of(seen: &Inspection) -> Self {
        match seen.holder() {
            Some(owner) => Self::Known(owner.clone(), seen.token_at_most()),
            None if seen.is_free() => Self::Nobody,
            None => Self::Unknown,
        }
    }

    fn line(&self) -> String {
        match self {
            Self::Known(owner, term) => {
                let term = term.map(|term| format!(", term {term} at most"));
                let term = term.unwrap_or_default();
                format!("led by {}{term}", Holder::of(owner))
            }
            Self::Nobody => "led by nobody".to_owned(),
            Self::Unknown => "not known".to_owned(),
        }
    }

    fn json(&self, resource: &str) -> String {
        let resource = json_text(resource);
        let (state, owner, term) = match self {
            Self::Known(owner, term) => ("led", Some(owner), *term),
            Self::Nobody => ("free", None, None),
            Self::Unknown => ("unknown", None, None),
        };
        let or_null = |text: Option<String>| text.unwrap_or_else(|| "null".to_owned());
        // Another program's value may be anything.
        let owner = owner.filter(|owner| owner.is_usual());
        let owner = or_null(owner.map(|owner| json_text(&owner.to_string())));
        let term = or_null(term.map(|term| term.to_string()));
        format!(
            "{{\"resource\":{resource},\"state\":\"{state}\",\"owner\":{owner},\"term_at_most\":{term}}}"
        )
    }
}

/// For how long nobody may be known to lead before that is told, and for how long what nodes have counted may be of a
/// leader that is new.
const DOUBT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_leaders_term_may_still_grow_and_one_that_is_known_is_left_as_it_is() {
        let owner = Owner::from_bytes(b"a").expect("a few bytes");
        let leader = |term| Leader::Known(owner.clone(), FencingToken::new(term));
        let begun = Instant::now();
        let after = |millis| begun + Duration::from_millis(millis);
        let mut sight = Sight::begin(begun);
        assert_eq!(sight.settles(), begun + DOUBT);
        for (millis, seen, expected) in [
            (10, 5, 5),
            (20, 7, 7),
            (30, 6, 7),
            (1_009, 8, 8),
            (1_010, 9, 8),
        ] {
            sight.see(leader(seen), after(millis));
            assert_eq!(sight.leader, leader(expected), "after {millis} ms");
            assert_eq!(sight.settles(), after(10));
        }
        // Too few nodes answer for a moment, and others were counted meanwhile.
        sight.see(Leader::Unknown, after(2_000));
        assert_eq!(sight.settles(), after(3_000));
        sight.see(leader(900), after(2_100));
        assert_eq!((&sight.leader, sight.settles()), (&leader(8), after(10)));
        sight.see(Leader::Nobody, after(4_000));
        let next = Owner::from_bytes(b"b").expect("a few bytes");
        let next = Leader::Known(next, None);
        sight.see(next.clone(), after(5_000));
        assert_eq!((sight.leader, sight.since), (next, after(5_000)));
    }

    #[test]
    fn a_leader_is_told_to_people_and_to_programs() {
        let digits = "a7".repeat(20);
        let owner = Owner::from_bytes(format!("{digits}.db1.7").as_bytes()).expect("a few bytes");
        let leaders = [
            (
                Leader::Known(owner.clone(), FencingToken::new(9)),
                "led by pid 7 on db1, term 9 at most",
                format!("\"led\",\"owner\":\"{digits}.db1.7\",\"term_at_most\":9"),
            ),
            (
                Leader::Known(owner, None),
                "led by pid 7 on db1",
                format!("\"led\",\"owner\":\"{digits}.db1.7\",\"term_at_most\":null"),
            ),
            (
                Leader::Nobody,
                "led by nobody",
                "\"free\",\"owner\":null,\"term_at_most\":null".to_owned(),
            ),
            (
                Leader::Unknown,
                "not known",
                "\"unknown\",\"owner\":null,\"term_at_most\":null".to_owned(),
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
