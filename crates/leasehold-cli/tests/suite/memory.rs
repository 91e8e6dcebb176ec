//! Locks that a server may have forgotten: nobody calls them free while somebody may hold them.

use crate::support::{Running, Test, User, wait_until};
use leasehold_servers::{Server, ServerSet, require_server};
use rustix::process::Signal;

const DOUBT: &str = "\"demo\" may be held or free: 1 of 3 nodes may have forgotten it";

/// A lock whose holder has the vote of the second server, and that of the first, which restarts without its data. The vote of the
/// third has not arrived.
struct Forgotten {
    user: User,
    servers: ServerSet,
    holder: Option<Running>,
}

impl Forgotten {
    fn new() -> Self {
        let servers = ServerSet::start(3).expect("they start");
        let mut this = Self {
            user: User::new(),
            servers,
            holder: None,
        };
        assert_eq!(this.test(&["admit", "--yes"]).end().code, 0);
        let holder = this.test(&["hold", "--ttl", "30s", "demo"]);
        let holder = holder.keeping_stdin();
        wait_until(|| this.servers.iter().all(has_demo));
        holder.signal(Signal::STOP);
        this.holder = Some(holder);
        this.command(2, &["DEL", "demo"]);
        this.servers[0].restart_empty().expect("it starts again");
        this
    }

    fn test(&self, words: &[&str]) -> Test {
        let test = self.user.run(words).guarded();
        test.env("LEASEHOLD_NODES", self.servers.nodes())
    }

    fn command(&self, server: usize, words: &[&str]) {
        self.servers[server].command(words).expect("it runs");
    }

    /// What a row of `status` says of a server.
    #[track_caller]
    fn assert_status(&self, rows: [&str; 3]) {
        let status = self.test(&["status", "demo"]).end();
        assert_eq!(status.code, 122, "{status:?}");
        assert!(status.stdout.starts_with(DOUBT), "{status:?}");
        for (server, row) in self.servers.iter().zip(rows) {
            let row = format!("127.0.0.1:{}  {row}", server.port());
            assert!(status.stdout.contains(&row), "no {row:?} in {status:?}");
        }
        let hint = "hint: `leasehold doctor` tells why, and the way out\n";
        assert!(status.stderr.ends_with(hint), "{status:?}");
    }
}

/// The holder is stopped, and nobody else ends it.
impl Drop for Forgotten {
    fn drop(&mut self) {
        if let Some(holder) = self.holder.take() {
            holder.signal(Signal::KILL);
        }
    }
}

fn has_demo(server: &Server) -> bool {
    let told = server.command(&["EXISTS", "demo"]);
    told.expect("it runs").integer() == Some(1)
}

#[test]
fn a_lock_is_not_called_free_that_a_server_may_have_forgotten() {
    require_server();
    let lock = Forgotten::new();
    let ask = |words: &[&str]| lock.test(words).end();
    lock.assert_status(["none, may have forgotten it\n", "of pid ", "none\n"]);
    let json = ask(&["status", "demo", "--json"]).stdout;
    let none =
        "\"key\":\"none\",\"type\":null,\"owner\":null,\"left_ms\":null,\"permits\":null,\"why\"";
    for part in [
        "\"state\":\"unclear\"",
        &format!("{none}:\"may have forgotten it\"}},"),
        &format!("{none}:null}}]"),
    ] {
        assert!(json.contains(part), "no {part} in {json}");
    }
    for words in [&["list"][..], &["watch", "--once"]] {
        let seen = ask(words);
        let part = ", which may hold it or not\n";
        assert!(seen.stdout.contains(part), "{words:?}: {seen:?}");
    }
    let seen = ask(&["force-release", "demo"]);
    seen.assert_says(2, &["\"demo\": may be held, has keys on some nodes: pid "]);
    let other = "aa11.db1.7.nightly";
    let seen = ask(&["force-release", "demo", "--owner", other]);
    seen.assert_says(
        0,
        &["\"demo\" has no key of this owner; nothing was changed"],
    );
    // Others who are under way, or left something, make no difference.
    lock.command(2, &["SET", "demo", other, "PX", "60000"]);
    lock.assert_status([
        "none, may have forgotten it\n",
        "of pid ",
        "another program's  ",
    ]);
    lock.command(2, &["DEL", "demo"]);
    // Nor does it that the server does not even begin to wait.
    lock.command(0, &["CONFIG", "SET", "min-replicas-to-write", "1"]);
    lock.assert_status([
        "none, may have forgotten it    does not vote: NOREPLICAS ",
        "of pid ",
        "none\n",
    ]);
}

#[test]
fn who_waits_for_a_lock_waits_until_servers_know_that_it_is_free() {
    require_server();
    let mut lock = Forgotten::new();
    let seen = lock.test(&["wait", "--wait", "3s", "demo"]).end();
    seen.assert_says(
        124,
        &[
            &format!("leasehold: waiting: {DOUBT}\n"),
            &format!("leasehold: after 3 s, {DOUBT}\n"),
        ],
    );
    let mut waiter = lock.test(&["wait", "--wait", "20s", "demo"]).start();
    let told = waiter.error_line();
    assert_eq!(told.trim_end(), format!("leasehold: waiting: {DOUBT}"));
    // The vote of the third arrives, and it is known who has it: nobody is asked again before that ends.
    let owner = lock.servers[1].command(&["GET", "demo"]);
    let owner = owner.expect("it runs");
    let owner = owner.text().expect("it has it");
    lock.command(2, &["SET", "demo", owner, "PX", "60000"]);
    wait_until(|| lock.test(&["status", "demo"]).end().code == 121);
    // It lets go of what it still has.
    let holder = lock.holder.take().expect("it was begun");
    holder.signal(Signal::CONT);
    holder.signal(Signal::TERM);
    assert_eq!(waiter.end().code, 0);
    assert_eq!(lock.test(&["status", "demo"]).end().code, 0);
}
