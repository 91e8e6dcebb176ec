//! Contenders of both sides, and a counter that must be exact.

use crate::{
    Fallible,
    crowd::TWO_HELD,
    ground::NodeSet,
    install::Installed,
    moment::{now, rest, since, uneven},
    ours::{Kind, Ours},
    protocol::Answer,
    scene::LONG,
    shim::Shim,
};
use leasehold::{Instant, LockOptions};
use leasehold_servers::{Connection, Server};
use std::{
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// Who contends for what.
#[derive(Debug)]
pub(crate) struct Mix<'a> {
    pub(crate) installed: &'a Installed,
    pub(crate) kind: Kind,
    pub(crate) nodes: &'a NodeSet,
    /// Where the counter is: a server that no lock is on.
    pub(crate) counter: &'a Server,
    pub(crate) name: &'a str,
    pub(crate) resource: &'a str,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    /// How often each side had the lock and counted.
    pub(crate) theirs: usize,
    pub(crate) ours: usize,
    /// How often the lock went from one side to the other.
    pub(crate) hand_overs: usize,
    /// The counter at the end.
    pub(crate) counter: usize,
    /// How often somebody found somebody else inside.
    pub(crate) overlaps: usize,
    /// Turns that took so long that the lease may have ended: they prove nothing.
    pub(crate) stalls: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Theirs,
    Ours,
}

/// What contenders share.
#[derive(Debug, Default)]
struct Room {
    inside: AtomicUsize,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    figures: Figures,
    last: Option<Side>,
}

impl Mix<'_> {
    /// Lets two of each side contend for so long.
    pub(crate) fn run(&self, time: Duration) -> Fallible<Figures> {
        let room = Room::default();
        let (theirs, ours) = (self.theirs()?, self.ours()?);
        let end = now().saturating_add(time);
        let outcomes: Vec<Fallible<()>> = thread::scope(|scope| {
            let mut contenders = Vec::new();
            for mut they in theirs {
                contenders.push(scope.spawn({
                    let room = &room;
                    move || self.contend_as_they(&mut they, room, end)
                }));
            }
            for we in ours {
                contenders.push(scope.spawn({
                    let room = &room;
                    move || self.contend_as_we(&we, room, end)
                }));
            }
            let ended = contenders.into_iter().map(thread::ScopedJoinHandle::join);
            ended
                .map(|ended| ended.unwrap_or_else(|_| Err("a contender panicked".into())))
                .collect()
        });
        outcomes.into_iter().collect::<Fallible<()>>()?;
        let log = room
            .log
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let counter = read(&mut self.counter.connect()?, self.resource)?;
        Ok(Figures {
            counter,
            ..log.figures
        })
    }

    fn theirs(&self) -> Fallible<Vec<Shim>> {
        let urls = self.nodes.urls();
        (0..EACH).map(|_| self.installed.start(&urls)).collect()
    }

    fn ours(&self) -> Fallible<Vec<Ours>> {
        let urls = self.nodes.urls();
        (0..EACH).map(|_| Ours::new(self.kind, &urls)).collect()
    }

    fn contend_as_they(&self, they: &mut Shim, room: &Room, end: Instant) -> Fallible<()> {
        let mut counter = self.counter.connect()?;
        while now() < end {
            let started = now();
            match they.lock(self.name, LONG, TRIES)? {
                Answer::Locked { .. } => {
                    room.turn(Side::Theirs, &mut counter, self.resource, started)?;
                    match they.unlock()? {
                        Answer::Unlocked => {}
                        other => {
                            return Err(
                                format!("they cannot unlock what is theirs: {other}").into()
                            );
                        }
                    }
                }
                answer if self.installed.peer.is_refusal(&answer) => {}
                other => return Err(format!("they fail to lock: {other}").into()),
            }
            rest(uneven(THEIR_REST_MS));
        }
        Ok(())
    }

    fn contend_as_we(&self, we: &Ours, room: &Room, end: Instant) -> Fallible<()> {
        let mut counter = self.counter.connect()?;
        while now() < end {
            let patience = end.saturating_since(now()).max(Duration::from_millis(1));
            match we.acquire(self.resource, LockOptions::new(), patience) {
                Ok(lease) => {
                    // Ours says itself whether it holds, so its turn begins here.
                    room.turn(Side::Ours, &mut counter, self.resource, now())?;
                    let outcome = lease.release();
                    if !outcome.is_released() {
                        return Err(format!("we cannot unlock what is ours: {outcome}").into());
                    }
                }
                Err(error) if error.is_contention() => {}
                // The last attempt was cut short by the end.
                Err(_) if now() >= end => {}
                Err(error) => return Err(format!("we fail to lock: {error}").into()),
            }
            rest(uneven(OUR_REST_MS));
        }
        Ok(())
    }
}

impl Room {
    /// Counts, as one who is alone may: reads, thinks, and writes.
    fn turn(
        &self,
        side: Side,
        counter: &mut Connection,
        key: &str,
        started: Instant,
    ) -> Fallible<()> {
        let others = self.inside.fetch_add(1, Ordering::SeqCst);
        let count = read(counter, key)?;
        rest(THINKING);
        counter.command(&["SET", key, &(count + 1).to_string()])?;
        self.inside.fetch_sub(1, Ordering::SeqCst);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let is_hand_over = log.last.is_some_and(|last| last != side);
        log.last = Some(side);
        let figures = &mut log.figures;
        match side {
            Side::Theirs => figures.theirs += 1,
            Side::Ours => figures.ours += 1,
        }
        figures.hand_overs += usize::from(is_hand_over);
        figures.overlaps += usize::from(others > 0);
        figures.stalls += usize::from(since(started) > LONG / 2);
        Ok(())
    }
}

impl Figures {
    /// Whether everybody was alone, and both sides had their turns.
    pub(crate) fn verdict(&self) -> Fallible<()> {
        let Self {
            theirs,
            ours,
            hand_overs,
            counter,
            overlaps,
            stalls,
        } = *self;
        if stalls > 0 {
            return Err(
                format!("proves nothing: the machine stood still in {stalls} turns").into(),
            );
        }
        if counter != theirs + ours || overlaps > 0 {
            let turns = theirs + ours;
            return Err(format!(
                "{TWO_HELD}: {turns} turns ({theirs} of theirs, {ours} of ours) counted to {counter}; \
                 {overlaps} found somebody inside"
            )
            .into());
        }
        if theirs < LEAST || ours < LEAST || hand_overs < LEAST {
            return Err(format!("proves nothing: {self}").into());
        }
        Ok(())
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} theirs + {} ours = {}, {} hand-overs",
            self.theirs, self.ours, self.counter, self.hand_overs
        )
    }
}

fn read(counter: &mut Connection, key: &str) -> Fallible<usize> {
    let value = counter.command(&["GET", key])?;
    Ok(value.text().unwrap_or("0").parse()?)
}

/// How many contenders each side has.
const EACH: usize = 2;
/// Their tries in one request.
const TRIES: u32 = 5;
/// Ours are told when the lock is free and would have it always; so they rest for longer.
const OUR_REST_MS: u64 = 20;
const THEIR_REST_MS: u64 = 4;
const THINKING: Duration = Duration::from_millis(1);
/// Fewer turns or hand-overs prove nothing.
const LEAST: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(figures: Figures) -> String {
        let verdict = figures.verdict();
        verdict.map_or_else(|error| error.to_string(), |()| "good".to_owned())
    }

    #[test]
    fn a_mix_is_good_only_if_nothing_was_lost_and_both_had_turns() {
        let good = Figures {
            theirs: 30,
            ours: 50,
            hand_overs: 20,
            counter: 80,
            overlaps: 0,
            stalls: 0,
        };
        assert_eq!(verdict(good), "good");
        let lost = Figures {
            counter: 79,
            ..good
        };
        assert!(verdict(lost).starts_with("TWO HELD"));
        let seen = Figures {
            overlaps: 1,
            ..good
        };
        assert!(verdict(seen).starts_with("TWO HELD"));
        let one_sided = Figures {
            theirs: 2,
            counter: 52,
            ..good
        };
        assert!(verdict(one_sided).starts_with("proves nothing"));
        let stalled = Figures { stalls: 1, ..good };
        assert!(verdict(stalled).starts_with("proves nothing"));
    }
}
