//! `leasehold watch`: nodes and locks, again and again.

use super::{doctor::patient, list};
use crate::{
    args::views::WatchArguments,
    clock_steps::ClockSteps,
    failure::Failure,
    nodes::Nodes,
    output,
    picture::{Frame, Picture},
    usable,
    whose::Whose,
};
use leasehold::{ConfigError, clock::Clock, operate::NodeAnswer};
use std::io::{IsTerminal, stdout};
use tokio::{join, runtime, time::sleep};

/// Draws until somebody ends it, and tells the code to exit with.
pub(crate) fn run(arguments: &WatchArguments) -> Result<u8, Failure> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::own(format!("cannot start: {error}")))?;
    let place = &arguments.place;
    let nodes = Nodes::choose(place.nodes.as_ref())?;
    // Once, so that what is wrong with the arguments is told before the first picture, and talk but once.
    drop(nodes.to_look_at(&place.agreement)?);
    let frame = match (arguments.json, stdout().is_terminal() && !arguments.once) {
        (true, _) => Frame::Json,
        (false, true) => Frame::Terminal,
        (false, false) => Frame::Plain,
    };
    output::bytes(frame.begin().as_bytes())?;
    runtime.block_on(async {
        let mut steps = ClockSteps::default();
        loop {
            let picture = picture(&nodes, arguments, &mut steps).await?;
            // Who watches by a pipe that is gone does not watch any more.
            output::bytes(frame.draw(&picture).as_bytes())?;
            if arguments.once {
                return Ok(picture.patient.judgement().code());
            }
            sleep(arguments.every).await;
        }
    })
}

async fn picture(
    nodes: &Nodes,
    arguments: &WatchArguments,
    steps: &mut ClockSteps,
) -> Result<Picture, Failure> {
    let agreement = &arguments.place.agreement;
    let operator = nodes.operator(agreement)?;
    let wrong = |error: ConfigError| nodes.wrong(&error);
    let promptly = operator.answer_within(list::ANSWER);
    let (told, listing) = join!(
        promptly.examine(),
        operator.search(list::search(&arguments.prefix, MOST, Whose::Ours))
    );
    let (told, listing) = (told.map_err(wrong)?, listing.map_err(wrong)?);
    let has_more = listing
        .nodes
        .iter()
        .any(|told| matches!(&told.answer, NodeAnswer::Told(scanned) if scanned.has_more));
    let silent = |answer: &NodeAnswer<_>| matches!(answer, NodeAnswer::Silent(_));
    let unlisted = listing.nodes.iter();
    let unlisted = unlisted.filter(|told| silent(&told.answer)).count();
    let (now, patient) = (Clock::system().wall(), patient(agreement, &operator, &told));
    steps.note(now, &patient.nodes);
    let mut locks = list::views(nodes, &listing, Whose::Ours).await;
    let doubt = |view| usable::doubt(view, &patient);
    locks.iter_mut().for_each(doubt);
    Ok(Picture {
        now,
        patient,
        prefix: arguments.prefix.clone(),
        steps: steps.lines(),
        locks,
        unlisted,
        has_more,
    })
}

/// So many keys of each node are read, most of which may be other people's data.
const MOST: usize = 10_000;
