//! The avoided words of the glossary, in names; and what the docs of an asynchronous function must say.

use super::{
    Finding,
    source::{Source, name_at},
};

pub(super) fn check(source: &Source<'_>) -> Vec<Finding> {
    let mut found = cancel_safety(source);
    if LIBRARY.iter().any(|start| source.path.starts_with(start)) {
        found.extend(avoided(source));
    }
    if SHIPPED.iter().any(|start| source.path.starts_with(start)) {
        found.extend(replaced(source));
    }
    found
}

fn cancel_safety(source: &Source<'_>) -> Vec<Finding> {
    let text: Vec<&str> = source.text.lines().collect();
    let code: Vec<&str> = source.code.lines().collect();
    let mut found = Vec::new();
    for at in source.words("pub async fn") {
        let line = source.line(at);
        // Upwards over docs and attributes, to the end of what comes before.
        let docs = (0..line - 1).rev().take_while(|&above| {
            let is_end = code[above].trim_end().ends_with(['{', '}', ';', ',']);
            !text[above].trim().is_empty() && !is_end
        });
        let mut docs = docs.map(|above| text[above].trim());
        if !source.is_test(at) && !docs.any(|doc| doc == "/// # Cancel safety") {
            let name = name_at(&source.code, at + "pub async fn ".len());
            let what = format!("`{name}` is public and async; its docs need `# Cancel safety`");
            found.push(source.finding(at, what));
        }
    }
    found
}

fn avoided(source: &Source<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for at in source.words("pub") {
        let rest = source.code.get(at + 3..).unwrap_or_default();
        // `pub fn name`, `pub const fn name`, `pub name: Type`: the first word that is no keyword.
        let mut words = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let name = words.find(|word| !word.is_empty() && !KEYWORDS.contains(word));
        let name = name.unwrap_or_default();
        let plain = words_of(name);
        for (avoided, instead) in AVOIDED {
            if plain.contains(&format!("_{avoided}_")) {
                let what = format!("`{name}`: we do not say {avoided}; say {instead}");
                found.push(source.finding(at, what));
            }
        }
    }
    found
}

/// Types and modules that are called by a word that another has replaced.
fn replaced(source: &Source<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for kind in ["struct", "enum", "trait", "mod"] {
        for at in source.words(kind) {
            let name = name_at(&source.code, at + kind.len() + 1);
            let words = words_of(name);
            for (old, new) in REPLACED {
                if words == format!("_{old}_") {
                    let what = format!("`{name}`: the glossary says {new}");
                    found.push(source.finding(at, what));
                }
            }
        }
    }
    found
}

/// `LockId` and `lock_id` as `_lock_id_`.
fn words_of(name: &str) -> String {
    let mut words = String::from("_");
    for letter in name.chars() {
        if letter.is_uppercase() && !words.ends_with('_') {
            words.push('_');
        }
        words.extend(letter.to_lowercase());
    }
    words.push('_');
    words
}

const LIBRARY: [&str; 2] = ["crates/leasehold/src/", "crates/leasehold-core/src/"];

/// The crates that are shipped.
const SHIPPED: [&str; 3] = [
    "crates/leasehold/src/",
    "crates/leasehold-core/src/",
    "crates/leasehold-cli/src/",
];

/// The word, and the one that has replaced it.
const REPLACED: [(&str, &str); 21] = [
    ("claim", "attempt"),
    ("withdrawal", "releasing"),
    ("upkeep", "renewal policy"),
    ("contend", "local queue"),
    ("streaks", "yield rule"),
    ("lookout", "blockers"),
    ("rivals", "contention"),
    ("knocking", "probe"),
    ("standing", "confirmed nodes"),
    ("wish", "acquire request"),
    ("station", "worker"),
    ("bell", "notifier"),
    ("mailbox", "inbox"),
    ("presence", "open lock"),
    ("said", "seen value, or reply"),
    ("met", "server info"),
    ("steward", "admin client"),
    ("vigil", "watcher"),
    ("witness", "instrumentation"),
    ("tenure", "supervised run"),
    ("warden", "watchdog"),
];

const KEYWORDS: [&str; 15] = [
    "crate", "super", "in", "async", "const", "unsafe", "extern", "fn", "struct", "enum", "trait",
    "type", "mod", "static", "use",
];

/// The word, and what is said instead.
const AVOIDED: [(&str, &str); 7] = [
    ("lock_id", "owner"),
    ("uuid", "owner"),
    ("secret", "owner"),
    ("key_name", "resource"),
    ("expiry", "TTL or valid_until"),
    ("master", "node"),
    ("slave", "node"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        let source = Source::new("crates/leasehold/src/y.rs", text);
        check(&source).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn avoided_words_are_found_in_public_names() {
        for bad in [
            "pub fn lock_id(&self) {}",
            "pub struct LockId;",
            "pub(crate) const fn expiry() {}",
            "pub master: u8,",
        ] {
            assert_eq!(found(bad), [1], "{bad}");
        }
        for good in [
            "pub fn block_idle() {}",
            "fn expiry() {}",
            "// pub secret",
            "pub owner: u8,",
        ] {
            assert_eq!(found(good), [0; 0], "{good}");
        }
    }

    #[test]
    fn a_word_that_was_replaced_does_not_come_back() {
        for bad in ["struct Claim;", "pub(crate) enum Vigil {}", "mod warden;"] {
            assert_eq!(found(bad), [1], "{bad}");
        }
        for good in ["struct Claimed;", "fn claim() {}", "// struct Claim"] {
            assert_eq!(found(good), [0; 0], "{good}");
        }
    }

    #[test]
    fn async_functions_tell_what_dropping_them_does() {
        let good = "impl A {\n    /// Waits.\n    ///\n    /// # Cancel safety\n    /// Safe.\n    \
                    #[must_use]\n    pub async fn f() {}\n}\n";
        assert_eq!(found(good), [0; 0]);
        let bad = "/// # Cancel safety\npub fn e() {}\n/// Waits.\npub async fn f() {}\n";
        assert_eq!(found(bad), [4]);
    }
}
