//! Where to lock or to look: what every command asks for that is about nodes.

use crate::{
    agreement::Agreement,
    node_list::{NodeList, NodeListParser},
};
use clap::{Arg, ArgAction, Args, builder::FalseyValueParser};

/// The nodes, and what all who use them agree on.
#[derive(Debug, Args)]
pub(crate) struct NodesArguments {
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

    /// Exit with 2 where no servers are given, rather than lock on this machine only: for jobs that must not run on
    /// every machine because an address was forgotten
    #[arg(
        long,
        env = "LEASEHOLD_REQUIRE_NODES",
        action = ArgAction::SetTrue,
        value_parser = FalseyValueParser::new(),
    )]
    pub(crate) require_nodes: bool,

    /// Use this user's file on this machine, whatever servers a variable or a configuration file names, and without
    /// a notice
    #[arg(long)]
    pub(crate) local: bool,

    #[command(flatten)]
    pub(crate) agreement: Agreement,
}

/// For a command that has no plain locks, and so none on a Redis Cluster.
pub(crate) fn no_clusters(argument: Arg) -> Arg {
    argument.long_help(NODES_HELP.replace(CLUSTERS, ""))
}

const CLUSTERS: &str = " redis+cluster://[user:password@]host[:port],host[:port] is a Redis Cluster, for locks with --plain.";

/// Not a comment of the option, in which brackets are links.
const NODES_HELP: &str = "\
The URLs of the servers, separated by commas [default: this user's file on this machine]

redis://[user:password@]host[:port][/db], rediss://... for TLS, unix:///path, or a master with replicas as one \
node: redis+sentinel://[user:password@]host[:port],host[:port]/NAME[/db], with ?sentinel_password=... if the \
sentinels have one; rediss+sentinel:// speaks TLS with the servers and, unless ?sentinel_tls=no, with the sentinels. redis+cluster://[user:password@]host[:port],host[:port] is a Redis \
Cluster, for locks with --plain. A comma in a password is written %2C.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_clusters_can_be_left_out() {
        assert!(NODES_HELP.contains(CLUSTERS));
    }
}
