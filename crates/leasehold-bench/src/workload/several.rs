//! One name, and ten that are locked together: what the further nine cost.

use crate::{
    Fallible,
    effort::{Effort, rotated},
    ledger::Ledger,
    moment::Moment,
    sample::Sample,
    subject::{self, Locker, Subject},
};

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    [1, 5]
        .into_iter()
        .try_for_each(|nodes| compare(effort, nodes, ledger))
}

fn compare(effort: &Effort, nodes: usize, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(1)?;
    let servers = runtime.block_on(subject::servers(nodes))?;
    let ours = [Subject::Plain, Subject::Fenced];
    let managers = runtime.block_on(subject::managers(&ours, &servers.urls()))?;
    // The first round warms up.
    for round in 0..=effort.rounds {
        for (subject, manager) in rotated(round, &managers) {
            let samples = runtime.block_on(cycles(manager, effort.cycles))?;
            if round == 0 {
                continue;
            }
            for (figures, mut sample) in FIGURES.into_iter().zip(samples) {
                for (figure, share) in figures.into_iter().zip([0.5, 0.99]) {
                    let value = sample.percentile(share);
                    ledger.add(&super::nodes(nodes), subject.name(), figure, value);
                }
            }
        }
    }
    Ok(())
}

/// Locks and unlocks new keys: one, then ten, and again, so that whatever else the machine does meets both.
async fn cycles(manager: &Locker, count: usize) -> Fallible<[Sample; 2]> {
    let mut samples = [Sample::default(), Sample::default()];
    for number in 0..count {
        for (sample, names) in samples.iter_mut().zip([1, TOGETHER]) {
            let names: Vec<_> = (0..names)
                .map(|name| format!("several:{names}:{number}:{name}"))
                .collect();
            let started = Moment::now();
            manager.acquire_all(&names).await?.release().await;
            sample.push(started.elapsed());
        }
    }
    Ok(samples)
}

/// The median and the tail of a cycle with one name, and with ten.
const FIGURES: [[&str; 2]; 2] = [[ONE, "one name p99 µs"], [TEN, "ten names p99 µs"]];

pub(super) const ONE: &str = "one name p50 µs";
pub(super) const TEN: &str = "ten names p50 µs";

const TOGETHER: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_measured_on_a_real_server() {
        leasehold_servers::require_server();
        let effort = Effort {
            rounds: 1,
            cycles: 5,
            ..Effort::QUICK
        };
        let mut ledger = Ledger::default();
        compare(&effort, 1, &mut ledger).unwrap();
        for subject in ["plain", "fenced"] {
            for figure in [ONE, TEN] {
                let spread = ledger.spread("1 node", subject, figure);
                assert!(spread.unwrap().median > 0.0, "{subject}: {figure}");
            }
        }
    }
}
