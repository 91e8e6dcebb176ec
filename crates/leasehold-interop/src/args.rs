//! The words of the command line.

use crate::peer::{PEERS, Peer};
use clap::Parser;
use leasehold_report::time;
use std::time::Duration;

/// Installs other people's lock libraries below target/interop, builds the version of leasehold before this one there and
/// leasehold's packages for Python and Node below target/packages, and locks the same resources with them and with leasehold.
///
/// It ends with 0 if everything is as it must be, with 1 if not, and with 2 if the words make no sense. A peer that cannot be had
/// here is skipped, and told. `--server NAME` as the first words, to cargo xtask interop, chooses the server, such as redis-8.6.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask interop", bin_name = "cargo xtask interop")]
pub(crate) struct Args {
    /// Mixes of 5 s instead of 60 s.
    #[arg(long)]
    quick: bool,
    /// How long a mix lasts: 30s, 2m; there are two for each peer, and of quorums short ones on one and five nodes.
    #[arg(long = "for", value_name = "TIME", value_parser = time, conflicts_with = "quick")]
    time: Option<Duration>,
    /// Only this peer; may be given several times.
    #[arg(long, value_name = "NAME", value_parser = named)]
    peer: Vec<&'static Peer>,
    /// How many peers are tried at the same time.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = lanes)]
    pub(crate) lanes: usize,
    /// Only the controls, which are part of every run.
    #[arg(long, conflicts_with = "peer")]
    control: bool,
    /// Write the table into docs/COMPARE.md.
    #[arg(long, conflicts_with_all = ["peer", "control"])]
    pub(crate) write_docs: bool,
    /// Say who is tried, and what.
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
}

impl Args {
    /// Who is tried. With none, only the controls are.
    pub(crate) fn peers(&self) -> Vec<&'static Peer> {
        match self.control || !self.peer.is_empty() {
            true => self.peer.clone(),
            false => PEERS.iter().collect(),
        }
    }

    /// How long each mix lasts.
    pub(crate) fn mix_for(&self) -> Duration {
        self.time.unwrap_or(if self.quick { QUICK } else { FULL })
    }
}

pub(crate) fn named(name: &str) -> Result<&'static Peer, String> {
    let found = PEERS.iter().find(|peer| peer.name == name);
    found.ok_or_else(|| format!("there is no peer `{name}`; --list names them"))
}

fn lanes(text: &str) -> Result<usize, String> {
    let lanes = text.parse().ok().filter(|lanes| *lanes > 0);
    lanes.ok_or_else(|| "no number of peers at a time".to_owned())
}

const FULL: Duration = Duration::from_secs(60);
const QUICK: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from(["interop"].into_iter().chain(line.split_whitespace()))
    }

    #[test]
    fn all_peers_are_tried_unless_some_are_named() {
        let read = |line: &str| parsed(line).expect("it is right");
        let args = read("--quick");
        assert_eq!((args.peers().len(), args.mix_for()), (PEERS.len(), QUICK));
        let args = read("--peer rslock --for 2m --lanes 1");
        assert_eq!((args.peers().len(), args.lanes), (1, 1));
        assert_eq!(args.mix_for(), Duration::from_secs(120));
        assert_eq!(read("--control").peers().len(), 0);
        assert!(read("--list").list);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            "--fast",
            "--peer",
            "--peer nobody",
            "--for 0s",
            "--for soon",
            "--lanes 0",
            "--control --peer rslock",
            "--write-docs --peer rslock",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
