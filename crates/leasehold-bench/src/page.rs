//! The page of the documentation, of which parts are written by the program.

use crate::Fallible;
use std::{fs, path::Path};

/// Replaces what is between the markers of a part.
pub(crate) fn write(path: &Path, part: &str, results: &str) -> Fallible<()> {
    let page = fs::read_to_string(path)?;
    let replaced = replaced(&page, part, results);
    let page = replaced.ok_or_else(|| format!("the page has lost the markers of `{part}`"))?;
    Ok(fs::write(path, page)?)
}

fn replaced(page: &str, part: &str, results: &str) -> Option<String> {
    let [begin, end] = ["begin", "end"].map(|word| format!("<!-- {part}: {word} -->"));
    let (head, rest) = page.split_once(&begin)?;
    let (_, tail) = rest.split_once(&end)?;
    let results = results.trim();
    Some(format!("{head}{begin}\n\n{results}\n\n{end}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_is_replaced() {
        let (begin, end) = ("<!-- costs: begin -->", "<!-- costs: end -->");
        let page = format!("a\n{begin}\nold\n{end}\nb\n");
        let page = replaced(&page, "costs", "new\n").unwrap();
        assert_eq!(page, format!("a\n{begin}\n\nnew\n\n{end}\nb\n"));
        assert_eq!(replaced(&page, "costs", "new"), Some(page.clone()));
        assert_eq!(replaced(&page, "bench", "x"), None);
    }
}
