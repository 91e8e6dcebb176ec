//! The words of the command line.

use crate::workload::WORKLOADS;
use std::path::PathBuf;

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Args {
    pub(crate) is_quick: bool,
    pub(crate) writes_docs: bool,
    /// None means all.
    pub(crate) workloads: Vec<String>,
    pub(crate) json: Option<PathBuf>,
}

/// Understands them, or says what makes no sense.
pub(crate) fn parse(words: &[&str]) -> Result<Args, String> {
    let mut args = Args::default();
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut value = || words.next().copied().ok_or(format!("{word} needs a value"));
        match word {
            "--quick" => args.is_quick = true,
            "--write-docs" => args.writes_docs = true,
            "--json" => args.json = Some(value()?.into()),
            "--workload" => args.workloads.push(known(value()?)?),
            _ => return Err(format!("there is no option `{word}`")),
        }
    }
    Ok(args)
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
usage: cargo xtask bench [--quick] [--workload NAME]... [--json FILE] [--write-docs]

  --quick          fewer rounds, shorter ones: below five minutes, good for a first look
  --workload NAME  only this one: latency, throughput, instructions, tasks, processes, faults, held, herd, wake,
                   expiry; may be repeated
  --json FILE      every value of every round
  --write-docs     the results into docs/PERFORMANCE.md and docs/bench/

Charts and a copy of the values are written to target/bench/. The exit code says whether everything could be run, not
whether it was fast: 0 if so, 1 if not, 2 if the arguments make no sense.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_understood_or_told_back() {
        let args = parse(&["--quick", "--workload", "herd", "--json", "a"]).unwrap();
        assert!(args.is_quick);
        assert_eq!(
            (args.workloads, args.json),
            (vec!["herd".to_owned()], Some("a".into()))
        );
        assert!(
            parse(&["--workload", "x"])
                .unwrap_err()
                .contains("throughput")
        );
        assert!(parse(&["--json"]).is_err());
        assert!(parse(&["quick"]).is_err());
    }
}
