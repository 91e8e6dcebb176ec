//! The page of the documentation, of which a part is written by the program.

use crate::Fallible;
use std::{fs, path::Path};

/// Replaces what is between the markers: the results, and how each of the fifteen libraries of Redlock's page was tried.
pub(crate) fn write(path: &Path, results: &str, fifteen: &str) -> Fallible<()> {
    let page = fs::read_to_string(path)?;
    let page = replaced(&page, "interop", results)
        .and_then(|page| replaced(&page, "fifteen", fifteen))
        .ok_or("docs/COMPARE.md has lost its markers")?;
    Ok(fs::write(path, page)?)
}

/// The page with another text between `<!-- NAME: begin -->` and `<!-- NAME: end -->`.
fn replaced(page: &str, name: &str, text: &str) -> Option<String> {
    let (begin, end) = (
        format!("<!-- {name}: begin -->"),
        format!("<!-- {name}: end -->"),
    );
    let (head, rest) = page.split_once(&begin)?;
    let (_, tail) = rest.split_once(&end)?;
    let text = text.trim();
    Some(format!("{head}{begin}\n\n{text}\n\n{end}{tail}"))
}

/// The same for what was seen of lock commands.
pub(crate) fn write_commands(path: &Path, table: &str) -> Fallible<()> {
    let page = fs::read_to_string(path)?;
    let page = replaced(&page, "commands", table).ok_or("docs/COMPARE.md has lost its markers")?;
    Ok(fs::write(path, page)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[test]
    fn only_what_is_between_the_markers_is_replaced() {
        let (begin, end) = ("<!-- x: begin -->", "<!-- x: end -->");
        let page = replaced(&format!("a\n{begin}\nold\n{end}\nb\n"), "x", "new\n").unwrap();
        assert_eq!(page, format!("a\n{begin}\n\nnew\n\n{end}\nb\n"));
        assert_eq!(replaced(&page, "x", "new"), Some(page.clone()));
        assert_eq!(replaced(&page, "y", "new"), None);
    }

    #[test]
    fn the_page_has_a_place_for_all_that_is_written() {
        let page = fs::read_to_string(root().join("docs/COMPARE.md")).unwrap();
        for name in ["interop", "fifteen", "commands"] {
            assert!(replaced(&page, name, "").is_some(), "{name}");
        }
    }
}
