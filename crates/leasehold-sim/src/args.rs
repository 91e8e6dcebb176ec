//! What the command line asks for.

use crate::{check::Property, scenario::Scenario};

pub(crate) const USAGE: &str = "\
usage: leasehold-sim --seed N --scenario NAME [--only PROPERTY] [--trace]
       leasehold-sim --seeds COUNT [--lua-seeds COUNT] [--from N] [--scenario NAME|all] [--part K/N] [--only PROPERTY]
       leasehold-sim --list
properties: exclusion, validity, leftovers, loss, tokens, store, guard, progress, waiting, order";

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Command {
    Help,
    List,
    One {
        scenario: &'static Scenario,
        seed: u64,
        only: Option<Property>,
        trace: bool,
    },
    Many {
        scenarios: Vec<&'static Scenario>,
        from: u64,
        count: u64,
        /// How many of the scenarios whose nodes run the scripts, if not as many as of the others.
        lua: Option<u64>,
        only: Option<Property>,
    },
}

/// Reads the arguments. Nothing is touched.
pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Command, String> {
    let (mut list, mut trace) = (false, false);
    let (mut seed, mut count, mut lua, mut from, mut only) = (None, None, None, 0, None);
    let mut scenarios: Vec<_> = Scenario::all().collect();
    let mut part = (1, 1);
    let mut args = args;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--list" => list = true,
            "--trace" => trace = true,
            "--seed" => seed = Some(number(&arg, args.next())?),
            "--seeds" => count = Some(number(&arg, args.next())?),
            "--lua-seeds" => lua = Some(number(&arg, args.next())?),
            "--from" => from = number(&arg, args.next())?,
            "--only" => only = Some(property(args.next().as_deref())?),
            "--part" => part = part_of(args.next().as_deref())?,
            "--scenario" => scenarios = choose(args.next().as_deref())?,
            _ => return Err(format!("unknown argument `{arg}`")),
        }
    }
    if lua.is_some() && count.is_none() {
        return Err("`--lua-seeds` goes with `--seeds`".to_owned());
    }
    let (first, every) = part;
    let scenarios = scenarios.into_iter().skip(first - 1).step_by(every);
    let scenarios: Vec<_> = scenarios.collect();
    match (list, seed, count) {
        (true, None, None) => Ok(Command::List),
        (false, Some(seed), None) => match scenarios[..] {
            [scenario] => Ok(Command::One {
                scenario,
                seed,
                only,
                trace,
            }),
            _ => Err("`--seed` needs one `--scenario`".to_owned()),
        },
        (false, None, Some(0)) => Err("`--seeds 0` tries nothing".to_owned()),
        (false, None, Some(_)) if lua == Some(0) => Err("`--lua-seeds 0` tries nothing".to_owned()),
        (false, None, Some(count)) if !trace => Ok(Command::Many {
            scenarios,
            from,
            count,
            lua,
            only,
        }),
        _ => Err(
            "one of `--seed`, `--seeds`, `--list` is needed; `--trace` goes with `--seed`"
                .to_owned(),
        ),
    }
}

fn number(arg: &str, value: Option<String>) -> Result<u64, String> {
    let value = value.ok_or_else(|| format!("`{arg}` needs a number"))?;
    value
        .parse()
        .map_err(|_| format!("`{value}` is not a number"))
}

fn property(name: Option<&str>) -> Result<Property, String> {
    name.and_then(Property::find)
        .ok_or_else(|| "`--only` needs a property".to_owned())
}

/// `2/3`: of three parts, each of which has every third of the scenarios, the second.
fn part_of(text: Option<&str>) -> Result<(usize, usize), String> {
    let read = || {
        let (number, count) = text?.split_once('/')?;
        let (number, count): (usize, usize) = (number.parse().ok()?, count.parse().ok()?);
        (1..=count).contains(&number).then_some((number, count))
    };
    read().ok_or_else(|| "`--part` needs a part: `2/3` is the second of three".to_owned())
}

fn choose(name: Option<&str>) -> Result<Vec<&'static Scenario>, String> {
    match name {
        None => Err("`--scenario` needs a name".to_owned()),
        Some("all") => Ok(Scenario::all().collect()),
        Some(name) => match Scenario::find(name) {
            Some(scenario) => Ok(vec![scenario]),
            None => Err(format!("there is no scenario `{name}`; `--list` shows all")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn parts_have_each_scenario_once() {
        let of_part = |part: u8| match parsed(&format!("--seeds 1 --part {part}/3")) {
            Ok(Command::Many { scenarios, .. }) => scenarios,
            other => panic!("{other:?}"),
        };
        let mut names: Vec<_> = { [1, 2, 3].into_iter() }
            .flat_map(of_part)
            .map(|scenario| scenario.name)
            .collect();
        let mut all: Vec<_> = Scenario::all().map(|scenario| scenario.name).collect();
        names.sort_unstable();
        all.sort_unstable();
        assert_eq!(names, all);
        for wrong in ["0/3", "4/3", "1", "a/2", "1/0"] {
            assert!(
                parsed(&format!("--seeds 1 --part {wrong}")).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_line_asks_for_one_thing() {
        assert!(matches!(parsed("--list"), Ok(Command::List)));
        assert!(matches!(
            parsed("--seed 7 --scenario calm --trace"),
            Ok(Command::One {
                seed: 7,
                trace: true,
                ..
            })
        ));
        assert!(matches!(
            parsed("--seeds 9 --from 3"),
            Ok(Command::Many {
                from: 3,
                count: 9,
                lua: None,
                ..
            })
        ));
        assert!(matches!(
            parsed("--seeds 9 --lua-seeds 2"),
            Ok(Command::Many {
                count: 9,
                lua: Some(2),
                ..
            })
        ));
        for wrong in [
            "",
            "--seed 7",
            "--seed x --scenario calm",
            "--seeds 0",
            "--seeds 1 --seed 1",
            "--seeds 1 --lua-seeds 0",
            "--seed 1 --scenario calm --lua-seeds 2",
            "--scenario",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
