//! `leasehold servers`: real servers on loopback, for trying and testing.

use crate::{
    agreement::Agreement,
    args::servers::{FolderArguments, ServersCommand},
    exit_code,
    failure::Failure,
    folder,
    json::Json,
    node_list::NodeList,
    output,
    told_lease::quoted,
    waiting,
};
use leasehold::operate::{Admission, NodeAnswer, Told};
use leasehold_servers::{Fleet, FleetError, Member, ServerBinary};
use std::path::PathBuf;

/// Starts, stops or lists servers, and tells the code to exit with.
pub(crate) fn run(command: &ServersCommand) -> Result<u8, Failure> {
    match command {
        ServersCommand::Start {
            count,
            place,
            agreement,
        } => start(*count, place, agreement),
        ServersCommand::Stop { place } => stop(place),
        ServersCommand::Status { nodes, json, place } => status(*nodes, *json, place),
    }?;
    Ok(exit_code::SUCCESS)
}

fn start(count: u8, place: &FolderArguments, agreement: &Agreement) -> Result<(), Failure> {
    let folder = folder_of(place)?;
    if place.dir.is_none() {
        folder::prepare(&folder)?;
    }
    let binary = ServerBinary::find().map_err(|error| Failure::own(error.to_string()))?;
    let fleet = Fleet::start(&folder, usize::from(count), &binary)
        .map_err(|error| failure("start", &error))?;
    let dir = place.dir.as_ref();
    let dir = dir.map_or_else(String::new, |dir| {
        format!(" --dir {}", quoted(&dir.display().to_string()))
    });
    output::talk(format_args!(
        "started {count} of {} in {}; `leasehold servers stop{dir}` stops them",
        binary.path().display(),
        folder.display()
    ));
    if count.is_multiple_of(2) {
        let fewer = count - 1;
        output::hint(format_args!(
            "{count} servers survive no more failures than {fewer}"
        ));
    }
    admit(&fleet, agreement);
    output::report(fleet.nodes())
}

/// Nobody can hold a lock on servers that were made a moment ago, so they may vote.
fn admit(fleet: &Fleet, agreement: &Agreement) {
    let nodes = NodeList::parse(&fleet.nodes()).expect("a server that was started has an address");
    let operator = agreement.builder(&nodes).operator();
    let told = operator.map(|operator| waiting::for_it(operator.admit()));
    let is_admitted = |told: &Told<Admission>| {
        matches!(told.answer, NodeAnswer::Told(Admission::Admitted { .. }))
    };
    if !matches!(told, Ok(Ok(Ok(told))) if told.iter().all(is_admitted)) {
        output::talk(
            "warning: the servers could not be told that they are new; the first lock waits for them",
        );
    }
}

fn stop(place: &FolderArguments) -> Result<(), Failure> {
    let fleet = load("stop", place)?;
    let stopped = fleet.stop().map_err(|error| failure("stop", &error))?;
    let plural = if stopped == 1 { "" } else { "s" };
    output::talk(format_args!("stopped {stopped} server{plural}"));
    Ok(())
}

fn status(nodes: bool, json: bool, place: &FolderArguments) -> Result<(), Failure> {
    let fleet = load("list", place)?;
    if nodes {
        return output::data(fleet.nodes());
    }
    for member in fleet.status() {
        match json {
            true => output::data(object(&member)),
            false => output::data(line(&member)),
        }?;
    }
    Ok(())
}

fn object(member: &Member) -> Json {
    Json::Object(vec![
        ("url", member.url().into()),
        ("pid", u64::from(member.pid).into()),
        ("running", member.running.into()),
        ("answers", (member.running && member.answers()).into()),
    ])
}

fn line(member: &Member) -> String {
    let state = match member.running {
        false => "gone",
        true if member.answers() => "up",
        true => "does not answer",
    };
    format!("{}\tpid {}\t{state}", member.url(), member.pid)
}

fn load(what: &str, place: &FolderArguments) -> Result<Fleet, Failure> {
    Fleet::load(&folder_of(place)?).map_err(|error| failure(what, &error))
}

fn folder_of(place: &FolderArguments) -> Result<PathBuf, Failure> {
    match &place.dir {
        Some(folder) => Ok(folder.clone()),
        None => Ok(folder::of_user()?.join("servers")),
    }
}

fn failure(what: &str, error: &FleetError) -> Failure {
    let hint = match error {
        FleetError::Running { .. } => {
            "to use them: export LEASEHOLD_NODES=\"$(leasehold servers status --nodes)\""
        }
        FleetError::None { .. } => "`leasehold servers start` starts some",
        _ => return Failure::own(format!("cannot {what} servers: {error}")),
    };
    Failure::own(format!("cannot {what} servers: {error}")).hint(hint.to_owned())
}
