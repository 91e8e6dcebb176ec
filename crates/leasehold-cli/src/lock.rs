//! The manager and the options of one verb that acquires a lock.

use crate::{
    args::lock::{LockArguments, ModeFlags, OnceFlags, PartFlags, SpanArguments, WaitFlags},
    duration::Shown,
    exit_code,
    failure::Failure,
    hold_policy::HoldPolicy,
    manager::Manager,
    nodes::{Nodes, misused},
};
use leasehold::{ConfigError, Holder, LockOptions, Resource};
use std::time::Duration;
use tokio::runtime::{self, Runtime};

/// How long to wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// One try.
    Once,
    /// So long at most.
    Within(Duration),
    /// Until it is won, as long as a quorum of nodes can be reached.
    Forever,
    /// Until this candidate is elected, whether or not anybody can be reached.
    Candidate,
}

impl Patience {
    /// The patience that these arguments ask for.
    pub(crate) fn of(wait: &WaitFlags) -> Self {
        match (wait.no_wait, wait.wait) {
            (true, _) => Self::Once,
            (false, Some(wait)) => Self::Within(wait),
            (false, None) => Self::Forever,
        }
    }
}

/// As [`manager`], for a lock of which others may have a part, too.
pub(crate) fn manager_of_part(
    part: &PartFlags,
    lock: &LockArguments,
    nodes: &Nodes,
) -> Result<Manager, Failure> {
    one_name(part.shared, lock.resource())?;
    one_name_of_permits(part.permits.is_some(), lock.resource())?;
    manager(lock, nodes)
}

/// The same where the lock may be a plain one.
pub(crate) fn manager_of_mode(
    mode: ModeFlags,
    part: &PartFlags,
    lock: &LockArguments,
    nodes: &Nodes,
) -> Result<Manager, Failure> {
    match mode.plain {
        true => nodes.plain_manager(&lock.place.agreement),
        false => manager_of_part(part, lock, nodes),
    }
}

/// Refuses periods where a lock ends with its process, and for several names.
pub(crate) fn outlives(once: OnceFlags, resource: &Resource, nodes: &Nodes) -> Result<(), Failure> {
    match (once.once_per, nodes) {
        // As a mutex would say it, before anything is made.
        (Some(_), _) if resource.is_several() => Err(misused(&ConfigError::OnceTogether)),
        (Some(_), Nodes::ThisMachine(_)) => {
            let text =
                "--once-per needs servers: in a file on this machine a lock ends with its process";
            let hint = "give --nodes, or start some with `leasehold servers start`";
            Err(Failure::new(exit_code::USAGE, text).hint(hint.to_owned()))
        }
        _ => Ok(()),
    }
}

/// Refuses to share several names.
pub(crate) fn one_name(is_shared: bool, resource: &Resource) -> Result<(), Failure> {
    match is_shared && resource.is_several() {
        true => {
            let text = "several names cannot be shared together: --shared takes one name";
            let hint = "leave --shared out, or share one name that stands for all of them";
            Err(Failure::new(exit_code::USAGE, text).hint(hint.to_owned()))
        }
        false => Ok(()),
    }
}

/// Refuses permits of several names.
pub(crate) fn one_name_of_permits(is_permit: bool, resource: &Resource) -> Result<(), Failure> {
    match is_permit && resource.is_several() {
        true => {
            let text = "several names have no permits together: a permit is of one name";
            let hint = "lock the names alone, or let one name with permits stand for all of them";
            Err(Failure::new(exit_code::USAGE, text).hint(hint.to_owned()))
        }
        false => Ok(()),
    }
}

/// The manager of these nodes. Says nothing to any of them.
pub(crate) fn manager(lock: &LockArguments, nodes: &Nodes) -> Result<Manager, Failure> {
    check_ttl(lock, nodes)?;
    // As a mutex would say it, before anything is made.
    if lock.fair && lock.resource().is_several() {
        return Err(misused(&ConfigError::UnfairTogether));
    }
    let manager = nodes.manager(&lock.place.agreement)?;
    Ok(Manager::Fenced(manager))
}

/// The runtime of one verb, on this thread.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::own(format!("cannot start: {error}")))
}

/// What the lock is to be like.
pub(crate) fn options(lock: &LockArguments, span: Option<&SpanArguments>) -> LockOptions {
    let max_hold = span.and_then(|span| span.max_hold);
    let mut options = LockOptions::new()
        .ttl(lock.ttl)
        .tries_unlimited()
        .warn_before(HoldPolicy::new(lock.ttl, max_hold).warn_before())
        .owner_source(Holder::owner_source(lock.label.as_deref()));
    options = match max_hold {
        Some(most) => options.max_hold(most),
        None => options.max_hold_unlimited(),
    };
    if let Some(least) = span.and_then(|span| span.min_hold) {
        options = options.min_hold(least);
    }
    match lock.fair {
        true => options.fair(),
        false => options,
    }
}

/// Servers that may have forgotten locks wait for the longest TTL, so there must be one. Files do not forget.
fn check_ttl(lock: &LockArguments, nodes: &Nodes) -> Result<(), Failure> {
    let longest = lock.place.agreement.longest_ttl();
    let Some(longest) = longest.filter(|longest| lock.ttl > *longest) else {
        return Ok(());
    };
    if let Nodes::ThisMachine(_) = nodes {
        return Ok(());
    }
    let text = format!(
        "the --ttl of {} is longer than the --max-ttl of {}: servers that may have forgotten a lock wait for --max-ttl",
        Shown(lock.ttl),
        Shown(longest)
    );
    let hint = "all clients of these servers must use the same --max-ttl; `leasehold reconfigure` changes it";
    Err(Failure::new(exit_code::USAGE, text).hint(hint.to_owned()))
}
