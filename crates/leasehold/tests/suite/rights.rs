//! Users of a server who may not do all that a lease needs.

use crate::support::block_on;
use leasehold::{
    AcquireError, LockManager, LockOptions, ManagerBuilder, RestartGuard, operate::NodeAnswer,
};
use leasehold_servers::{Server, ServerBinary, require_server};
use std::time::Duration;

/// The rights that OPERATING.md names for locks with scripts.
fn rights() -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/OPERATING.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let mut lines = page.lines();
    let line = lines.find_map(|line| line.strip_prefix("ACL SETUSER locks on >password ~* "));
    let rights = line.expect("it names the rights").split(' ');
    rights.map(str::to_owned).collect()
}

struct Site {
    server: Server,
}

impl Site {
    fn new() -> Self {
        let server = Server::start().expect("it starts");
        Self { server }
    }

    /// A user who has all the rights but for this one, if any.
    fn user(&self, without: Option<&str>) -> ManagerBuilder {
        let rights: Vec<_> = rights();
        let rights = rights.iter().map(|right| &**right);
        let rights: Vec<_> = rights.filter(|right| Some(*right) != without).collect();
        let words = [
            &["ACL", "SETUSER", "u", "reset", "on", ">pw", "~*"],
            &rights[..],
        ]
        .concat();
        self.server.command(&words).expect("it answers");
        let url = format!("redis://u:pw@127.0.0.1:{}", self.server.port());
        let limit = Duration::from_secs(5);
        LockManager::builder()
            .nodes([url])
            .restart_guard(RestartGuard::Off)
            .defaults(LockOptions::new().ttl(4 * limit).node_limit(limit))
    }

    /// Takes a right away from a user who is connected.
    fn take(&self, right: &str) {
        let without = right.replace('+', "-");
        let words = ["ACL", "SETUSER", "u", &without];
        self.server.command(&words).expect("it answers");
    }

    /// Expects that it was told which right is lacking, and that nothing was locked.
    fn expect_told(&self, told: &AcquireError, right: &str) {
        let command = right.trim_start_matches('+').to_ascii_uppercase();
        assert!(
            matches!(told, AcquireError::Unreachable(_)),
            "{right}: {told}"
        );
        let told = told.to_string();
        let names = format!("run {command}, which a lease needs before it ends: allow {right}");
        assert!(told.contains(&names), "{right}: {told}");
        let key = self.server.command(&["EXISTS", "r"]).expect("it answers");
        assert_eq!(key.integer(), Some(0), "{right}: nothing was granted");
    }
}

#[test]
fn a_right_that_a_lease_will_need_is_missed_before_it_is_granted() {
    require_server();
    let site = Site::new();
    for right in [
        "+get", "+mget", "+set", "+del", "+pttl", "+pexpire", "+time", "+hget", "+hmget", "+hset",
    ] {
        let manager = site.user(Some(right)).build().expect("a good address");
        let mutex = manager.mutex("r").expect("a plain name");
        let told = block_on(mutex.try_acquire()).expect_err("it may not");
        site.expect_told(&told, right);
    }
    let guarded = site
        .user(Some("+info"))
        .restart_guard(RestartGuard::Quarantine);
    let mutex = guarded
        .build()
        .expect("good")
        .mutex("r")
        .expect("a plain name");
    let told = block_on(mutex.try_acquire()).expect_err("it may not look");
    site.expect_told(&told, "+info");
}

#[test]
fn a_right_that_a_plain_lease_will_need_is_missed_before_it_is_granted() {
    require_server();
    let site = Site::new();
    for right in [
        "+get", "+mget", "+set", "+del", "+pttl", "+pexpire", "+time",
    ] {
        let manager = site
            .user(Some(right))
            .build_plain()
            .expect("a good address");
        let mutex = manager.mutex("r").expect("a plain name");
        let told = block_on(mutex.try_acquire()).expect_err("it may not");
        site.expect_told(&told, right);
    }
    for right in ["+hget", "+hmget", "+hset", "+info"] {
        let manager = site
            .user(Some(right))
            .build_plain()
            .expect("a good address");
        let mutex = manager.mutex("r").expect("a plain name");
        let guard = block_on(mutex.try_acquire()).expect("plain locks do without");
        block_on(guard.extend()).expect("it may");
        assert!(block_on(guard.release()).is_released(), "{right}");
    }
}

#[test]
fn the_rights_that_the_page_names_are_enough_and_one_that_is_taken_away_is_told_by_name() {
    require_server();
    let site = Site::new();
    for right in ["+pttl", "+hmget"] {
        let manager = site.user(None).build().expect("a good address");
        let mutex = manager.mutex("r").expect("a plain name");
        let guard = block_on(mutex.try_acquire()).expect("it may");
        block_on(guard.extend()).expect("it may");
        site.take(right);
        let told = block_on(guard.extend())
            .expect_err("it may no more")
            .to_string();
        assert!(told.ends_with(&format!("allow {right}")), "{told}");
        assert!(block_on(guard.release()).is_released(), "{right}");
    }
}

#[test]
fn the_rights_of_locks_are_enough_to_admit_a_node_and_without_them_nothing_is_changed() {
    require_server();
    let site = Site::new();
    let admit = |right| {
        let user = site.user(right).restart_guard(RestartGuard::Quarantine);
        let operator = user.operator().expect("a good address");
        let told = block_on(operator.admit()).expect("a good address");
        told[0].answer.clone()
    };
    for right in ["+hset", "+hmget", "+info", "+time"] {
        let told = admit(Some(right));
        assert!(matches!(told, NodeAnswer::Silent(_)), "{right}: {told:?}");
        let kept = site.server.command(&["EXISTS", "leasehold:node"]);
        let kept = kept.expect("it answers").integer();
        assert_eq!(kept, Some(0), "{right}");
    }
    let told = admit(None);
    assert!(matches!(told, NodeAnswer::Told(_)), "{told:?}");
}

#[test]
fn a_user_of_some_keys_has_plain_locks_on_these_and_is_told_of_no_command_on_others() {
    require_server();
    for binary in ServerBinary::find_all().expect("this test needs a real server") {
        let title = binary.version().expect("it tells its version").to_string();
        let server = Server::builder().binary(&binary).start();
        let server = server.expect("the server starts");
        let words = [
            "ACL",
            "SETUSER",
            "u",
            "reset",
            "on",
            ">pw",
            "~orders:*",
            "+@all",
        ];
        server.command(&words).expect("it answers");
        let url = format!("redis://u:pw@127.0.0.1:{}", server.port());
        let manager = LockManager::builder().nodes([url]).build_plain();
        let manager = manager.expect("a good address");
        let lock = |name: &str| {
            let mutex = manager.mutex(name).expect("a plain name");
            block_on(mutex.try_acquire())
        };
        let guard = lock("orders:1").unwrap_or_else(|told| panic!("{title}: {told}"));
        block_on(guard.extend()).expect("it may");
        assert!(block_on(guard.release()).is_released(), "{title}");
        let told = lock("bills:1").expect_err("it may not").to_string();
        assert!(told.contains(" key"), "{title}: {told}");
        assert!(!told.contains("allow +"), "{title}: {told}");
    }
}

#[test]
fn a_command_that_a_lease_will_need_and_that_was_renamed_is_missed_before_it_is_granted() {
    require_server();
    for binary in ServerBinary::find_all().expect("this test needs a real server") {
        let title = binary.version().expect("it tells its version").to_string();
        let server = Server::builder()
            .binary(&binary)
            .option("rename-command", &["PEXPIRE", "\"\""])
            .start();
        let server = server.expect("the server starts");
        let manager = LockManager::builder().nodes([server.url()]).build_plain();
        let mutex = manager.expect("a good address").mutex("r");
        let tried = block_on(mutex.expect("a plain name").try_acquire());
        let told = tried.expect_err("it has no such command").to_string();
        let names =
            "does not know PEXPIRE, which a lease needs before it ends: undo rename-command";
        assert!(told.contains(names), "{title}: {told}");
        let key = server.command(&["EXISTS", "r"]).expect("it answers");
        assert_eq!(key.integer(), Some(0), "{title}: nothing was granted");
    }
}
