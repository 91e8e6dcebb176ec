//! What cannot be understood, or cannot be done: one clear line each, the right code, and nothing left behind.

mod places;
mod words;

use crate::support::User;
use std::fs;

/// One kind of bad input.
struct Bad<'a> {
    /// What follows `leasehold`.
    words: Vec<&'a str>,
    /// Variables that are set besides.
    variables: Vec<(&'static str, String)>,
    code: i32,
    /// What the line says.
    says: &'a str,
}

impl<'a> Bad<'a> {
    fn new(words: &[&'a str], code: i32, says: &'a str) -> Self {
        Self {
            words: words.to_vec(),
            variables: Vec::new(),
            code,
            says,
        }
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    /// Runs it, and looks at what it says and leaves.
    #[track_caller]
    fn check(&self) {
        let user = User::new();
        let mut run = user.run(&self.words).env("LEASEHOLD_RESTART_GUARD", "off");
        for (name, value) in &self.variables {
            run = run.env(name, value);
        }
        let seen = run.end();
        let shown: Vec<_> = self.words.iter().map(|word| shortened(word)).collect();
        assert_eq!(seen.code, self.code, "{shown:?}: {seen:?}");
        assert_eq!(seen.stdout, "", "{shown:?}");
        let notice = [
            "leasehold: no nodes given: locking on this machine only",
            "hint: --local says that this is meant",
        ];
        let told = |line: &&str| !notice.iter().any(|begin| line.starts_with(begin));
        let mut lines = seen.stderr.lines().filter(told);
        let first = lines.next().unwrap_or_default();
        let is_ours = first.starts_with("leasehold: ");
        assert!(is_ours && first.contains(self.says), "{shown:?}: {seen:?}");
        assert!(first.len() < 500, "{shown:?}: a line of {}", first.len());
        assert!(!seen.stderr.contains("panicked"), "{shown:?}: {seen:?}");
        // Behind it there are a hint, or what clap says of the usage, and no second complaint.
        let more = lines.filter(|line| line.starts_with("leasehold: ")).count();
        assert_eq!(more, 0, "{shown:?}: {seen:?}");
        self.assert_nothing_left(&user);
    }

    fn assert_nothing_left(&self, user: &User) {
        if self.code == 2 {
            let left = fs::read_dir(user.folder()).expect("it is there").count();
            assert_eq!(left, 0, "{:?} made something", self.words.first());
        }
        // Shorter than a lease that was left behind; longer than a disk that is busy takes.
        let next = user.run(&["run", "-w", "10s", "demo", "--", "true"]).end();
        assert_eq!(next.code, 0, "{next:?}");
    }
}

/// A word that is not longer than somebody wants to read.
fn shortened(word: &str) -> String {
    word.chars().take(60).collect()
}
