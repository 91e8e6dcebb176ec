//! Mutants as people read them.

use super::Mutant;
use std::path::Path;

/// Why a mutant proves nothing, or too little.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Some of its checks did not kill it: what they did instead.
    Survived(Vec<String>),
    /// It could not be tried.
    Untried(String),
}

/// What is wrong with a mutant, and what to do. `log` is where everything stands that was run.
pub(super) fn trouble(mutant: &Mutant, trouble: &Trouble, log: &Path) -> String {
    let (place, name, argument) = (&mutant.place, &mutant.name, &mutant.argument);
    let mut lines = vec![format!("{place}: {name} ({argument})")];
    match trouble {
        Trouble::Survived(checks) => {
            lines.extend(checks.iter().map(|check| format!("  {check}")));
            lines.push(ADVICE.to_owned());
        }
        Trouble::Untried(reason) => lines.push(format!("  could not be tried: {reason}")),
    }
    lines.push(format!("  all that was run and said: {}", log.display()));
    lines.join("\n")
}

/// All mutants and what kills them, as a Markdown table.
pub(super) fn table(mutants: &[Mutant]) -> String {
    let mut lines = vec![
        "| argument | one wrong line | what would go wrong | killed by |".to_owned(),
        "|---|---|---|---|".to_owned(),
    ];
    for mutant in mutants {
        let killers = mutant.killers.iter().map(|killer| {
            let hangs = if killer.hangs { " (never ends)" } else { "" };
            format!("`{}`{hangs}", killer.check)
        });
        let killers: Vec<String> = killers.collect();
        lines.push(format!(
            "| {} | `{}` | {} | {} |",
            mutant.argument,
            mutant.name,
            mutant.harm.replace('|', "\\|"),
            killers.join("<br>")
        ));
    }
    lines.join("\n")
}

const ADVICE: &str = "  Somebody could write this line and nobody would notice. Write the test that \
                      notices, of the lowest\n  kind that can; or, if the line harms nobody, take the \
                      mutant out and say why.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::parse;

    #[test]
    fn the_table_has_a_row_for_each() {
        let text = "mutant a\nargument S1\nfile b\n- c\nharm D.\nkilled by sim calm 9\n\
                    hung by unit x::tests::y\n";
        let mutants = parse::mutants("m.txt", text).expect("it is good");
        let table = table(&mutants);
        let row = "| S1 | `a` | D. | `sim calm 9`<br>`unit y` (never ends) |";
        assert_eq!(table.lines().nth(2), Some(row));
    }
}
