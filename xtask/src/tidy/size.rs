//! Files are at most 500 lines long, functions at most 60.

use super::{
    Finding,
    source::{Source, after_block, is_name, name_at},
};

pub(super) fn check(source: &Source<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let lines = source.text.lines().count();
    if lines > FILE {
        let what = format!("is {lines} lines long; divide it, {FILE} is the limit");
        found.push(source.finding(0, what));
    }
    for at in source.words("fn") {
        let name = name_at(&source.code, at + 3);
        // `fn(u8)` is a type.
        if name.is_empty() || !name.bytes().all(is_name) {
            continue;
        }
        let Some(open) = body(&source.code, at) else {
            continue;
        };
        let end = after_block(&source.code, open) - 1;
        let lines = source.line(end) - source.line(at) + 1;
        if lines > FUNCTION {
            let what =
                format!("`{name}` is {lines} lines long; divide it, {FUNCTION} is the limit");
            found.push(source.finding(at, what));
        }
    }
    found
}

/// Where the body of the function begins. None if it has none.
fn body(code: &str, start: usize) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' if depth == 0 => return Some(at),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

const FILE: usize = 500;
const FUNCTION: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        check(&Source::new("crates/x/src/y.rs", text)).len()
    }

    #[test]
    fn long_files_are_found() {
        assert_eq!(count(&"\n".repeat(500)), 0);
        assert_eq!(count(&"\n".repeat(501)), 1);
    }

    #[test]
    fn long_functions_are_found() {
        let function = |lines| format!("fn f(x: [u8; 2]) {{\n{}}}\n", "// }\n".repeat(lines));
        assert_eq!(count(&function(58)), 0);
        assert_eq!(count(&function(59)), 1);
        assert_eq!(
            count(&format!("trait T {{\nfn f();\n{}}}", "\n".repeat(80))),
            0
        );
    }
}
