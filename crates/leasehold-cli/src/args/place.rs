//! Where to lock or to look: what every command asks for that is about nodes.

use crate::{
    agreement::Agreement,
    node_list::{NodeList, NodeListParser},
};
use clap::Args;

/// The nodes, and what all who use them agree on.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The URLs of the servers, separated by commas [default: this user's file on this machine]
    #[arg(
        long,
        value_name = "URL,URL…",
        env = "LEASEHOLD_NODES",
        // They may contain passwords.
        hide_env_values = true,
        long_help = NODES_HELP,
        value_parser = NodeListParser,
    )]
    pub(crate) nodes: Option<NodeList>,

    #[command(flatten)]
    pub(crate) agreement: Agreement,
}

/// Not a comment of the option, in which brackets are links.
const NODES_HELP: &str = "\
The URLs of the servers, separated by commas [default: this user's file on this machine]

redis://[user:password@]host[:port][/db], rediss://... for TLS, unix:///path, or a master with replicas as one \
node: redis+sentinel://[user:password@]host[:port],host[:port]/mymaster[/db], with ?sentinel_password=... if the \
sentinels have one. A comma in a password is written %2C.";
