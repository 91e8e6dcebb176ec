//! Where locks are in a test, and who uses them.

use super::{Seen, Test, User};
use leasehold_servers::{ServerSet, require_server};

/// A user who has told the command of nodes.
pub(crate) struct Place {
    pub(crate) user: User,
    nodes: String,
    /// The servers among them that were started for it.
    pub(crate) servers: Option<ServerSet>,
}

impl Place {
    /// On so many servers of its own.
    pub(crate) fn on_servers(count: usize) -> Self {
        require_server();
        let servers = ServerSet::start(count).expect("they start");
        Self {
            user: User::new(),
            nodes: servers.nodes(),
            servers: Some(servers),
        }
    }

    /// On this machine.
    pub(crate) fn local() -> Self {
        let user = User::new();
        let nodes = format!("file://{}", user.path("locks"));
        Self {
            nodes,
            ..Self::on(user, String::new())
        }
    }

    pub(crate) const fn on(user: User, nodes: String) -> Self {
        let servers = None;
        Self {
            user,
            nodes,
            servers,
        }
    }

    pub(crate) fn run(&self, words: &[&str]) -> Test {
        self.user.run(words).env("LEASEHOLD_NODES", &self.nodes)
    }

    pub(crate) fn end(&self, words: &[&str]) -> Seen {
        self.run(words).end()
    }

    /// Whether somebody gets it who does not wait, by these flags and names.
    #[track_caller]
    pub(crate) fn gets(&self, words: &[&str]) -> bool {
        let seen = self.end(&[&["run", "-n"], words, &["--", "true"]].concat());
        assert!([0, 121].contains(&seen.code), "{seen:?}");
        seen.code == 0
    }

    /// The servers that were started for it.
    pub(crate) fn servers(&self) -> &ServerSet {
        self.servers.as_ref().expect("it has some")
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.user.path(name)
    }
}

/// One server, three, and this machine.
pub(crate) fn places() -> [Place; 3] {
    [Place::on_servers(1), Place::on_servers(3), Place::local()]
}
