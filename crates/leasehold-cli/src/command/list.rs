//! `leasehold list`: all locks.

use crate::{
    args::views::ListArguments,
    columns, exit_code,
    failure::Failure,
    judgement::Judgement,
    lock_view::{LockView, State, row, shown_left},
    nodes::Nodes,
    output, readers, usable, waiting,
    whose::Whose,
};
use leasehold::operate::{Listing, NodeAnswer, Search};
use std::time::Duration;

/// Lists, and tells the code to exit with.
pub(crate) fn run(arguments: &ListArguments) -> Result<u8, Failure> {
    let place = &arguments.place;
    let nodes = Nodes::choose(place.nodes.as_ref())?;
    let operator = nodes.to_look_at(&place.agreement)?.operator();
    let operator = operator.map_err(|error| nodes.wrong(&error))?;
    let whose = Whose::with(arguments.foreign);
    let search = search(&arguments.prefix, arguments.most, whose);
    let (listing, views) = waiting::for_it(async {
        let listing = operator.search(search).await;
        let listing = listing.map_err(|error| nodes.wrong(&error))?;
        let views = views(&nodes, &listing, whose).await;
        Ok::<_, Failure>((listing, views))
    })??;
    if arguments.json {
        for view in &views {
            output::data(view.json())?;
        }
    } else if !views.is_empty() {
        output::data(table(&views).join("\n"))?;
    }
    let has_more = tell_nodes(&listing, arguments)?;
    if views.is_empty() {
        tell_none(&nodes, arguments, has_more)?;
    }
    Ok(exit_code::SUCCESS)
}

/// What is asked of the nodes.
pub(crate) fn search(prefix: &str, most: usize, whose: Whose) -> Search {
    let search = Search::new(prefix).most(most).answer_within(ANSWER);
    match whose {
        Whose::Ours => search,
        Whose::Foreign => search.hashes(),
    }
}

/// The locks that are shown.
pub(crate) async fn views(nodes: &Nodes, listing: &Listing, whose: Whose) -> Vec<LockView> {
    let views = listing.locks.iter().map(|seen| LockView::of(seen, whose));
    readers::named(nodes, views.filter(LockView::is_shown).collect()).await
}

/// What the locks alone do not tell. The answer is whether there are keys that were not read.
fn tell_nodes(listing: &Listing, arguments: &ListArguments) -> Result<bool, Failure> {
    let (mut silent, mut has_more) = (0, false);
    for told in &listing.nodes {
        match &told.answer {
            NodeAnswer::Silent(why) => {
                silent += 1;
                output::talk(format_args!("{}: {why}", told.node));
            }
            NodeAnswer::Told(scanned) if scanned.has_more => {
                has_more = true;
                let most = arguments.most;
                output::talk(format_args!(
                    "{}: has more than {most} such keys, of which some were left out",
                    told.node
                ));
            }
            _ => {}
        }
    }
    if has_more {
        output::hint("--most reads more; a prefix, or a --key-format of your own, asks for less");
    }
    let nodes = listing.nodes.len();
    if nodes - silent < listing.quorum {
        let text = format!("{silent} of {nodes} nodes could not be listed");
        return Err(Failure::new(exit_code::NO_QUORUM, text));
    }
    Ok(has_more)
}

/// Reports that no lock was found. "Nothing is locked" is said only if locks can be acquired.
fn tell_none(nodes: &Nodes, arguments: &ListArguments, has_more: bool) -> Result<(), Failure> {
    let patient = usable::examined(nodes, &arguments.place.agreement, None, None)?;
    let judgement = patient.judgement();
    if !matches!(judgement, Judgement::Now { .. }) {
        let (count, sentence) = (patient.count(), judgement.sentence(patient.nodes.len()));
        return Err(usable::failure(&patient, format!("{count}; {sentence}")));
    }
    if !arguments.json {
        let prefix = &arguments.prefix;
        output::talk(match has_more {
            true => "no lock is among the keys that were read".to_owned(),
            false => nothing(prefix),
        });
        if prefix.contains(['*', '?']) {
            output::hint("PREFIX is how names begin, and no pattern: leave * and ? out");
        }
    }
    Ok(())
}

/// Says that there is no lock with such a name.
pub(crate) fn nothing(prefix: &str) -> String {
    match prefix {
        "" => "nothing is locked".to_owned(),
        _ => format!("nothing whose name begins with {prefix:?} is locked"),
    }
}

/// One line for each lock, and one for each leftover.
pub(crate) fn table(views: &[LockView]) -> Vec<String> {
    let mut rows = vec![row(["RESOURCE", "NODES", "LEFT", "HOLDER"])];
    for view in views {
        let nodes = view.keys.len();
        let count = |signed| format!("{}/{nodes}", view.count(signed));
        if let State::Permits(permits) = &view.state {
            rows.push(row([
                &view.resource,
                &format!("{}/{nodes}", view.having(permits)),
                &shown_left(permits.left()),
                &permits.sentence(),
            ]));
        }
        if let State::Held(held) = &view.state
            && held.is_shown()
        {
            rows.push(row([
                &view.resource,
                &count(held),
                &shown_left(held.left),
                &held.who(),
            ]));
        }
        for lock in view.left_over() {
            rows.push(row([
                &view.resource,
                &count(lock),
                &shown_left(lock.left),
                &view.apart(lock),
            ]));
        }
    }
    columns::lines(&rows)
}

/// How long a node may leave anything unanswered: longer than one that can take part in a vote needs.
pub(crate) const ANSWER: Duration = Duration::from_millis(500);
