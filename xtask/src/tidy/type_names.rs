//! A type has a name of its own: no other type of its crate is called the same.

use super::{
    Finding,
    source::{Source, name_at},
};
use std::collections::BTreeMap;

/// The types of the crates that are shipped, by crate and name.
#[derive(Debug, Default)]
pub(super) struct TypeNames(BTreeMap<(String, String), Vec<Finding>>);

impl TypeNames {
    pub(super) fn add(&mut self, source: &Source<'_>) {
        let Some((name, path)) = source.module().filter(|(name, _)| CRATES.contains(name)) else {
            return;
        };
        // The blocking library has the names of the other on purpose.
        if path.first() == Some(&"blocking") {
            return;
        }
        for (kind, at) in KINDS.iter().flat_map(|kind| {
            let all = source.words(kind).into_iter();
            all.map(move |at| (kind, at))
        }) {
            let is_associated = *kind == "type" && source.is_indented(at);
            let type_name = name_at(&source.code, at + kind.len() + 1);
            if source.is_test(at) || is_associated || !type_name.starts_with(char::is_uppercase) {
                continue;
            }
            let key = (name.to_owned(), type_name.to_owned());
            let named = self.0.entry(key).or_default();
            // For other systems a file may define the same type otherwise.
            if !named.iter().any(|finding| finding.path == source.path) {
                named.push(source.finding(at, String::new()));
            }
        }
    }

    /// Every definition but the first of each name.
    pub(super) fn check(self) -> Vec<Finding> {
        let again = |((_, name), mut named): ((String, String), Vec<Finding>)| {
            let first = named.remove(0).path;
            named.into_iter().map(move |finding| Finding {
                what: format!("`{name}` is the name of a type in {first} already; find another"),
                ..finding
            })
        };
        self.0.into_iter().flat_map(again).collect()
    }
}

const CRATES: [&str; 3] = ["leasehold", "leasehold-core", "leasehold-cli"];

const KINDS: [&str; 5] = ["struct", "enum", "trait", "type", "union"];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut names = TypeNames::default();
        for (path, text) in files {
            names.add(&Source::new(path, text));
        }
        names.check().into_iter().map(|found| found.path).collect()
    }

    #[test]
    fn the_second_type_of_a_name_is_found() {
        let one = ("crates/leasehold/src/a.rs", "pub struct State;\n");
        let other = ("crates/leasehold/src/b.rs", "enum State<T> { A(T) }\n");
        assert_eq!(found(&[one, other]), ["crates/leasehold/src/b.rs"]);
        for allowed in [
            ("crates/leasehold/src/blocking/a.rs", "struct State;\n"),
            ("crates/leasehold-core/src/a.rs", "struct State;\n"),
            (
                "crates/leasehold/src/b.rs",
                "impl A for B {\n    type State = u8;\n}\n",
            ),
            (
                "crates/leasehold/src/b.rs",
                "#[cfg(test)]\nmod tests {\n    struct State;\n}\n",
            ),
            (
                "crates/leasehold/src/a.rs",
                "#[cfg(windows)]\nstruct State;\n",
            ),
        ] {
            assert_eq!(found(&[one, allowed]), [""; 0], "{allowed:?}");
        }
    }
}
