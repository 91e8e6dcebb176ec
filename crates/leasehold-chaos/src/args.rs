//! What the command line asks for. Nothing is touched while it is read.

use crate::{
    client::Orders,
    scenario::{Kind, Node, Scenario},
};
use std::{path::PathBuf, time::Duration};

pub(crate) const USAGE: &str = "\
usage: leasehold-chaos [--servers PATH,…] [--for TIME] [--scenario NAME]… [--seed N]
       leasehold-chaos --list | --help

  --servers PATH,…  server programs, each tried with all scenarios; default: the one that is found
  --for TIME        how long the run of one server program takes, divided over its scenarios: 60s, 2m;
                    default: 6m. Controls come first; each ends at its third overlap, at the latest after
                    four shares, and what it leaves is for the others
  --scenario NAME   only this one, with its control if it is lawful; may be repeated
  --seed N          decides what the nemesis draws; default: a new one, which is printed. What comes of
                    it depends on the machine as well: a seed does not replay a run
  --list            the scenarios";

/// What is to be done.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Help,
    List,
    Run(Run),
    /// Be a client.
    Client(Orders),
}

/// A run of scenarios on servers.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// None: what is found.
    pub(crate) servers: Vec<PathBuf>,
    pub(crate) time: Duration,
    pub(crate) scenarios: Vec<&'static Scenario>,
    pub(crate) seed: Option<u64>,
}

/// Reads the arguments.
pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut args = args.peekable();
    if args.next_if(|arg| arg == "client").is_some() {
        return client(args).map(Command::Client);
    }
    let mut run = Run {
        servers: Vec::new(),
        time: Duration::from_secs(360),
        scenarios: Scenario::all().collect(),
        seed: None,
    };
    let mut names = Vec::new();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" | "-h" | "help" => return Ok(Command::Help),
            "--list" => return Ok(Command::List),
            "--servers" => run.servers = list(&value(&arg, args.next())?)?,
            "--for" => run.time = time(&value(&arg, args.next())?)?,
            "--scenario" => names.push(scenario(&value(&arg, args.next())?)?.name),
            "--seed" => run.seed = Some(number(&value(&arg, args.next())?)?),
            _ => return Err(format!("unknown argument `{arg}`")),
        }
    }
    if !names.is_empty() {
        run.scenarios = Scenario::with_controls(&names);
    }
    let count = run.scenarios.len();
    // Less would prove nothing: the servers alone take a part of a second to start.
    let least: Duration = run.scenarios.iter().map(|scenario| scenario.least()).sum();
    if run.time < least {
        let time = run.time;
        return Err(format!(
            "{count} scenarios need at least {least:?}, not {time:?}"
        ));
    }
    Ok(Command::Run(run))
}

fn client(mut args: impl Iterator<Item = String>) -> Result<Orders, String> {
    let (mut kind, mut journal, mut ttl, mut seed) = (None, None, None, None);
    let (mut ports, mut store) = (Vec::new(), 0);
    let (mut node, mut copies) = (Node::Server, 0);
    while let Some(arg) = args.next() {
        let value = value(&arg, args.next())?;
        match arg.as_str() {
            "--kind" => {
                let found = Kind::find(&value);
                kind = Some(found.ok_or_else(|| format!("there is no client `{value}`"))?);
            }
            "--journal" => journal = Some(PathBuf::from(value)),
            "--ports" => ports = list(&value)?,
            "--node" => {
                let found = Node::find(&value);
                node = found.ok_or_else(|| format!("there is no node `{value}`"))?;
            }
            "--copies" => copies = list(&value)?[0],
            "--store" => store = list(&value)?[0],
            "--ttl" => ttl = Some(time(&value)?),
            "--seed" => seed = Some(number(&value)?),
            _ => return Err(format!("unknown argument `{arg}` of a client")),
        }
    }
    match (kind, journal, ttl, seed) {
        (Some(kind), Some(journal), Some(ttl), Some(seed)) if !ports.is_empty() => Ok(Orders {
            kind,
            journal,
            ports,
            node,
            copies,
            store,
            ttl,
            seed,
        }),
        _ => Err("a client is started by a run, not by hand".to_owned()),
    }
}

fn value(arg: &str, value: Option<String>) -> Result<String, String> {
    value.ok_or_else(|| format!("`{arg}` needs a value"))
}

fn list<T: std::str::FromStr>(text: &str) -> Result<Vec<T>, String> {
    let items = text.split(',').filter(|item| !item.is_empty());
    let items: Result<Vec<T>, _> = items.map(str::parse).collect();
    match items {
        Ok(items) if !items.is_empty() => Ok(items),
        _ => Err(format!("`{text}` is no list")),
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not a number"))
}

fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time; write `90s`, `2m` or `1500ms`");
    let end = text.find(|letter: char| !letter.is_ascii_digit());
    let (digits, unit) = text.split_at(end.ok_or_else(wrong)?);
    let count: u32 = digits.parse().map_err(|_| wrong())?;
    let unit = match unit {
        "ms" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        "m" => Duration::from_secs(60),
        _ => return Err(wrong()),
    };
    unit.checked_mul(count).ok_or_else(wrong)
}

fn scenario(name: &str) -> Result<&'static Scenario, String> {
    Scenario::find(name).ok_or_else(|| format!("there is no scenario `{name}`; `--list` shows all"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Missing;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    fn run(line: &str) -> Run {
        match parsed(line) {
            Ok(Command::Run(run)) => run,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_line_without_words_runs_everything_for_six_minutes() {
        let run = run("");
        assert_eq!(run.scenarios.len(), Scenario::all().count());
        assert_eq!((run.time, run.seed), (Duration::from_secs(360), None));
    }

    #[test]
    fn what_is_asked_for_is_understood() {
        let run = run("--servers a/b,c --for 2m --seed 7 --scenario network");
        assert_eq!(run.servers, [PathBuf::from("a/b"), PathBuf::from("c")]);
        assert_eq!((run.time, run.seed), (Duration::from_secs(120), Some(7)));
        assert_eq!(run.scenarios.len(), 2);
        assert!(matches!(parsed("--list"), Ok(Command::List)));
        assert!(matches!(parsed("--help"), Ok(Command::Help)));
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for wrong in [
            "--for",
            "--for 60",
            "--for s",
            "--for 99999999999999s",
            "--for 4294967295h",
            "--for 1s",
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
        match parse(orders.words().into_iter()) {
            Ok(Command::Client(understood)) => assert_eq!(understood, orders),
            other => panic!("{other:?}"),
        }
    }
}
