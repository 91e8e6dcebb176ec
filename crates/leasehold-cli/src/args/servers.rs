//! The arguments of `leasehold servers`.

use crate::agreement::Agreement;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Start, stop and list lock servers on this machine, for trying and testing.
#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// Start servers on free loopback ports and print the list that --nodes takes
    #[command(after_long_help = START_HELP)]
    Start {
        /// How many: an odd number, since an even one tolerates no more failures
        #[arg(short = 'n', long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=32))]
        count: u8,

        #[command(flatten)]
        place: FolderArguments,

        #[command(flatten)]
        agreement: Agreement,
    },
    /// Stop the servers that were started
    Stop {
        #[command(flatten)]
        place: FolderArguments,
    },
    /// Say which of the servers are up, one a line
    Status {
        /// Print only the list that --nodes takes
        #[arg(long)]
        nodes: bool,

        /// Print one JSON object a line, one for each server
        #[arg(long, conflicts_with = "nodes")]
        json: bool,

        #[command(flatten)]
        place: FolderArguments,
    },
}

#[derive(Debug, Args)]
pub(crate) struct FolderArguments {
    /// The folder that the servers live in [default: servers in this user's state folder]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
}

const START_HELP: &str = "\
Examples:
    leasehold run --nodes \"$(leasehold servers start -n 3)\" demo -- echo hi
    leasehold servers stop";
