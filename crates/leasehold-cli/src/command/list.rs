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
        let mut views = views(&nodes, &listing, whose).await;
        if views.iter().any(LockView::can_be_doubted) {
            let patient = usable::examine(&nodes, &place.agreement, None, None).await?;
            let doubt = |view| usable::doubt(view, &patient);
            views.iter_mut().for_each(doubt);
        }
        Ok::<_, Failure>((listing, views))
    })??;
    if arguments.json {
        for view in &views {
            output::data(view.json())?;
        }
    } else if !views.is_empty() {
        output::data(table(&views).join("\n"))?;
    }
    let has_more = tell_nodes(&nodes, &listing, arguments)?;
    if views.is_empty() {
        tell_none(&nodes, arguments, has_more)?;
    }
    match has_more {
        true => Err(incomplete(&views, arguments)),
        false => Ok(exit_code::SUCCESS),
    }
}

/// What was read. A server knows keys, of which few may be locks.
fn sort(nodes: &Nodes, foreign: bool) -> &'static str {
    match (nodes, foreign) {
        (Nodes::ThisMachine(_), _) => "locks",
        (Nodes::Servers(_), false) => "keys that may be locks (texts, sorted sets)",
        (Nodes::Servers(_), true) => "keys that may be locks (texts, sorted sets, hashes)",
    }
}

/// A script would take a lock for free that is missing.
fn incomplete(views: &[LockView], arguments: &ListArguments) -> Failure {
    let text = match views.len() {
        0 => "no lock is among the keys that were read; there may be some among the others",
        _ => "the list is incomplete: there may be locks among the keys that were not read",
    };
    let longer = match arguments.prefix.as_str() {
        "" => "`leasehold list PREFIX` reads only keys of names that begin so",
        _ => "a longer PREFIX reads fewer keys",
    };
    let hint = format!("{longer}; --most reads more");
    Failure::new(exit_code::FAILED, text).hint(hint)
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
fn tell_nodes(
    nodes: &Nodes,
    listing: &Listing,
    arguments: &ListArguments,
) -> Result<bool, Failure> {
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
                    "{}: has more than {most} {}, and not all were read",
                    told.node,
                    sort(nodes, arguments.foreign)
                ));
            }
            _ => {}
        }
    }
    let count = listing.nodes.len();
    if count - silent < listing.quorum {
        let text = format!("{silent} of {count} nodes could not be listed");
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
    if !arguments.json && !has_more {
        let prefix = &arguments.prefix;
        output::talk(nothing(prefix));
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
