//! The page of the documentation, of which a part is written by the program.

use crate::Fallible;
use std::{fs, path::Path};

/// Replaces what is between the markers, or begins the page.
pub(crate) fn write(path: &Path, results: &str) -> Fallible<()> {
    let page = fs::read_to_string(path).unwrap_or_else(|_| NEW.to_owned());
    let page = replaced(&page, results).ok_or("docs/COMPARE.md has lost its markers")?;
    Ok(fs::write(path, page)?)
}

/// The same for what was seen of lock commands.
pub(crate) fn write_commands(path: &Path, table: &str) -> Fallible<()> {
    let page = fs::read_to_string(path)?;
    let page = between(&page, COMMANDS, table).ok_or("docs/COMPARE.md has lost its markers")?;
    Ok(fs::write(path, page)?)
}

fn replaced(page: &str, results: &str) -> Option<String> {
    between(page, [BEGIN, END], results)
}

fn between(page: &str, [begin, end]: [&str; 2], results: &str) -> Option<String> {
    let (head, rest) = page.split_once(begin)?;
    let (_, tail) = rest.split_once(end)?;
    let results = results.trim();
    Some(format!("{head}{begin}\n\n{results}\n\n{end}{tail}"))
}

const COMMANDS: [&str; 2] = ["<!-- commands: begin -->", "<!-- commands: end -->"];

const BEGIN: &str = "<!-- interop: begin -->";
const END: &str = "<!-- interop: end -->";
const NEW: &str = "\
# Beside other locks

## Interop: run together with other libraries

A plain lock of leasehold is a key as Redlock's page describes it, and a fenced one is such a key as well. So programs that
use other libraries for the same nodes can share locks with it, as long as all use the same nodes and the same number of
them. `cargo xtask interop` installs such libraries and tries it; where a library cannot be had, its commands are played,
and the table says so. [TESTING.md](TESTING.md) says what each column stands for.

What sharing does not give: a lock of another library has no fencing token, and a node that restarts waits for the maximum
TTL of leasehold's locks only, so let others set no longer ones. Some put something before the name: `redlock:NAME`
(pottery, RedLock.net), `lock:NAME` (python-redis-lock), `mutex:NAME` (redis-semaphore), `php-malkusch-lock:NAME`
(php-lock). `ManagerBuilder::key_format` does as they do; in the runs below leasehold locks the whole key instead. A client that
waits for a signal of its own kind, as python-redis-lock does, is not woken by a release of leasehold's, and has the lock
when it looks again.

<!-- interop: begin -->
<!-- interop: end -->
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_is_replaced() {
        let page = replaced(&format!("a\n{BEGIN}\nold\n{END}\nb\n"), "new\n").unwrap();
        assert_eq!(page, format!("a\n{BEGIN}\n\nnew\n\n{END}\nb\n"));
        assert_eq!(replaced(&page, "new"), Some(page.clone()));
        assert!(replaced(NEW, "x").is_some());
        assert_eq!(replaced("no markers", "x"), None);
    }
}
