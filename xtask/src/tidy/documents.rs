//! Markdown files have one title; no file knows the machine it was written on.

use super::Finding;

pub(super) fn one_title(path: &str, text: &str) -> Vec<Finding> {
    let mut is_code = false;
    let mut count = 0;
    let mut line = 1;
    for (number, content) in text.lines().enumerate() {
        if content.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code && content.starts_with("# ") {
            count += 1;
            line = number + 1;
        }
    }
    if count == 1 {
        return Vec::new();
    }
    vec![Finding {
        path: path.to_owned(),
        line,
        what: format!("has {count} titles (`# …`), needs one"),
    }]
}

pub(super) fn paths(path: &str, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for folder in FOLDERS {
            // Part of a longer path or of a web address it is something else.
            let is_own = |at: usize| {
                let before = line.get(..at).and_then(|before| before.chars().last());
                !before.is_some_and(|letter| letter.is_alphanumeric() || "/.-_~}".contains(letter))
            };
            if line.match_indices(folder).any(|(at, _)| is_own(at)) {
                found.push(Finding {
                    path: path.to_owned(),
                    line: number + 1,
                    what: format!("`{folder}` is a folder of one machine; use a relative path"),
                });
            }
        }
    }
    found
}

// In two parts, so that this file does not find itself.
const FOLDERS: [&str; 3] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_one_title() {
        assert_eq!(
            one_title("a.md", "# A\n\n```sh\n# not one\n```\n## B\n"),
            []
        );
        assert_eq!(one_title("a.md", "# A\n# B\n").len(), 1);
        assert_eq!(one_title("a.md", "text\n").len(), 1);
    }

    #[test]
    fn folders_of_one_machine_are_found() {
        let [work, _, home] = FOLDERS;
        assert_eq!(paths("a.rs", &format!("let x = \"{work}a\";")).len(), 1);
        assert_eq!(paths("a.md", &format!("see {home}me/x")).len(), 1);
        assert_eq!(paths("a.md", &format!("https://example.org{work}a")), []);
    }
}
