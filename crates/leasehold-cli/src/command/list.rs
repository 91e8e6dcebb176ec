//! `leasehold list`: all locks.

use crate::{
    args::views::ListArguments,
    columns, exit_code,
    failure::Failure,
    lock_view::{LockView, State, row, shown_left},
    nodes::Nodes,
    output, waiting,
};
use leasehold::operate::{Answer, Listing};

/// Lists, and tells the code to exit with.
pub(crate) fn run(arguments: &ListArguments) -> Result<u8, Failure> {
    let place = &arguments.place;
    let nodes = Nodes::choose(place.nodes.as_ref());
    let operator = nodes.to_look_at(&place.agreement)?.operator();
    let operator = operator.map_err(|error| nodes.wrong(&error))?;
    let listing = waiting::for_it(operator.list(&arguments.prefix, arguments.most))?
        .map_err(|error| nodes.wrong(&error))?;
    let views: Vec<_> = listing.locks.iter().map(LockView::of).collect();
    if arguments.json {
        for view in &views {
            output::data(view.json())?;
        }
    } else if !views.is_empty() {
        output::data(table(&views).join("\n"))?;
    }
    tell_nodes(&listing, arguments)
}

/// What the locks alone do not tell.
fn tell_nodes(listing: &Listing, arguments: &ListArguments) -> Result<u8, Failure> {
    let mut silent = 0;
    for told in &listing.nodes {
        match &told.answer {
            Answer::Silent(why) => {
                silent += 1;
                output::talk(format_args!("{}: {why}", told.node));
            }
            Answer::Told(scanned) if scanned.has_more => {
                let most = arguments.most;
                output::talk(format_args!(
                    "{}: has more than {most} such keys, of which some were left out",
                    told.node
                ));
                output::hint(
                    "--most reads more; a prefix, or a --key-format of your own, asks for less",
                );
            }
            _ => {}
        }
    }
    let nodes = listing.nodes.len();
    if nodes - silent < listing.quorum {
        let text = format!("{silent} of {nodes} nodes could not be listed");
        return Err(Failure::new(exit_code::NO_QUORUM, text));
    }
    if listing.locks.is_empty() && !arguments.json {
        output::talk("nothing is locked");
    }
    Ok(exit_code::SUCCESS)
}

/// One line for each lock, and one for each leftover.
pub(crate) fn table(views: &[LockView]) -> Vec<String> {
    let mut rows = vec![row(["RESOURCE", "NODES", "LEFT", "HOLDER"])];
    for view in views {
        let nodes = view.keys.len();
        let count = |owner: &str| format!("{}/{nodes}", view.count(owner));
        if let State::Held(held) = &view.state {
            rows.push(row([
                &view.resource,
                &count(&held.owner),
                &shown_left(held.left),
                &held.holder.to_string(),
            ]));
        }
        for lock in view.left_over() {
            rows.push(row([
                &view.resource,
                &count(&lock.owner),
                &shown_left(lock.left),
                &format!("{}, left over or under way", lock.holder),
            ]));
        }
    }
    columns::lines(&rows)
}
