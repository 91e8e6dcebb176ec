//! One scenario on one server program, from its start to its verdict.

use crate::{
    bell::{RingOnDrop, is_interrupted},
    checker::{self, Findings},
    chronicle,
    moment::Moment,
    nemesis,
    scenario::{Between, Harm, Law, Node, Scenario, Strike},
    site::Site,
};
use leasehold_servers::{Nutcracker, ServerBinary};
use std::{fs, path::Path, thread, time::Duration};

/// What a scenario came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) scenario: &'static Scenario,
    pub(crate) findings: Findings,
    /// One for each kind of the scenario.
    pub(crate) strikes: Vec<Struck>,
    /// How many restarts a proxy hid from clients, where that is known.
    pub(crate) hidden: Option<usize>,
    pub(crate) took: Duration,
    pub(crate) verdict: Verdict,
}

/// How often a strike was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Struck {
    pub(crate) strike: Strike,
    pub(crate) count: usize,
    /// Those that began while somebody held: the others disturb only who waits.
    pub(crate) while_held: usize,
}

/// What is thought of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Lawful, and nobody held together with another.
    Safe,
    /// A control, and the harm was found.
    Caught,
    /// Lawful, and two held at once, or tokens or the store were wrong.
    Violated,
    /// A control, and nothing was found: nobody knows what the lawful scenario is worth.
    Blind,
    /// Too little happened: this is missing.
    Nothing(Vec<Lack>),
    /// It could not be run or judged.
    Failed(String),
    /// This machine lacks what it needs.
    Skipped(&'static str),
    /// Somebody wanted to end it.
    Interrupted,
}

/// What a run must have to prove anything, and had not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// At least so many.
    HandOvers(usize),
    /// One that was carried out while somebody held.
    Strike(Strike),
    /// A write that the store accepted.
    Write,
    /// A write that the store refused.
    Refusal,
    /// A restart of which a client heard nothing.
    Hidden,
}

impl Verdict {
    pub(crate) const fn is_good(&self) -> bool {
        matches!(self, Self::Safe | Self::Caught)
    }

    /// Why it was not run. What was not run is neither good nor bad.
    pub(crate) const fn why_skipped(&self) -> Option<&'static str> {
        match self {
            Self::Skipped(why) => Some(why),
            _ => None,
        }
    }
}

/// Runs a scenario for `time`. A control that has shown enough ends earlier. What has proved nothing by then goes on for [`GRACE`]
/// at most: a control without harm, and a lawful scenario with a strike that nobody held under.
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
        strikes: Vec::new(),
        hidden: None,
        took: Duration::ZERO,
        verdict: Verdict::Nothing(Vec::new()),
    };
    if scenario.between == Between::Nutcracker && Nutcracker::find().is_none() {
        outcome.verdict = Verdict::Skipped("nutcracker is not installed");
        return outcome;
    }
    let played = play(&mut outcome, binary, begun.plus(time), seed, folder);
    outcome.took = Moment::now().since(begun);
    outcome.verdict = match played {
        _ if is_interrupted() => Verdict::Interrupted,
        Err(why) => Verdict::Failed(why),
        Ok(()) => judge(&outcome),
    };
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
    let begun = Moment::now();
    thread::scope(|scope| {
        let _ring = RingOnDrop(&site.bell);
        for &strike in scenario.strikes {
            let site = &site;
            scope.spawn(move || nemesis::run(site, strike, seed));
        }
        while !is_interrupted() && site.chronicle.failure().is_none() {
            let left = end.since(Moment::now());
            let _ = site.bell.rest(match left.is_zero() {
                true => GLANCE,
                false => GLANCE.min(left),
            });
            let now = Moment::now();
            let enough = match scenario.law {
                Law::Control(_) if now < end => ENOUGH,
                Law::Lawful { .. } if now < end => continue,
                _ => 1,
            };
            if now >= end.plus(GRACE) || has_shown(enough, outcome, &site, begun, folder)? {
                break;
            }
        }
        Ok::<(), String>(())
    })?;
    let ended = Moment::now();
    site.kill_clients();
    // A failed run tells the overlaps that it found as well: they may have the same cause.
    look(outcome, &site, (begun, ended), Moment::NEVER, folder)?;
    // What a client says is why it ended, where both are told.
    match chronicle::complaint(folder)?.or_else(|| site.chronicle.failure()) {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// Sees what has come of it between two moments, by lines that were written before the horizon.
fn look(
    outcome: &mut Outcome,
    site: &Site,
    (begun, now): (Moment, Moment),
    horizon: Moment,
    folder: &Path,
) -> Result<(), String> {
    // First: a write whose acquisition is not in a journal yet would be one of nobody's.
    let writes = site.writes()?;
    let journals = chronicle::journals(folder, &site.chronicle)?;
    outcome.findings = checker::check_with(&journals, &writes, horizon);
    outcome.findings.stand_still(begun, now);
    outcome.hidden = site.hidden();
    outcome.strikes = count(
        outcome.scenario,
        &site.chronicle.strikes(),
        &outcome.findings,
    );
    outcome.took = now.since(begun);
    Ok(())
}

fn count(scenario: &Scenario, strikes: &[(Strike, Moment)], findings: &Findings) -> Vec<Struck> {
    let kinds = scenario.strikes.iter();
    let counted = kinds.map(|&strike| {
        let began = strikes.iter().filter(|(other, _)| *other == strike);
        let held = began.clone().filter(|(_, at)| findings.is_claimed(*at));
        Struck {
            strike,
            count: began.count(),
            while_held: held.count(),
        }
    });
    counted.collect()
}

/// Whether a control has violated so often that no line which is still to be written can change it, or a lawful scenario has had
/// all that it must have.
fn has_shown(
    enough: usize,
    outcome: &mut Outcome,
    site: &Site,
    begun: Moment,
    folder: &Path,
) -> Result<bool, String> {
    let now = Moment::now();
    look(outcome, site, (begun, now), now, folder)?;
    Ok(match outcome.scenario.law {
        Law::Control(harm) => count_of(harm, &outcome.findings) >= enough,
        Law::Lawful { .. } => lacks(outcome).is_empty(),
    })
}

const fn count_of(harm: Harm, findings: &Findings) -> usize {
    match harm {
        Harm::Overlaps => findings.overlaps.len(),
        Harm::Disorder => findings.regressions.len(),
        Harm::StaleWrites => findings.stale_writes.len(),
        Harm::Standstill => findings.standstills.len(),
    }
}

fn judge(outcome: &Outcome) -> Verdict {
    let stood_still = !outcome.findings.standstills.is_empty();
    match outcome.scenario.law {
        Law::Lawful { .. } if !outcome.findings.is_clean() => Verdict::Violated,
        Law::Lawful { .. } if outcome.scenario.has_control(Harm::Standstill) && stood_still => {
            Verdict::Violated
        }
        Law::Lawful { .. } => match lacks(outcome) {
            nothing if nothing.is_empty() => Verdict::Safe,
            lacks => Verdict::Nothing(lacks),
        },
        Law::Control(harm) if count_of(harm, &outcome.findings) > 0 => Verdict::Caught,
        Law::Control(_) => Verdict::Blind,
    }
}

/// What a lawful run must have, and has not.
fn lacks(outcome: &Outcome) -> Vec<Lack> {
    let seconds = usize::try_from(outcome.took.as_secs()).unwrap_or(usize::MAX);
    // For most of the time of a group nobody is granted anything.
    let pace = if outcome.scenario.node == Node::Group {
        4
    } else {
        1
    };
    let needed = HAND_OVERS.max(seconds / pace);
    let hand_overs = (outcome.findings.hand_overs < needed).then_some(Lack::HandOvers(needed));
    let strikes = outcome.strikes.iter();
    let missing = strikes.filter(|struck| struck.while_held == 0);
    let (accepted, refused) = outcome.findings.writes;
    let wrote = outcome.scenario.clients.writes() && accepted == 0;
    let refuses = outcome.scenario.has_control(Harm::StaleWrites) && refused == 0;
    let further = [
        wrote.then_some(Lack::Write),
        refuses.then_some(Lack::Refusal),
        (outcome.hidden == Some(0)).then_some(Lack::Hidden),
    ];
    hand_overs
        .into_iter()
        .chain(missing.map(|struck| Lack::Strike(struck.strike)))
        .chain(further.into_iter().flatten())
        .collect()
}

const GLANCE: Duration = Duration::from_millis(200);
/// How much longer a scenario may take than its share. Most that lack something have it after some seconds.
const GRACE: Duration = Duration::from_secs(30);
const ENOUGH: usize = 3;
/// Below this, or one a second, the lock hardly moved, and its safety was not tried.
const HAND_OVERS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{checker::Journal, journal};

    const APART: [&str; 2] = ["10 acquired r0 x 20\n", "20 acquired r0 y 30\n"];
    const TOGETHER: [&str; 2] = ["10 acquired r0 x 21\n", "20 acquired r0 y 30\n"];

    fn found(text: [&str; 2]) -> Findings {
        let journals = text.map(|text| Journal {
            name: text.to_owned(),
            entries: journal::parse(text).unwrap(),
            death: None,
        });
        checker::check(&journals, Moment::NEVER)
    }

    /// A run in which there was enough of everything.
    fn outcome(name: &str, text: [&str; 2]) -> Outcome {
        let scenario = Scenario::find(name).unwrap();
        let mut findings = found(text);
        findings.hand_overs = 9;
        findings.writes = (9, 9);
        let strikes = scenario.strikes.iter().map(|&strike| Struck {
            strike,
            count: 9,
            while_held: 1,
        });
        Outcome {
            scenario,
            findings,
            strikes: strikes.collect(),
            hidden: None,
            took: Duration::ZERO,
            verdict: Verdict::Nothing(Vec::new()),
        }
    }

    #[test]
    fn overlaps_condemn_the_lawful_and_acquit_the_controls() {
        let judged = |name, text| judge(&outcome(name, text));
        assert_eq!(judged("kill-clients", APART), Verdict::Safe);
        assert_eq!(judged("kill-clients", TOGETHER), Verdict::Violated);
        assert_eq!(judged("blind-tidying", APART), Verdict::Blind);
        assert_eq!(judged("blind-tidying", TOGETHER), Verdict::Caught);
    }

    #[test]
    fn a_standstill_condemns_who_must_go_on_and_acquits_who_must_not() {
        let judged = |name, ended| {
            let mut outcome = outcome(name, APART);
            let seconds = |seconds| Moment::from_nanos(0).plus(Duration::from_secs(seconds));
            outcome.findings.stand_still(seconds(0), seconds(ended));
            judge(&outcome)
        };
        assert_eq!(judged("several", 2), Verdict::Safe);
        assert_eq!(judged("several", 4), Verdict::Violated);
        assert_eq!(judged("kill-clients", 4), Verdict::Safe);
        assert_eq!(judged("one-after-the-other", 2), Verdict::Blind);
        assert_eq!(judged("one-after-the-other", 4), Verdict::Caught);
    }

    #[test]
    fn a_lock_that_hardly_moved_proves_nothing() {
        let judged = |hand_overs, seconds| {
            let mut outcome = outcome("kill-clients", APART);
            outcome.findings.hand_overs = hand_overs;
            outcome.took = Duration::from_secs(seconds);
            judge(&outcome)
        };
        let lacking = |needed| Verdict::Nothing(vec![Lack::HandOvers(needed)]);
        assert_eq!(judged(4, 1), lacking(5));
        assert_eq!(judged(5, 5), Verdict::Safe);
        assert_eq!(judged(59, 60), lacking(60));
        assert_eq!(judged(60, 60), Verdict::Safe);
    }

    #[test]
    fn a_kind_of_strike_that_never_met_a_holder_is_missed() {
        let mut outcome = outcome("everything", APART);
        assert_eq!(judge(&outcome), Verdict::Safe);
        let mut missed = Vec::new();
        for number in [1, 4] {
            outcome.strikes[number].while_held = 0;
            missed.push(Lack::Strike(outcome.strikes[number].strike));
        }
        assert_eq!(judge(&outcome), Verdict::Nothing(missed));
    }

    #[test]
    fn strikes_are_counted_by_their_kind() {
        let scenario = Scenario::find("everything").unwrap();
        let at = |strike, nanos| (strike, Moment::from_nanos(nanos));
        let strikes = [
            at(Strike::Network, 9),
            at(Strike::Network, 10),
            at(Strike::Network, 29),
            at(Strike::HangServers, 30),
        ];
        let counted = count(scenario, &strikes, &found(APART));
        assert_eq!(counted.len(), scenario.strikes.len());
        for struck in counted {
            let expected = match struck.strike {
                Strike::Network => (3, 2),
                Strike::HangServers => (1, 0),
                _ => (0, 0),
            };
            assert_eq!((struck.count, struck.while_held), expected, "{struck:?}");
        }
    }
}
