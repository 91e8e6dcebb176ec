//! Whether the checks can fail at all: clients that break a rule must be found out.

use crate::{
    Fallible, campaign::Campaign, crowd::TWO_HELD, install::Installed, ours::Kind, peer::CONTROLS,
};
use std::time::Duration;

/// What came of a control.
#[derive(Debug)]
pub(crate) struct Proof {
    pub(crate) control: &'static str,
    /// The check that had to fail.
    pub(crate) check: &'static str,
    /// Why nothing is proved by it. None if it was found out.
    pub(crate) flaw: Option<String>,
}

/// Lets each control play against the checks that are there for it.
pub(crate) fn prove(campaign: &Campaign<'_>) -> Fallible<Vec<Proof>> {
    let campaign = Campaign {
        mix_for: campaign.mix_for.min(ENOUGH),
        ..*campaign
    };
    let mut proofs = Vec::new();
    for control in CONTROLS {
        let installed = Installed::get(control, campaign.target)?;
        let duties = DUTIES.iter().filter(|duty| duty.control == control.name);
        for duty in duties {
            let paths = [duty.check];
            let record = campaign.try_peer(&installed, Kind::Plain, |check| {
                paths.contains(&check.path().as_str())
            })?;
            let found = record.findings.first().map(|finding| &finding.verdict);
            proofs.push(Proof {
                control: duty.control,
                check: duty.check,
                flaw: duty.flaw(found),
            });
        }
    }
    Ok(proofs)
}

/// What must be said of a control.
#[derive(Debug)]
struct Duty {
    control: &'static str,
    check: &'static str,
    says: &'static str,
}

impl Duty {
    fn flaw(&self, found: Option<&crate::record::Verdict>) -> Option<String> {
        use crate::record::Verdict;
        match found {
            Some(Verdict::Failed { what }) if what.contains(self.says) => None,
            Some(Verdict::Failed { what }) => Some(format!("failed for another reason: {what}")),
            _ => Some("was not found out: the check is blind".to_owned()),
        }
    }
}

/// Two who do not see each other meet at once.
const ENOUGH: Duration = Duration::from_secs(5);

const DUTIES: [Duty; 5] = [
    Duty {
        control: "elsewhere",
        check: "exclude/theirs-keeps-us-out",
        says: "no quorum of the nodes has",
    },
    Duty {
        control: "elsewhere",
        check: "exclude/ours-keeps-them-out",
        says: "they are not refused",
    },
    Duty {
        control: "elsewhere",
        check: "mix/no-increment-is-lost",
        says: TWO_HELD,
    },
    Duty {
        control: "ruthless",
        check: "late-release/their-late-release-spares-ours",
        says: "our lock was taken from us",
    },
    Duty {
        control: "ruthless",
        check: "extend/their-late-extension-spares-ours",
        says: "they believe that they extended",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check::CHECKS, record::Verdict};

    #[test]
    fn every_duty_names_a_control_and_a_check() {
        for duty in &DUTIES {
            assert!(CONTROLS.iter().any(|control| control.name == duty.control));
            assert!(
                CHECKS.iter().any(|check| check.path() == duty.check),
                "{}",
                duty.check
            );
        }
        let is_used = |name| DUTIES.iter().any(|duty| duty.control == name);
        assert!(CONTROLS.iter().all(|control| is_used(control.name)));
    }

    #[test]
    fn a_control_must_fail_for_its_own_reason() {
        let duty = &DUTIES[2];
        let failed = |what: &str| Verdict::Failed {
            what: what.to_owned(),
        };
        assert_eq!(duty.flaw(Some(&failed("TWO HELD AT ONCE: 3"))), None);
        assert!(duty.flaw(Some(&failed("no answer"))).is_some());
        assert!(duty.flaw(Some(&Verdict::Ok)).is_some());
        assert!(duty.flaw(None).is_some());
    }
}
