//! Mutants as they are written down in `xtask/mutants/*.txt`.
//!
//! ```text
//! # a comment
//! mutant half-of-the-nodes-are-a-quorum
//! argument S1
//! file crates/leasehold-core/src/quorum.rs
//! - let needed = (nodes >> 1).checked_add(1)?;
//! + let needed = (nodes >> 1).max(1);
//! harm Two clients win with nodes that have none in common.
//! killed by exhaustive votes::any_two_sets_of_nodes_that_win_share_a_node
//! killed by sim even 100
//! ```
//!
//! The lines behind `-` are replaced by those behind `+`, of which there may be none. Indentation does
//! not count; the text before must be in its file exactly once. `hung by` stands for a check that notices
//! by never ending.

use super::{
    check::Check,
    mutant::{Killer, Mutant},
};

/// All mutants of the file at `path`.
pub(super) fn mutants(path: &str, text: &str) -> Result<Vec<Mutant>, String> {
    let mut mutants: Vec<Mutant> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{path}:{}", number + 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("mutant ") {
            mutants.last().map_or(Ok(()), complete)?;
            mutants.push(begin(place, name.trim())?);
            continue;
        }
        let Some(mutant) = mutants.last_mut() else {
            return Err(format!("{place}: a mutant begins with `mutant NAME`"));
        };
        add(mutant, line).map_err(|what| format!("{place}: {what}"))?;
    }
    mutants.last().map_or(Ok(()), complete)?;
    Ok(mutants)
}

fn begin(place: String, name: &str) -> Result<Mutant, String> {
    let is_kebab = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    if name.is_empty() || !name.chars().all(is_kebab) {
        return Err(format!(
            "{place}: a name is lower-case words with `-` between, not `{name}`"
        ));
    }
    Ok(Mutant {
        name: name.to_owned(),
        argument: String::new(),
        file: String::new(),
        old: Vec::new(),
        new: Vec::new(),
        harm: String::new(),
        killers: Vec::new(),
        place,
    })
}

fn add(mutant: &mut Mutant, line: &str) -> Result<(), String> {
    let (key, value) = line.split_once(' ').unwrap_or((line, ""));
    let value = value.trim();
    if value.is_empty() {
        return Err(format!("`{key}` needs something behind it"));
    }
    match key {
        "argument" if ARGUMENTS.contains(&value) => once(&mut mutant.argument, key, value),
        "argument" => Err(format!(
            "there is no argument `{value}`: {}",
            ARGUMENTS.join(", ")
        )),
        "file" => once(&mut mutant.file, key, value),
        "harm" => once(&mut mutant.harm, key, value),
        "-" if mutant.new.is_empty() => {
            mutant.old.push(value.to_owned());
            Ok(())
        }
        "-" => Err("one place only: all `-` come before all `+`".to_owned()),
        "+" => {
            mutant.new.push(value.to_owned());
            Ok(())
        }
        "killed" | "hung" => {
            let check = value
                .strip_prefix("by ")
                .ok_or_else(|| format!("after `{key}` comes `by`"))?;
            let check = Check::parse(check)?;
            mutant.killers.push(Killer {
                check,
                hangs: key == "hung",
            });
            Ok(())
        }
        _ => Err(format!(
            "`{key}` is none of mutant, argument, file, -, +, harm, killed by, hung by"
        )),
    }
}

fn once(field: &mut String, key: &str, value: &str) -> Result<(), String> {
    if !field.is_empty() {
        return Err(format!("`{key}` is there already"));
    }
    value.clone_into(field);
    Ok(())
}

fn complete(mutant: &Mutant) -> Result<(), String> {
    let missing = [
        ("argument", mutant.argument.is_empty()),
        ("file", mutant.file.is_empty()),
        ("-", mutant.old.is_empty()),
        ("harm", mutant.harm.is_empty()),
        ("killed by", mutant.killers.is_empty()),
    ];
    match missing.iter().find(|(_, is_missing)| *is_missing) {
        Some((key, _)) => Err(format!(
            "{}: `{}` has no `{key}`",
            mutant.place, mutant.name
        )),
        None => Ok(()),
    }
}

/// The arguments of docs/SAFETY.md, and what of the Redlock page is none of them.
pub(super) const ARGUMENTS: [&str; 20] = [
    "S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "S10", "T1", "T2", "T3", "T4", "Step 1",
    "Step 2", "Step 3", "Step 4", "Step 5", "Retry",
];

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# b\nmutant a-b\nargument S1\nfile c.rs\n- x(\n- y\n+   z\nharm H.\n\
                        killed by sim calm 9\nhung by timeline t\n";

    #[test]
    fn a_mutant_is_read() {
        let mutants = mutants("m.txt", GOOD).expect("it is good");
        let [mutant] = mutants.as_slice() else {
            panic!("one mutant, not {mutants:?}");
        };
        assert_eq!(
            (mutant.name.as_str(), mutant.argument.as_str()),
            ("a-b", "S1")
        );
        assert_eq!(
            (&mutant.old[..], &mutant.new[..]),
            (&["x(".into(), "y".into()][..], &["z".into()][..])
        );
        assert_eq!(mutant.place, "m.txt:2");
        assert_eq!(mutant.killers.len(), 2);
        assert!(!mutant.killers[0].hangs && mutant.killers[1].hangs);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let cases = [
            ("mutant a-b", "mutant A b", "m.txt:2: a name"),
            ("mutant a-b", "# nothing", "m.txt:3: a mutant begins"),
            (
                "argument S1",
                "argument S99",
                "m.txt:3: there is no argument `S99`",
            ),
            ("argument S1", "", "m.txt:2: `a-b` has no `argument`"),
            ("file c.rs", "path c.rs", "m.txt:4: `path` is none of"),
            ("harm H.", "harm", "m.txt:8: `harm` needs something"),
            ("harm H.", "- late", "m.txt:8: one place only"),
            ("harm H.", "file d.rs", "m.txt:8: `file` is there already"),
            (
                "by sim calm 9",
                "sim calm 9",
                "m.txt:9: after `killed` comes `by`",
            ),
            ("sim calm 9", "guess", "m.txt:9: "),
        ];
        for (good, bad, expected) in cases {
            let why = mutants("m.txt", &GOOD.replacen(good, bad, 1)).unwrap_err();
            assert!(why.starts_with(expected), "{bad}: {why}");
        }
    }
}
