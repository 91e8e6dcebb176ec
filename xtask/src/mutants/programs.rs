//! What one call of cargo does for many checks.

use super::check::Check;
use std::collections::{BTreeMap, BTreeSet};

/// What cargo builds before the checks can run: the tests of one package in one call.
pub(super) fn builds(checks: &[Check]) -> Vec<Vec<String>> {
    let mut builds: BTreeMap<Vec<&str>, BTreeSet<&[&str]>> = BTreeMap::new();
    for (words, program) in checks.iter().map(Check::build) {
        builds.entry(words).or_default().insert(program);
    }
    let words = |(words, programs): (Vec<&str>, BTreeSet<&[&str]>)| {
        let programs = programs.into_iter().flatten().copied();
        words
            .into_iter()
            .chain(programs)
            .map(str::to_owned)
            .collect()
    };
    builds.into_iter().map(words).collect()
}

/// What cargo does to run checks at once; none if they are no tests of one program.
pub(super) fn run_together(checks: &[Check]) -> Option<Vec<String>> {
    let Some(Check::Test(kind, _)) = checks.first() else {
        return None;
    };
    let mut words = vec!["test", "-p", kind.package];
    words.extend(kind.target);
    words.extend(["--", "--exact"]);
    for check in checks {
        match check {
            Check::Test(same, name) if same == kind => words.push(name),
            _ => return None,
        }
    }
    Some(words.into_iter().map(str::to_owned).collect())
}

/// Whether so many tests of one program have run, and all have passed, and none `skipped` anything.
pub(super) fn have_passed_together(count: usize, output: &str, skipped: &str) -> bool {
    let all = format!("test result: ok. {count} passed; 0 failed; 0 ignored");
    skipped.is_empty() && output.contains(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(texts: &[&str]) -> Vec<Check> {
        let parse = |text: &&str| Check::parse(text).expect("it is known");
        texts.iter().map(parse).collect()
    }

    #[test]
    fn the_tests_of_one_package_are_built_at_once() {
        let checks = checks(&[
            "timeline a",
            "suite b",
            "unit c",
            "timeline d",
            "sim calm 9",
        ]);
        let builds: Vec<String> = builds(&checks)
            .iter()
            .map(|words| words.join(" "))
            .collect();
        assert_eq!(
            builds,
            [
                "build --profile mutants -p leasehold-sim --no-default-features",
                "test --no-run -p leasehold --test suite",
                "test --no-run -p leasehold-core --lib --test timelines",
            ]
        );
    }

    #[test]
    fn only_the_tests_of_one_program_run_together() {
        let words = run_together(&checks(&["suite a", "suite b"])).expect("they can");
        assert_eq!(
            words.join(" "),
            "test -p leasehold --test suite -- --exact a b"
        );
        assert_eq!(run_together(&checks(&["suite a", "timeline b"])), None);
        assert_eq!(run_together(&checks(&["sim calm 9"])), None);
    }

    #[test]
    fn whoever_is_missing_or_skipped_has_not_passed() {
        let output = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured";
        assert!(have_passed_together(2, output, ""));
        assert!(!have_passed_together(2, output, "no TLS\n"));
        assert!(!have_passed_together(3, output, ""));
        assert!(!have_passed_together(
            2,
            "test result: FAILED. 1 passed",
            ""
        ));
    }
}
