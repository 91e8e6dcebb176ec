//! What a person reads.

use crate::{
    checker::{Claim, Overlap},
    chronicle, journal,
    moment::Moment,
    scenario::{Harm, Law, Scenario},
    store::{LostUpdate, StaleWrite},
    tokens::Regression,
    trial::{Lack, Outcome, Verdict},
};
use std::{fmt::Write, fs, path::Path, time::Duration};

/// The line above the outcomes.
pub(crate) fn heading() -> String {
    format!(
        "{:<20} {:>7} {:>12} {:>10} {:>7} {:>10} {:>8} {:>8} {:>7} {:>7} {:>6} {:>5}  verdict",
        "scenario",
        "seconds",
        "acquisitions",
        "hand-overs",
        "strikes",
        "while held",
        "overlaps",
        "disorder",
        "writes",
        "refused",
        "stale",
        "lost"
    )
}

/// One scenario.
pub(crate) fn line(outcome: &Outcome) -> String {
    let strikes: usize = outcome.strikes.iter().map(|struck| struck.count).sum();
    let held: usize = outcome.strikes.iter().map(|struck| struck.while_held).sum();
    format!(
        "{:<20} {:>7.1} {:>12} {:>10} {strikes:>7} {held:>10} {:>8} {:>8} {:>7} {:>7} {:>6} {:>5}  {}",
        outcome.scenario.name,
        outcome.took.as_secs_f64(),
        outcome.findings.acquisitions,
        outcome.findings.hand_overs,
        outcome.findings.overlaps.len(),
        outcome.findings.regressions.len(),
        outcome.findings.writes.0,
        outcome.findings.writes.1,
        outcome.findings.stale_writes.len(),
        outcome.findings.lost_updates.len(),
        verdict(outcome),
    )
}

fn verdict(outcome: &Outcome) -> String {
    match &outcome.verdict {
        Verdict::Safe => "safe".to_owned(),
        Verdict::Caught => "control: violated, as it must".to_owned(),
        Verdict::Violated => "VIOLATED".to_owned(),
        Verdict::Blind => "CONTROL WITHOUT HARM: the checks are blind".to_owned(),
        Verdict::Nothing(lacks) => {
            let missing: Vec<String> = lacks.iter().map(lack).collect();
            format!("PROVED NOTHING: {}", missing.join(", "))
        }
        Verdict::Failed(why) => format!("FAILED: {why}"),
        Verdict::Skipped(why) => format!("SKIPPED: {why}"),
        Verdict::Interrupted => "interrupted".to_owned(),
    }
}

fn lack(lack: &Lack) -> String {
    match lack {
        Lack::HandOvers(needed) => format!("fewer than {needed} hand-overs"),
        Lack::Write => "no write to the store".to_owned(),
        Lack::Refusal => "no write that the store refused".to_owned(),
        Lack::Hidden => "no restart that a proxy hid".to_owned(),
        Lack::Strike(strike) => format!("no strike while held of the kind: {}", strike.name()),
    }
}

/// All scenarios, with what they are for.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for scenario in Scenario::all() {
        let Scenario { name, about, .. } = scenario;
        let law = match scenario.law {
            Law::Lawful { controls } => format!("its controls: {}", controls.join(", ")),
            Law::Control(Harm::Overlaps) => "a control: overlaps must be found".to_owned(),
            Law::Control(Harm::Disorder) => {
                "a control: tokens out of order must be found".to_owned()
            }
            Law::Control(Harm::StaleWrites) => "a control: stale writes must be found".to_owned(),
            Law::Control(Harm::Standstill) => {
                "a control: it must be found that nobody acquires anything".to_owned()
            }
        };
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{name:<20} {about}\n{:<20} {law}", "");
    }
    text
}

/// The first overlaps of an outcome, and what the journals say about them.
pub(crate) fn story(outcome: &Outcome, folder: &Path) -> String {
    let overlaps = &outcome.findings.overlaps;
    let mut text = String::new();
    for overlap in overlaps.iter().take(STORIES) {
        let _ = write!(text, "{}", one(overlap, folder));
    }
    if let Some(more) = overlaps.len().checked_sub(STORIES).filter(|&more| more > 0) {
        let _ = writeln!(text, "  … and {more} more");
    }
    let regressions = &outcome.findings.regressions;
    for Regression {
        resource,
        earlier,
        later,
    } in regressions.iter().take(STORIES)
    {
        let _ = writeln!(
            text,
            "  {resource}: a token did not grow:\n    {earlier:?}\n    {later:?}"
        );
    }
    for stale in outcome.findings.stale_writes.iter().take(STORIES) {
        let StaleWrite {
            resource,
            earlier,
            later,
        } = stale;
        let _ = writeln!(
            text,
            "  {resource}: written\n    by {earlier:?}\n    after {later:?}"
        );
    }
    for LostUpdate { write, stood } in outcome.findings.lost_updates.iter().take(STORIES) {
        let _ = writeln!(
            text,
            "  written over {stood}, which its writer had not read: {write:?}"
        );
    }
    for (from, until) in outcome.findings.standstills.iter().take(STORIES) {
        let time = millis(until.since(*from));
        let _ = writeln!(
            text,
            "  nobody acquired anything for {time:.0} ms, from {} on",
            from.nanos()
        );
    }
    let _ = writeln!(text, "  journals: {}", folder.display());
    text
}

fn one(overlap: &Overlap, folder: &Path) -> String {
    let Overlap {
        resource,
        first,
        second,
    } = overlap;
    let mut text = format!(
        "  {resource}: {} and {} held together for {:.3} ms\n",
        first.journal,
        second.journal,
        millis(overlap.length()),
    );
    for claim in [first, second] {
        let _ = write!(text, "{}", lines_of(claim, second.from, folder));
    }
    let range = first.from.minus(BEFORE)..first.until.max(second.until).plus(BEFORE);
    let log = fs::read_to_string(folder.join(chronicle::FILE)).unwrap_or_default();
    for line in log.lines() {
        let at = line.split(' ').next().and_then(|word| word.parse().ok());
        if let Some(at) = at.map(Moment::from_nanos)
            && range.contains(&at)
        {
            let _ = writeln!(text, "    nemesis     {}", told(line, second.from));
        }
    }
    text
}

/// What a journal says about a claim.
fn lines_of(claim: &Claim, zero: Moment, folder: &Path) -> String {
    let path = folder.join(format!("{}.journal", claim.journal));
    let entries = journal::parse(&fs::read_to_string(path).unwrap_or_default());
    let mut text = String::new();
    let entries = entries.unwrap_or_default().into_iter();
    let near = entries.filter(|entry| {
        entry.owner == claim.owner && entry.at >= claim.from && entry.at <= claim.until.plus(BEFORE)
    });
    for entry in near {
        let line = told(&entry.to_string(), zero);
        let _ = writeln!(text, "    {:<11} {line}", claim.journal);
    }
    text
}

/// A line with its time counted from when the second claim began.
fn told(line: &str, zero: Moment) -> String {
    let (at, rest) = line.split_once(' ').unwrap_or(("0", line));
    let at = Moment::from_nanos(at.parse().unwrap_or(0));
    let time = if at >= zero {
        format!("+{:.3}", millis(at.since(zero)))
    } else {
        format!("-{:.3}", millis(zero.since(at)))
    };
    format!("{time:>10} ms  {} {rest}", at.nanos())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// How many overlaps are told in full.
const STORIES: usize = 2;
/// How much of the time around is told with them.
const BEFORE: Duration = Duration::from_millis(300);
