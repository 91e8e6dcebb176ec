//! One key, handed over by the bare wire: nobody can be much faster.

use super::{Bare, Task};
use crate::{
    Fallible,
    contest::Story,
    moment::{HOLD, Moment, hold_for},
};
use std::time::Duration;

impl Bare {
    /// Holds one key again and again, as if by many tasks, each acquiring it in the same write with the release before.
    pub(crate) fn contend(&mut self, key: &str, window: Duration) -> Fallible<Story> {
        let (mut story, mut heard) = (Story::default(), Vec::new());
        let end = Moment::now().plus(window);
        let mut task = Task::new(Moment::now());
        key.clone_into(&mut task.key);
        while !end.since(Moment::now()).is_zero() {
            let asked = Moment::now();
            self.number += 1;
            task.owner = format!("{:040x}", self.number);
            self.send(0, &task, |form| &form.acquire);
            let mut granted = 0;
            while granted <= self.wires.len() / 2 {
                self.exchange(&mut heard)?;
                let ours = heard
                    .drain(..)
                    .filter(|(_, step, is_yes)| *is_yes && *step == task.step);
                granted += ours.count();
            }
            story.waits.push(asked.elapsed());
            story.held += hold_for(HOLD);
            task.step += 1;
            self.send(0, &task, |form| &form.release);
            task.step += 1;
        }
        while self.wires.iter().any(|wire| !wire.awaited.is_empty()) {
            self.exchange(&mut heard)?;
        }
        Ok(story)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_servers::ServerSet;

    #[test]
    fn the_key_is_handed_over_and_left_free() {
        leasehold_servers::require_server();
        let servers = ServerSet::start(3).unwrap();
        let mut bare = Bare::connect(&servers).unwrap();
        let story = bare.contend("one", Duration::from_millis(20)).unwrap();
        assert!(story.waits.len() > 1 && story.held >= HOLD * 2);
        for server in servers.iter() {
            let left = server.command(&["EXISTS", "one"]).unwrap();
            assert_eq!(left.integer(), Some(0));
        }
    }
}
