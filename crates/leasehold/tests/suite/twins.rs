//! One server under two addresses: it has one vote, however the connections come up.

use crate::support::{block_on, eventually};
use leasehold::{AcquireError, LockManager, LockOptions, RestartGuard};
use leasehold_servers::{Mode, Proxy, Server, ServerBinary, require_server, skip};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A server, an address of it that answers later than the other, and an address where nobody is.
struct Twins {
    server: Server,
    slow: Proxy,
    dead: Proxy,
}

impl Twins {
    fn of(server: Server) -> Self {
        let slow = Proxy::start(server.port()).expect("a port is free");
        slow.set(Mode::Delay(75 * MS));
        let dead = Proxy::start(server.port()).expect("a port is free");
        dead.set(Mode::Refuse);
        Self { server, slow, dead }
    }

    /// The slow address comes first, so the server is known by the other one before.
    fn urls(&self, login: &str) -> [String; 3] {
        [self.slow.port(), self.server.port(), self.dead.port()]
            .map(|port| format!("redis://{login}127.0.0.1:{port}"))
    }

    fn key(&self) -> Option<String> {
        let told = self.server.command(&["GET", "r"]).expect("it answers");
        told.text().map(str::to_owned)
    }

    /// Nobody wins, and nothing is left.
    fn expect_no_winner(&self, why: &AcquireError) {
        assert!(matches!(why, AcquireError::Unreachable(_)), "{why}");
        eventually("what was voted is taken back", || self.key().is_none());
    }
}

fn options() -> LockOptions {
    // Both addresses have their time, however busy the machine is.
    LockOptions::new().ttl(60_000 * MS).node_limit(5_000 * MS)
}

#[test]
fn a_server_with_a_slow_address_does_not_win_by_itself() {
    require_server();
    let twins = Twins::of(Server::start().expect("it starts"));
    let builder = || {
        let builder = LockManager::builder().nodes(twins.urls(""));
        builder.restart_guard(RestartGuard::Off).defaults(options())
    };
    let manager = builder().build().expect("good addresses");
    let mutex = manager.mutex("r").expect("a plain name");
    let why = block_on(mutex.try_acquire()).expect_err("one server is no quorum of three");
    twins.expect_no_winner(&why);
    let told = why.to_string();
    let slow = format!(
        "127.0.0.1:{}: the same server as another",
        twins.slow.port()
    );
    assert!(told.contains(&slow), "{told}");

    let manager = builder().build_plain().expect("good addresses");
    let mutex = manager.mutex("r").expect("a plain name");
    let why = block_on(mutex.try_acquire()).expect_err("one server is no quorum of three");
    twins.expect_no_winner(&why);
}

#[test]
fn a_server_with_a_slow_address_does_not_win_by_itself_without_scripts() {
    let binaries = ServerBinary::find_all().expect("this test needs a real server");
    let mut was_tried = false;
    for binary in &binaries {
        let server = Server::builder().binary(binary).start();
        let twins = Twins::of(server.expect("the server starts"));
        if twins.server.command(&["DELIFEQ", "k", "v"]).is_err()
            && twins.server.command(&["DELEX", "k", "IFEQ", "v"]).is_err()
        {
            continue;
        }
        was_tried = true;
        let words = [
            "ACL",
            "SETUSER",
            "u",
            "on",
            ">pw",
            "~*",
            "+@all",
            "-@scripting",
        ];
        twins.server.command(&words).expect("it answers");
        let builder = LockManager::builder().nodes(twins.urls("u:pw@"));
        let manager = builder.defaults(options()).build_plain();
        let mutex = manager.expect("good").mutex("r").expect("a plain name");
        let why = block_on(mutex.try_acquire()).expect_err("one server is no quorum of three");
        twins.expect_no_winner(&why);
        assert!(
            why.to_string().contains("the same server as another"),
            "{why}"
        );
    }
    if !was_tried {
        skip(
            "no server that sets and deletes by comparison; LEASEHOLD_MORE_SERVERS=path:path names others",
        );
    }
}
