//! What owns the connections and timers and turns the engine's crank.
//!
//! It is one task: whatever wakes it, it moves what can be moved, some of it at a time so that the nodes work meanwhile, and
//! goes to sleep again. So requests that are ready at the same time leave in one write for each node, one timer serves all
//! operations, and a caller is woken once, when its operation has ended. `runner` is where it runs: as a task of the caller's runtime, which
//! `driver` moves to a thread of its own when that stands still, or on such a thread from the start.

mod by_number;
mod draining;
mod driver;
mod hearing;
mod instrumentation;
mod onlookers;
mod runner;
mod telling;

pub(crate) use instrumentation::Observers;
pub(crate) use runner::{Runner, spawn};

use crate::{
    alarm::Alarm,
    answer::Promise,
    cell::ShellSide,
    clock::{self, Clock},
    deadline::Deadlines,
    error::LossCause,
    handle::{self, Command, Extended, Inspected, WeakHandle},
    health::Healths,
    link::{Draft, Link, LinkEvent, Message},
};
use by_number::ByNumber;
use draining::Answering;
use instrumentation::{Instrumentation, Note};
use leasehold_core::{
    AcquireRequest, Engine, Instant, NodeId, Operation, OperationId, ReleaseOutcome,
};
use onlookers::Onlookers;
use std::{
    sync::{Arc, atomic::AtomicU64},
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::sync::mpsc;

/// How often the shell goes round before it lets the runtime have its turn.
const MOST_TURNS: usize = 64;

/// How many events of a link the shell takes at once at the least, for each node that there is.
const LEAST_HEARD: usize = 4;

/// So many requests are given to the links in no time.
const FEW: usize = 16;

/// How often a shell that is to end looks whether it may.
const DRAIN_LOOK: Duration = Duration::from_millis(5);

/// How long the shell sleeps at most while there are leases.
const LOOK: Duration = Duration::from_millis(500);

/// Makes a link on the shell's thread.
pub(crate) type MakeLink = Box<dyn FnOnce(Clock) -> Box<dyn Link> + Send>;

pub(crate) struct Shell {
    clock: Clock,
    handle: WeakHandle,
    healths: Healths,
    commands: mpsc::UnboundedReceiver<Command>,
    engine: Engine,
    answering: Answering,
    links: Vec<Box<dyn Link>>,
    /// What makes them, where the shell runs; empty from then on.
    unmade: Vec<MakeLink>,
    /// The words of what is given to links, kept for its room.
    draft: Draft,
    /// What was heard of a link and not looked at yet; empty between two looks, and kept for its room.
    heard: Vec<LinkEvent>,
    /// What is under way for somebody, by its operation.
    pending: ByNumber<OperationId, Underway>,
    /// How many of these are leases that somebody holds.
    held: usize,
    /// Who wants to know of changes, and nothing else.
    onlookers: Onlookers,
    /// How late it may be turned.
    patience: Duration,
    /// When it has something to do next; the origin if it should be turned again at once.
    rests_until: Instant,
    /// Draws the numbers of operations.
    operations: Arc<AtomicU64>,
    deadlines: &'static Deadlines,
    alarm: Alarm,
    ending: ShutdownState,
    /// Whether it shares its thread with the callers.
    is_guest: bool,
    /// Whether votes that leave together cost a node less than one by one.
    votes_in_calls: bool,
    /// When the engine was last told what the wall clock shows.
    epoch_at: Instant,
    /// None if nobody observes.
    instrumentation: Option<Box<Instrumentation>>,
}

/// What is under way for somebody, and whom to tell of it.
enum Underway {
    /// An acquisition, the lease that it has won, and the end of that.
    Lease {
        side: ShellSide,
        stage: Stage,
    },
    Extend(Promise<Extended>),
    Evict(Promise<ReleaseOutcome>),
    Inspect(Promise<Inspected>),
}

/// How far a lease is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Wanted,
    Held,
    /// Its holder has let it go, and waits for the end.
    LetGo,
}

impl Underway {
    const fn is_held(&self) -> bool {
        let Self::Lease { stage, .. } = self else {
            return false;
        };
        matches!(stage, Stage::Held)
    }
}

/// Whether the shell is to end.
enum ShutdownState {
    NotYet,
    /// The manager was shut down, but leases may still be held: those who wait for the clean-up, and
    /// until when they do.
    ShutDown(Vec<Promise<usize>>, Instant),
    /// Nobody can ask for anything any more.
    Deserted(Instant),
}

impl Shell {
    /// Moves everything that can be moved; ready when the shell's work is done.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.unmade.is_empty() {
            let made = self.unmade.drain(..).map(|make| make(self.clock));
            self.links.extend(made);
            // A node that is there at once is up before it is asked for anything.
            self.poll_links(cx, usize::MAX);
        }
        self.rests_until = Instant::ORIGIN;
        for _ in 0..MOST_TURNS {
            // Before the links are looked at: an answer that is in is not late. Only one that is to end has to know.
            let looked_at = match self.ending {
                ShutdownState::NotYet => Instant::ORIGIN,
                ShutdownState::ShutDown(..) | ShutdownState::Deserted(_) => self.clock.now(),
            };
            let taken_at = self.take_commands(cx);
            // What was posted leaves as the links are polled, and needs no other turn.
            let posted = self.hand_over(taken_at);
            let (heard_at, has_more) = self.poll_links(cx, self.at_once());
            // One reading for the turn: what becomes due while it lasts is found by the next.
            let now = heard_at.or(taken_at).unwrap_or_else(|| self.clock.now());
            let told = self.tell();
            let until = self.engine.poll_timeout();
            let is_due = until.is_some_and(|until| until <= now);
            if is_due {
                self.look_at_timers(cx);
            }
            let has_called = self.onlookers.call_due(now);
            // What was given to the links leaves as they are polled again.
            let is_unfinished = self.hand_over(None) | has_more | is_due;
            if self.is_done(looked_at) {
                return Poll::Ready(());
            }
            if is_unfinished || posted || has_called || heard_at.or(taken_at).is_some() {
                self.alarm.moved();
            }
            if told && self.is_guest {
                // Those who were told go first: what they ask for leaves in one write with what others ask for.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if is_unfinished {
                continue;
            }
            if self.take_command(cx, &mut None).is_ready() {
                self.alarm.moved();
            } else if self.sleep(cx, now, until).is_pending() {
                return Poll::Pending;
            }
        }
        // The runtime's own work, new readiness and timers, must have its turn too.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Takes what was posted, and says when.
    fn take_commands(&mut self, cx: &mut Context<'_>) -> Option<Instant> {
        let mut now = None;
        while !self.commands.is_empty() && self.take_command(cx, &mut now).is_ready() {}
        now
    }

    /// Takes one thing that was posted; if there is none, the next wakes the shell. Only for one that goes to sleep: to
    /// wake one that is awake costs a system call for nothing. `now` is read with the first, and stands for those that
    /// are taken with it.
    fn take_command(&mut self, cx: &mut Context<'_>, now: &mut Option<Instant>) -> Poll<()> {
        if matches!(self.ending, ShutdownState::Deserted(_)) {
            return Poll::Pending;
        }
        let command = ready!(self.commands.poll_recv(cx));
        // Step 1: before the first byte is sent for any of them.
        let now = *now.get_or_insert_with(|| self.clock.now());
        match command {
            Some(command) => self.take(now, command),
            None => {
                self.ending = ShutdownState::Deserted(self.drains_until(now));
            }
        }
        Poll::Ready(())
    }

    fn take(&mut self, now: Instant, command: Command) {
        match command {
            // To drop its side says that there is no manager any more.
            Command::Acquire { .. } if matches!(self.ending, ShutdownState::ShutDown(..)) => {}
            Command::Acquire {
                acquire,
                cell: side,
            } => self.acquire(now, acquire, side),
            Command::Cancel(acquisition) => self.cancel(now, acquisition),
            Command::Extend { lease, ttl, answer } => {
                if let Some(ttl) = ttl {
                    self.patience = self.patience.min(driver::patience(ttl));
                }
                let operation = Operation::Extend { lease, ttl };
                self.submit_for(now, operation, Underway::Extend(answer));
            }
            Command::Heartbeat(lease) => {
                self.submit(now, Operation::Heartbeat(lease));
            }
            Command::HandOver(lease) => self.let_go(now, lease, Operation::HandOver(lease)),
            Command::Inspect {
                resource,
                limit,
                answer,
            } => {
                let operation = Operation::Inspect { resource, limit };
                self.submit_for(now, operation, Underway::Inspect(answer));
            }
            Command::Evict {
                resource,
                owner,
                timing,
                answer,
            } => {
                let operation = Operation::Evict {
                    resource,
                    owner,
                    timing,
                };
                self.submit_for(now, operation, Underway::Evict(answer));
            }
            Command::Prolong {
                resource,
                owner,
                timing,
                answer,
            } => {
                let operation = Operation::Prolong {
                    resource,
                    owner,
                    timing,
                };
                self.submit_for(now, operation, Underway::Extend(answer));
            }
            Command::Release(lease) => self.let_go(now, lease, Operation::Release(lease)),
            Command::LookOut(onlooker) => self.look_out(onlooker),
            Command::ShutDown(answer) => self.shut_down(now, answer),
        }
    }

    fn acquire(&mut self, now: Instant, acquire: AcquireRequest, side: ShellSide) {
        self.patience = self
            .patience
            .min(driver::patience(acquire.config.timing.ttl()));
        let id = side.0.operation();
        let stage = Stage::Wanted;
        self.pending.insert(id, Underway::Lease { side, stage });
        self.begin(now, id, Operation::Acquire(acquire));
    }

    /// A lease that is on its way to a caller who has gone was released by that caller.
    fn cancel(&mut self, now: Instant, id: OperationId) {
        if matches!(
            self.pending.get(&id),
            Some(Underway::Lease {
                stage: Stage::Wanted,
                ..
            })
        ) {
            self.pending.remove(&id);
            self.submit(now, Operation::Cancel(id));
        }
    }

    /// A holder lets its lease go, and may wait for what becomes of it.
    fn let_go(&mut self, now: Instant, lease: OperationId, end: Operation) {
        if let Some(Underway::Lease { side, stage }) = self.pending.get_mut(&lease) {
            self.held -= usize::from(*stage == Stage::Held);
            *stage = Stage::LetGo;
            if side.0.ended.is_owed() {
                return self.begin(now, lease, end);
            }
            self.pending.remove(&lease);
        }
        // Nobody waits: neither for the outcome, nor for the text of a lease that is handed over.
        self.submit(now, Operation::Release(lease));
    }

    fn submit_for(&mut self, now: Instant, operation: Operation, pending: Underway) {
        let id = self.submit(now, operation);
        self.pending.insert(id, pending);
    }

    /// Begins an operation for which nothing was sent before `now`.
    fn submit(&mut self, now: Instant, operation: Operation) -> OperationId {
        let id = handle::next_operation(&self.operations);
        self.begin(now, id, operation);
        id
    }

    /// As [`submit`](Self::submit), for an operation that has its number.
    fn begin(&mut self, now: Instant, id: OperationId, operation: Operation) {
        // What is submitted together is of one reading.
        if matches!(operation, Operation::Acquire(_)) && self.epoch_at != now {
            self.engine.set_epoch(self.clock.epoch(now));
            self.epoch_at = now;
        }
        let note = self.instrumentation.as_ref().map(|_| Note::of(&operation));
        self.engine.submit(now, id, clock::seed, operation);
        if let (Some(instrumentation), Some(note)) = (&mut self.instrumentation, note) {
            instrumentation.begun(now, id, note);
        }
    }

    /// Does what is due.
    fn look_at_timers(&mut self, cx: &mut Context<'_>) {
        // An answer that is in is not late.
        self.poll_links(cx, usize::MAX);
        let now = self.clock.now();
        self.engine.set_epoch(self.clock.epoch(now));
        self.epoch_at = now;
        self.engine.handle_timeout(now);
    }

    /// Gives the engine's requests to the links, which write them when they are polled next. None of them left before
    /// `since`, if that was just read.
    fn hand_over(&mut self, since: Option<Instant>) -> bool {
        if !self.engine.has_to_send() {
            return false;
        }
        let (mut given, mut count) = (since, 0);
        while let Some(send) = self.engine.poll_send() {
            // Before the first leaves, and so before any does.
            let given = *given.get_or_insert_with(|| self.clock.now());
            count += 1;
            if let Some(instrumentation) = &mut self.instrumentation {
                instrumentation.asked(given, send.nodes, send.tag, &send.request);
            }
            self.onlookers.note(&send.request);
            self.note_extension(&send, given);
            let mut message = Message::new(send.tag, &send.request, given, &mut self.draft);
            for node in send.nodes.iter() {
                self.answering.ask(given, node);
                self.links[node.index()].send(&mut message);
            }
        }
        if let Some(given) = given
            && count > FEW
        {
            // To give much takes long, and nothing has left before the links are polled.
            self.answering.asked_all(given, self.clock.now());
        }
        count > 0
    }

    /// How many events of a link are taken at once. What is to be asked then leaves before the next are taken, so that a
    /// node has something to do meanwhile: if everything were taken, it and we would work in turns. With more nodes there
    /// is always one that has. Nor should it be few where votes leave in calls: those who are told ask together, and a node
    /// that has more to do than we needs for a call of 14 a fifth less than for two of 7.
    fn at_once(&self) -> usize {
        let parts = if self.votes_in_calls { 2 } else { 4 };
        match self.ending {
            ShutdownState::NotYet => LEAST_HEARD.max(self.pending.len() / parts) * self.links.len(),
            // Whether all is confirmed is believed the clock at each turn: what is in is not late.
            ShutdownState::ShutDown(..) | ShutdownState::Deserted(_) => usize::MAX,
        }
    }

    /// Takes what the nodes have said, so many events of each link `at_once` at most; says when it took the last, and
    /// whether there may be more.
    fn poll_links(&mut self, cx: &mut Context<'_>, at_once: usize) -> (Option<Instant>, bool) {
        let (mut heard_at, mut has_more) = (None, false);
        for index in 0..self.links.len() {
            let (link, heard) = (&mut self.links[index], &mut self.heard);
            while heard.len() < at_once && link.poll(cx, heard, at_once - heard.len()).is_ready() {}
            if heard.is_empty() {
                continue;
            }
            // Argument S2: read after the events, once for all of them. An answer that is taken for earlier than it is
            // would make a lease of keys that are over.
            let now = self.clock.now();
            heard_at = Some(now);
            let node = NodeId::new(index).expect("there are as many links as nodes");
            let mut heard = std::mem::take(&mut self.heard);
            has_more |= heard.len() >= at_once;
            for event in heard.drain(..) {
                self.hear(now, node, event);
            }
            self.heard = heard;
        }
        (heard_at, has_more)
    }

    /// Sleeps until the next thing is due. The timer only wakes; what is due, the clock decides.
    fn sleep(&mut self, cx: &mut Context<'_>, now: Instant, until: Option<Instant>) -> Poll<()> {
        let drained = match &mut self.ending {
            ShutdownState::ShutDown(waiting, _) if waiting.is_empty() => None,
            ShutdownState::NotYet => None,
            // Where time stands still, who has not answered by now answers to nobody who waits.
            ShutdownState::ShutDown(_, until) | ShutdownState::Deserted(until)
                if !self.clock.passes() =>
            {
                *until = now;
                return Poll::Ready(());
            }
            // Whose time limit is over is not told by any timer: look again soon.
            ShutdownState::ShutDown(_, until) | ShutdownState::Deserted(until) => {
                Some(now.saturating_add(DRAIN_LOOK).min(*until))
            }
        };
        let until = until.into_iter().chain(drained);
        let until = until.chain(self.onlookers.next()).min();
        debug_assert_eq!(
            self.held,
            self.pending.values().filter(|it| it.is_held()).count()
        );
        // The timer stands still while the machine sleeps, and the leases do not. A waiter asks once in a second
        // anyway.
        let most = if self.held == 0 { Duration::MAX } else { LOOK };
        let slept = self.alarm.poll(cx, now, until, most);
        // One that goes round once more has not said yet until when it rests.
        let rests_until = slept.is_pending().then(|| until.unwrap_or(Instant::NEVER));
        self.rests_until = rests_until.unwrap_or(Instant::ORIGIN);
        slept
    }
}

/// A shell that ends while leases are held has a bug: they are lost, since nobody keeps them any more.
impl Drop for Shell {
    fn drop(&mut self) {
        for (id, pending) in &self.pending {
            let Underway::Lease {
                side,
                stage: Stage::Held,
            } = pending
            else {
                continue;
            };
            side.0.lose(LossCause::Stopped);
            if let Some(instrumentation) = &mut self.instrumentation {
                instrumentation.lost(self.clock.now(), *id, &LossCause::Stopped);
            }
        }
    }
}

#[cfg(test)]
mod tests;
