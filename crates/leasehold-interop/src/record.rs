//! What came of trying a peer.

use crate::{
    check::{Check, Scenario},
    crowd::TWO_HELD,
    differences::{Differences, Expected},
    mix::Figures,
    ours::Kind,
    peer::Peer,
};

/// A peer against one kind of our locks.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) peer: &'static Peer,
    pub(crate) kind: Kind,
    pub(crate) findings: Vec<Finding>,
    pub(crate) figures: Option<Figures>,
    /// What is said where a lock of another kind stands: each once.
    pub(crate) said: Vec<String>,
}

/// One check.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) check: &'static Check,
    pub(crate) verdict: Verdict,
}

/// What came of a check. The best is the least.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Ok,
    /// Otherwise, as was expected.
    Differs {
        what: String,
        reason: String,
    },
    /// A difference was expected and did not occur.
    Stale {
        reason: String,
    },
    Failed {
        what: String,
    },
}

impl Verdict {
    /// Of what a check found, and what was expected.
    pub(crate) fn of(found: Result<(), String>, expected: Option<Expected<'_>>) -> Self {
        match (found, expected) {
            (Ok(()), Some(expected)) if !expected.is_rare => Self::Stale {
                reason: expected.reason.to_owned(),
            },
            (Ok(()), _) => Self::Ok,
            // No reason makes this good.
            (Err(what), Some(_)) if what.starts_with(TWO_HELD) => Self::Failed { what },
            (Err(what), Some(expected)) => Self::Differs {
                what,
                reason: expected.reason.to_owned(),
            },
            (Err(what), None) => Self::Failed { what },
        }
    }

    pub(crate) const fn is_failure(&self) -> bool {
        matches!(self, Self::Stale { .. } | Self::Failed { .. })
    }

    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Differs { .. } => "differs",
            Self::Stale { .. } => "STALE",
            Self::Failed { .. } => "FAILED",
        }
    }
}

impl Record {
    /// The worst of a scenario. None if it does not make sense for the peer.
    pub(crate) fn worst(&self, scenario: Scenario) -> Option<&Verdict> {
        let findings = self.findings.iter();
        findings
            .filter(|finding| finding.check.scenario == scenario)
            .map(|finding| &finding.verdict)
            .max()
    }

    /// Keeps what is said, unless it was said before.
    pub(crate) fn note(&mut self, said: Vec<String>) {
        for words in said {
            if !self.said.contains(&words) {
                self.said.push(words);
            }
        }
    }

    /// Adds what a check found.
    pub(crate) fn add(
        &mut self,
        check: &'static Check,
        found: Result<(), String>,
        differences: &Differences,
    ) {
        let verdict = Verdict::of(found, differences.expected(self.peer, check));
        self.findings.push(Finding { check, verdict });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expected_difference_must_occur_and_nothing_else_may() {
        let failed = || Err("x".to_owned());
        let known = |is_rare| {
            let reason = "known";
            Some(Expected { reason, is_rare })
        };
        assert_eq!(Verdict::of(Ok(()), None).word(), "ok");
        assert_eq!(Verdict::of(failed(), known(false)).word(), "differs");
        assert_eq!(Verdict::of(failed(), known(true)).word(), "differs");
        assert_eq!(Verdict::of(failed(), None).word(), "FAILED");
        assert_eq!(Verdict::of(Ok(()), known(false)).word(), "STALE");
        assert_eq!(Verdict::of(Ok(()), known(true)).word(), "ok");
        assert!(Verdict::of(Ok(()), known(false)).is_failure());
        assert!(!Verdict::of(failed(), known(false)).is_failure());
    }

    #[test]
    fn that_two_held_at_once_is_excused_by_nothing() {
        let found = Err(format!("{TWO_HELD}: 3 turns counted to 2"));
        let expected = Expected {
            reason: "known",
            is_rare: true,
        };
        assert!(Verdict::of(found, Some(expected)).is_failure());
    }

    #[test]
    fn the_worst_counts() {
        let verdicts = [
            Verdict::Failed {
                what: String::new(),
            },
            Verdict::Ok,
            Verdict::Differs {
                what: String::new(),
                reason: String::new(),
            },
        ];
        assert_eq!(verdicts.iter().max().map(Verdict::word), Some("FAILED"));
        assert_eq!(
            verdicts[1..].iter().max().map(Verdict::word),
            Some("differs")
        );
    }
}
