//! What the command line asks for.

use crate::{check::Property, scenario::Scenario};
use clap::{ArgGroup, Parser};

/// Runs worlds of clients, nodes and networks in which everything goes wrong, and says which promise was broken.
#[derive(Debug, Parser)]
#[command(name = "leasehold-sim", group = ArgGroup::new("what").required(true).args(["list", "seed", "seeds"]))]
pub(crate) struct Args {
    /// Name the scenarios.
    #[arg(long)]
    pub(crate) list: bool,
    /// Run this world alone, of one scenario.
    #[arg(long, value_name = "N", requires = "scenario")]
    pub(crate) seed: Option<u64>,
    /// Run so many worlds of each scenario.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds: Option<u64>,
    /// So many of the scenarios whose nodes run the scripts, which take several times as long.
    #[arg(long, value_name = "COUNT", requires = "seeds", conflicts_with = "seed", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) lua_seeds: Option<u64>,
    /// The first of the worlds.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) from: u64,
    /// This scenario alone; `all` is the default.
    #[arg(long, value_name = "NAME", value_parser = choose)]
    scenario: Option<Choice>,
    /// Of the scenarios, every Nth, and of those parts the Kth.
    #[arg(long, value_name = "K/N", value_parser = part_of, conflicts_with = "seed")]
    part: Option<(usize, usize)>,
    /// Hear of this property alone: exclusion, validity, leftovers, loss, tokens, store, guard, progress, waiting, order.
    #[arg(long, value_name = "PROPERTY", value_parser = property)]
    pub(crate) only: Option<Property>,
    /// Tell the world's story.
    #[arg(long, requires = "seed")]
    pub(crate) trace: bool,
}

#[derive(Clone, Copy, Debug)]
enum Choice {
    All,
    One(&'static Scenario),
}

impl Args {
    /// Which are to be run.
    pub(crate) fn scenarios(&self) -> Vec<&'static Scenario> {
        let (first, every) = self.part.unwrap_or((1, 1));
        match self.scenario {
            Some(Choice::One(scenario)) => vec![scenario],
            Some(Choice::All) | None => Scenario::all().skip(first - 1).step_by(every).collect(),
        }
    }
}

fn property(name: &str) -> Result<Property, String> {
    Property::find(name).ok_or_else(|| "there is no such property".to_owned())
}

/// `2/3`: of three parts, each of which has every third of the scenarios, the second.
fn part_of(text: &str) -> Result<(usize, usize), String> {
    let read = || {
        let (number, count) = text.split_once('/')?;
        let (number, count): (usize, usize) = (number.parse().ok()?, count.parse().ok()?);
        (1..=count).contains(&number).then_some((number, count))
    };
    read().ok_or_else(|| "no part: `2/3` is the second of three".to_owned())
}

fn choose(name: &str) -> Result<Choice, String> {
    match name {
        "all" => Ok(Choice::All),
        name => Scenario::find(name)
            .map(Choice::One)
            .ok_or_else(|| "there is no such scenario; `--list` shows all".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Args, clap::Error> {
        let words = line.split_whitespace();
        Args::try_parse_from(["leasehold-sim"].into_iter().chain(words))
    }

    #[test]
    fn parts_have_each_scenario_once() {
        let of_part = |part: u8| {
            let args = parsed(&format!("--seeds 1 --part {part}/3"));
            args.expect("there are three").scenarios()
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
        let read = |line: &str| parsed(line).expect("it is right");
        assert!(read("--list").list);
        let one = read("--seed 7 --scenario calm --trace");
        assert_eq!((one.seed, one.trace), (Some(7), true));
        assert_eq!(one.scenarios().len(), 1);
        let many = read("--seeds 9 --from 3 --scenario all");
        assert_eq!((many.seeds, many.from, many.lua_seeds), (Some(9), 3, None));
        assert_eq!(many.scenarios().len(), Scenario::all().count());
        assert_eq!(read("--seeds 9 --lua-seeds 2").lua_seeds, Some(2));
        for wrong in [
            "",
            "--seed 7",
            "--seed x --scenario calm",
            "--seeds 0",
            "--seeds 1 --seed 1",
            "--seeds 1 --lua-seeds 0",
            "--seeds 1 --trace",
            "--seed 1 --scenario calm --lua-seeds 2",
            "--seeds 1 --only nothing",
            "--scenario",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
