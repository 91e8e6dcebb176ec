//! The words of the command line.

use crate::{
    effort::Effort,
    workload::{PEERS, WORKLOADS, Workload},
};
use std::path::PathBuf;

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Args {
    pub(crate) is_quick: bool,
    /// If it is not as the effort has it.
    pub(crate) rounds: Option<usize>,
    pub(crate) writes_docs: bool,
    /// Whether libraries of other languages are measured as well.
    pub(crate) has_peers: bool,
    /// None means all.
    pub(crate) workloads: Vec<String>,
    pub(crate) json: Option<PathBuf>,
    /// The commit that is compared with.
    pub(crate) against: Option<String>,
}

/// Understands them, or says what makes no sense.
pub(crate) fn parse(words: &[&str]) -> Result<Args, String> {
    let mut args = Args::default();
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut value = || words.next().copied().ok_or(format!("{word} needs a value"));
        match word {
            "--quick" => args.is_quick = true,
            "--rounds" => args.rounds = Some(rounds(value()?)?),
            "--write-docs" => args.writes_docs = true,
            "--peers" => args.has_peers = true,
            "--json" => args.json = Some(value()?.into()),
            "--against" => args.against = Some(value()?.to_owned()),
            "--workload" => args.workloads.push(known(value()?)?),
            _ => return Err(format!("there is no option `{word}`")),
        }
    }
    Ok(args)
}

impl Args {
    /// The workloads that are to be run.
    pub(crate) fn chosen(&self) -> impl Iterator<Item = &'static Workload> {
        WORKLOADS
            .iter()
            .filter(|workload| self.chooses(workload.name))
    }

    pub(crate) fn effort(&self) -> Effort {
        let effort = if self.is_quick {
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
        if name == PEERS && self.has_peers {
            return true;
        }
        let is_named = self.workloads.iter().any(|chosen| chosen == name);
        is_named || (self.workloads.is_empty() && name != PEERS)
    }
}

fn rounds(word: &str) -> Result<usize, String> {
    match word.parse() {
        Ok(rounds) if rounds > 0 => Ok(rounds),
        _ => Err(format!("`{word}` is no number of rounds")),
    }
}

fn known(name: &str) -> Result<String, String> {
    let names = WORKLOADS.iter().map(|workload| workload.name);
    if names.clone().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    let names = names.collect::<Vec<_>>().join(", ");
    Err(format!("there is no workload `{name}`, but {names}"))
}

pub(crate) const USAGE: &str = "\
usage: cargo xtask bench [--quick] [--rounds N] [--workload NAME]... [--peers] [--against COMMIT] [--json FILE]
                         [--write-docs]

  --quick          fewer rounds, shorter ones: below five minutes, good for a first look
  --rounds N       so many rounds; 9 by default, 3 with --quick
  --workload NAME  only this one: latency, several, readers, permits, throughput, instructions, sent, tasks, processes, faults,
                   held, names, herd, wake, expiry, clusters, clients, peers; may be repeated
  --peers          libraries of other languages as well, which npm, pip and go install: workload peers
  --against COMMIT the library of that commit as well, which is built below target/against: the two take turns, subject by
                   subject, and what is told, and written into docs/PERFORMANCE.md, is the differences
  --json FILE      every value of every round
  --write-docs     the results into docs/PERFORMANCE.md, docs/SCALE.md and docs/bench/

Charts and a copy of the values are written to target/bench/. The exit code says whether everything could be run, not
whether it was fast: 0 if so, 1 if not, 2 if the arguments make no sense.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_understood_or_told_back() {
        let args = parse(&[
            "--quick",
            "--workload",
            "herd",
            "--json",
            "a",
            "--against",
            "HEAD~3",
            "--rounds",
            "9",
        ])
        .unwrap();
        assert_eq!(args.against.as_deref(), Some("HEAD~3"));
        assert!(args.is_quick);
        let effort = args.effort();
        assert_eq!((effort.rounds, effort.cycles), (9, Effort::QUICK.cycles));
        assert!(parse(&["--rounds", "0"]).is_err());
        assert_eq!(
            (args.workloads, args.json),
            (vec!["herd".to_owned()], Some("a".into()))
        );
        assert!(
            parse(&["--workload", "x"])
                .unwrap_err()
                .contains("throughput")
        );
        assert!(args_choose(&["--peers"], &["herd", PEERS]));
        assert!(!args_choose(&[], &[PEERS]), "it installs packages");
        assert!(args_choose(&["--workload", PEERS], &[PEERS]));
        assert!(!args_choose(&["--workload", PEERS], &["herd"]));
        assert!(parse(&["--json"]).is_err());
        assert!(parse(&["quick"]).is_err());
    }

    fn args_choose(words: &[&str], names: &[&str]) -> bool {
        let args = parse(words).unwrap();
        names.iter().all(|name| args.chooses(name))
    }
}
