//! The time in which the command runs and the lease is kept.

use crate::{
    child::{Change, Child},
    duration::Shown,
    output,
    signals::Signals,
    terminal::Terminal,
    upkeep::{Stage, Upkeep},
};
use leasehold::{ExtendError, LeaseGuard};
use rustix::process::{Signal, kill_current_process_group};
use std::{io, pin::Pin, process::ExitStatus, time::Duration};
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
    signals: &'a mut Signals,
    terminal: Option<Terminal>,
    child: Child,
    ended: Option<ExitStatus>,
    stage: Stage,
    /// When the present stage began.
    stage_since: Instant,
    no_extension_before: Instant,
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

/// Extensions have failed, since then and last for this reason.
#[derive(Debug)]
struct Trouble {
    since: Instant,
    why: String,
}

type Extension<'a> = Pin<Box<dyn Future<Output = Result<(), ExtendError>> + 'a>>;

impl<'a> Watch<'a> {
    /// Begins to watch.
    pub(crate) fn new(
        guard: &'a LeaseGuard,
        ttl: Duration,
        signals: &'a mut Signals,
        child: Child,
    ) -> Self {
        let now = Instant::now();
        Self {
            guard,
            upkeep: Upkeep::new(ttl),
            signals,
            terminal: Terminal::controlling(),
            child,
            ended: None,
            stage: Stage::Held,
            stage_since: now,
            no_extension_before: now,
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
        let mut extension: Option<Extension<'_>> = None;
        loop {
            self.look()?;
            self.advance();
            if let Some(end) = self.end() {
                return Ok(end);
            }
            if extension.is_none() && self.is_extension_due() {
                extension = Some(Box::pin(guard.extend()));
            }
            let rest = self.rest(extension.is_some());
            select! {
                biased;
                signal = self.signals.next() => self.pass(signal),
                result = answer(&mut extension) => {
                    extension = None;
                    self.note(result);
                }
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
        let mut stage = self.upkeep.stage(self.guard.remaining()).max(self.stage);
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
        match &self.trouble {
            Some(Trouble { since, why }) => {
                let since = Shown(since.elapsed());
                format!(
                    "lost the lock while the command ran: for {since} could not {why}; the command \
                     was ended"
                )
            }
            None => format!(
                "lost the lock {resource:?} while the command ran: the lease ended before it could \
                 be extended (was this machine suspended, or leasehold stopped?); the command was \
                 ended"
            ),
        }
    }

    fn is_extension_due(&self) -> bool {
        self.stage == Stage::Held
            && self.upkeep.is_extension_due(self.guard.remaining())
            && Instant::now() >= self.no_extension_before
    }

    fn note(&mut self, result: Result<(), ExtendError>) {
        let now = Instant::now();
        self.no_extension_before = now + self.upkeep.pause();
        let Err(error) = result else {
            if self.trouble.take().is_some() {
                output::talk("the lock is extended again");
            }
            return;
        };
        let since = match &self.trouble {
            Some(trouble) => trouble.since,
            None => {
                let left = Shown(self.guard.remaining());
                output::talk(format_args!("cannot {error}; trying again for {left}"));
                now
            }
        };
        let over = match error {
            // So many nodes have no such key any more that no quorum is left to extend it on: somebody
            // else may have theirs there already, whatever is left of our time. And what is lost does
            // not come back.
            ExtendError::Gone { .. } | ExtendError::Lost { .. } => true,
            // May go better the next time, as long as there is time.
            _ => false,
        };
        self.trouble = Some(Trouble {
            since,
            why: error.to_string(),
        });
        if over && self.stage == Stage::Held {
            self.enter(Stage::Leaving);
        }
    }

    /// How long to wait for something to happen.
    fn rest(&self, extending: bool) -> Duration {
        if self.stage != Stage::Held {
            // The end of a process that is not our child is told by nobody.
            return TURN;
        }
        let remaining = self.guard.remaining();
        let rest = self.upkeep.rest(remaining);
        // While one is under way, the next is not waited for: its answer wakes us.
        if !extending && self.upkeep.is_extension_due(remaining) {
            let pause = self.no_extension_before - Instant::now();
            return rest.min(pause.max(Duration::from_millis(1)));
        }
        rest
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

/// The answer of the extension that is under way; without one, never.
async fn answer(extension: &mut Option<Extension<'_>>) -> Result<(), ExtendError> {
    match extension {
        Some(extension) => extension.await,
        None => std::future::pending().await,
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
            let mut watch = Watch::new(&guard, Duration::from_secs(10), &mut signals, child);
            assert!(watch.has_group(), "the other runs on");
            watch
                .until_the_end()
                .await
                .expect_err("nobody can tell how it ended");
            assert!(!watch.has_group());
        });
    }
}
