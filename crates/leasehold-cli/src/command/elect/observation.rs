//! Who leads, told with every change.

use crate::{
    args::elect::ElectArguments, exit::Exit, failure::Failure, nodes::Nodes, output,
    told_lease::json_text,
};
use leasehold::ElectionState;

/// Looks on until a signal ends the process: there is nothing to give back.
pub(super) async fn run(nodes: &Nodes, arguments: &ElectArguments) -> Result<Exit, Failure> {
    let lock = &arguments.lock;
    let builder = nodes.to_look_at(&lock.place.agreement)?;
    let leaders = builder.operator();
    let leaders = leaders.and_then(|operator| operator.observe(lock.resource().as_str()));
    let mut leaders = leaders.map_err(|error| nodes.wrong(&error))?;
    loop {
        let state = leaders.next().await;
        let state =
            state.ok_or_else(|| Failure::own("cannot look on: the thread behind it has ended"))?;
        match arguments.json {
            true => output::data(json(lock.resource().as_str(), &state))?,
            false => output::data(&state)?,
        }
    }
}

fn json(resource: &str, state: &ElectionState) -> String {
    let resource = json_text(resource);
    let word = match state {
        ElectionState::Led(_) => "led",
        ElectionState::NoLeader => "free",
        _ => "unknown",
    };
    let or_null = |text: Option<String>| text.unwrap_or_else(|| "null".to_owned());
    // Another program's value may be anything.
    let owner = state.leader().map(|leader| &leader.owner);
    let owner = owner.filter(|owner| owner.is_usual());
    let owner = or_null(owner.map(|owner| json_text(&owner.to_string())));
    let term = state.leader().and_then(|leader| leader.term_at_most);
    let term = or_null(term.map(|term| term.to_string()));
    format!(
        "{{\"resource\":{resource},\"state\":\"{word}\",\"owner\":{owner},\"term_at_most\":{term}}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_led_has_no_owner_and_no_term() {
        for (state, word) in [
            (ElectionState::NoLeader, "free"),
            (ElectionState::Unknown, "unknown"),
        ] {
            assert_eq!(
                json("s\"", &state),
                format!(
                    "{{\"resource\":\"s\\\"\",\"state\":\"{word}\",\"owner\":null,\"term_at_most\":null}}"
                )
            );
        }
    }
}
