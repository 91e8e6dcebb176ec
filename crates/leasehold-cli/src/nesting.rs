//! Commands that run under a lock and ask for locks themselves.
//!
//! A lock is not given twice, not even to a command that runs under it: it would wait for its own end. So every
//! command is told of the owners that it runs under, and a leasehold that finds one of them to be the holder says so at once.

use crate::{exit_code, failure::Failure};
use leasehold::{LeaseGuard, Owner, Resource};
use std::env;

/// The variable that has the digits of the owners around a command, the outermost first, with spaces between.
const OWNERS: &str = "LEASEHOLD_OWNERS";

/// The owners that this process runs under.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nesting {
    digits: Vec<String>,
}

impl Nesting {
    /// As the environment has it.
    pub(crate) fn of_this_process() -> Self {
        Self::of(&env::var(OWNERS).unwrap_or_default())
    }

    fn of(text: &str) -> Self {
        let digits = text.split_ascii_whitespace().map(str::to_owned);
        // Whatever set the variable, it does not grow without end.
        let digits = digits.take(MOST).collect();
        Self { digits }
    }

    /// Whether this process runs under any lock.
    pub(crate) fn is_none(&self) -> bool {
        self.digits.is_empty()
    }

    /// Whether this owner's lock is around this process.
    pub(crate) fn has(&self, owner: &Owner) -> bool {
        self.digits.contains(&digits(owner))
    }

    /// The variable, for a command that runs under this lease as well.
    pub(crate) fn variable(&self, guard: &LeaseGuard) -> (&'static str, String) {
        let mut all = self.digits.clone();
        all.push(digits(guard.owner()));
        (OWNERS, all.join(" "))
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
        let nesting = Nesting::of(" aa11  bb22 ");
        let owner = |text: &str| Owner::from_bytes(text.as_bytes()).expect("a few bytes");
        assert!(nesting.has(&owner("bb22.db1.4711.nightly v1.2")));
        assert!(!nesting.has(&owner("bb2.db1.4711")));
        assert!(Nesting::of("").is_none());
        assert!(!Nesting::of("").has(&owner("x")));
    }
}
