//! What a table says is tested has a test of that name.

use super::Finding;
use std::collections::BTreeSet;

/// Pages that name tests, and the tests that there are.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    pages: Vec<(String, String)>,
    tests: BTreeSet<String>,
}

impl Evidence {
    pub(super) fn add(&mut self, path: &str, text: &str) {
        if path.ends_with(".md") {
            self.pages.push((path.to_owned(), text.to_owned()));
        } else if path.ends_with(".rs") {
            self.tests.extend(text.lines().filter_map(function));
        } else if let Some(story) = path.strip_prefix("crates/leasehold-core/testdata/") {
            self.tests
                .extend(story.strip_suffix(".txt").map(str::to_owned));
        }
    }

    /// The names in the last column of tables whose last head is `tested by`, and that no test has.
    pub(super) fn check(&self) -> Vec<Finding> {
        let untested = |(path, text): &(String, String)| self.untested(path, text);
        self.pages.iter().flat_map(untested).collect()
    }

    fn untested(&self, path: &str, text: &str) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut is_evidence = false;
        for (number, line) in text.lines().enumerate() {
            let row = line.strip_prefix('|').and_then(|row| row.strip_suffix('|'));
            let Some(row) = row else {
                is_evidence = false;
                continue;
            };
            let last = row.rsplit('|').next().unwrap_or_default().trim();
            if last == "tested by" {
                is_evidence = true;
            } else if is_evidence {
                // What stands between two ticks is every other part.
                let names = last.split('`').skip(1).step_by(2);
                found.extend(
                    names
                        .filter(|name| !self.tests.contains(*name))
                        .map(|name| Finding {
                            path: path.to_owned(),
                            line: number + 1,
                            what: format!("there is no test `{name}`"),
                        }),
                );
            }
        }
        found
    }
}

fn function(line: &str) -> Option<String> {
    let rest = line.trim_start().trim_start_matches("async ");
    let (name, _) = rest.strip_prefix("fn ")?.split_once('(')?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_a_test_are_found_in_the_column_that_names_tests() {
        let mut evidence = Evidence::default();
        evidence.add("a.rs", "fn here() {\n    async fn there() {\n");
        evidence.add("crates/leasehold-core/testdata/told.txt", "");
        let page = "| a | tested by |\n|---|---|\n| `x` | `here` `there` `told` |\n| y | `gone` |\n\n\
                    | a | b |\n|---|---|\n| c | `gone` |\n";
        evidence.add("a.md", page);
        let found = evidence.check();
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].line, &*found[0].what),
            (4, "there is no test `gone`")
        );
    }
}
