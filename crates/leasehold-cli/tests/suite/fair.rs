//! Waits in line, across processes.

use crate::support::{Running, Test, User, end_group, wait_until};
use leasehold_servers::{ServerSet, require_server};
use rustix::process::Signal;
use std::fs;

/// Servers on which somebody holds the lock `demo`.
struct Held {
    user: User,
    servers: ServerSet,
    holder: Running,
}

impl Held {
    fn new() -> Self {
        require_server();
        let servers = ServerSet::start(3).expect("they start");
        let user = User::new();
        let words = ["hold", "--fair", "--nodes", &servers.nodes(), "demo"];
        let mut holder = user.run(&words).keeping_stdin();
        assert_eq!(holder.line(), "LEASEHOLD_RESOURCE=demo");
        Self {
            user,
            servers,
            holder,
        }
    }

    fn run(&self, words: &[&str], script: &str) -> Test {
        let command = ["demo", "--", "sh", "-c", script];
        let words = [&["run"], words, &command].concat();
        self.user
            .run(&words)
            .env("LEASEHOLD_NODES", self.servers.nodes())
    }

    /// Waits until so many wait on every server.
    fn wait_for(&self, count: usize) {
        wait_until(|| {
            self.servers.iter().all(|server| {
                let queue = server.command(&["GET", "leasehold:queue:demo"]);
                let queue = queue.expect("it answers");
                let places = queue.text().map_or(0, |text| text.matches(';').count());
                places == count
            })
        });
    }

    fn release(&mut self) {
        self.holder.close_stdin();
    }
}

#[test]
fn processes_that_wait_in_line_have_the_lock_in_the_order_of_their_coming() {
    let mut held = Held::new();
    let turns = held.user.path("turns");
    let mut waiters: Vec<_> = (1..=6)
        .map(|number| {
            let script = format!("echo {number} >>{turns}");
            let waiter = held.run(&["--fair"], &script).start();
            held.wait_for(number);
            waiter
        })
        .collect();
    // By now it would have lost its place if it had given it up to tell that.
    let said = waiters[0].error_line();
    assert!(
        said.contains("waiting in line for \"demo\": held by pid "),
        "{said}"
    );
    held.release();
    for waiter in waiters {
        assert_eq!(waiter.end().code, 0);
    }
    let turns = fs::read_to_string(turns).expect("each had its turn");
    assert_eq!(turns, "1\n2\n3\n4\n5\n6\n");
    held.wait_for(0);
}

#[test]
fn what_is_kept_for_one_who_waits_is_refused_to_whoever_says_fair_and_to_nobody_else() {
    let mut held = Held::new();
    let waiter = held.run(&["--fair"], "true").start();
    held.wait_for(1);
    let look = |words: &[&str]| held.run(words, "true").end();
    look(&["--fair", "-n"]).assert_says(121, &[", and another waits and comes first after 1 "]);
    end_group(waiter.process());
    assert_eq!(waiter.end_alone(), -Signal::KILL.as_raw());
    held.release();
    // Its place outlives it for three seconds at most, and the holder's end takes some time as well.
    let mut said = held.holder.line();
    while !said.is_empty() {
        said = held.holder.line();
    }
    let look = |words: &[&str]| held.run(words, "true").end();
    look(&["--fair", "-n"]).assert_says(
        121,
        &["free on ", ", but another waits and comes first after 1 "],
    );
    look(&["--fair", "-w", "200ms"])
        .assert_says(124, &["still kept after 200 ms for another who waits"]);
    assert_eq!(
        look(&["-n"]).code,
        0,
        "who does not ask for it takes what is free"
    );
    assert_eq!(look(&["--fair", "-w", "5s"]).code, 0, "a place ends");
}

#[test]
fn whoever_waits_in_line_for_servers_that_do_not_vote_yet_is_told_why_and_until_when() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let user = User::new();
    let words = ["run", "--fair", "-v", "--nodes", &servers.nodes()];
    let words = [&words[..], &["demo", "--", "true"]].concat();
    let mut waiter = user.run(&words).guarded().start();
    let said = waiter.error_line();
    assert!(
        said.contains("waiting to lock \"demo\": 127.0.0.1:")
            && said.contains(": does not vote for 3"),
        "{said}"
    );
    assert!(waiter.error_line().contains("`leasehold admit`"));
    waiter.signal(Signal::TERM);
    assert_eq!(waiter.end_alone(), -15);
}
