//! Names that were locked and released once, and never again: what is left of them in the client's memory.

use super::instructions;
use crate::{
    Fallible,
    effort::{Effort, rotated},
    ledger::Ledger,
    resident,
    subject::{self, Subject},
};
use std::sync::Arc;

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(1)?;
    let servers = runtime.block_on(subject::servers(1))?;
    for subject in rotated(0, &[Subject::Plain, Subject::Fenced]) {
        let words = ["names", subject.name(), &effort.names.to_string()];
        let bytes = super::told_by(&words, &servers.nodes())?;
        let setting = format!("1 node, {} names", effort.names);
        let mut add = |figure, value| ledger.add(&setting, subject.name(), figure, value);
        add("KiB afterwards", bytes / 1024.0);
        add("bytes/name", bytes / effort.names as f64);
    }
    Ok(())
}

/// What a process of its own does: by how many bytes it has grown.
pub(crate) fn grown(subject: Subject, names: usize, urls: &[String]) -> Fallible<f64> {
    super::runtime(1)?.block_on(async {
        let manager = Arc::new(subject.manager(urls)?);
        // As many at a time as later: the memory that they need together is not that of names that are gone.
        instructions::all(&manager, "warm-up", TASKS, WARM_UP).await?;
        let before = resident::bytes()?;
        instructions::all(&manager, "name", TASKS, names).await?;
        Ok(resident::bytes()? - before)
    })
}

const TASKS: usize = 64;
const WARM_UP: usize = 20_000;
