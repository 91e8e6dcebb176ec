//! The page of the documentation, of which a part is written by the program.

use crate::Fallible;
use std::{fs, path::Path};

/// Replaces what is between the markers, or begins the page.
pub(crate) fn write(path: &Path, results: &str) -> Fallible<()> {
    let page = fs::read_to_string(path).unwrap_or_else(|_| NEW.to_owned());
    let page = replaced(&page, results).ok_or("the page has lost its markers")?;
    Ok(fs::write(path, page)?)
}

fn replaced(page: &str, results: &str) -> Option<String> {
    let (head, rest) = page.split_once(BEGIN)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!(
        "{head}{BEGIN}\n\n{}\n\n{END}{tail}",
        results.trim()
    ))
}

const BEGIN: &str = "<!-- bench: begin -->";
const END: &str = "<!-- bench: end -->";
const NEW: &str = "\
# Performance

What was measured, on what, against what. `cargo xtask bench --write-docs` writes everything between the markers;
[TESTING.md](TESTING.md) says how it measures.

<!-- bench: begin -->
<!-- bench: end -->
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
