//! A page of the documentation, of which parts are written by programs.

use std::{fs, io, path::Path};

/// Replaces parts of a page: what is between `<!-- NAME: begin -->` and `<!-- NAME: end -->` of each.
///
/// # Errors
///
/// If the page cannot be read or written, or has lost the markers of a part; then nothing is written.
pub fn write(path: &Path, parts: &[(&str, &str)]) -> io::Result<()> {
    let mut page = fs::read_to_string(path)?;
    for (name, text) in parts {
        page = replaced(&page, name, text).ok_or_else(|| {
            let path = path.display();
            io::Error::other(format!("{path} has lost the markers of `{name}`"))
        })?;
    }
    fs::write(path, page)
}

/// The page with another text in this part. None if it has no such part.
pub fn replaced(page: &str, name: &str, text: &str) -> Option<String> {
    let [begin, end] = ["begin", "end"].map(|word| format!("<!-- {name}: {word} -->"));
    let (head, rest) = page.split_once(&begin)?;
    let (_, tail) = rest.split_once(&end)?;
    let text = text.trim();
    Some(format!("{head}{begin}\n\n{text}\n\n{end}{tail}"))
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

    #[test]
    fn each_page_has_a_place_for_what_is_written() {
        for (file, parts) in [
            ("COMPARE.md", &["interop", "fifteen", "commands"][..]),
            ("PERFORMANCE.md", &["costs", "missed", "against"]),
            ("bench/FIGURES.md", &["bench"]),
            ("SAFETY.md", &["model"]),
            ("SCALE.md", &["scale"]),
        ] {
            let page = fs::read_to_string(crate::root().join("docs").join(file)).unwrap();
            for part in parts {
                assert!(replaced(&page, part, "").is_some(), "{file}: {part}");
            }
        }
    }
}
