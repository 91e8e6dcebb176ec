//! Leasehold itself as a library: what a shim of another version is made of.
//!
//! This file and those that it uses are compiled twice: here, and as an example of the version before (see `earlier`).

use crate::{
    crowd::{self, Crowd},
    ours::{Kind, Lease, Ours},
    protocol::{Answer, Leave, Request},
    serve::Library,
};
use leasehold::{AcquireError, LockOptions, ReleaseOutcome};
use std::time::Duration;

/// A manager, and the lock that it has.
#[derive(Debug)]
pub(crate) struct LeaseholdLibrary {
    kind: Kind,
    ours: Option<Ours>,
    held: Option<Lease>,
}

impl LeaseholdLibrary {
    pub(crate) const fn new(kind: Kind) -> Self {
        Self {
            kind,
            ours: None,
            held: None,
        }
    }

    fn acquire(&mut self, key: &str, options: LockOptions, patience: Duration) -> Answer {
        let Some(ours) = &self.ours else {
            return Answer::Failed("not opened".to_owned());
        };
        match ours.acquire(key, options, patience) {
            Ok(lease) => self.keep(lease),
            Err(error) => refused(&error),
        }
    }

    fn keep(&mut self, lease: Lease) -> Answer {
        let answer = Answer::Locked {
            value: Some(String::from_utf8_lossy(lease.owner().as_bytes()).into_owned()),
            validity: Some(lease.remaining()),
            token: lease.token(),
        };
        self.held = Some(lease);
        answer
    }

    fn adopt(&mut self, text: &str) -> Answer {
        match self.ours.as_ref().map(|ours| ours.adopt(text)) {
            None => Answer::Failed("not opened".to_owned()),
            Some(Ok(lease)) => self.keep(lease),
            Some(Err(error)) => Answer::Failed(error.to_string()),
        }
    }

    fn leave(&mut self, how: Leave) -> Answer {
        let Some(lease) = self.held.take() else {
            return nothing();
        };
        let left = match how {
            Leave::HandedOver => lease.hand_over(),
            Leave::Detached => lease.detach(),
        };
        left.map_or_else(|error| Answer::Failed(error.to_string()), Answer::Left)
    }

    fn finish(&self, key: &str, owner: &str) -> Answer {
        match self.ours.as_ref().map(|ours| ours.finish(key, owner)) {
            None => Answer::Failed("not opened".to_owned()),
            Some(Ok(outcome)) => released(&outcome),
            Some(Err(error)) => Answer::Failed(error.to_string()),
        }
    }

    fn crowd(&self, name: &str, time: Duration, port: u16) -> Answer {
        let Some(ours) = &self.ours else {
            return Answer::Failed("not opened".to_owned());
        };
        let crowd = Crowd { ours, name, port };
        match crowd::contend(crowd, time) {
            Ok(turns) => Answer::Crowded(turns),
            Err(error) => Answer::Failed(error.to_string()),
        }
    }
}

impl Library for LeaseholdLibrary {
    fn open(&mut self, urls: &[String]) -> Answer {
        match Ours::new(self.kind, urls) {
            Ok(ours) => {
                self.ours = Some(ours);
                Answer::Ready
            }
            Err(error) => Answer::Failed(error.to_string()),
        }
    }

    fn lock(&mut self, key: &str, ttl: Duration, tries: u32) -> Answer {
        // As other libraries do: not extended by itself.
        let options = LockOptions::new().ttl(ttl).no_renewal();
        match tries {
            1 => self.acquire(key, options, Duration::ZERO),
            _ => self.acquire(key, options.tries(tries).pause(PAUSE..=PAUSE), PATIENCE),
        }
    }

    fn unlock(&mut self) -> Answer {
        let lease = self.held.take();
        lease.map_or_else(nothing, |lease| released(&lease.release()))
    }

    fn extend(&mut self, ttl: Duration) -> Answer {
        match self.held.as_ref().map(|lease| lease.extend_to(ttl)) {
            None => nothing(),
            Some(Ok(())) => Answer::Extended,
            Some(Err(error)) => Answer::Gone(error.to_string()),
        }
    }

    fn further(&mut self, request: &Request) -> Answer {
        match request {
            Request::Wait { key, ttl, patience } => {
                let options = LockOptions::new().ttl(*ttl).no_renewal();
                self.acquire(key, options.pause(LONG_PAUSE..=LONG_PAUSE), *patience)
            }
            Request::Leave(how) => self.leave(*how),
            Request::Adopt { text } => self.adopt(text),
            Request::Finish { key, owner } => self.finish(key, owner),
            Request::Crowd { name, time, port } => self.crowd(name, *time, *port),
            _ => Answer::Failed(format!("`{request}` is not to be had")),
        }
    }
}

fn refused(error: &AcquireError) -> Answer {
    let words = error.to_string().replace('\n', " ");
    match error.is_contention() {
        true => Answer::Refused(words),
        false => Answer::Failed(words),
    }
}

fn released(outcome: &ReleaseOutcome) -> Answer {
    match outcome {
        ReleaseOutcome::Released => Answer::Unlocked,
        ReleaseOutcome::Unknown { .. } => Answer::Failed(outcome.to_string()),
        _ => Answer::Gone(outcome.to_string()),
    }
}

fn nothing() -> Answer {
    Answer::Failed("nothing is locked".to_owned())
}

const PAUSE: Duration = Duration::from_millis(10);
/// Longer than anybody waits here: who wakes before its end was told.
const LONG_PAUSE: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(10);
