//! The second step: what ends the votes for the configuration of before.

use super::{
    super::{at_once, reconfiguration::Outcome, survey::wait},
    Plan, Site, mark_of, merge_counters, text_before,
};
use crate::{
    error::ReconfigureError,
    link::redis::admin_client::{AdminClient, CounterValues, Look, NodeChange},
};

impl Plan {
    /// Whether a node votes on, for those of the new list.
    pub(super) const fn goes_on(&self, site: &Site) -> bool {
        self.is_replacement && site.is_former && site.is_new
    }

    /// Step 2, for some of the nodes. When all have been told, no client of the old configuration has a quorum, and of each quorum of
    /// the new one there is a node that votes for nobody, unless it voted for the old one as well. Tells the largest counters.
    pub(super) async fn mark(&mut self, is_one: impl Fn(&Self, &Site) -> bool) -> Vec<u64> {
        let fingerprint = self.target.fingerprint();
        let mark = mark_of(&self.target);
        let text = format!(
            "a change of configuration was begun and is not finished, to: {}",
            self.target.text()
        );
        let mut jobs = Vec::new();
        for place in 0..self.sites.len() {
            if !is_one(self, &self.sites[place]) {
                continue;
            }
            let goes_on = self.goes_on(&self.sites[place]);
            let site = &mut self.sites[place];
            let is_done = site.has(&fingerprint) && self.is_settled && !goes_on;
            match std::mem::replace(&mut site.visit, Err(String::new())) {
                Err(why) => site.missed(why),
                Ok(_) if is_done => site.outcome = Outcome::Already,
                Ok((mut admin_client, look)) => {
                    let (mark, text) = (mark.clone(), text.clone());
                    let target = self.target.clone();
                    jobs.push(async move {
                        let seen = look.fingerprint.clone().unwrap_or_default();
                        let before = text_before(&look).unwrap_or_default();
                        let answer = match goes_on {
                            true => {
                                let text = target.text_after(&seen);
                                let fingerprint = target.fingerprint();
                                admin_client.succeed(&seen, &fingerprint, &text).await
                            }
                            false => admin_client.block(&seen, &mark, &text, &before).await,
                        };
                        (place, admin_client, look, answer)
                    });
                }
            }
        }
        let mut largest = Vec::new();
        for (place, admin_client, look, answer) in at_once(jobs).await {
            self.marked(place, (admin_client, look), answer, &mut largest);
        }
        largest
    }

    /// Takes a node's answer.
    fn marked(
        &mut self,
        place: usize,
        (admin_client, look): (AdminClient, Look),
        answer: Result<NodeChange<CounterValues>, String>,
        largest: &mut Vec<u64>,
    ) {
        let goes_on = self.goes_on(&self.sites[place]);
        let was_told = look.fingerprint.as_ref() == Some(&self.target.fingerprint());
        let (site, target) = (&mut self.sites[place], &self.target);
        match answer {
            Ok(NodeChange::Done(counters)) => {
                merge_counters(largest, &counters);
                match (goes_on, was_told) {
                    (false, _) => site.visit = Ok((admin_client, look)),
                    (true, true) => site.outcome = Outcome::Already,
                    (true, false) => {
                        let (_, left) = wait(&look, target);
                        site.outcome = Outcome::Changed { left };
                    }
                }
            }
            Ok(NodeChange::Other(now)) => {
                site.missed(format!("it has changed meanwhile: {now}"));
            }
            Err(why) => site.missed(why),
        }
    }

    /// Whether the nodes that come, and were to be marked, are.
    pub(super) fn check_newcomers(&self) -> Result<(), ReconfigureError> {
        let is_missed =
            |site: &Site| !site.is_former && matches!(site.outcome, Outcome::Missed { .. });
        match self.is_replacement && self.sites.iter().any(is_missed) {
            true => Err(self.unfinished()),
            false => Ok(()),
        }
    }

    /// Whether enough nodes of each list are marked, or vote on for the new one alone.
    pub(super) fn check_marks(&self) -> Result<(), ReconfigureError> {
        // Argument S1: of every quorum, old or new, at least one node votes for nobody now.
        let is_blocked = |site: &&Site| !matches!(site.outcome, Outcome::Missed { .. });
        for (list, needed) in self.needed {
            let on_it = self.sites.iter().filter(|site| site.is_on(list));
            if on_it.filter(is_blocked).count() < needed {
                return Err(self.unfinished());
            }
        }
        Ok(())
    }

    fn unfinished(&self) -> ReconfigureError {
        let faults = self.sites.iter().filter_map(Site::fault).collect();
        ReconfigureError::Unfinished { faults }
    }
}
