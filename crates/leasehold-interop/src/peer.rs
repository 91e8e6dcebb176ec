//! Somebody else's locks.

mod table;

pub(crate) use table::{CONTROLS, PEERS};

use crate::{ours::Kind, package::Language, protocol::Answer};

/// A library, or the commands of one.
#[derive(Debug)]
pub(crate) struct Peer {
    /// How it is called here: in tables, on the command line, in the names of its files.
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) about: &'static str,
    pub(crate) means: Means,
    pub(crate) nodes: Nodes,
    /// Under which key it locks a name. This is what leasehold has to lock.
    pub(crate) key: &'static str,
    pub(crate) kept: Kept,
    /// Whether a lease can be extended by the caller.
    pub(crate) extends: bool,
    /// Whether several names can be locked by one request.
    pub(crate) several: bool,
}

/// How it is run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// These packages, by npm.
    Npm(&'static [&'static str]),
    /// These packages, by pip.
    Pip(&'static [&'static str]),
    /// These modules, by go.
    Go(&'static [&'static str]),
    /// These artifacts, by mvn, for a shim that several peers may share.
    Maven {
        artifacts: &'static [&'static str],
        shim: &'static str,
    },
    /// Compiled into this program.
    Rust,
    /// Not the library: its commands, as a recipe says.
    Played,
    /// Leasehold of the version before, with locks of this kind.
    Earlier(Kind),
    /// Leasehold's own package for this language, with locks of this kind.
    Package(Language, Kind),
}

impl Means {
    /// A word of the table.
    pub(crate) const fn how(&self) -> &'static str {
        match self {
            Self::Played => "played",
            _ => "run",
        }
    }
}

/// What stands under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// A value, as Redlock's page has it.
    Value,
    /// A hash, with a field for its holder: a lock of another kind, that is in the way of ours and ours of it.
    Hash,
}

/// On how many nodes it locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nodes {
    One,
    Quorum,
    Five,
}

impl Peer {
    /// The key that it sets for a name.
    pub(crate) fn key_of(&self, name: &str) -> String {
        self.key.replace("{}", name)
    }

    /// Whether this is how it says that somebody else has a lock. A lock of another kind it need not know to be one.
    pub(crate) fn is_refusal(&self, answer: &Answer) -> bool {
        match answer {
            Answer::Refused(_) => true,
            Answer::Failed(why) => self.kept == Kept::Hash && why.contains("WRONGTYPE"),
            _ => false,
        }
    }

    /// What is installed for it by name. A package of ours comes on top of that.
    pub(crate) const fn packages(&self) -> &'static [&'static str] {
        match self.means {
            Means::Npm(packages) | Means::Pip(packages) | Means::Go(packages) => packages,
            Means::Maven { artifacts, .. } => artifacts,
            // Clients, by which a crowd counts.
            Means::Package(Language::Node, _) => &[table::IOREDIS],
            Means::Package(Language::Python, _) => &[table::REDIS_PY],
            Means::Rust | Means::Played | Means::Earlier(_) => &[],
        }
    }

    /// How its shim is called, which several peers may share.
    pub(crate) const fn shim(&self) -> &'static str {
        match self.means {
            Means::Maven { shim, .. } => shim,
            Means::Package(language, _) => language.shim(),
            _ => self.name,
        }
    }

    /// Of leasehold itself, the kind of its locks.
    pub(crate) const fn own_kind(&self) -> Option<Kind> {
        match self.means {
            Means::Earlier(kind) | Means::Package(_, kind) => Some(kind),
            _ => None,
        }
    }

    /// Whether it is tried with this kind of our locks. The version before is tried with locks of one kind.
    pub(crate) fn is_tried_with(&self, kind: Kind) -> bool {
        match self.means {
            Means::Earlier(own) => own == kind,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe;
    use std::{collections::HashSet, path::Path};

    #[test]
    fn every_peer_can_be_run_by_its_name() {
        let mut names = HashSet::new();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shims");
        for peer in PEERS.iter().chain(CONTROLS) {
            assert!(names.insert(peer.name), "{} is there twice", peer.name);
            let written_in = match &peer.means {
                Means::Npm(_) | Means::Package(Language::Node, _) => "mjs",
                Means::Pip(_) | Means::Package(Language::Python, _) => "py",
                Means::Go(_) => "go",
                Means::Maven { .. } => "java",
                Means::Rust | Means::Earlier(_) => continue,
                Means::Played => {
                    assert!(recipe::named(peer.name).is_some(), "{}", peer.name);
                    continue;
                }
            };
            let shim = folder.join(format!("{}.shim.{written_in}", peer.shim()));
            assert!(shim.is_file(), "{}", peer.name);
        }
    }

    #[test]
    fn what_is_played_sets_the_key_that_the_table_tells() {
        let played = PEERS.iter().filter(|peer| peer.means == Means::Played);
        for peer in played {
            let recipe = recipe::named(peer.name).unwrap();
            assert_eq!(recipe.key, peer.key, "{}", peer.name);
        }
    }

    #[test]
    fn only_a_lock_of_another_kind_may_fail_where_it_is_refused() {
        let peer = |name: &str| PEERS.iter().find(|peer| peer.name == name).unwrap();
        let wrong = Answer::Failed("RedisException: WRONGTYPE Operation".to_owned());
        assert!(peer("redisson").is_refusal(&wrong));
        assert!(!peer("redsync").is_refusal(&wrong));
        let other = Answer::Failed("no connection".to_owned());
        assert!(!peer("redisson").is_refusal(&other));
        for name in ["redisson", "redsync"] {
            assert!(peer(name).is_refusal(&Answer::Refused(String::new())));
            assert!(!peer(name).is_refusal(&Answer::Ready));
        }
    }

    #[test]
    fn each_package_of_ours_is_a_peer_with_both_kinds_of_locks() {
        for language in [Language::Node, Language::Python] {
            for kind in Kind::ALL {
                let means = Means::Package(language, kind);
                let found = PEERS.iter().filter(|peer| peer.means == means);
                let found: Vec<&Peer> = found.collect();
                assert_eq!(found.len(), 1, "{means:?}");
                // Beside both kinds of the Rust library's.
                assert!(Kind::ALL.iter().all(|&kind| found[0].is_tried_with(kind)));
                assert_eq!(found[0].own_kind(), Some(kind));
            }
        }
    }

    #[test]
    fn packages_are_pinned() {
        for peer in PEERS {
            let packages = peer.packages();
            let mark = match peer.means {
                Means::Npm(_) | Means::Package(Language::Node, _) => "@",
                Means::Pip(_) | Means::Package(Language::Python, _) => "==",
                Means::Go(_) => "@v",
                // Group, name and version.
                Means::Maven { artifacts, .. } => {
                    let is_whole = |artifact: &&str| artifact.split(':').count() == 3;
                    assert!(artifacts.iter().all(is_whole), "{}", peer.name);
                    ":"
                }
                Means::Rust | Means::Played | Means::Earlier(_) => continue,
            };
            let is_pinned = |package: &&str| package.rfind(mark).is_some_and(|at| at > 0);
            assert!(packages.iter().all(is_pinned), "{}", peer.name);
        }
    }
}
