//! One scenario on one server program, from its start to its verdict.

use crate::{
    bell::{RingOnDrop, is_interrupted},
    checker::{self, Findings},
    chronicle,
    moment::Moment,
    nemesis,
    scenario::{Law, Scenario},
    site::Site,
};
use leasehold_servers::ServerBinary;
use std::{fs, path::Path, thread, time::Duration};

/// What a scenario came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) scenario: &'static Scenario,
    pub(crate) findings: Findings,
    /// Strikes, and those among them that came while somebody held.
    pub(crate) strikes: (usize, usize),
    pub(crate) took: Duration,
    pub(crate) verdict: Verdict,
}

/// What is thought of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Lawful, and nobody held together with another.
    Safe,
    /// A control, and overlaps were found.
    Caught,
    /// Lawful, and two held at once.
    Overlap,
    /// A control, and no overlap was found: nobody knows what the lawful scenario is worth.
    Blind,
    /// Too little happened.
    Nothing,
    /// It could not be run or judged.
    Failed(String),
    /// Somebody wanted to end it.
    Interrupted,
}

impl Verdict {
    pub(crate) const fn is_good(&self) -> bool {
        matches!(self, Self::Safe | Self::Caught)
    }
}

/// Runs a scenario for `time`; a control that has shown enough ends earlier.
pub(crate) fn run(
    scenario: &'static Scenario,
    binary: &ServerBinary,
    time: Duration,
    seed: u64,
    folder: &Path,
) -> Outcome {
    let begun = Moment::now();
    let mut outcome = Outcome {
        scenario,
        findings: Findings::default(),
        strikes: (0, 0),
        took: Duration::ZERO,
        verdict: Verdict::Nothing,
    };
    outcome.verdict = match play(&mut outcome, binary, begun.plus(time), seed, folder) {
        _ if is_interrupted() => Verdict::Interrupted,
        Err(why) => Verdict::Failed(why),
        Ok(()) => judge(&outcome),
    };
    outcome.took = Moment::now().since(begun);
    outcome
}

fn play(
    outcome: &mut Outcome,
    binary: &ServerBinary,
    end: Moment,
    seed: u64,
    folder: &Path,
) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let scenario = outcome.scenario;
    let site = Site::start(scenario, binary, seed, folder)?;
    thread::scope(|scope| {
        let _ring = RingOnDrop(&site.bell);
        for &strike in scenario.strikes {
            let site = &site;
            scope.spawn(move || nemesis::run(site, strike, seed));
        }
        while Moment::now() < end && !is_interrupted() && site.chronicle.failure().is_none() {
            let _ = site.bell.rest(GLANCE.min(end.since(Moment::now())));
            if scenario.law == Law::Control && has_shown_enough(&site, folder)? {
                break;
            }
        }
        Ok::<(), String>(())
    })?;
    site.kill_clients();
    // A failed run tells the overlaps that it found as well: they may have the same cause.
    let journals = chronicle::journals(folder, &site.chronicle)?;
    outcome.findings = checker::check(&journals, Moment::NEVER);
    let strikes = site.chronicle.strikes();
    let struck = strikes
        .iter()
        .filter(|&&at| outcome.findings.is_claimed(at));
    outcome.strikes = (strikes.len(), struck.count());
    // What a client says is why it ended, where both are told.
    match chronicle::complaint(folder)?.or_else(|| site.chronicle.failure()) {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// Whether a control has violated often enough that no line which is still to be written can change it.
fn has_shown_enough(site: &Site, folder: &Path) -> Result<bool, String> {
    let horizon = Moment::now();
    let journals = chronicle::journals(folder, &site.chronicle)?;
    Ok(checker::check(&journals, horizon).overlaps.len() >= ENOUGH)
}

fn judge(outcome: &Outcome) -> Verdict {
    let (strikes, struck) = outcome.strikes;
    let has_overlaps = !outcome.findings.overlaps.is_empty();
    let has_proved = outcome.findings.hand_overs >= HAND_OVERS && strikes > 0 && struck > 0;
    match (outcome.scenario.law, has_overlaps) {
        (Law::Lawful { .. }, true) => Verdict::Overlap,
        (Law::Lawful { .. }, false) if has_proved => Verdict::Safe,
        (Law::Lawful { .. }, false) => Verdict::Nothing,
        (Law::Control, true) => Verdict::Caught,
        (Law::Control, false) => Verdict::Blind,
    }
}

const GLANCE: Duration = Duration::from_millis(200);
const ENOUGH: usize = 3;
/// Below this the lock hardly moved, and its safety was not tried.
const HAND_OVERS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{checker::Journal, journal};

    fn judged(name: &str, text: [&str; 2], hand_overs: usize, strikes: (usize, usize)) -> Verdict {
        let journals = text.map(|text| Journal {
            name: text.to_owned(),
            entries: journal::parse(text).unwrap(),
            death: None,
        });
        let mut findings = checker::check(&journals, Moment::NEVER);
        findings.hand_overs = hand_overs;
        judge(&Outcome {
            scenario: Scenario::find(name).unwrap(),
            findings,
            strikes,
            took: Duration::ZERO,
            verdict: Verdict::Nothing,
        })
    }

    #[test]
    fn overlaps_condemn_the_lawful_and_acquit_the_controls() {
        let apart = ["10 acquired r0 x 20\n", "20 acquired r0 y 30\n"];
        let together = ["10 acquired r0 x 21\n", "20 acquired r0 y 30\n"];
        let many = (9, 9);
        assert_eq!(judged("kill-clients", apart, 9, many), Verdict::Safe);
        assert_eq!(judged("kill-clients", together, 9, many), Verdict::Overlap);
        assert_eq!(judged("blind-tidying", apart, 9, many), Verdict::Blind);
        assert_eq!(judged("blind-tidying", together, 9, many), Verdict::Caught);
    }

    #[test]
    fn a_run_in_which_little_happened_proves_nothing() {
        let apart = ["10 acquired r0 x 20\n", "20 acquired r0 y 30\n"];
        assert_eq!(judged("kill-clients", apart, 4, (9, 9)), Verdict::Nothing);
        assert_eq!(
            judged("kill-clients", ["", ""], 0, (9, 0)),
            Verdict::Nothing
        );
        assert_eq!(judged("kill-clients", apart, 9, (0, 0)), Verdict::Nothing);
    }
}
