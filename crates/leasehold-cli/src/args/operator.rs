//! The arguments of those who operate the servers: `leasehold admit` and `leasehold reconfigure`.

use super::nodes::NodesArguments;
use crate::node_list::{NodeList, NodeListParser};
use clap::Args;

/// Let servers vote that would wait because they may have forgotten locks.
///
/// Servers that are new, were flushed or have restarted do not vote until every lock that they may have forgotten has
/// ended. By this command you confirm that they have forgotten none: use it for servers that are brand-new, or while no
/// program holds a lock. Used for a server that did forget, it lets two hold the same lock.
#[derive(Debug, Args)]
#[command(
    after_long_help = OPERATOR_HELP,
    mut_arg("nodes", |nodes| nodes.help(ALL_NODES).long_help(None))
)]
pub(crate) struct AdmitArguments {
    #[command(flatten)]
    pub(crate) place: NodesArguments,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Change the servers, or the options that all clients must share, while locks are in use.
///
/// Give the new list of servers and the new options. A client with the old ones loses its lock in time and is told of
/// it; a client with the new ones waits until every old lock has ended, so start those clients afterwards. Run the
/// command again if it was interrupted or did not reach every server: what was done is left alone.
#[derive(Debug, Args)]
#[command(
    after_long_help = OPERATOR_HELP,
    mut_arg("nodes", |nodes| nodes.help(NODES_AFTER).long_help(None))
)]
pub(crate) struct ReconfigureArguments {
    #[command(flatten)]
    pub(crate) place: NodesArguments,

    /// The servers before the change, all of them, by the names that they had; without it, the same
    #[arg(long, value_name = "URL,URL…", value_parser = NodeListParser)]
    pub(crate) from: Option<NodeList>,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,

    /// Look, say what would be done, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// One that is left out is not operated, and there is none on this machine alone.
const ALL_NODES: &str = "The URLs of all servers, separated by commas";
const NODES_AFTER: &str = "The URLs of all servers after the change, separated by commas";

const OPERATOR_HELP: &str = "\
Exit codes:
  0      done
  2      wrong arguments, or they are not about these servers
  122    too few servers can be reached
  125    leasehold itself failed, or the answer was no";
