//! The time in which the command runs and the lease is kept.

use crate::{
    child::{Change, Child},
    duration::Shown,
    output,
    signals::Signals,
    terminal::Terminal,
    upkeep::{Stage, Upkeep},
};
use leasehold::{Danger, LeaseGuard, LeaseState, LossCause};
use rustix::process::{Signal, kill_current_process_group};
use std::{io, process::ExitStatus, time::Duration};
use tokio::{
    select,
    time::{Instant, sleep},
};

/// Looks after one command and one lease. What may be done is decided by the guard's clock; the timers
/// here only pace the work, since they stand still while the machine is suspended.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    guard: &'a LeaseGuard,
    upkeep: Upkeep,
    max_hold: Option<Duration>,
    signals: &'a mut Signals,
    terminal: Option<Terminal>,
    child: Child,
    ended: Option<ExitStatus>,
    stage: Stage,
    /// When the command began.
    begun: Instant,
    /// When the present stage began.
    stage_since: Instant,
    /// What the user was told of the lease last.
    told: LeaseState,
    trouble: Option<Trouble>,
}

/// How the command ended.
#[derive(Debug)]
pub(crate) enum End {
    /// By itself, while the lease was held.
    Free(ExitStatus),
    /// By us, since the lease was lost. Says why.
    Lost(String),
}

/// Extensions have failed since then, the last for this reason.
#[derive(Debug)]
struct Trouble {
    since: Instant,
    why: String,
}

impl<'a> Watch<'a> {
    /// Begins to watch.
    pub(crate) fn new(
        guard: &'a LeaseGuard,
        ttl: Duration,
        max_hold: Option<Duration>,
        signals: &'a mut Signals,
        child: Child,
    ) -> Self {
        let now = Instant::now();
        Self {
            guard,
            upkeep: Upkeep::new(ttl, max_hold),
            max_hold,
            signals,
            terminal: Terminal::controlling(),
            child,
            ended: None,
            stage: Stage::Held,
            begun: now,
            stage_since: now,
            told: LeaseState::Held,
            trouble: None,
        }
    }

    /// Watches until the command has ended, and if that was our doing, its whole group.
    ///
    /// # Errors
    /// If the system does not tell what the command does. Then it was ended as for a loss.
    pub(crate) async fn until_the_end(&mut self) -> io::Result<End> {
        if let Some(terminal) = &self.terminal
            && terminal.is_for_the_command()
            && terminal.give_to(self.child.group())
        {
            // It may have been stopped for reading before it had the terminal.
            self.child.signal(Signal::CONT);
        }
        let end = self.watch().await;
        if end.is_err() {
            self.end_unseen().await;
        }
        if let Some(terminal) = &self.terminal {
            terminal.take_back_from(self.child.group());
        }
        end
    }

    async fn watch(&mut self) -> io::Result<End> {
        let guard = self.guard;
        loop {
            self.look()?;
            self.note(guard.state());
            self.advance();
            if let Some(end) = self.end() {
                return Ok(end);
            }
            let rest = self.rest();
            select! {
                biased;
                signal = self.signals.next() => self.pass(signal),
                _ = guard.changed(), if !self.told.is_lost() => {}
                () = sleep(rest) => {}
            }
        }
    }

    /// Ends the command without being told what becomes of it: left running, it would outlive its lease.
    async fn end_unseen(&mut self) {
        if self.stage == Stage::Held {
            self.enter(Stage::Leaving);
        }
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
            Change::Stopped(signal) => self.stopped(signal),
            Change::None => {}
        }
        Ok(())
    }

    /// Argument S6: the clock decides, at every turn and before anything else is done, so a command
    /// whose lease ended while we could not look is killed first.
    fn advance(&mut self) {
        // A command that ended in time has nothing to fear.
        if self.stage == Stage::Held && self.ended.is_some() && self.guard.is_valid() {
            return;
        }
        // Keys that are gone leave no time to count; the command still gets its grace, since whoever has
        // them now may be waiting for what it does last.
        let by_the_clock = match &self.told {
            LeaseState::Lost(lost) if matches!(lost.cause, LossCause::Gone { .. }) => {
                Stage::Leaving
            }
            _ => self.upkeep.stage(self.guard.remaining()),
        };
        let mut stage = by_the_clock.max(self.stage);
        if self.stage == Stage::Leaving && self.stage_since.elapsed() >= self.upkeep.grace() {
            stage = Stage::Over;
        }
        if stage > self.stage {
            self.enter(stage);
        }
    }

    fn enter(&mut self, stage: Stage) {
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
            Stage::Over => self.child.signal(Signal::KILL),
        }
    }

    fn end(&self) -> Option<End> {
        if self.stage == Stage::Held {
            return self.ended.map(End::Free);
        }
        if self.is_unkillable() {
            let why = self.why();
            return Some(End::Lost(format!("{why}; it does not die of SIGKILL")));
        }
        // All of the group must be gone, not only the process that began it.
        let gone = self.ended.is_some() && !self.child.has_group();
        gone.then(|| End::Lost(self.why()))
    }

    fn is_unkillable(&self) -> bool {
        self.stage == Stage::Over && self.stage_since.elapsed() >= UNKILLABLE_AFTER
    }

    fn why(&self) -> String {
        let resource = self.guard.resource().as_str();
        if let Some(Trouble { since, why }) = &self.trouble {
            let since = Shown(since.elapsed());
            return format!(
                "lost the lock while the command ran: for {since} could not {why}; the command was ended"
            );
        }
        let cause = match &self.told {
            LeaseState::Lost(lost) => Some(&lost.cause),
            _ => None,
        };
        // The time to leave begins before the limit is reached, and the hold began before the command. A
        // suspended machine's time does not count here.
        let held = self.begun.elapsed() + 2 * self.upkeep.terminate_before();
        match (cause, self.max_hold.filter(|most| held >= *most)) {
            (Some(cause @ LossCause::Gone { .. }), _) => format!(
                "lost the lock {resource:?} while the command ran: {cause}; the command was ended"
            ),
            (_, Some(most)) => format!(
                "the command held the lock {resource:?} for {}, as long as --max-hold allows; it was \
                 ended",
                Shown(most)
            ),
            _ => format!(
                "lost the lock {resource:?} while the command ran: the lease ended before it could \
                 be extended (was this machine suspended, or leasehold stopped?); the command was \
                 ended"
            ),
        }
    }

    /// Takes note of how safe the lease is, and tells the user what is new.
    fn note(&mut self, state: LeaseState) {
        if state == self.told {
            return;
        }
        match &state {
            LeaseState::Held if self.trouble.take().is_some() => {
                output::talk("the lock is extended again");
            }
            LeaseState::InDanger(Danger {
                trouble: Some(trouble),
                ..
            }) => {
                let why = trouble.last.to_string();
                if self.trouble.is_none() {
                    let left = Shown(self.guard.remaining());
                    output::talk(format_args!("cannot {why}; trying again for {left}"));
                }
                let since = Instant::now() - trouble.lasting;
                self.trouble = Some(Trouble { since, why });
            }
            // What is lost does not come back: so many nodes have no such key any more, or its time is up.
            LeaseState::Lost(_) if self.stage == Stage::Held && self.ended.is_none() => {
                self.enter(Stage::Leaving);
            }
            _ => {}
        }
        self.told = state;
    }

    /// How long to wait for something to happen.
    fn rest(&self) -> Duration {
        if self.stage != Stage::Held {
            // The end of a process that is not our child is told by nobody.
            return TURN;
        }
        self.upkeep.rest(self.guard.remaining())
    }

    fn pass(&mut self, signal: Signal) {
        // A lost lease lets nothing go on.
        let harmless = signal != Signal::CONT || self.guard.is_valid();
        if signal != Signal::CHILD && harmless {
            self.child.signal(signal);
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

/// How often the group of a command that has to go is looked at.
const TURN: Duration = Duration::from_millis(10);

/// A process that was killed and is still there after this long hangs in the kernel.
const UNKILLABLE_AFTER: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold::LockManager;
    use rustix::process::{WaitOptions, kill_process, waitpid};

    #[test]
    fn a_command_that_cannot_be_watched_is_ended_with_its_group() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("there are threads to be had");
        runtime.block_on(async {
            let manager = LockManager::builder().memory(1).build().expect("it is one");
            let mutex = manager.mutex("demo").expect("it is a name");
            let guard = mutex.acquire().await.expect("nobody else knows it");
            let mut signals = Signals::listen().expect("there are signals");
            let script = "sleep 30 >/dev/null 2>&1 & kill -STOP $$";
            let words = ["sh", "-c", script].map(Into::into);
            let child = Child::start(&words, []).expect("there is a shell");
            let group = child.group();
            // The first process of a container may never notice whom it was left with.
            child.adopt_orphans();
            // Once it has stopped, it has started the other. Then its end is taken away from us.
            waitpid(Some(group), WaitOptions::UNTRACED).expect("it is ours");
            kill_process(group, Signal::KILL).expect("it is there");
            waitpid(Some(group), WaitOptions::empty()).expect("it is ours");
            let mut watch = Watch::new(&guard, Duration::from_secs(10), None, &mut signals, child);
            assert!(watch.has_group(), "the other runs on");
            watch
                .until_the_end()
                .await
                .expect_err("nobody can tell how it ended");
            assert!(!watch.has_group());
        });
    }
}
