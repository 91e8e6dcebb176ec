//! Every safety argument that code cites is in docs/SAFETY.md.

use super::{Finding, source::Source};

pub(super) fn check(source: &Source<'_>, safety: &str) -> Vec<Finding> {
    let cited = source.text.match_indices(CITATION).filter_map(|(at, _)| {
        let name = name_at(source.text, at + CITATION.len() - 1);
        (name.len() > 1).then_some((at, name))
    });
    cited
        .filter(|(_, name)| !mentions(safety, name))
        .map(|(at, name)| source.finding(at, format!("argument {name} is not in docs/SAFETY.md")))
        .collect()
}

/// `S` and the digits after it.
fn name_at(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let digits = rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    rest.get(..=digits).unwrap_or_default()
}

fn mentions(safety: &str, name: &str) -> bool {
    safety
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .any(|word| word == name)
}

const CITATION: &str = "Argument S";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_arguments_are_found() {
        let text = "// Argument S2: a.\n// Argument S12: b.\n/// Argument Sn\n";
        let source = Source::new("crates/x/src/y.rs", text);
        assert_eq!(check(&source, "S2 and S12"), []);
        let found = check(&source, "## S2\n");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
    }
}
