//! A lease with a command under it.

use crate::{
    args::{
        lock::{LockArguments, SpanArguments},
        run::{LossArguments, OnLoss},
    },
    child::{Child, Start},
    duration::Shown,
    exit::Exit,
    exit_code,
    failure::Failure,
    giving_back,
    held_lease::HeldLease,
    hold_policy::HoldPolicy,
    manager::Manager,
    nesting::Nesting,
    nodes::Nodes,
    signals::Signals,
    told_lease::{seconds, wall_time},
    watch::{End, Rules, Watch},
    watchdog::Post,
};
use leasehold::clock::Clock;
use rustix::process::Signal;
use std::{ffi::OsString, time::Duration};
use tokio::time::Instant;

/// How commands are run under leases.
#[derive(Debug)]
pub(crate) struct SupervisedRun<'a> {
    nodes: &'a Nodes,
    command: &'a [OsString],
    rules: Rules,
    min_hold: Option<Duration>,
    /// Whether the command is a leader, and is told its term.
    leads: bool,
}

/// How a lease with a command ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The command ended by itself, and the lock was given back. leasehold ends so.
    Free(Exit),
    /// The lease was lost: why, and whether somebody asked for the end besides.
    Lost(String, Option<Signal>),
}

impl<'a> SupervisedRun<'a> {
    /// What these arguments ask for, checked. Touches nothing.
    pub(crate) fn new(
        nodes: &'a Nodes,
        lock: &LockArguments,
        span: &SpanArguments,
        loss: &LossArguments,
        command: &'a [OsString],
    ) -> Result<Self, Failure> {
        let mut policy = HoldPolicy::new(lock.ttl, span.max_hold);
        if let Some(grace) = loss.grace {
            policy = policy.with_grace(grace).map_err(|most| {
                let text = format!(
                    "a --grace of {} does not fit into the lease: at most {}, so that a failed extension can be tried \
                     again and SIGKILL comes in time",
                    Shown(grace),
                    Shown(most)
                );
                let hint = "a longer --ttl allows a longer --grace".to_owned();
                Failure::new(exit_code::USAGE, text).hint(hint)
            })?;
        }
        let rules = Rules {
            policy,
            max_hold: span.max_hold,
            on_loss: loss.on_loss,
            verbose: lock.verbose,
        };
        Ok(Self {
            nodes,
            command,
            rules,
            min_hold: span.min_hold,
            leads: false,
        })
    }

    /// The same for a leader.
    pub(crate) fn of_leader(self) -> Self {
        Self {
            leads: true,
            ..self
        }
    }

    /// Runs the command under this lease, to the end of either.
    pub(crate) async fn serve(
        &self,
        guard: HeldLease,
        manager: &Manager,
        signals: &mut Signals,
    ) -> Result<Ended, Failure> {
        let begun = Instant::now();
        let post = self.post();
        let start = match &post {
            Post::Unmanned => Start::AtOnce,
            _ => Start::Gated,
        };
        let child = match Child::start(self.command, self.variables(&guard, manager.clock()), start)
        {
            Ok(child) => child,
            Err(failure) => {
                giving_back::release(guard, self.rules.verbose).await;
                return Err(failure);
            }
        };
        let mut watch = Watch::new(&guard, &self.rules, signals, child, post);
        match watch.until_the_end().await {
            Ok(End::Free(status)) => {
                let (exit, asked) = (watch.exit(status), watch.asked().is_some());
                // Who was told to end does not stay.
                let stays = !asked && !matches!(exit, Exit::Key(_));
                let min_hold = self.min_hold.filter(|_| stays);
                let late = giving_back::linger(&guard, self.nodes, min_hold, begun, signals).await;
                let is_done = stays && exit == Exit::Code(exit_code::SUCCESS);
                let release = giving_back::after(is_done, guard, manager, self.rules.verbose);
                let ((), key) = signals.heed_keys(release).await;
                Ok(Ended::Free(late.or(key).map_or(exit, Exit::by)))
            }
            // It was killed and is still there, so nobody gives the lock back: servers keep it for its TTL, a file as long as we live.
            Ok(End::Lost(why)) if watch.is_unkillable() => {
                std::mem::forget(guard);
                Err(Failure::new(exit_code::LEASE_LOST, why))
            }
            Ok(End::Lost(why)) => {
                let asked = watch.asked();
                giving_back::give_up(guard).await;
                Ok(Ended::Lost(why, asked))
            }
            Err(error) => {
                if watch.has_group() {
                    // It was killed and is still there, so nobody gives the lock back: servers keep it for its TTL, a file as long as we live.
                    std::mem::forget(guard);
                } else {
                    giving_back::give_up(guard).await;
                }
                Err(Failure::own(format!(
                    "cannot wait for the command: {error}"
                )))
            }
        }
    }

    /// Who ends the command if we cannot. Not where the command may run on without the lock.
    fn post(&self) -> Post {
        match (self.rules.on_loss, self.nodes) {
            (OnLoss::Warn, _) => Post::Unmanned,
            // A file is free as soon as its holder is dead: there is no time.
            (OnLoss::Kill, _) | (_, Nodes::ThisMachine(_)) => Post::for_command(Duration::ZERO),
            (OnLoss::Term, Nodes::Servers(_)) => Post::for_command(self.rules.policy.grace()),
        }
    }

    /// What the command may know of its lock.
    fn variables(&self, guard: &HeldLease, clock: Clock) -> Vec<(&'static str, Option<String>)> {
        let token = guard.token().map(|token| token.to_string());
        let nesting = Nesting::of_this_process();
        let until = seconds(wall_time(clock, || guard.remaining()));
        let mut variables = vec![
            (
                "LEASEHOLD_RESOURCE",
                Some(guard.resource().as_str().to_owned()),
            ),
            ("LEASEHOLD_OWNER", Some(guard.owner().to_string())),
            nesting.owners(guard),
            nesting.shares(guard),
            ("LEASEHOLD_VALID_UNTIL", Some(until)),
        ];
        if self.leads {
            variables.push(("LEASEHOLD_TERM", token.clone()));
        }
        // Those of a lock around are not of this one.
        let slot = guard.permit().map(|permit| permit.slot().to_string());
        variables.push(("LEASEHOLD_SLOT", slot));
        variables.push(("LEASEHOLD_FENCING_TOKEN", token));
        variables
    }
}
