//! Locks two names one after the other. Two clients that want the same ones wait for each other for ever.

use super::{COMPARE_AND_DELETE, Reckless};
use crate::{
    client::RESOURCES,
    journal::Step,
    moment::{Moment, rest},
};
use std::{io, time::Duration};

impl Reckless {
    /// Waits for one name, then for another, of which the order is anybody's, and holds both for a moment.
    pub(super) fn one_by_one(&mut self) -> io::Result<()> {
        self.attempts += 1;
        let owner = format!("{}-{}", self.name, self.attempts);
        let first = self.draw.below(RESOURCES.len());
        let step = 1 + self.draw.below(RESOURCES.len() - 1);
        let [first, second] = [first, first + step].map(|place| RESOURCES[place % RESOURCES.len()]);
        while self.vote(first, &owner).is_none() {
            rest(PAUSE);
        }
        let valid_until = loop {
            if !self.keeps(first, &owner) {
                self.release(first, owner);
                return Ok(());
            }
            if let Some(valid_until) = self.vote(second, &owner) {
                break valid_until;
            }
            rest(PAUSE);
        };
        let acquired = Step::Acquired {
            valid_until,
            fence: None,
        };
        for name in [first, second] {
            self.write(name, &owner, acquired)?;
        }
        rest(PAUSE);
        for name in [first, second] {
            self.write(name, &owner, Step::Ended)?;
            self.release(name, owner.clone());
        }
        Ok(())
    }

    /// Until when it has the name, if it won it.
    fn vote(&mut self, name: &'static str, owner: &str) -> Option<Moment> {
        let millis = self.ttl.as_millis().to_string();
        let started = Moment::now();
        let votes = self.ask(&["SET", name, owner, "NX", "PX", &millis]);
        if self.is_quorum(&votes) {
            let drift = self.ttl / 100 + Duration::from_millis(2);
            return Some(started.plus(self.ttl).minus(drift));
        }
        self.ask(&["EVAL", COMPARE_AND_DELETE, "1", name, owner]);
        None
    }

    /// Lets the name live on, if it still has it.
    fn keeps(&mut self, name: &'static str, owner: &str) -> bool {
        let millis = self.ttl.as_millis().to_string();
        let votes = self.ask(&["EVAL", COMPARE_AND_EXTEND, "1", name, owner, &millis]);
        self.is_quorum(&votes)
    }
}

const PAUSE: Duration = Duration::from_millis(5);

const COMPARE_AND_EXTEND: &str = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.status_reply('OK')";
