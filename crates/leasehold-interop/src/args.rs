//! The words of the command line.

use crate::peer::{PEERS, Peer};
use std::time::Duration;

/// What is to be done.
#[derive(Debug)]
pub(crate) struct Args {
    /// Who is tried. With none, only the controls are.
    pub(crate) peers: Vec<&'static Peer>,
    /// How long each mix lasts.
    pub(crate) mix_for: Duration,
    pub(crate) lanes: usize,
    pub(crate) writes_docs: bool,
}

/// Understands them, or says what makes no sense.
pub(crate) fn parse(words: &[&str]) -> Result<Args, String> {
    let mut args = Args {
        peers: Vec::new(),
        mix_for: FULL,
        lanes: 3,
        writes_docs: false,
    };
    let mut only_controls = false;
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut value = || words.next().copied().ok_or(format!("{word} needs a value"));
        match word {
            "--quick" => args.mix_for = QUICK,
            "--for" => args.mix_for = duration(value()?)?,
            "--peer" => args.peers.push(named(value()?)?),
            "--lanes" => {
                let lanes = value()?;
                args.lanes = match lanes.parse() {
                    Ok(lanes) if lanes > 0 => lanes,
                    _ => return Err(format!("`{lanes}` is no number of peers at a time")),
                };
            }
            "--control" => only_controls = true,
            "--write-docs" => args.writes_docs = true,
            _ => return Err(format!("there is no option `{word}`")),
        }
    }
    let is_partial = only_controls || !args.peers.is_empty();
    if is_partial && args.writes_docs {
        return Err("--write-docs needs all peers: leave out --peer and --control".to_owned());
    }
    if only_controls && !args.peers.is_empty() {
        return Err("--control tries no peer: leave out --peer".to_owned());
    }
    if !is_partial {
        args.peers = PEERS.iter().collect();
    }
    Ok(args)
}

pub(crate) fn named(name: &str) -> Result<&'static Peer, String> {
    let found = PEERS.iter().find(|peer| peer.name == name);
    found.ok_or_else(|| format!("there is no peer `{name}`; --list names them"))
}

fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text
        .strip_suffix('s')
        .and_then(|number| number.parse().ok());
    let minutes = text
        .strip_suffix('m')
        .and_then(|number| number.parse::<u64>().ok());
    match seconds.or(minutes.map(|minutes| minutes * 60)) {
        Some(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
        _ => Err(format!("`{text}` is no time such as 30s or 2m")),
    }
}

pub(crate) const USAGE: &str = "\
usage: cargo xtask interop [OPTION ...]

Installs other people's lock libraries below target/interop, builds the version of leasehold before this one there and
leasehold's packages for Python and Node below target/packages, and locks the same resources with them and with leasehold.

  --quick        mixes of 5 s instead of 60 s
  --for TIME     how long a mix lasts: 30s, 2m; there are two for each peer, and of quorums short ones on one and five nodes
  --peer NAME    only this peer; may be given several times
  --control      only the controls, which are part of every run
  --server NAME  on this server, such as redis-8.6 (the first word, to cargo xtask interop)
  --lanes N      how many peers are tried at the same time; 3 by default
  --write-docs   writes the table into docs/COMPARE.md
  --list         who is tried, and what

It ends with 0 if everything is as it must be, with 1 if not, and with 2 if the words make no sense. A peer that cannot
be had here is skipped, and told.";

const FULL: Duration = Duration::from_secs(60);
const QUICK: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_peers_are_tried_unless_some_are_named() {
        let args = parse(&["--quick"]).unwrap();
        assert_eq!((args.peers.len(), args.mix_for), (PEERS.len(), QUICK));
        let args = parse(&["--peer", "rslock", "--for", "2m", "--lanes", "1"]).unwrap();
        assert_eq!((args.peers.len(), args.lanes), (1, 1));
        assert_eq!(args.mix_for, Duration::from_secs(120));
        assert_eq!(parse(&["--control"]).unwrap().peers.len(), 0);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for words in [
            &["--fast"][..],
            &["--peer"],
            &["--peer", "nobody"],
            &["--for", "0s"],
            &["--for", "soon"],
            &["--lanes", "0"],
            &["--control", "--peer", "rslock"],
            &["--write-docs", "--peer", "rslock"],
        ] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
