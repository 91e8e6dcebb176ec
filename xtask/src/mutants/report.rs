//! Mutants as people read them.

use super::Mutant;
use std::{fmt, path::Path};

/// What a run came to.
#[derive(Debug)]
pub(super) struct Tally {
    mutants: usize,
    /// So many checks were to kill them, of so many that they name.
    tried: usize,
    named: usize,
    pub(super) survived: usize,
    pub(super) untried: usize,
}

impl Tally {
    pub(super) const fn new(mutants: usize, tried: usize, named: usize) -> Self {
        Self {
            mutants,
            tried,
            named,
            survived: 0,
            untried: 0,
        }
    }

    /// So many were killed by every check that was to kill them.
    pub(super) const fn killed(&self) -> usize {
        self.mutants - self.survived - self.untried
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (killed, tried) = (self.killed(), self.tried);
        let Self {
            mutants,
            named,
            survived,
            untried,
            ..
        } = self;
        if tried < *named {
            return write!(
                out,
                "{mutants} mutants, tried with {tried} of the {named} checks they name: {killed} killed, {survived} survived, \
                 {untried} not tried"
            );
        }
        write!(
            out,
            "{mutants} mutants: {killed} killed by every check they name, {survived} survived, {untried} not tried by every \
             check"
        )
    }
}

/// Why a mutant proves nothing, or too little. Empty, it was killed by every check that was to kill it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Trouble {
    /// The checks that ran and did not kill it: what they did instead.
    pub(super) survived: Vec<String>,
    /// The checks that did not run, or not to their end, and why.
    pub(super) untried: Vec<String>,
}

impl Trouble {
    /// What it is, in a word; none if there is no trouble.
    pub(super) fn word(&self) -> &'static str {
        match (&self.survived[..], &self.untried[..]) {
            ([], []) => "",
            ([], _) => NOT_TRIED,
            _ => SURVIVED,
        }
    }
}

/// What is wrong with a mutant, and what to do. `log` is where everything stands that was run.
pub(super) fn trouble(mutant: &Mutant, trouble: &Trouble, log: &Path) -> String {
    let (place, name, argument) = (&mutant.place, &mutant.name, &mutant.argument);
    let mut lines = vec![format!("{place}: {name} ({argument})")];
    lines.extend(trouble.survived.iter().map(|check| format!("  {check}")));
    if !trouble.survived.is_empty() {
        lines.push(ADVICE.to_owned());
    }
    let untried = trouble.untried.iter();
    lines.extend(untried.map(|reason| format!("  not tried: {reason}")));
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

/// What is said of a mutant that a check did not kill.
pub(super) const SURVIVED: &str = "SURVIVED";

/// What is said of one that all checks killed that were run, and not all were.
pub(super) const NOT_TRIED: &str = "NOT TRIED BY EVERY CHECK";

const ADVICE: &str = "  Somebody could write this line and nobody would notice. Write the test that \
                      notices, of the lowest\n  kind that can; or, if the line harms nobody, take the \
                      mutant out and say why.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::parse;

    #[test]
    fn a_check_that_did_not_run_is_no_survivor_and_no_killer() {
        let checks = |some: &[&str]| some.iter().map(|&check| check.to_owned()).collect();
        let word = |survived: &[&str], untried: &[&str]| {
            let (survived, untried) = (checks(survived), checks(untried));
            Trouble { survived, untried }.word()
        };
        assert_eq!(word(&[], &[]), "");
        assert_eq!(word(&[], &["a"]), NOT_TRIED);
        assert_eq!(word(&["b"], &[]), SURVIVED);
        assert_eq!(word(&["b"], &["a"]), SURVIVED);
    }

    #[test]
    fn nothing_is_said_of_checks_that_were_not_tried() {
        let tally = |tried| Tally {
            survived: 1,
            ..Tally::new(8, tried, 13)
        };
        let all =
            "8 mutants: 7 killed by every check they name, 1 survived, 0 not tried by every check";
        assert_eq!(tally(13).to_string(), all);
        let some =
            "8 mutants, tried with 8 of the 13 checks they name: 7 killed, 1 survived, 0 not tried";
        assert_eq!(tally(8).to_string(), some);
    }

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
