//! The words of the command line.

use crate::{
    effort::Effort,
    workload::{PEERS, WORKLOADS, Workload},
};
use clap::Parser;
use std::path::PathBuf;

/// Measures leasehold beside others, in one run.
///
/// Charts and a copy of the values are written to target/bench/. The exit code says whether everything could be run, not whether it
/// was fast: 0 if so, 1 if not, 2 if the arguments make no sense.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
pub(crate) struct Args {
    /// Fewer rounds, shorter ones: below five minutes, good for a first look.
    #[arg(long)]
    pub(crate) quick: bool,
    /// So many rounds; 9 by default, 3 with --quick.
    #[arg(long, value_name = "N", value_parser = rounds)]
    pub(crate) rounds: Option<usize>,
    /// The results into docs/PERFORMANCE.md, docs/SCALE.md and docs/bench/.
    #[arg(long)]
    pub(crate) write_docs: bool,
    /// Libraries of other languages as well, which npm, pip and go install: workload peers.
    #[arg(long)]
    pub(crate) peers: bool,
    /// Only this one; may be repeated.
    #[arg(long, value_name = "NAME", value_parser = known)]
    pub(crate) workload: Vec<String>,
    /// Every value of every round.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// The library of that commit as well, which is built below target/against: the two take turns, subject by subject, and what is
    /// told, and written into docs/PERFORMANCE.md, is the differences.
    #[arg(long, value_name = "COMMIT")]
    pub(crate) against: Option<String>,
}

impl Args {
    /// The workloads that are to be run.
    pub(crate) fn chosen(&self) -> impl Iterator<Item = &'static Workload> {
        WORKLOADS
            .iter()
            .filter(|workload| self.chooses(workload.name))
    }

    pub(crate) fn effort(&self) -> Effort {
        let effort = if self.quick {
            Effort::QUICK
        } else {
            Effort::FULL
        };
        Effort {
            rounds: self.rounds.unwrap_or(effort.rounds),
            ..effort
        }
    }

    /// Whether a workload is to be run.
    fn chooses(&self, name: &str) -> bool {
        if name == PEERS && self.peers {
            return true;
        }
        let is_named = self.workload.iter().any(|chosen| chosen == name);
        is_named || (self.workload.is_empty() && name != PEERS)
    }
}

fn rounds(word: &str) -> Result<usize, String> {
    let rounds = word.parse().ok().filter(|rounds| *rounds > 0);
    rounds.ok_or_else(|| "no number of rounds".to_owned())
}

fn known(name: &str) -> Result<String, String> {
    let names = WORKLOADS.iter().map(|workload| workload.name);
    if names.clone().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    let names = names.collect::<Vec<_>>().join(", ");
    Err(format!("there is no such workload, but {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from(["bench"].into_iter().chain(line.split_whitespace()))
    }

    #[test]
    fn words_are_understood_or_told_back() {
        let args = parsed("--quick --workload herd --json a --against HEAD~3 --rounds 9").unwrap();
        assert_eq!(args.against.as_deref(), Some("HEAD~3"));
        assert!(args.quick);
        let effort = args.effort();
        assert_eq!((effort.rounds, effort.cycles), (9, Effort::QUICK.cycles));
        assert!(parsed("--rounds 0").is_err());
        assert_eq!(
            (args.workload, args.json),
            (vec!["herd".to_owned()], Some("a".into()))
        );
        assert!(
            parsed("--workload x")
                .unwrap_err()
                .to_string()
                .contains("throughput")
        );
        assert!(args_choose("--peers", &["herd", PEERS]));
        assert!(!args_choose("", &[PEERS]), "it installs packages");
        assert!(args_choose("--workload peers", &[PEERS]));
        assert!(!args_choose("--workload peers", &["herd"]));
        assert!(parsed("--json").is_err());
        assert!(parsed("quick").is_err());
    }

    fn args_choose(line: &str, names: &[&str]) -> bool {
        let args = parsed(line).unwrap();
        names.iter().all(|name| args.chooses(name))
    }
}
