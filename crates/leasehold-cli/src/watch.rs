//! The time in which the command runs and the lease is kept.

mod story;

pub(crate) use story::{Ending, Story};

use crate::{
    args::run::OnLoss,
    child::{Change, Child},
    exit::Exit,
    held_lease::HeldLease,
    hold_policy::{HoldPolicy, Stage},
    output,
    signals::{KEYS, Signals},
    terminal::Terminal,
    watchdog::Post,
};
use rustix::process::{Signal, kill_current_process_group};
use std::{io, os::unix::process::ExitStatusExt, process::ExitStatus, time::Duration};
use tokio::{
    select,
    time::{Instant, sleep},
};

/// Looks after one command and one lease. What may be done is decided by the guard's clock; the timers
/// here only pace the work, since they stand still while the machine is suspended.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    guard: &'a HeldLease,
    policy: HoldPolicy,
    on_loss: OnLoss,
    signals: &'a mut Signals,
    terminal: Option<Terminal>,
    child: Child,
    /// Whether the command has come to its gate and waits there to begin.
    is_at_gate: bool,
    /// Who ends the command if we cannot.
    post: Post,
    ended: Option<ExitStatus>,
    stage: Stage,
    /// When the present stage began.
    stage_since: Instant,
    story: Story,
    /// Whether the command runs on without the lock, as the user wants it to.
    runs_on: bool,
    /// A signal that asks for the end, and was passed on.
    asked: Option<Signal>,
    /// Whether the keys of the terminal signalled the command's group, and not ours, when the command ended.
    had_keys: bool,
}

/// How a command is to be looked after.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) policy: HoldPolicy,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) on_loss: OnLoss,
    pub(crate) verbose: bool,
}

/// How the command ended.
#[derive(Debug)]
pub(crate) enum End {
    /// By itself, while the lease was held.
    Free(ExitStatus),
    /// The lease was lost. Says why.
    Lost(String),
}

impl<'a> Watch<'a> {
    /// Begins to watch.
    pub(crate) fn new(
        guard: &'a HeldLease,
        rules: &Rules,
        signals: &'a mut Signals,
        child: Child,
        post: Post,
    ) -> Self {
        let ending = match rules.on_loss {
            OnLoss::Term => Ending::CommandEnded(Signal::TERM, rules.policy.terminate_before()),
            OnLoss::Kill => Ending::CommandEnded(Signal::KILL, rules.policy.kill_before()),
            OnLoss::Warn => Ending::CommandRanOn,
        };
        let story = Story::new(guard, rules.policy, rules.max_hold, rules.verbose, ending);
        Self {
            guard,
            policy: rules.policy,
            on_loss: rules.on_loss,
            signals,
            terminal: Terminal::controlling(),
            child,
            is_at_gate: false,
            post,
            ended: None,
            stage: Stage::Held,
            stage_since: Instant::now(),
            story,
            runs_on: false,
            asked: None,
            had_keys: false,
        }
    }

    /// The signal that asked for the end, if one did.
    pub(crate) fn asked(&self) -> Option<Signal> {
        self.asked
    }

    /// How leasehold ends after this end of the command.
    pub(crate) fn exit(&self, status: ExitStatus) -> Exit {
        let exit = Exit::of(status);
        // One that leasehold was sent itself has reached everybody for whom it was meant.
        let mut keys = KEYS.into_iter().filter(|key| self.asked != Some(*key));
        match keys.find(|key| exit == Exit::by(*key)) {
            Some(key) if self.had_keys => Exit::Key(key.as_raw()),
            _ => exit,
        }
    }

    /// Watches until the command has ended, and if that was our doing, its whole group.
    ///
    /// # Errors
    /// If the system does not tell what the command does. Then it was ended as for a loss.
    pub(crate) async fn until_the_end(&mut self) -> io::Result<End> {
        // Argument S6: the command does not begin before somebody is there who ends it if we cannot.
        self.note();
        if let Some(terminal) = &self.terminal
            && terminal.is_for_the_command()
            && terminal.give_to(self.child.group())
            && !self.child.waits()
        {
            // It may have been stopped for reading before it had the terminal.
            self.child.signal(Signal::CONT);
        }
        let end = self.watch().await;
        if end.is_err() {
            self.end_unseen().await;
        }
        if let Some(terminal) = &self.terminal {
            self.had_keys = terminal.take_back_from(self.child.group());
        }
        // What has ended is not to be ended by the watchdog: its number may be another's by then.
        self.post.dismiss();
        end
    }

    async fn watch(&mut self) -> io::Result<End> {
        let guard = self.guard;
        loop {
            self.look()?;
            self.note();
            self.advance();
            self.open_gate();
            if let Some(end) = self.end() {
                return Ok(end);
            }
            let rest = self.rest();
            select! {
                biased;
                signal = self.signals.next() => self.pass(signal),
                _ = guard.changed(), if !self.story.is_lost() => {}
                () = sleep(rest) => {}
            }
        }
    }

    /// Ends the command without being told what becomes of it: left running, it would outlive its lease.
    async fn end_unseen(&mut self) {
        // Also where it may run on without the lock: nobody would tell how it ended.
        if self.stage == Stage::Held {
            self.enter(Stage::Leaving);
        }
        self.on_loss = OnLoss::Term;
        while self.has_group() && !self.is_unkillable() {
            sleep(TURN).await;
            self.advance();
        }
    }

    /// Whether any process of the command is left. Only after the end.
    pub(crate) fn has_group(&self) -> bool {
        self.child.has_group()
    }

    /// Sees what became of the command.
    fn look(&mut self) -> io::Result<()> {
        match self.child.change()? {
            Change::Ended(status) => self.ended = Some(status),
            Change::Stopped(signal) if self.child.waits() => self.stopped_before_it_begins(signal),
            Change::Stopped(signal) => self.stopped(signal),
            Change::None => {}
        }
        Ok(())
    }

    /// The command stops itself at its gate, by SIGSTOP. Any other stop came from outside and before that.
    fn stopped_before_it_begins(&mut self, signal: i32) {
        self.is_at_gate = signal == Signal::STOP.as_raw();
        if !self.is_at_gate {
            // It goes on to its gate. A stop that was taken for the gate's would leave it there for ever.
            self.child.signal(Signal::CONT);
        }
    }

    /// Lets the command begin.
    fn open_gate(&mut self) {
        // Argument S6: after the clock was asked. The machine may have been suspended since the lock was acquired.
        if self.is_at_gate && self.stage == Stage::Held && self.guard.is_valid() {
            self.is_at_gate = false;
            self.child.let_go();
        }
    }

    /// Argument S6: the clock decides, at every turn and before anything else is done, so a command
    /// whose lease ended while we could not look is killed first.
    fn advance(&mut self) {
        // A command that ended in time has nothing to fear.
        let ended_in_time = self.ended.is_some() && self.guard.is_valid() && !self.was_overtaken();
        if self.stage == Stage::Held && ended_in_time {
            return;
        }
        // Only what runs can run on: a command that has not begun does not begin without its lock.
        if self.on_loss == OnLoss::Warn && !self.child.waits() {
            self.let_run_on();
            return;
        }
        // Keys that are gone leave no time to count; the command still gets its grace, since the holder that has
        // them now may be waiting for what it does last.
        let by_the_clock = if self.story.is_gone() {
            Stage::Leaving
        } else {
            self.policy.stage(self.guard.remaining())
        };
        let mut stage = by_the_clock.max(self.stage);
        if self.stage == Stage::Leaving && self.stage_since.elapsed() >= self.policy.grace() {
            stage = Stage::Over;
        }
        self.advance_to(stage);
    }

    /// Whether the command was killed when it was time to: the watchdog was faster than we.
    fn was_overtaken(&self) -> bool {
        let signal = self.ended.and_then(|status| status.signal());
        let stage = self.policy.stage(self.guard.remaining());
        signal == Some(Signal::KILL.as_raw()) && stage == Stage::Over
    }

    fn advance_to(&mut self, stage: Stage) {
        let stage = match (self.on_loss, stage) {
            // Nobody is asked: who has no time left is killed, and who has some runs on.
            (OnLoss::Kill | OnLoss::Warn, Stage::Leaving) if self.story.is_lost() => Stage::Over,
            (OnLoss::Kill | OnLoss::Warn, Stage::Leaving) => Stage::Held,
            (_, stage) => stage,
        };
        if stage > self.stage {
            self.enter(stage);
        }
    }

    /// The command may run on without the lock: the user is told, once.
    fn let_run_on(&mut self) {
        if !self.runs_on && !self.guard.is_valid() {
            self.runs_on = true;
            let resource = self.guard.resource().quoted();
            output::talk(format_args!(
                "warning: lost the lock {resource}; the command runs on without it"
            ));
        }
    }

    fn enter(&mut self, stage: Stage) {
        // Argument S6: a command that has not begun has nothing to finish, and SIGCONT would begin it.
        let stage = if self.child.waits() {
            Stage::Over
        } else {
            stage
        };
        self.stage = stage;
        self.stage_since = Instant::now();
        self.child.adopt_orphans();
        match stage {
            Stage::Held => {}
            Stage::Leaving => {
                self.child.signal(Signal::TERM);
                // What is stopped does not hear.
                self.child.signal(Signal::CONT);
            }
            Stage::Over => {
                self.child.signal(Signal::KILL);
                // What does not die of it does not die of the watchdog's either, who would call it our silence.
                self.post.dismiss();
            }
        }
    }

    fn end(&self) -> Option<End> {
        let why = || match self.child.waits() {
            true => self.story.why_not_begun(self.guard),
            false => self.story.why(self.guard),
        };
        if self.stage == Stage::Held {
            let end = |status| {
                if self.runs_on {
                    End::Lost(why())
                } else {
                    End::Free(status)
                }
            };
            return self.ended.map(end);
        }
        if self.is_unkillable() {
            return Some(End::Lost(self.story.why_unkillable(self.guard)));
        }
        // All of the group must be gone, not only the process that began it.
        let gone = self.ended.is_some() && !self.child.has_group();
        gone.then(|| End::Lost(why()))
    }

    /// Whether the command is still there though it was killed a while ago.
    pub(crate) fn is_unkillable(&self) -> bool {
        self.stage == Stage::Over && self.stage_since.elapsed() >= UNKILLABLE_AFTER
    }

    /// Takes note of how safe the lease is, tells the user what is new, and the watchdog by when the command must
    /// be gone.
    fn note(&mut self) {
        let is_lost = self.story.note(self.guard);
        if self.ended.is_none() {
            // A little later than our own SIGKILL: as long as we can, we act ourselves.
            let before = self.policy.kill_before() * 3 / 4;
            self.post.report(self.child.group(), self.guard, before);
        }
        // What is lost does not come back: so many nodes have no such key any more, or its time is up.
        if is_lost && self.ended.is_none() && self.on_loss != OnLoss::Warn {
            self.advance_to(Stage::Leaving);
        }
    }

    /// How long to wait for something to happen.
    fn rest(&self) -> Duration {
        if self.stage != Stage::Held {
            // The end of a process that is not our child is told by nobody.
            return TURN;
        }
        let rest = self.policy.rest(self.guard.remaining());
        self.post.due().map_or(rest, |due| due.min(rest))
    }

    fn pass(&mut self, signal: Signal) {
        // A lost lease lets nothing go on.
        // The gate is opened by nobody else: see `open_gate`.
        let harmless = signal != Signal::CONT || (self.guard.is_valid() && !self.child.waits());
        if signal != Signal::CHILD && harmless {
            self.child.signal(signal);
        }
        if ASKING.contains(&signal) {
            self.asked = Some(signal);
        }
    }

    /// The command was stopped, most likely by Ctrl-Z or because it wants the terminal.
    fn stopped(&mut self, signal: i32) {
        let Some(terminal) = &self.terminal else {
            return;
        };
        let group = self.child.group();
        let wants_it = [Signal::TTIN, Signal::TTOU].map(Signal::as_raw);
        if !(wants_it.contains(&signal) && terminal.give_to(group)) {
            if Terminal::has_job_control() {
                terminal.take_back_from(group);
                // The shell that started us sees the job stop, and continues it when it is told to.
                // Meanwhile nobody extends the lease.
                let _ = kill_current_process_group(Signal::STOP);
            }
            terminal.give_to(group);
        }
        if self.guard.is_valid() {
            self.child.signal(Signal::CONT);
        }
    }
}

/// What asks for the end of whatever runs.
const ASKING: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM];

/// How often the group of a command that has to go is looked at.
const TURN: Duration = Duration::from_millis(10);

/// A process that was killed and is still there after this long hangs in the kernel.
const UNKILLABLE_AFTER: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests;
