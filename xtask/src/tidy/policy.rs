//! What must not be in the code at all.

use super::{Finding, source::Source};

pub(super) fn check(source: &Source<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (word, instead) in FORBIDDEN {
        for at in source.words(word) {
            found.push(source.finding(at, format!("`{word}`: {instead}")));
        }
    }
    let ignored = source.code.match_indices("#[ignore");
    for (at, _) in ignored {
        let what = "`#[ignore]`: a test runs or says why it cannot, with `skip`".to_owned();
        found.push(source.finding(at, what));
    }
    if source.path.starts_with("crates/leasehold-core/src/") {
        for at in source.words("extern crate std") {
            if !source.is_test(at) {
                let what = "the core has no std; use core or alloc".to_owned();
                found.push(source.finding(at, what));
            }
        }
    }
    found
}

/// The core depends on nothing, so that it can only decide.
pub(super) fn no_dependencies(path: &str, text: &str) -> Vec<Finding> {
    let mut section = "";
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            section = line;
        }
        let is_header = line == "[dependencies]";
        let is_dependency = section == "[dependencies]" && !is_header;
        let is_table = line.starts_with("[dependencies.") || line.starts_with("[target.");
        if is_table || (is_dependency && !line.is_empty() && !line.starts_with('#')) {
            found.push(Finding {
                path: path.to_owned(),
                line: number + 1,
                what: format!("the core depends on nothing; `{line}` belongs into another crate"),
            });
        }
    }
    found
}

const FORBIDDEN: [(&str, &str); 3] = [
    ("todo!", "finish it, or leave it out"),
    ("unimplemented!", "finish it, or leave it out"),
    ("dbg!", "remove it"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        check(&Source::new("crates/leasehold-core/src/y.rs", text)).len()
    }

    #[test]
    fn unfinished_code_is_found() {
        for bad in [
            "fn f() { todo!() }",
            "fn f() { unimplemented!(\"x\") }",
            "dbg!(x);",
            "#[ignore = \"slow\"]\nfn f() {}",
            "extern crate std;",
        ] {
            assert_eq!(count(bad), 1, "{bad}");
        }
        for good in [
            "// todo!()",
            "let x = \"dbg!(\";",
            "my_todo!();",
            "#[cfg(test)]\nextern crate std;",
        ] {
            assert_eq!(count(good), 0, "{good}");
        }
    }

    #[test]
    fn dependencies_of_the_core_are_found() {
        let good = "[dependencies]\n# None.\n\n[dev-dependencies]\nproptest = \"1\"\n";
        assert_eq!(no_dependencies("Cargo.toml", good), []);
        let bad = "[dependencies]\nheapless = \"1\"\n[dependencies.libm]\nversion = \"1\"\n";
        assert_eq!(no_dependencies("Cargo.toml", bad).len(), 2);
    }
}
