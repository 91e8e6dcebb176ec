//! Markdown files have one title and name source files that exist; crates have the licences of the workspace; no file knows
//! the machine it was written on.

use super::Finding;
use std::{fs, path::Path};

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

/// Source files that a document names in backticks and that are nowhere in the workspace. The end of a path is enough, but in a table
/// below a line that ends with the folder, `leasehold-core/src/` for instance, it is the path from there.
pub(super) fn missing_files(path: &str, text: &str, files: &[String]) -> Vec<Finding> {
    let mut folder = "";
    let exists = |folder: &str, name: &str| {
        let name = match folder {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        let is_it = |file: &String| {
            let before = file.strip_suffix(&*name);
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        files.iter().any(is_it)
    };
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if let Some((_, named)) = line
            .strip_suffix("/`:")
            .and_then(|line| line.rsplit_once('`'))
        {
            folder = named;
        } else if !line.is_empty() && !line.starts_with('|') {
            folder = "";
        }
        // Every second part stands between two backticks.
        let names = line.split('`').skip(1).step_by(2);
        let is_source = |name: &&str| name.ends_with(".rs") || name.ends_with(".lua");
        for name in names.filter(is_source).flat_map(alternatives) {
            let folder = if name.contains("/src/") { "" } else { folder };
            if !name.contains(['*', ' ']) && !exists(folder, &name) {
                found.push(Finding {
                    path: path.to_owned(),
                    line: number + 1,
                    what: format!(
                        "names `{name}`, and there is no such file; follow what became of it"
                    ),
                });
            }
        }
    }
    found
}

/// A licence of a crate, `text`, that says something else than that of the workspace.
pub(super) fn licence(path: &str, text: &str, root: &Path) -> Option<Finding> {
    let name = path.rsplit_once('/')?.1;
    let is_other = name.starts_with("LICENSE-")
        && fs::read_to_string(root.join(name)).is_ok_and(|whole| whole != text);
    is_other.then(|| Finding {
        path: path.to_owned(),
        line: 1,
        what: format!("says something else than {name} of the workspace; link to that"),
    })
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn alternatives(name: &str) -> Vec<String> {
    let braces = name.split_once('{').and_then(|(before, rest)| {
        let (inside, after) = rest.split_once('}')?;
        Some((before, inside, after))
    });
    match braces {
        None => vec![name.to_owned()],
        Some((before, inside, after)) => inside
            .split(',')
            .map(|one| format!("{before}{one}{after}"))
            .collect(),
    }
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
    fn source_files_that_a_document_names_exist() {
        let files = ["crates/a/src/b.rs", "crates/a/src/c.lua"].map(str::to_owned);
        let lines = |text: &str| -> Vec<usize> {
            let found = missing_files("x.md", text, &files);
            found.iter().map(|finding| finding.line).collect()
        };
        // In the table of a folder, a name begins there.
        let table =
            "In `a/src/`:\n\n| | `b.rs`, `a/src/b.rs` |\n| | `src/c.lua` |\n\nAnd `src/c.lua`\n";
        assert_eq!(lines(table), [4]);
        let good = "`b.rs`, `a/src/{b,b}.rs`\n`src/c.lua`, `*.rs`, x.rs and `cat x.rs`\n";
        assert_eq!(lines(good), [0; 0]);
        assert_eq!(lines("a\n`d.rs`, `a/src/{b,e}.rs`\n`xb.rs`\n"), [2, 2, 3]);
    }

    #[test]
    fn a_licence_is_that_of_the_workspace() {
        let root = crate::root();
        let path = "crates/leasehold/LICENSE-MIT";
        let text = fs::read_to_string(root.join(path)).expect("it is there");
        assert_eq!(licence(path, &text, &root), None);
        let other = text.replace("WITHOUT WARRANTY", "WITH WARRANTY");
        assert!(licence(path, &other, &root).is_some());
        assert_eq!(licence("crates/leasehold/src/lib.rs", "", &root), None);
    }

    #[test]
    fn folders_of_one_machine_are_found() {
        let [work, _, home] = FOLDERS;
        assert_eq!(paths("a.rs", &format!("let x = \"{work}a\";")).len(), 1);
        assert_eq!(paths("a.md", &format!("see {home}me/x")).len(), 1);
        assert_eq!(paths("a.md", &format!("https://example.org{work}a")), []);
    }
}
