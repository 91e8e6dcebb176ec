//! The wait for a fair lock.
//!
//! A waiter that gives up loses its place. So this wait is one call of the library from its begin to its end, and what is
//! told on the way comes of looking at the nodes beside it.

use super::{UNREACHABLE_FOR, Wait, barrier::held_by};
use crate::{failure::Failure, held_lease::HeldLease, hint, lock::Patience, output};
use leasehold::{
    AcquireError, Inspection, Key,
    operate::{NodeAnswer, Survey, Told},
};
use std::{future::pending, time::Duration};
use tokio::{select, time::sleep};

impl Wait<'_> {
    /// Waits for its turn.
    pub(super) async fn wait_in_line(&self) -> Result<HeldLease, Failure> {
        let telling = async {
            sleep(self.silence()).await;
            self.tell_line().await;
            pending().await
        };
        let won = select! {
            biased;
            won = self.turn() => won?,
            never = telling => never,
        };
        match won {
            Ok(guard) => Ok(guard),
            Err(error) => self.last_word(error).await,
        }
    }

    async fn turn(&self) -> Result<Result<HeldLease, AcquireError>, Failure> {
        Ok(match self.patience {
            Patience::Once => self.wanted(None)?.try_acquire().await,
            Patience::Within(wait) => self.wanted(None)?.acquire_within(wait).await,
            Patience::Forever => self.wanted(Some(UNREACHABLE_FOR))?.acquire().await,
            Patience::Candidate => self.campaign().await?,
        })
    }

    /// Says what is waited for by now.
    async fn tell_line(&self) {
        // Nobody stands in line for several names.
        let resource = self.lock.resource();
        let Ok(seen) = self.manager.inspect(resource.as_str()).await else {
            return;
        };
        let resource = resource.quoted();
        if let Some(holder) = seen.holder() {
            let held = held_by(Some(holder), seen.remaining());
            output::talk(format_args!("waiting in line for {resource}: {held}"));
            return;
        }
        if let Some(left) = read_for(&seen) {
            let name = seen.resource().as_str();
            let parts = match self.taken_permits(name).await {
                None => self.readers(name).await,
                permits => permits,
            };
            let held = parts.map_or_else(|| held_by(None, Some(left)), |parts| parts.to_string());
            output::talk(format_args!("waiting in line for {resource}: {held}"));
            return;
        }
        if seen.is_unclear() {
            let faults = silent(&seen).join("; ");
            output::talk(format_args!(
                "still trying to lock {resource}: too few nodes answer: {faults}"
            ));
            return;
        }
        let Ok(operator) = self.nodes.operator(&self.lock.place.agreement) else {
            return;
        };
        let told = operator.survey().await.unwrap_or_default();
        let abstaining = abstaining(&told);
        if abstaining.len() <= seen.nodes().len() - seen.quorum() {
            output::talk(format_args!(
                "waiting in line for {resource}: others come first, or nodes refuse it (`leasehold doctor` tells)"
            ));
            return;
        }
        let (whys, must_wait): (Vec<_>, Vec<_>) = abstaining.into_iter().unzip();
        let whys = whys.join("; ");
        output::talk(format_args!("waiting to lock {resource}: {whys}"));
        if !must_wait.contains(&true) {
            output::hint(hint::ADMIT);
        }
    }
}

/// How long a quorum keeps it for nobody by name: for those who read, or for another program.
pub(super) fn read_for(seen: &Inspection) -> Option<Duration> {
    let ends = seen.nodes().iter().filter_map(|node| match &node.key {
        Key::Foreign { remaining, .. } => *remaining,
        _ => None,
    });
    let ends: Vec<Duration> = ends.collect();
    let is_kept = ends.len() >= seen.quorum();
    ends.into_iter().max().filter(|_| is_kept)
}

fn silent(seen: &Inspection) -> Vec<String> {
    let faults = seen.nodes().iter().filter_map(|node| match &node.key {
        Key::Unknown(fault) => Some(fault.to_string()),
        _ => None,
    });
    faults.collect()
}

/// The nodes that do not vote for a while, why, and whether that is for leases that there may well be.
fn abstaining(told: &[Told<Survey>]) -> Vec<(String, bool)> {
    let abstaining = told.iter().filter_map(|told| match &told.answer {
        NodeAnswer::Told(survey) => {
            let abstention = survey.abstains?;
            let must_wait = hint::is_for_leases(abstention.cause);
            Some((format!("{}: {abstention}", told.node), must_wait))
        }
        _ => None,
    });
    abstaining.collect()
}
