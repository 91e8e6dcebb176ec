//! Lock commands, really run: what each does where the table in docs/COMPARE.md says something of it.
//!
//! A `tool` is a command with what it needs, a `service` among it, and a `scene` of `observe` plays one row of the table with it.

mod observe;
mod service;
mod tool;

use crate::{Fallible, target};
use leasehold_report::{Stamp, page, root};
use observe::ROWS;
use std::collections::BTreeMap;
use tool::Tool;

/// Plays every row with every command that is here, and prints what was seen.
///
/// # Errors
/// If the words make no sense, or a server does not start.
pub(crate) fn run(words: &[&str]) -> Fallible<()> {
    let writes_docs = match words {
        [] => false,
        ["--write-docs"] => true,
        _ => return Err("usage: cargo xtask compare-commands [--write-docs]".into()),
    };
    let (mut tools, mut skips) = (Vec::new(), Vec::new());
    for open in Tool::ALL {
        match open(&target()) {
            Ok(tool) => tools.push(tool),
            Err(reason) => {
                println!("SKIPPED: {reason}");
                skips.push(reason);
            }
        }
    }
    let mut seen: BTreeMap<(usize, usize), String> = BTreeMap::new();
    for (column, tool) in tools.iter().enumerate() {
        for (row, (title, scene)) in ROWS.iter().enumerate() {
            let cell = scene(tool)?;
            println!("{}: {title}: {cell}", tool.version);
            seen.insert((row, column), cell);
        }
    }
    let heads = tools.iter().map(|tool| format!(" {} |", tool.version));
    let mut table = format!("| seen |{}\n", heads.collect::<String>());
    table += &format!("|---|{}\n", "---|".repeat(tools.len()));
    for (row, (title, _)) in ROWS.iter().enumerate() {
        let cells = (0..tools.len()).map(|column| format!(" {} |", seen[&(row, column)]));
        table += &format!("| {title} |{}\n", cells.collect::<String>());
    }
    table += &format!(
        "\n{} skipped, and only read: {}.",
        skips.len(),
        skips.join("; ")
    );
    println!("\n{table}");
    if writes_docs {
        table += &format!("\n\nSeen {}.", Stamp::of(&root()));
        page::write(&root().join("docs/COMPARE.md"), &[("commands", &table)])?;
    }
    Ok(())
}
