//! One wrong line.

use super::check::Check;

/// The project with one wrong line, and what must notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutant {
    /// What it does, as a sentence.
    pub(crate) name: String,
    /// What it attacks: `S1` to `S10`, `T1` to `T4`, a step of the Redlock page, or its retrying.
    pub(crate) argument: String,
    /// The file that it changes, from the root of the workspace.
    pub(super) file: String,
    /// The lines that it replaces, without their indentation.
    pub(super) old: Vec<String>,
    /// The lines that come instead.
    pub(super) new: Vec<String>,
    /// What would go wrong for a user.
    pub(super) harm: String,
    /// The checks that must fail of it, all of them.
    pub(super) killers: Vec<Killer>,
    /// Where it is written down: file and line.
    pub(super) place: String,
}

/// A check, and how it fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Killer {
    pub(super) check: Check,
    /// Whether it finds out by never ending.
    pub(super) hangs: bool,
}

impl Mutant {
    /// What it is, wherever it is written down.
    pub(crate) fn what(&self) -> String {
        let (file, old, new) = (&self.file, &self.old, &self.new);
        format!("{:?}\n", (&self.name, file, old, new, &self.killers))
    }

    /// Forgets all checks but the one that is built soonest, and is not told by the clock alone if another is there.
    pub(super) fn keep_soonest(&mut self) {
        let order = |killer: &Killer| (killer.hangs, killer.check.building());
        self.killers.sort_by_key(order);
        self.killers.truncate(1);
    }

    /// `text`, the text of its file, with the wrong line.
    pub(super) fn apply(&self, text: &str) -> Result<String, String> {
        let first = self.old.first().map_or("", String::as_str);
        let hits: Vec<_> = text
            .match_indices(first)
            .filter_map(|(start, _)| Some((start, end_of_match(text, start, &self.old)?)))
            .collect();
        let &[(start, end)] = hits.as_slice() else {
            return Err(format!(
                "{}: `{first}` is {} times in {}, and must be once; follow what it became there",
                self.place,
                hits.len(),
                self.file
            ));
        };
        let new = self.new.join("\n");
        Ok([&text[..start], &new, &text[end..]].concat())
    }
}

/// Where the lines end that begin at `start`, if they are there, however they are indented.
fn end_of_match(text: &str, start: usize, lines: &[String]) -> Option<usize> {
    let mut at = start;
    for (number, line) in lines.iter().enumerate() {
        let rest = text.get(at..)?;
        let skipped = if number == 0 {
            0
        } else {
            rest.len() - rest.trim_start().len()
        };
        rest.get(skipped..)?.strip_prefix(line.as_str())?;
        at += skipped + line.len();
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(old: &[&str], new: &[&str]) -> Mutant {
        let owned = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
        Mutant {
            name: "a".to_owned(),
            argument: "S1".to_owned(),
            file: "a.rs".to_owned(),
            old: owned(old),
            new: owned(new),
            harm: "b".to_owned(),
            killers: Vec::new(),
            place: "a.txt:1".to_owned(),
        }
    }

    #[test]
    fn the_check_that_is_built_soonest_is_kept() {
        let soonest = |checks: &[(&str, bool)]| {
            let mut mutant = mutant(&["a"], &["b"]);
            let killer = |&(check, hangs): &(&str, bool)| Killer {
                check: Check::parse(check).expect("it is known"),
                hangs,
            };
            mutant.killers = checks.iter().map(killer).collect();
            mutant.keep_soonest();
            let kept = mutant.killers.iter();
            let kept: Vec<_> = kept.map(|killer| killer.check.to_string()).collect();
            kept.join(", ")
        };
        let all = [
            ("suite b", false),
            ("sim lua-calm 9", false),
            ("sim calm 9", false),
            ("unit a", false),
        ];
        assert_eq!(soonest(&all), "unit a");
        assert_eq!(soonest(&all[..3]), "sim calm 9");
        assert_eq!(soonest(&all[..2]), "sim lua-calm 9");
        assert_eq!(soonest(&[("unit a", true), ("suite b", false)]), "suite b");
    }

    #[test]
    fn lines_are_replaced_however_they_are_indented() {
        let text = "fn f() {\n    a\n        .b();\n    c();\n}\n";
        let changed = mutant(&["a", ".b();"], &["d();"]).apply(text);
        assert_eq!(changed.as_deref(), Ok("fn f() {\n    d();\n    c();\n}\n"));
        assert_eq!(
            mutant(&["c();"], &[]).apply("x c(); y").as_deref(),
            Ok("x  y")
        );
    }

    #[test]
    fn what_is_not_there_exactly_once_is_not_replaced() {
        for text in ["", "b", "a a", "a\nb a\nb"] {
            assert!(mutant(&["a", "b"], &[]).apply(text).is_err(), "{text:?}");
        }
        let why = mutant(&["a"], &[]).apply("a a").unwrap_err();
        assert!(why.starts_with("a.txt:1: `a` is 2 times in a.rs"), "{why}");
    }
}
