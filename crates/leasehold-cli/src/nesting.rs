//! Commands that run under a lock and ask for locks themselves.
//!
//! A lock is not given twice, not even to a command that runs under it: it would wait for its own end. So every
//! command is told of the owners that it runs under, and a leasehold that finds one of them to be the holder says so at once.

use crate::{exit_code, failure::Failure, held_lease::HeldLease};
use leasehold::{Owner, Resource};
use std::env;

/// The variable that has the digits of the owners around a command, the outermost first, with spaces between.
const OWNERS: &str = "LEASEHOLD_OWNERS";

/// The variable that has the shares and permits around a command, a line each: the name, and the owner behind a tab, neither of
/// which has one in it. Nodes do not tell who has them, so who asks for one of these names has to ask for its own.
const SHARES: &str = "LEASEHOLD_SHARES";

/// The owners that this process runs under.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nesting {
    digits: Vec<String>,
    /// Names, each with the owner of the share or permit.
    shares: Vec<(String, String)>,
}

impl Nesting {
    /// As the environment has it.
    pub(crate) fn of_this_process() -> Self {
        let variable = |name| env::var(name).unwrap_or_default();
        Self::of(&variable(OWNERS), &variable(SHARES))
    }

    fn of(owners: &str, shares: &str) -> Self {
        let digits = owners.split_ascii_whitespace().map(str::to_owned);
        // Whatever set the variable, it does not grow without end.
        let digits = digits.take(MOST).collect();
        let shares = shares.lines().filter_map(|line| line.split_once('\t'));
        let shares = shares.map(|(name, owner)| (name.to_owned(), owner.to_owned()));
        let shares = shares.take(MOST).collect();
        Self { digits, shares }
    }

    /// Whether this process runs under any lock.
    pub(crate) fn is_none(&self) -> bool {
        self.digits.is_empty()
    }

    /// Whether this owner's lock is around this process.
    pub(crate) fn has(&self, owner: &Owner) -> bool {
        self.digits.contains(&digits(owner))
    }

    /// The owners of shares and permits of this name that are around this process.
    pub(crate) fn shares_of(&self, name: &str) -> impl Iterator<Item = Owner> {
        let of_name = self.shares.iter().filter(move |(other, _)| other == name);
        of_name.filter_map(|(_, owner)| Owner::from_bytes(owner.as_bytes()))
    }

    /// The variable, for a command that runs under this lease as well.
    pub(crate) fn owners(&self, guard: &HeldLease) -> (&'static str, Option<String>) {
        let mut all = self.digits.clone();
        all.push(digits(guard.owner()));
        (OWNERS, Some(all.join(" ")))
    }

    /// The variable of shares and permits, likewise.
    pub(crate) fn shares(&self, guard: &HeldLease) -> (&'static str, Option<String>) {
        let line = |(name, owner): &(String, String)| format!("{name}\t{owner}");
        let mut all: Vec<String> = self.shares.iter().map(line).collect();
        if guard.resource().is_part() {
            let own = (guard.resource().to_string(), guard.owner().to_string());
            all.push(line(&own));
        }
        (SHARES, (!all.is_empty()).then(|| all.join("\n")))
    }
}

/// The end of who asks for a lock that it runs under.
pub(crate) fn failure(resource: &Resource) -> Failure {
    let text = format!(
        "cannot lock {}: this command already runs under that lock, and would wait for itself",
        resource.quoted()
    );
    Failure::new(exit_code::USAGE, text)
        .hint("remove the inner `leasehold`, or give its lock another name".to_owned())
}

/// What tells owners apart: all of a foreign one.
fn digits(owner: &Owner) -> String {
    let text = owner.to_string();
    text.split('.').next().unwrap_or_default().to_owned()
}

/// More locks than anybody has around a command.
const MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_known_by_its_digits() {
        let nesting = Nesting::of(" aa11  bb22 ", "");
        let owner = |text: &str| Owner::from_bytes(text.as_bytes()).expect("a few bytes");
        assert!(nesting.has(&owner("bb22.db1.4711.nightly v1.2")));
        assert!(!nesting.has(&owner("bb2.db1.4711")));
        assert!(Nesting::of("", "").is_none());
        assert!(!Nesting::of("", "").has(&owner("x")));
        let reading = Nesting::of("aa11", "a b\taa11.db1.7.nightly run\nodd\nc\tdd44.db1.8");
        let shares: Vec<Owner> = reading.shares_of("a b").collect();
        assert_eq!(shares, [owner("aa11.db1.7.nightly run")]);
        assert_eq!(reading.shares_of("odd").count(), 0);
    }
}
