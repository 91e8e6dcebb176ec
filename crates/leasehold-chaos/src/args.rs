//! What the command line asks for. Nothing is touched while it is read.

use crate::{client::Orders, scenario::Scenario};
use clap::{Parser, Subcommand};
use leasehold_report::time;
use std::{path::PathBuf, time::Duration};

/// Breaks real servers and clients, and looks whether two ever hold one lock.
#[derive(Debug, Parser)]
#[command(
    name = "leasehold-chaos",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) part: Option<Part>,
    /// Name the scenarios.
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
    /// Server programs, each tried with all scenarios; without any, the one that is found.
    #[arg(long, value_name = "PATH,…", value_delimiter = ',', value_parser = path)]
    pub(crate) servers: Vec<PathBuf>,
    /// How long the run of one server program takes, divided over its scenarios. Controls come first; each ends at its third
    /// overlap, at the latest after four shares, and what it leaves is for the others. What has proved nothing then goes on for up
    /// to 30 s: a control without an overlap, a lawful one without a strike of each kind.
    #[arg(long = "for", value_name = "TIME", default_value = "6m", value_parser = time)]
    pub(crate) time: Duration,
    /// Only this one, with its control if it is lawful; may be repeated.
    #[arg(long, value_name = "NAME", value_parser = scenario)]
    scenario: Vec<&'static Scenario>,
    /// Decides what the nemesis draws; without it a new one, which is printed. What comes of it depends on the machine as well: a
    /// seed does not replay a run.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// What a run starts of itself.
#[derive(Debug, Subcommand)]
pub(crate) enum Part {
    #[command(hide = true)]
    Client(Orders),
}

impl Args {
    /// Those that are to be run, if there is time for them.
    pub(crate) fn scenarios(&self) -> Result<Vec<&'static Scenario>, String> {
        let names: Vec<_> = self.scenario.iter().map(|scenario| scenario.name).collect();
        let scenarios = match names.is_empty() {
            true => Scenario::all().collect(),
            false => Scenario::with_controls(&names),
        };
        let (count, time) = (scenarios.len(), self.time);
        // Less would prove nothing: the servers alone take a part of a second to start.
        let least: Duration = scenarios.iter().map(|scenario| scenario.least()).sum();
        match time < least {
            true => Err(format!(
                "{count} scenarios need at least {least:?}, not {time:?}"
            )),
            false => Ok(scenarios),
        }
    }
}

fn path(text: &str) -> Result<PathBuf, String> {
    match text.is_empty() {
        true => Err("a path is empty".to_owned()),
        false => Ok(text.into()),
    }
}

fn scenario(name: &str) -> Result<&'static Scenario, String> {
    Scenario::find(name).ok_or_else(|| "there is no such scenario; `--list` shows all".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Kind, Missing, Node};

    fn parsed(line: &str) -> Result<Args, clap::Error> {
        of_words(line.split_whitespace().map(str::to_owned))
    }

    fn of_words(words: impl Iterator<Item = String>) -> Result<Args, clap::Error> {
        Args::try_parse_from(["leasehold-chaos".to_owned()].into_iter().chain(words))
    }

    #[test]
    fn a_line_without_words_runs_everything_for_six_minutes() {
        let args = parsed("").expect("it is right");
        let scenarios = args.scenarios().expect("there is time");
        assert_eq!(scenarios.len(), Scenario::all().count());
        assert_eq!((args.time, args.seed), (Duration::from_secs(360), None));
    }

    #[test]
    fn what_is_asked_for_is_understood() {
        let args = parsed("--servers a/b,c --for 2m --seed 7 --scenario network");
        let args = args.expect("it is right");
        assert_eq!(args.servers, [PathBuf::from("a/b"), PathBuf::from("c")]);
        assert_eq!((args.time, args.seed), (Duration::from_secs(120), Some(7)));
        assert_eq!(args.scenarios().map(|scenarios| scenarios.len()), Ok(2));
        assert!(parsed("--list").expect("it is right").list);
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for wrong in [
            "--for",
            "--for 60",
            "--seed -1",
            "--scenario nothing",
            "--servers ,",
            "--unknown",
            "stray",
            "client",
            "client --kind careful",
            "client --kind polite",
            "client --ports 1,x",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
        let short = parsed("--for 1s").expect("it is a time");
        assert!(short.scenarios().is_err());
    }

    #[test]
    fn a_client_understands_what_a_run_tells_it() {
        let orders = Orders {
            kind: Kind::Reckless(Missing::SendTime),
            journal: "a/client-1.1.journal".into(),
            ports: vec![1, 65535],
            node: Node::Group,
            copies: 2,
            store: 7,
            ttl: Duration::from_millis(250),
            seed: u64::MAX,
        };
        match of_words(orders.words().into_iter()).map(|args| args.part) {
            Ok(Some(Part::Client(understood))) => assert_eq!(understood, orders),
            other => panic!("{other:?}"),
        }
    }
}
