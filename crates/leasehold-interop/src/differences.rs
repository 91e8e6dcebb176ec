//! What is known to be otherwise with a peer: `differences.txt`.

use crate::{
    check::{CHECKS, Check},
    peer::{PEERS, Peer},
};

/// What is expected to differ, and why.
#[derive(Debug)]
pub(crate) struct Differences {
    list: Vec<Difference>,
}

#[derive(Debug, PartialEq, Eq)]
struct Difference {
    peer: String,
    check: String,
    /// Not each time.
    is_rare: bool,
    reason: String,
}

/// A difference that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected<'a> {
    pub(crate) reason: &'a str,
    /// Whether it need not occur.
    pub(crate) is_rare: bool,
}

impl Differences {
    /// Reads the file, or says which line makes no sense.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut list: Vec<Difference> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let difference = Difference::parse(line)
                .map_err(|what| format!("differences.txt, line {}: {what}", number + 1))?;
            let is_same = |other: &Difference| {
                (&other.peer, &other.check) == (&difference.peer, &difference.check)
            };
            if list.iter().any(is_same) {
                return Err(format!(
                    "differences.txt, line {}: is there twice",
                    number + 1
                ));
            }
            list.push(difference);
        }
        Ok(Self { list })
    }

    /// The file that is part of this program.
    pub(crate) fn known() -> Result<Self, String> {
        Self::parse(include_str!("../differences.txt"))
    }

    /// Why this check is expected to fail, if it is.
    pub(crate) fn expected(&self, peer: &Peer, check: &Check) -> Option<Expected<'_>> {
        let path = check.path();
        let found = self
            .list
            .iter()
            .find(|difference| difference.peer == peer.name && difference.check == path);
        found.map(|difference| Expected {
            reason: &difference.reason,
            is_rare: difference.is_rare,
        })
    }
}

impl Difference {
    fn parse(line: &str) -> Result<Self, String> {
        let mut words = line.splitn(3, ' ');
        let (Some(peer), Some(check), Some(reason)) = (words.next(), words.next(), words.next())
        else {
            return Err("needs a peer, a check and a reason".to_owned());
        };
        let Some(known) = PEERS.iter().find(|known| known.name == peer) else {
            return Err(format!("there is no peer `{peer}`"));
        };
        let is_rare = check.ends_with('?');
        let check = check.trim_end_matches('?');
        match CHECKS.iter().find(|known| known.path() == check) {
            Some(check) if check.is_for(known) => {}
            Some(_) => return Err(format!("`{check}` is not tried with {peer}")),
            None => return Err(format!("there is no check `{check}`")),
        }
        Ok(Self {
            peer: peer.to_owned(),
            check: check.to_owned(),
            is_rare,
            reason: reason.trim().to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_makes_sense() {
        let known = Differences::known().unwrap();
        let is_told = |difference: &Difference| difference.reason.len() > 20;
        assert!(known.list.iter().all(is_told), "a reason is a sentence");
    }

    #[test]
    fn a_difference_is_found_by_peer_and_check() {
        let text = "# a remark\n\nredlock-py exclude/theirs-keeps-us-out It is so.\n";
        let differences = Differences::parse(text).unwrap();
        let peer = |name: &str| PEERS.iter().find(|peer| peer.name == name).unwrap();
        let reasons: Vec<_> = CHECKS
            .iter()
            .filter_map(|check| differences.expected(peer("redlock-py"), check))
            .collect();
        let expected = Expected {
            reason: "It is so.",
            is_rare: false,
        };
        assert_eq!(reasons, [expected]);
        let mut of_others = CHECKS.iter();
        assert!(of_others.all(|check| differences.expected(peer("rslock"), check).is_none()));
    }

    #[test]
    fn a_question_mark_means_now_and_then() {
        let differences = Differences::parse("rslock mix/no-increment-is-lost? Seldom.").unwrap();
        assert!(differences.list[0].is_rare);
        assert_eq!(differences.list[0].check, "mix/no-increment-is-lost");
    }

    #[test]
    fn a_line_that_could_never_match_is_refused() {
        for (line, what) in [
            ("redlock-py", "needs"),
            ("redlock-py exclude/theirs-keeps-us-out", "needs"),
            ("redlock-pie exclude/theirs-keeps-us-out so", "no peer"),
            ("redlock-py exclude/theirs so", "no check"),
            ("redis-py one-down/theirs-keeps-us-out so", "not tried"),
        ] {
            let why = Differences::parse(line).unwrap_err();
            assert!(why.contains(what) && why.contains("line 1"), "{why}");
        }
        let twice = "rslock mix/no-increment-is-lost a\nrslock mix/no-increment-is-lost b";
        assert!(
            Differences::parse(twice)
                .unwrap_err()
                .contains("line 2: is there twice")
        );
    }
}
