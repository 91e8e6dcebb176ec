//! A Rust file as the checks see it.

use super::Finding;
use std::ops::Range;

/// A file, once as it is and once with comments and literals blanked, line by line the same.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    pub(super) code: String,
    tests: Vec<Range<usize>>,
}

impl<'a> Source<'a> {
    pub(super) fn new(path: &'a str, text: &'a str) -> Self {
        let code = blank(text);
        let whole = path.ends_with("/tests.rs") || path.contains("/tests/");
        let tests = if whole {
            std::iter::once(0..code.len()).collect()
        } else {
            test_modules(&code)
        };
        Self {
            path,
            text,
            code,
            tests,
        }
    }

    /// The crate it belongs to and its module path in there: `("leasehold", ["link", "memory"])`. None
    /// for what is not in a crate's `src`, and for crate roots.
    pub(super) fn module(&self) -> Option<(&'a str, Vec<&'a str>)> {
        let (name, rest) = self.path.strip_prefix("crates/")?.split_once("/src/")?;
        let path: Vec<&str> = rest.strip_suffix(".rs")?.split('/').collect();
        (!matches!(path.as_slice(), ["lib" | "main"])).then_some((name, path))
    }

    /// Whether the code at this byte is only compiled for tests.
    pub(super) fn is_test(&self, at: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&at))
    }

    /// Where `word` stands in the code as a word of its own.
    pub(super) fn words(&self, word: &str) -> Vec<usize> {
        let code = self.code.as_bytes();
        let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| is_name(*byte));
        self.code
            .match_indices(word)
            .map(|(at, _)| at)
            .filter(|&at| !is_part(at.checked_sub(1).and_then(|before| code.get(before))))
            .filter(|&at| {
                let ends_in_name = word.bytes().last().is_some_and(is_name);
                !(ends_in_name && is_part(code.get(at + word.len())))
            })
            .collect()
    }

    /// Whether the line of this byte begins with a space.
    pub(super) fn is_indented(&self, at: usize) -> bool {
        let before = self.code.get(..at).unwrap_or_default();
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        self.code
            .get(line..)
            .is_some_and(|line| line.starts_with(' '))
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        let before = self.code.as_bytes().get(..at).unwrap_or_default();
        before.iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    pub(super) fn finding(&self, at: usize, what: String) -> Finding {
        Finding {
            path: self.path.to_owned(),
            line: self.line(at),
            what,
        }
    }
}

/// Whether a name may contain this byte.
pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The name that begins here, or nothing.
pub(super) fn name_at(code: &str, at: usize) -> &str {
    let rest = code.get(at..).unwrap_or_default();
    let end = rest.bytes().position(|byte| !is_name(byte));
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}

/// The place after the brace that closes the one at `open`.
pub(super) fn after_block(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

fn test_modules(code: &str) -> Vec<Range<usize>> {
    let marks = ["#[cfg(test)]", "#[cfg(all(test,"].map(|mark| code.match_indices(mark));
    let marks = marks.into_iter().flatten();
    marks
        .map(|(start, _)| {
            let next = code.get(start..).and_then(|rest| rest.find(['{', ';']));
            let at = start + next.unwrap_or(0);
            match code.as_bytes().get(at) {
                Some(b'{') => start..after_block(code, at),
                _ => start..at,
            }
        })
        .collect()
}

/// Replaces comments and the insides of literals by spaces. Bytes and lines keep their places.
fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = text.get(at..).unwrap_or_default();
        let begins_name = at == 0 || !bytes.get(at - 1).copied().is_some_and(is_name);
        let length = match byte {
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => block_comment(rest),
            b'"' => quoted(rest, '"'),
            b'\'' => character(rest),
            b'r' | b'b' | b'c' if begins_name => raw_string(rest),
            _ => 0,
        };
        if length == 0 {
            // A byte of a longer character is as good as a space.
            out.push(if byte.is_ascii() {
                char::from(byte)
            } else {
                ' '
            });
            at += 1;
            continue;
        }
        for &hidden in bytes.get(at..at + length).unwrap_or_default() {
            out.push(if hidden == b'\n' { '\n' } else { ' ' });
        }
        at += length;
    }
    out
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let tail = rest.as_bytes().get(at..at + 2).unwrap_or_default();
        match tail {
            b"/*" => depth += 1,
            b"*/" => depth = depth.saturating_sub(1),
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The length of a literal that begins and ends with `quote`.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        if !escaped && character == quote {
            return at + 1;
        }
        escaped = !escaped && character == '\\';
    }
    rest.len()
}

/// The length of a character literal; 0 for a lifetime.
fn character(rest: &str) -> usize {
    let mut characters = rest.chars().skip(1);
    let (first, second) = (characters.next(), characters.next());
    if first == Some('\\') || (first.is_some() && second == Some('\'')) {
        quoted(rest, '\'')
    } else {
        0
    }
}

/// The length of `r"…"`, `r#"…"#`, `br#"…"#`; 0 for everything else.
fn raw_string(rest: &str) -> usize {
    let Some(start) = rest.find(|letter| !matches!(letter, 'r' | 'b' | 'c')) else {
        return 0;
    };
    let hashes = rest[start..]
        .bytes()
        .take_while(|&byte| byte == b'#')
        .count();
    let open = start + hashes;
    if start > 2 || !rest[..start].contains('r') || rest.as_bytes().get(open) != Some(&b'"') {
        return 0;
    }
    let close = format!("\"{}", "#".repeat(hashes));
    let inside = open + 1;
    rest[inside..]
        .find(&close)
        .map_or(rest.len(), |end| inside + end + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_in_place() {
        let cases = [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            (r#"f("x \" {", 'y')"#, "f(        ,    )"),
            (r##"r#"a " b"# c"##, "           c"),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
            (r"'\'' + b'\n' {", "     + b     {"),
            ("number, bar", "number, bar"),
            ("é{", "  {"),
        ];
        for (text, expected) in cases {
            assert_eq!(blank(text), expected, "{text}");
        }
    }

    #[test]
    fn test_modules_are_known() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() {}\n}\nfn c() {}\n";
        let source = Source::new("crates/x/src/y.rs", text);
        let is_test = |name| source.is_test(text.find(name).unwrap());
        assert!(!is_test("fn a") && is_test("fn b") && !is_test("fn c"));
        assert!(Source::new("crates/x/src/y/tests.rs", text).is_test(0));
        let text = text.replace("(test)", "(all(test, unix))");
        let source = Source::new("crates/x/src/y.rs", &text);
        let is_test = |name| source.is_test(text.find(name).unwrap());
        assert!(!is_test("fn a") && is_test("fn b") && !is_test("fn c"));
    }
}
