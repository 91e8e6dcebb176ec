//! The thread that owns the connections and timers and turns the engine's crank.
//!
//! It is one task on one thread: whatever wakes it, it moves everything that can be moved and goes to
//! sleep again. So requests that are ready at the same time leave in one write for each node, one timer
//! serves all operations, and a caller is woken once, when its operation has ended. A caller's executor
//! that is stuck costs no lease anything.

use crate::{
    alarm::Alarm,
    clock::{self, Clock},
    deadline::Deadlines,
    error::{Danger, LossCause},
    handle::{Command, Handle, HeldLease, Ticket, WeakHandle},
    health::{Healths, NodeConnection},
    link::{Link, LinkEvent, NodeName, Parcel},
    state::LeaseStatus,
};
use leasehold_core::{
    Engine, Event, Instant, Lease, LeaseChange, LinkChange, NodeId, Operation, OperationId, Vote,
};
use std::{
    collections::HashMap,
    future::poll_fn,
    io,
    sync::Arc,
    task::{Context, Poll},
    thread,
    time::Duration,
};
use tokio::sync::{mpsc, oneshot};

/// How long a shell that is to end goes on cleaning up at most.
pub(crate) const DRAIN_LIMIT: Duration = Duration::from_secs(1);

/// How often the shell goes round before it lets the runtime have its turn.
const MOST_TURNS: usize = 64;

/// How often a shell that is to end looks whether it may.
const DRAIN_LOOK: Duration = Duration::from_millis(5);

/// How long the shell sleeps at most while leases are held.
const LOOK: Duration = Duration::from_millis(500);

/// Makes a link on the shell's thread.
pub(crate) type MakeLink = Box<dyn FnOnce(Clock) -> Box<dyn Link> + Send>;

pub(crate) struct Shell {
    clock: Clock,
    handle: WeakHandle,
    healths: Healths,
    commands: mpsc::UnboundedReceiver<Command>,
    engine: Engine,
    links: Vec<Box<dyn Link>>,
    answers: HashMap<OperationId, Answer>,
    /// The leases that somebody has, by the acquisitions that won them.
    leases: HashMap<OperationId, Arc<LeaseStatus>>,
    deadlines: &'static Deadlines,
    tickets: HashMap<Ticket, OperationId>,
    alarm: Alarm,
    sleeps_until: Instant,
    ending: Ending,
}

/// Whom to tell how an operation ended.
enum Answer {
    Acquire(Ticket, oneshot::Sender<crate::handle::AcquireAnswer>),
    Extend(oneshot::Sender<Result<Instant, leasehold_core::ExtendFailure>>),
    Release(oneshot::Sender<leasehold_core::ReleaseOutcome>),
    HandOver(oneshot::Sender<bool>),
    Inspect(oneshot::Sender<Vec<(NodeId, Vote)>>),
}

/// Whether the shell is to end.
enum Ending {
    NotYet,
    /// The manager was shut down, but leases may still be held: those who wait for the clean-up, and
    /// until when they do.
    ShutDown(Vec<oneshot::Sender<usize>>, Instant),
    /// Nobody can ask for anything any more.
    Deserted(Instant),
}

/// Starts a shell on a thread of its own.
pub(crate) fn spawn(
    handle: &Handle,
    commands: mpsc::UnboundedReceiver<Command>,
    links: Vec<MakeLink>,
) -> io::Result<()> {
    let (clock, quorum, healths) = (handle.clock(), handle.quorum(), handle.healths().clone());
    let mut engine = Engine::new(quorum);
    engine.name_nodes(handle.names().names.iter().map(NodeName::as_str));
    let handle = handle.downgrade();
    let deadlines = Deadlines::start()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    thread::Builder::new()
        .name("leasehold".into())
        .spawn(move || {
            runtime.block_on(async move {
                let mut shell = Shell {
                    clock,
                    handle,
                    healths,
                    commands,
                    engine,
                    links: links.into_iter().map(|make| make(clock)).collect(),
                    answers: HashMap::new(),
                    leases: HashMap::new(),
                    deadlines,
                    tickets: HashMap::new(),
                    alarm: Alarm::new(),
                    sleeps_until: Instant::ORIGIN,
                    ending: Ending::NotYet,
                };
                poll_fn(|cx| shell.poll(cx)).await;
            });
            // A name that is being looked up must not keep the thread.
            runtime.shutdown_background();
        })?;
    Ok(())
}

impl Shell {
    /// Moves everything that can be moved; ready when the shell's work is done.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..MOST_TURNS {
            let mut moved = self.take_commands(cx);
            // Before the clock is looked at: an answer that is in is not late.
            moved |= self.poll_links(cx);
            moved |= self.look_at_the_clock();
            moved |= self.hand_over();
            self.tell();
            if self.is_done() {
                return Poll::Ready(());
            }
            if !moved && self.sleep(cx).is_pending() {
                return Poll::Pending;
            }
        }
        // The runtime's own work, new readiness and timers, must have its turn too.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn take_commands(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while !matches!(self.ending, Ending::Deserted(_)) {
            match self.commands.poll_recv(cx) {
                Poll::Pending => break,
                Poll::Ready(Some(command)) => self.take(command),
                Poll::Ready(None) => {
                    let until = self.clock.now().saturating_add(DRAIN_LIMIT);
                    self.ending = Ending::Deserted(until);
                }
            }
            moved = true;
        }
        moved
    }

    fn take(&mut self, command: Command) {
        match command {
            // Dropping the answer says that there is no manager any more.
            Command::Acquire { .. } if matches!(self.ending, Ending::ShutDown(..)) => {}
            Command::Acquire {
                ticket,
                wish,
                answer,
            } => {
                let id = self.submit(Operation::Acquire(wish));
                self.tickets.insert(ticket, id);
                self.answers.insert(id, Answer::Acquire(ticket, answer));
            }
            Command::Cancel(ticket) => self.cancel(ticket),
            Command::Extend { lease, ttl, answer } => {
                self.submit_for(Operation::Extend { lease, ttl }, Answer::Extend(answer));
            }
            Command::Heartbeat(lease) => {
                self.submit(Operation::Heartbeat(lease));
            }
            Command::HandOver { lease, answer } => self.hand_lease_over(lease, answer),
            Command::Inspect {
                resource,
                limit,
                answer,
            } => self.submit_for(
                Operation::Inspect { resource, limit },
                Answer::Inspect(answer),
            ),
            Command::Evict {
                resource,
                owner,
                terms,
                answer,
            } => {
                let operation = Operation::Evict {
                    resource,
                    owner,
                    terms,
                };
                self.submit_for(operation, Answer::Release(answer));
            }
            Command::Prolong {
                resource,
                owner,
                terms,
                answer,
            } => {
                let operation = Operation::Prolong {
                    resource,
                    owner,
                    terms,
                };
                self.submit_for(operation, Answer::Extend(answer));
            }
            Command::Release { lease, answer } => self.release(lease, answer),
            Command::ShutDown { answer } => self.shut_down(answer),
        }
    }

    /// A lease that is on its way to a caller who has gone releases itself.
    fn cancel(&mut self, ticket: Ticket) {
        if let Some(id) = self.tickets.remove(&ticket) {
            self.answers.remove(&id);
            self.submit(Operation::Cancel(id));
        }
    }

    fn release(
        &mut self,
        lease: OperationId,
        answer: Option<oneshot::Sender<leasehold_core::ReleaseOutcome>>,
    ) {
        self.leases.remove(&lease);
        match answer {
            Some(answer) => self.submit_for(Operation::Release(lease), Answer::Release(answer)),
            None => drop(self.submit(Operation::Release(lease))),
        }
    }

    fn hand_lease_over(&mut self, lease: OperationId, answer: oneshot::Sender<bool>) {
        self.leases.remove(&lease);
        if answer.is_closed() {
            // Nobody waits for the text any more.
            self.submit(Operation::Release(lease));
        } else {
            self.submit_for(Operation::HandOver(lease), Answer::HandOver(answer));
        }
    }

    fn submit_for(&mut self, operation: Operation, answer: Answer) {
        let id = self.submit(operation);
        self.answers.insert(id, answer);
    }

    fn submit(&mut self, operation: Operation) -> OperationId {
        // Step 1: the clock is read before the first byte is sent.
        let now = self.clock.now();
        self.engine.set_epoch(self.clock.epoch(now));
        self.engine.submit(now, clock::seed(), operation)
    }

    fn shut_down(&mut self, answer: oneshot::Sender<usize>) {
        for (_, id) in std::mem::take(&mut self.tickets) {
            self.answers.remove(&id);
            self.submit(Operation::Cancel(id));
        }
        let now = self.clock.now();
        match &mut self.ending {
            Ending::ShutDown(waiting, until) => {
                if waiting.is_empty() {
                    *until = now.saturating_add(DRAIN_LIMIT);
                }
                waiting.push(answer);
            }
            Ending::NotYet | Ending::Deserted(_) => {
                self.ending = Ending::ShutDown(vec![answer], now.saturating_add(DRAIN_LIMIT));
            }
        }
    }

    fn look_at_the_clock(&mut self) -> bool {
        let now = self.clock.now();
        let due = self.engine.poll_timeout().is_some_and(|at| at <= now);
        if due {
            self.engine.set_epoch(self.clock.epoch(now));
            self.engine.handle_timeout(now);
        }
        due
    }

    /// Gives the engine's requests to the links, which write them when they are polled next.
    fn hand_over(&mut self) -> bool {
        let mut moved = false;
        while let Some(send) = self.engine.poll_send() {
            moved = true;
            let parcel = Parcel::new(send.tag, send.request, self.clock.now());
            for node in send.nodes.iter() {
                self.links[node.index()].send(&parcel);
            }
        }
        moved
    }

    fn poll_links(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        for (index, link) in self.links.iter_mut().enumerate() {
            let node = NodeId::new(index).expect("there are as many links as nodes");
            while let Poll::Ready(event) = link.poll(cx) {
                moved = true;
                // Read after the event: an answer must not be taken for earlier than it is.
                let now = self.clock.now();
                match event {
                    LinkEvent::Reply(tag, vote) => self.engine.handle_reply(now, node, tag, vote),
                    LinkEvent::Clock(reading) => {
                        if let Some(step) = self.engine.handle_clock(now, node, reading) {
                            self.healths.step(index, step);
                        }
                    }
                    LinkEvent::Changed(resource) => {
                        self.engine.handle_hint(now, node, resource.as_ref());
                    }
                    LinkEvent::Up(id) => {
                        self.healths.connection(index, NodeConnection::Up);
                        self.engine.handle_link(now, node, LinkChange::Up(id));
                    }
                    LinkEvent::Down(reason) => {
                        self.healths.connection(index, NodeConnection::Down(reason));
                        self.engine.handle_link(now, node, LinkChange::Down);
                    }
                }
            }
        }
        moved
    }

    /// Tells callers how their operations ended.
    fn tell(&mut self) {
        while let Some((id, event)) = self.engine.poll_event() {
            if let Event::Changed(change) = event {
                self.change(id, change);
                continue;
            }
            match (self.answers.remove(&id), event) {
                (Some(Answer::Acquire(ticket, answer)), Event::Acquired(lease)) => {
                    self.tickets.remove(&ticket);
                    // Whoever drops the lease releases it: the caller, or this line if the caller has
                    // gone.
                    match self.hold(id, lease) {
                        Some(held) => drop(answer.send(Ok(held))),
                        None => drop(self.submit(Operation::Release(id))),
                    }
                }
                (Some(Answer::Acquire(ticket, answer)), Event::NotAcquired(failure)) => {
                    self.tickets.remove(&ticket);
                    let _ = answer.send(Err(failure));
                }
                (Some(Answer::Extend(answer)), Event::Extended(valid_until)) => {
                    let _ = answer.send(Ok(valid_until));
                }
                (Some(Answer::Extend(answer)), Event::NotExtended(failure)) => {
                    let _ = answer.send(Err(failure));
                }
                (Some(Answer::Release(answer)), Event::Released(outcome)) => {
                    let _ = answer.send(outcome);
                }
                (Some(Answer::HandOver(answer)), Event::HandedOver(in_time)) => {
                    let _ = answer.send(in_time);
                }
                (Some(Answer::Inspect(answer)), Event::Inspected(votes)) => {
                    let _ = answer.send(votes);
                }
                // A cancelled acquisition that had won in the same moment.
                (None, Event::Acquired(_)) => {
                    self.submit(Operation::Release(id));
                }
                (None, _) => {}
                (Some(_), event) => unreachable!("an operation ended as {event:?}"),
            }
        }
    }

    /// A lease that was just won, as its holder gets it; none if there can be no holder any more.
    fn hold(&mut self, id: OperationId, lease: Lease) -> Option<HeldLease> {
        let handle = self.handle.upgrade()?;
        let (resource, valid_until) = (lease.resource.clone(), lease.valid_until);
        let status = Arc::new(LeaseStatus::new(resource, self.clock, valid_until));
        self.deadlines.add(&status);
        self.leases.insert(id, Arc::clone(&status));
        Some(HeldLease::new(handle, id, lease, status))
    }

    /// Tells the holder what became of the lease.
    fn change(&mut self, id: OperationId, change: LeaseChange) {
        let (Some(lease), Some(handle)) = (self.leases.get(&id), self.handle.upgrade()) else {
            return;
        };
        let (now, names, resource) = (self.clock.now(), handle.names(), lease.resource());
        match change {
            LeaseChange::Confirmed { valid_until } => lease.confirm(valid_until),
            LeaseChange::InDanger(danger) => {
                lease.endanger(Danger::from_core(danger, now, resource, &names));
            }
            LeaseChange::Cut { valid_until, .. } => {
                lease.cut(valid_until);
                self.deadlines.add(lease);
            }
            LeaseChange::Lost(loss) => {
                lease.lose(LossCause::from_core(loss, now, resource, &names));
            }
        }
    }

    /// Whether the shell's work is over. Those who wait for its end are told when the clean-up is done.
    fn is_done(&mut self) -> bool {
        let now = self.clock.now();
        match &mut self.ending {
            Ending::NotYet => false,
            Ending::ShutDown(waiting, until) => {
                if !waiting.is_empty() && is_drained(&self.engine, now, *until) {
                    let left = self.engine.withdrawals();
                    for answer in waiting.drain(..) {
                        let _ = answer.send(left);
                    }
                }
                false
            }
            Ending::Deserted(until) => is_drained(&self.engine, now, *until),
        }
    }

    /// Sleeps until the next thing is due. The timer only wakes; what is due, the clock decides.
    fn sleep(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = self.clock.now();
        let drained = match &self.ending {
            Ending::ShutDown(waiting, _) if waiting.is_empty() => None,
            // Whose time limit is over is not told by any timer: look again soon.
            Ending::ShutDown(_, until) | Ending::Deserted(until) => {
                Some(now.saturating_add(DRAIN_LOOK).min(*until))
            }
            Ending::NotYet => None,
        };
        let Some(until) = self.engine.poll_timeout().into_iter().chain(drained).min() else {
            return Poll::Pending;
        };
        if self.sleeps_until != until {
            self.sleeps_until = until;
            let left = until.saturating_since(now);
            // The timer stands still while the machine sleeps, and the leases do not.
            let left = if self.leases.is_empty() {
                left
            } else {
                left.min(LOOK)
            };
            self.alarm.set(left);
        }
        let woken = self.alarm.poll(cx);
        if woken.is_ready() {
            // The timer's clock may be ahead of ours: set it again.
            self.sleeps_until = Instant::ORIGIN;
        }
        woken
    }
}

/// Whether nothing is left to wait for: every release is confirmed, or the nodes that have not confirmed
/// had their time. A node that hangs with much before it may not have been sent the last releases yet;
/// what it keeps ends with the TTL.
fn is_drained(engine: &Engine, now: Instant, until: Instant) -> bool {
    now >= until || engine.awaited_withdrawals(now) == 0
}

/// A shell that ends while leases are held has a bug: they are lost, since nobody keeps them any more.
impl Drop for Shell {
    fn drop(&mut self) {
        for lease in self.leases.values() {
            lease.lose(LossCause::Stopped);
        }
    }
}
