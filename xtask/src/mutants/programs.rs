//! What one call of cargo builds for many checks.

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
}
