//! Variables whose names are nearly ours.
//!
//! A variable that nobody reads fails open: with `LEASEHOLD_NODE` for `LEASEHOLD_NODES`, each machine would lock for itself, and
//! every job would run everywhere. Names that merely begin as ours do are others': Kubernetes makes `LEASEHOLD_SERVICE_HOST` and
//! `LEASEHOLD_PORT_6379_TCP` of a service that is called leasehold.

use crate::{exit_code, failure::Failure};
use std::ffi::OsString;
use strsim::levenshtein;

/// Refuses a name that is a letter or two beside one that is read.
pub(crate) fn check(names: impl Iterator<Item = OsString>) -> Result<(), Failure> {
    let mut names: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
    // The same one is told every time.
    names.sort_unstable();
    let wrong = names.iter().find_map(|name| Some((name, meant(name)?)));
    wrong.map_or(Ok(()), |(name, meant)| {
        let text = format!("leasehold does not know the variable {name}; did you mean {meant}?");
        let hint = "rename it, or unset it".to_owned();
        Err(Failure::new(exit_code::USAGE, text).hint(hint))
    })
}

/// The variable that is read and has nearly this name.
fn meant(name: &str) -> Option<&'static str> {
    if READ.contains(&name) || TOLD.contains(&name) {
        return None;
    }
    // What nodes are, in everybody's word for them.
    if name == "LEASEHOLD_SERVERS" {
        return Some("LEASEHOLD_NODES");
    }
    READ.into_iter().find(|read| {
        // Of three letters, two that are wrong are another word.
        let most = if read.len() < "LEASEHOLD_NODES".len() {
            1
        } else {
            2
        };
        levenshtein(&name.to_uppercase().replace('-', "_"), read) <= most
    })
}

/// The variables that options are read from.
const READ: [&str; 13] = [
    "LEASEHOLD_NODES",
    "LEASEHOLD_REQUIRE_NODES",
    "LEASEHOLD_CONFIG",
    "LEASEHOLD_USE",
    "LEASEHOLD_MAX_TTL",
    "LEASEHOLD_RESTART_GUARD",
    "LEASEHOLD_NAMESPACE",
    "LEASEHOLD_CLUSTER",
    "LEASEHOLD_KEY_FORMAT",
    "LEASEHOLD_TOLERATE_FORGETFUL",
    "LEASEHOLD_CLOCK_SKEW",
    "LEASEHOLD_REPLICATED",
    "LEASEHOLD_ON_DISK",
];

/// The variables that commands are told of their lock by.
const TOLD: [&str; 8] = [
    "LEASEHOLD_RESOURCE",
    "LEASEHOLD_OWNER",
    "LEASEHOLD_OWNERS",
    "LEASEHOLD_SHARES",
    "LEASEHOLD_SLOT",
    "LEASEHOLD_VALID_UNTIL",
    "LEASEHOLD_FENCING_TOKEN",
    "LEASEHOLD_TERM",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arguments;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    #[test]
    fn every_variable_that_an_option_reads_is_known() {
        let mut read = BTreeSet::new();
        let command = Arguments::command();
        for command in command.get_subcommands().chain([&command]) {
            let names = command
                .get_arguments()
                .filter_map(|argument| argument.get_env());
            read.extend(names.filter_map(|name| name.to_str().map(str::to_owned)));
        }
        assert_eq!(read, READ.map(str::to_owned).into());
    }

    #[test]
    fn a_letter_or_two_beside_a_name_is_that_name() {
        for (name, is_meant) in [
            ("LEASEHOLD_NODE", Some("LEASEHOLD_NODES")),
            ("LEASEHOLD_NOEDS", Some("LEASEHOLD_NODES")),
            ("LEASHOLD_NODES", Some("LEASEHOLD_NODES")),
            ("leasehold_nodes", Some("LEASEHOLD_NODES")),
            ("LEASEHOLDNODES", Some("LEASEHOLD_NODES")),
            ("LEASEHOLD_MAXTTL", Some("LEASEHOLD_MAX_TTL")),
            ("LEASEHOLD_REQUIRE_NODE", Some("LEASEHOLD_REQUIRE_NODES")),
            ("LEASEHOLD_CONF", Some("LEASEHOLD_CONFIG")),
            ("LEASEHOLD_SERVERS", Some("LEASEHOLD_NODES")),
            ("LEASEHOLD_NODES", None),
            ("LEASEHOLD_OWNER", None),
            ("LEASEHOLD_SERVICE_HOST", None),
            ("LEASEHOLD_SERVICE_PORT", None),
            ("LEASEHOLD_PORT", None),
            ("LEASEHOLD_PORT_6379_TCP", None),
            ("LEASEHOLD_PORT_6379_TCP_ADDR", None),
            ("LEASEHOLD_NODES_SERVICE_HOST", None),
            ("LEASEHOLD_URL", None),
            ("LEASEHOLD_SERVER", None),
            ("NODES", None),
            ("PATH", None),
        ] {
            assert_eq!(meant(name), is_meant, "{name}");
        }
    }
}
