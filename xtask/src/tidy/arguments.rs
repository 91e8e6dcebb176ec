//! Every safety argument that production code cites has its heading in docs/SAFETY.md, a test that cites
//! it, and a mutant that attacks it.

use super::{Finding, source::Source};
use std::collections::{BTreeMap, BTreeSet};

/// Who cites which argument.
#[derive(Debug, Default)]
pub(super) struct Citations {
    /// The arguments of production code, each with the place of its first citation.
    production: BTreeMap<String, (String, usize)>,
    tests: BTreeSet<String>,
}

impl Citations {
    /// Reads a file.
    pub(super) fn add(&mut self, path: &str, text: &str) {
        if !path.starts_with("crates/") {
            return;
        }
        let source = Source::new(path, text);
        let is_test = |at| source.is_test(at) || path.contains("/testdata/");
        for (at, name) in cited(text, "rgument S") {
            if is_test(at) {
                self.tests.insert(name.to_owned());
            }
        }
        for (at, name) in cited(text, "Argument S") {
            if !is_test(at) {
                let place = || (path.to_owned(), source.line(at));
                self.production.entry(name.to_owned()).or_insert_with(place);
            }
        }
    }

    /// What is missing, if `safety` is the page and `attacked` are the arguments that mutants attack.
    pub(super) fn check(&self, safety: &str, attacked: &BTreeSet<String>) -> Vec<Finding> {
        let mut found = Vec::new();
        for (name, (path, line)) in &self.production {
            let missing = [
                (has_heading(safety, name), "heading in docs/SAFETY.md"),
                (attacked.contains(name), "mutant in xtask/mutants"),
                (self.tests.contains(name), "test that cites it"),
            ];
            for (_, what) in missing.into_iter().filter(|(is_there, _)| !is_there) {
                found.push(Finding {
                    path: path.clone(),
                    line: *line,
                    what: format!("argument {name} is relied upon here; it needs a {what}"),
                });
            }
        }
        found
    }
}

/// Where arguments are cited by these words, which end in `S`, and which ones.
fn cited<'a>(text: &'a str, words: &str) -> impl Iterator<Item = (usize, &'a str)> {
    text.match_indices(words).filter_map(move |(at, words)| {
        let name = name_at(text, at + words.len() - 1);
        (name.len() > 1).then_some((at, name))
    })
}

/// `S` and the digits after it.
fn name_at(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let digits = rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    rest.get(..=digits).unwrap_or_default()
}

fn has_heading(page: &str, name: &str) -> bool {
    let mut headings = page.lines().filter(|line| line.starts_with('#'));
    headings.any(|heading| {
        heading
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .any(|word| word == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "// Argument S2: a.\n/// See Argument Sn.\n\n// Argument S12: b.\n";
    const PAGE: &str = "# Safety\n\n## S2: keys outlive leases\n\nS12 is in the text only.\n";

    fn citations(tests: &str) -> Citations {
        let mut citations = Citations::default();
        citations.add("crates/x/src/y.rs", CODE);
        citations.add("crates/x/testdata/z.txt", tests);
        citations
    }

    fn attacked(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn an_argument_needs_a_heading_a_mutant_and_a_test() {
        let citations = citations("# By argument S2 it must.\n");
        let found = citations.check(PAGE, &attacked(&["S2"]));
        assert!(found.iter().all(|finding| finding.line == 4), "{found:?}");
        let missing: Vec<_> = found.iter().map(|finding| finding.what.as_str()).collect();
        let expected = [
            "argument S12 is relied upon here; it needs a heading in docs/SAFETY.md",
            "argument S12 is relied upon here; it needs a mutant in xtask/mutants",
            "argument S12 is relied upon here; it needs a test that cites it",
        ];
        assert_eq!(missing, expected);
        assert_eq!(
            citations
                .check(&format!("{PAGE}### S12\n"), &attacked(&["S2"]))
                .len(),
            2
        );
    }

    #[test]
    fn all_is_well_when_all_is_there() {
        let citations = citations("# Argument S2, argument S12.\n");
        let page = format!("{PAGE}## S12 and others\n");
        assert_eq!(citations.check(&page, &attacked(&["S2", "S12"])), []);
    }

    #[test]
    fn a_citation_in_a_test_is_none_of_production() {
        let mut citations = Citations::default();
        citations.add(
            "crates/x/src/y.rs",
            "#[cfg(test)]\nmod tests {\n// Argument S3.\n}\n",
        );
        citations.add("crates/x/tests/y.rs", "/// Argument S4.\n");
        citations.add("xtask/src/y.rs", "// Argument S5.\n");
        assert_eq!(citations.check("", &BTreeSet::new()), []);
        assert_eq!(citations.tests, attacked(&["S3", "S4"]));
    }
}
