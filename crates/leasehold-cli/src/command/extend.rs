//! `leasehold extend`: more time for a lock that no process keeps.

use super::acquire::on_servers;
use crate::{
    args::hold::{ExtendArguments, HeldArguments},
    exit_code,
    failure::Failure,
    hint,
    lock::{one_name, one_name_of_permits},
    manager::Manager,
    nodes::{Nodes, misused},
    told_lease::{ToldLease, ToldToken, wall_time},
    waiting,
};
use leasehold::{DetachedLease, ExtendError, Inspection, LockManager};

/// Extends a lock, prints it, and tells the code to exit with.
pub(crate) fn run(arguments: &ExtendArguments) -> Result<u8, Failure> {
    let held = &arguments.held;
    let (nodes, manager, lease) = lease(held)?;
    let extension = waiting::for_it(async {
        let error = match lease.extend(arguments.ttl).await {
            Ok(left) => return Ok(left),
            Err(error) => error,
        };
        let names = match error.is_lost() {
            true => kept(&manager, held).await,
            false => None,
        };
        Err((error, names))
    })?;
    let left = extension.map_err(|(error, names)| failure(&error, names.as_deref(), &nodes))?;
    let clock = manager.clock();
    let told = ToldLease {
        resource: lease.resource().clone(),
        owner: held.owner.clone(),
        token: match held.shared {
            true => ToldToken::None,
            false => ToldToken::Unknown,
        },
        valid_until: wall_time(clock, || left),
    };
    match told.print(held.json) {
        Ok(()) => Ok(exit_code::SUCCESS),
        Err(unread) => Err(unread.hint("the lock is extended all the same".to_owned())),
    }
}

/// The lease that these arguments name. Says nothing to any node.
pub(super) fn lease(held: &HeldArguments) -> Result<(Nodes, LockManager, DetachedLease), Failure> {
    let nodes = on_servers(Nodes::choose(held.place.nodes.as_ref())?)?;
    let manager = nodes.manager(&held.place.agreement)?;
    one_name(held.shared, held.resource())?;
    // A permit's owner tells that it is one.
    let is_permit = held.owner.permit().is_some();
    one_name_of_permits(is_permit, held.resource())?;
    let (name, owner) = (held.resource().as_str(), held.owner.clone());
    let lease = match (held.shared, is_permit) {
        (true, true) => return Err(no_share()),
        (true, false) => manager.detached_shared(name, owner),
        (false, true) => manager.detached_permit(name, owner),
        (false, false) => manager.detached_all(held.resource().names(), owner),
    };
    let lease = lease.map_err(|error| misused(&error))?;
    Ok((nodes, manager, lease))
}

/// Which of several names this owner has; none if one name alone was given, or a node did not tell of all in time.
pub(super) async fn kept(manager: &LockManager, held: &HeldArguments) -> Option<Vec<String>> {
    let resource = held.resource();
    if !resource.is_several() {
        return None;
    }
    let manager = Manager::Fenced(manager.clone());
    let seen = manager.look_at_all(resource.names()).await;
    if seen.len() < resource.names().count() {
        return None;
    }
    let is_its = |seen: &&Inspection| seen.holder() == Some(&held.owner);
    let names = seen.iter().filter(is_its);
    Some(
        names
            .map(|seen| seen.resource().quoted().to_string())
            .collect(),
    )
}

fn no_share() -> Failure {
    let text = "this owner has a permit, and shares nothing";
    let hint = "leave --shared out: the owner tells which permit it is".to_owned();
    Failure::new(exit_code::USAGE, text).hint(hint)
}

fn failure(error: &ExtendError, kept: Option<&[String]>, nodes: &Nodes) -> Failure {
    let code = match error {
        error if error.is_lost() => exit_code::LEASE_LOST,
        ExtendError::Timing { .. } => exit_code::USAGE,
        ExtendError::Unreachable { .. } => exit_code::NO_QUORUM,
        _ => exit_code::FAILED,
    };
    let hint = match error {
        ExtendError::Unreachable { faults, .. } => hint::by_fault(faults, nodes),
        _ => None,
    };
    let kept = match kept {
        None => String::new(),
        Some([]) => "; its owner has none of these names".to_owned(),
        Some(names) => format!("; of these names its owner has {}", names.join(", ")),
    };
    Failure::new(code, format!("cannot {error}{kept}")).hint(hint)
}
