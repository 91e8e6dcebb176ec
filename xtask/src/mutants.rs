//! `cargo xtask mutants`: what the checks would notice.
//!
//! A safety argument is tested when a program without it is found out. A mutant is the project with one
//! wrong line; each names the argument it attacks, and the checks that must fail of it. All of them are
//! run, on a copy, so what is said of them is a measurement and not a promise.
//!
//! A check that fails of everything proves nothing: every check is run on the project as it is first. A
//! mutant that does not compile proves nothing either, and is told apart.

mod changed;
mod check;
mod kind;
mod mutant;
mod parse;
mod programs;
mod report;
mod tree;
mod trial;
mod worker;

pub(crate) use mutant::Mutant;

use check::Check;
use kind::Kind;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::ExitCode,
};
use trial::Trial;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wish<'a> {
    Table,
    List,
    Help,
    Run {
        which: Which<'a>,
        /// Whether each is tried with one of its checks alone, the one that is built soonest.
        by_one: bool,
    },
}

/// Which mutants to try.
#[derive(Debug, PartialEq, Eq)]
enum Which<'a> {
    /// These, by name or argument; all, if none is named.
    Named(Vec<&'a str>),
    Changed(changed::Wish<'a>),
}

/// Does what the words ask for.
pub(crate) fn run(root: &Path, words: &[&str]) -> ExitCode {
    let wish = match parse_words(words) {
        Ok(wish) => wish,
        Err(wrong) => return refuse(&wrong),
    };
    if wish == Wish::Help {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let mutants = match load(root) {
        Ok(mutants) => mutants,
        Err(wrong) => {
            println!("{wrong}");
            return ExitCode::FAILURE;
        }
    };
    match wish {
        Wish::Help => unreachable!("told above"),
        Wish::Table => {
            println!("{}", report::table(&mutants));
            ExitCode::SUCCESS
        }
        Wish::List => {
            for mutant in &mutants {
                println!("{:<8} {}", mutant.argument, mutant.name);
            }
            ExitCode::SUCCESS
        }
        Wish::Run { which, by_one } => {
            // What a mutant was is asked of all its checks.
            let chosen = match which {
                Which::Named(names) => chosen(&mutants, &names),
                Which::Changed(wish) => changed::chosen(root, &mutants, wish),
            };
            let mut chosen: Vec<Mutant> = match chosen {
                Ok(chosen) => chosen.into_iter().cloned().collect(),
                Err(wrong) => return refuse(&wrong),
            };
            if chosen.is_empty() {
                return ExitCode::SUCCESS;
            }
            let named = chosen.iter().map(|mutant| mutant.killers.len()).sum();
            if by_one {
                chosen.iter_mut().for_each(Mutant::keep_soonest);
            }
            try_out(root, &chosen.iter().collect::<Vec<_>>(), named)
        }
    }
}

fn try_out(root: &Path, mutants: &[&Mutant], named: usize) -> ExitCode {
    let outdated = outdated(root, mutants);
    if !outdated.is_empty() {
        println!("{}", outdated.join("\n"));
        return ExitCode::FAILURE;
    }
    match Trial::new(root, mutants).and_then(|trial| trial.run(mutants, named)) {
        Ok(code) => code,
        Err(wrong) => {
            println!("FAILED: {wrong}");
            ExitCode::FAILURE
        }
    }
}

/// What the mutants say about the project that is not so any more: lines that moved, checks that are gone.
fn outdated(root: &Path, mutants: &[&Mutant]) -> Vec<String> {
    let mut wrong = Vec::new();
    for mutant in mutants {
        let text = fs::read_to_string(root.join(&mutant.file)).unwrap_or_default();
        wrong.extend(mutant.apply(&text).err());
        let checks = mutant.killers.iter().map(|killer| &killer.check);
        let gone = checks.filter_map(|check| check.exists(root).err());
        wrong.extend(gone.map(|what| format!("{}: {what}", mutant.place)));
    }
    wrong
}

/// The killers that are no test of the project any more. `tests` lists the tests of a package in one program, which cargo's
/// words name.
pub(crate) fn missing_killers(
    root: &Path,
    tests: impl Fn(&str, &[&str]) -> BTreeSet<String>,
) -> Result<Vec<String>, String> {
    let mutants = load(root)?;
    let mut known: BTreeMap<&Kind, BTreeSet<String>> = BTreeMap::new();
    let mut missing = Vec::new();
    for mutant in &mutants {
        for killer in &mutant.killers {
            let Check::Test(kind, name) = &killer.check else {
                continue;
            };
            let listed = known
                .entry(kind)
                .or_insert_with(|| tests(kind.package, kind.target));
            if !listed.contains(name) {
                missing.push(format!(
                    "{}: there is no {} test `{name}`{}",
                    mutant.place,
                    kind.word,
                    moved_to(listed, name)
                ));
            }
        }
    }
    Ok(missing)
}

/// Where a test is that has another module now, for people.
fn moved_to(listed: &BTreeSet<String>, name: &str) -> String {
    let last = |name: &str| name.rsplit("::").next().unwrap_or_default().to_owned();
    let same: Vec<&str> = listed
        .iter()
        .filter(|other| last(other) == last(name))
        .map(String::as_str)
        .collect();
    match same.as_slice() {
        [] => String::new(),
        same => format!(", but `{}`", same.join("`, `")),
    }
}

/// The mutants of the project, in the order of the arguments.
pub(crate) fn load(root: &Path) -> Result<Vec<Mutant>, String> {
    let entries = fs::read_dir(root.join(FOLDER)).map_err(|error| format!("{FOLDER}: {error}"))?;
    let mut names: Vec<_> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".txt"))
        .collect();
    names.sort();
    let mut mutants = Vec::new();
    for name in names {
        let path = format!("{FOLDER}/{name}");
        let text =
            fs::read_to_string(root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
        mutants.extend(parse::mutants(&path, &text)?);
    }
    match twice(&mutants) {
        None => Ok(mutants),
        Some(wrong) => Err(wrong),
    }
}

/// What is there twice: a name, or a wrong line. Two mutants that make the same change are one, with the killers of both.
fn twice(mutants: &[Mutant]) -> Option<String> {
    let change = |mutant: &Mutant| (mutant.file.clone(), mutant.old.clone(), mutant.new.clone());
    let (mut names, mut changes) = (BTreeMap::new(), BTreeMap::new());
    for mutant in mutants {
        let (name, place) = (&mutant.name, &mutant.place);
        if let Some(other) = names.insert(name, place) {
            return Some(format!("{place}: `{name}` is at {other} already"));
        }
        if let Some(other) = changes.insert(change(mutant), place) {
            return Some(format!(
                "{place}: `{name}` is the same change as the mutant at {other}; make them one, with the killers of both"
            ));
        }
    }
    None
}

fn parse_words<'a>(words: &[&'a str]) -> Result<Wish<'a>, String> {
    match words {
        ["--table"] => Ok(Wish::Table),
        ["--list"] => Ok(Wish::List),
        ["--help" | "-h"] => Ok(Wish::Help),
        ["--by-one", rest @ ..] => to_run(rest, true),
        rest => to_run(rest, false),
    }
}

fn to_run<'a>(words: &[&'a str], by_one: bool) -> Result<Wish<'a>, String> {
    let which = match words {
        ["--changed", rest @ ..] => changed(None, rest)?,
        ["--since", commit, rest @ ..] => changed(Some(commit), rest)?,
        names => Which::Named(names.to_vec()),
    };
    if let Which::Named(names) = &which
        && let Some(wrong) = names.iter().find(|name| name.starts_with('-'))
    {
        return Err(format!("unknown or misplaced argument `{wrong}`"));
    }
    Ok(Wish::Run { which, by_one })
}

fn changed<'a>(since: Option<&'a str>, words: &[&'a str]) -> Result<Which<'a>, String> {
    let at_most = match words {
        [] => None,
        ["--at-most", count] => Some(
            { count.parse() }
                .map_err(|_| format!("`{count}` is no number of mutants: `--at-most 20`"))?,
        ),
        words => return Err(format!("unknown or misplaced: `{}`", words.join(" "))),
    };
    Ok(Which::Changed(changed::Wish { since, at_most }))
}

fn chosen<'a>(mutants: &'a [Mutant], names: &[&str]) -> Result<Vec<&'a Mutant>, String> {
    let is_called = |mutant: &Mutant, name: &str| mutant.name == name || mutant.argument == name;
    for name in names {
        if !mutants.iter().any(|mutant| is_called(mutant, name)) {
            return Err(format!("there is no mutant `{name}`; `--list` shows all"));
        }
    }
    let is_chosen =
        |mutant: &&Mutant| names.is_empty() || names.iter().any(|name| is_called(mutant, name));
    Ok(mutants.iter().filter(is_chosen).collect())
}

fn refuse(wrong: &str) -> ExitCode {
    println!("{wrong}\n{USAGE}");
    ExitCode::from(2)
}

const USAGE: &str = "\
usage: cargo xtask mutants [--by-one] [NAME or ARGUMENT ...]
       cargo xtask mutants [--by-one] --changed | --since COMMIT [--at-most COUNT]
       cargo xtask mutants --table | --list
       --by-one: each by one of its checks alone, the one that is built soonest; all, in about half the time
       --changed: those of the files that have changed since the last night that tried them, by docs/NIGHTLY.md";

const FOLDER: &str = "xtask/mutants";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_ask_for_one_thing() {
        assert_eq!(parse_words(&["--table"]), Ok(Wish::Table));
        assert_eq!(parse_words(&["--list"]), Ok(Wish::List));
        let run = |names: &[&'static str], by_one| {
            let which = Which::Named(names.to_vec());
            Ok(Wish::Run { which, by_one })
        };
        let changed = |since, at_most, by_one| {
            let which = Which::Changed(changed::Wish { since, at_most });
            Ok(Wish::Run { which, by_one })
        };
        assert_eq!(parse_words(&[]), run(&[], false));
        assert_eq!(parse_words(&["a", "S5"]), run(&["a", "S5"], false));
        assert_eq!(parse_words(&["--by-one", "S5"]), run(&["S5"], true));
        assert_eq!(parse_words(&["--changed"]), changed(None, None, false));
        assert_eq!(
            parse_words(&["--by-one", "--since", "HEAD~3", "--at-most", "20"]),
            changed(Some("HEAD~3"), Some(20), true)
        );
        for wrong in [
            &["--since"][..],
            &["--changed", "S5"],
            &["--changed", "--at-most"],
            &["--changed", "--at-most", "few"],
            &["S5", "--changed"],
        ] {
            assert!(parse_words(wrong).is_err(), "{wrong:?}");
        }
        assert!(parse_words(&["S5", "--by-one"]).is_err());
        assert!(parse_words(&["--table", "a"]).is_err());
        assert!(parse_words(&["--fast"]).is_err());
    }

    #[test]
    fn no_name_and_no_change_is_there_twice() {
        let mutants = load(&crate::root()).expect("they can be read");
        assert_eq!(twice(&mutants), None);
        let with = |change: fn(&mut Mutant)| {
            let mut copy = mutants[0].clone();
            copy.place = "here:1".to_owned();
            change(&mut copy);
            twice(&[&mutants[..], &[copy]].concat()).unwrap_or_default()
        };
        let place = &mutants[0].place;
        let same_name = with(|copy| copy.new.push("more".to_owned()));
        assert!(
            same_name.ends_with(&format!("is at {place} already")),
            "{same_name}"
        );
        let same_change = with(|copy| copy.name = "another".to_owned());
        let told = format!("here:1: `another` is the same change as the mutant at {place};");
        assert!(same_change.starts_with(&told), "{same_change}");
    }

    #[test]
    fn every_mutant_still_applies_and_its_checks_exist() {
        let root = crate::root();
        let mutants = load(&root).expect("they can be read");
        let all: Vec<&Mutant> = mutants.iter().collect();
        let outdated = outdated(&root, &all);
        assert!(outdated.is_empty(), "{}", outdated.join("\n"));
    }

    #[test]
    fn a_killer_that_has_moved_is_told_with_its_new_name() {
        let all = missing_killers(&crate::root(), |_, _| BTreeSet::new()).expect("they are read");
        assert!(all.len() > 100, "nothing is there");
        let moved = |package: &str, target: &[&str]| {
            let is_it = package == "leasehold-core" && target == ["--lib"];
            let name = "elsewhere::tests::the_allowance_is_rounded_up";
            is_it.then(|| name.to_owned()).into_iter().collect()
        };
        let told = missing_killers(&crate::root(), moved).expect("they are read");
        let line = told
            .iter()
            .find(|line| line.contains("the_allowance_is_rounded_up"));
        assert!(
            line.is_some_and(
                |line| line.ends_with(", but `elsewhere::tests::the_allowance_is_rounded_up`")
            ),
            "{line:?}"
        );
    }

    #[test]
    fn mutants_are_chosen_by_name_or_by_argument() {
        let mutants = load(&crate::root()).expect("they can be read");
        assert_eq!(
            chosen(&mutants, &[]).map(|all| all.len()),
            Ok(mutants.len())
        );
        let first = &mutants[0];
        assert_eq!(chosen(&mutants, &[&first.name]).map(|one| one.len()), Ok(1));
        assert!(chosen(&mutants, &[&first.argument]).is_ok_and(|some| some.contains(&first)));
        assert!(chosen(&mutants, &["nobody"]).is_err());
    }
}
