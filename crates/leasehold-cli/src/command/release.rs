//! `leasehold release`: the end of a lock that no process keeps.

use super::extend::{kept, lease};
use crate::{
    args::hold::ReleaseArguments, exit_code, failure::Failure, hint, output, told_lease::json_text,
    waiting,
};
use leasehold::{Holder, ReleaseOutcome};

/// Releases a lock, and tells the code to exit with.
pub(crate) fn run(arguments: &ReleaseArguments) -> Result<u8, Failure> {
    let held = &arguments.held;
    let (nodes, manager, lease) = lease(held)?;
    let (kept, outcome) = waiting::for_it(async {
        // Afterwards nobody knows any more of which names it was.
        let kept = kept(&manager, held).await.unwrap_or_default();
        let outcome = lease.release().await;
        // Nodes that are slower than a quorum get their release as well.
        manager.shutdown().await;
        (kept, outcome)
    })?;
    let (code, word) = match &outcome {
        ReleaseOutcome::Released => (exit_code::SUCCESS, "released"),
        ReleaseOutcome::AlreadyExpired => (exit_code::LEASE_LOST, "expired"),
        ReleaseOutcome::TakenByAnother { .. } => (exit_code::LEASE_LOST, "taken"),
        _ => (exit_code::NO_QUORUM, "unknown"),
    };
    let mut printed = Ok(());
    if held.json {
        let (resource, owner) = (
            json_text(held.resource().as_str()),
            json_text(&held.owner.to_string()),
        );
        printed = output::report(format_args!(
            "{{\"resource\":{resource},\"owner\":{owner},\"outcome\":\"{word}\"}}"
        ));
    }
    if code == exit_code::SUCCESS {
        return printed.map(|()| code);
    }
    let hint = match &outcome {
        ReleaseOutcome::Unknown { faults } => hint::by_fault(faults, &nodes),
        _ => None,
    };
    let names = held.resource().names().map(|name| format!("{name:?}"));
    let missing: Vec<_> = names.filter(|name| !kept.contains(name)).collect();
    let why = match &outcome {
        ReleaseOutcome::TakenByAnother { holder } => {
            format!("it is held by {}", Holder::of(holder))
        }
        ReleaseOutcome::AlreadyExpired if !kept.is_empty() && !missing.is_empty() => {
            let (missing, kept) = (missing.join(", "), kept.join(", "));
            format!("this owner did not have {missing} any more; it had {kept}, which was released")
        }
        ReleaseOutcome::AlreadyExpired => {
            "no lock of this owner is there: it has ended, or was released".to_owned()
        }
        outcome => outcome.to_string(),
    };
    let text = format!("cannot release {}: {why}", held.resource().quoted());
    Err(Failure::new(code, text).hint(hint))
}
