//! Leaders, and those who look on.

use crate::support::{Place, User, end_group, lives, now, wait_until};
use leasehold_servers::{ServerSet, require_server};
use rustix::process::Signal;
use std::time::Duration;

#[test]
fn a_leader_is_told_its_term_and_its_code_is_the_end() {
    let user = User::new();
    let script = "echo $LEASEHOLD_TERM $LEASEHOLD_FENCING_TOKEN; exit 7";
    let words = ["elect", "demo", "--", "sh", "-c", script];
    let terms: Vec<u64> = (0..2)
        .map(|_| {
            let seen = user.run(&words).end();
            assert_eq!(seen.code, 7, "{seen:?}");
            let (term, token) = seen.stdout.trim_end().split_once(' ').expect("two");
            assert_eq!(term, token);
            term.parse().expect("it is a number")
        })
        .collect();
    assert!(terms[0] < terms[1], "{terms:?}");
    let said = user.run(&[&["elect", "-v"], &words[1..]].concat()).end();
    let term = said.stdout.split(' ').next().unwrap_or_default();
    said.assert_says(7, &[&format!("leasehold: leading \"demo\": term {term}\n")]);
}

#[test]
fn the_next_leads_when_a_leader_dies() {
    let user = User::new();
    let script = "echo $$; exec sleep 30";
    let words = ["elect", "demo", "--", "sh", "-c", script];
    let mut first = user.run(&words).start();
    let group = first.pid();
    let mut second = user.run(&words).start();
    while !second
        .error_line()
        .contains("waiting for \"demo\": held by pid")
    {}
    first.signal(Signal::KILL);
    let next = second.pid();
    wait_until(|| !lives(group));
    second.signal(Signal::TERM);
    assert_eq!(second.end_alone(), -15);
    assert!(!lives(next));
}

/// A leader on three servers, of which two die and come back.
fn depose(more: &[&str]) -> (crate::support::Running, ServerSet, User) {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let user = User::new();
    let nodes = servers.nodes();
    let words = [
        &["elect", "--ttl", "1s", "--nodes", &nodes],
        more,
        &["demo", "--", "sh", "-c", "echo $$; exec sleep 30"],
    ];
    let mut leader = user.run(&words.concat()).start();
    let group = leader.pid();
    for server in &servers[..2] {
        server.pause().expect("it runs");
    }
    wait_until(|| !lives(group));
    for server in &servers[..2] {
        server.resume().expect("it is stopped");
    }
    (leader, servers, user)
}

#[test]
fn who_is_no_leader_any_more_campaigns_again() {
    let (mut leader, _servers, _user) = depose(&[]);
    while !leader
        .error_line()
        .ends_with("the command was ended; campaigning again")
    {}
    let group = leader.pid();
    assert!(lives(group));
    leader.signal(Signal::TERM);
    assert_eq!(leader.end_alone(), -15);
    end_group(group);
}

#[test]
fn who_wants_to_lead_once_ends_with_the_loss() {
    let (leader, _servers, _user) = depose(&["--once"]);
    let seen = leader.end();
    seen.assert_says(123, &["leasehold: lost the lock "]);
}

#[test]
fn a_signal_ends_a_campaign() {
    let user = User::new();
    let words = ["elect", "demo", "--", "sh", "-c", "echo up; exec sleep 30"];
    let mut leader = user.run(&words).start();
    assert_eq!(leader.line(), "up");
    let mut other = user.run(&words).start();
    while !other.error_line().contains("waiting for") {}
    other.signal(Signal::INT);
    assert_eq!(other.end_alone(), -2);
    leader.signal(Signal::TERM);
    assert_eq!(leader.end_alone(), -15);
}

#[test]
fn whoever_looks_on_is_told_of_every_change() {
    let user = User::new();
    let mut plain = user.run(&["elect", "--observe", "demo"]).start();
    let mut json = user.run(&["elect", "--observe", "--json", "demo"]).start();
    assert_eq!(plain.line(), "led by nobody");
    assert_eq!(
        json.line(),
        "{\"resource\":\"demo\",\"state\":\"free\",\"owner\":null,\"term_at_most\":null}"
    );
    let words = ["elect", "--label", "a1", "demo", "--", "sh", "-c"];
    let script = "echo $LEASEHOLD_OWNER; exec sleep 30";
    let mut leader = user.run(&[&words[..], &[script]].concat()).start();
    let owner = leader.line();
    let line = plain.line();
    assert!(
        line.starts_with("led by pid ") && line.ends_with(" (a1)"),
        "{line}"
    );
    assert_eq!(
        json.line(),
        format!(
            "{{\"resource\":\"demo\",\"state\":\"led\",\"owner\":\"{owner}\",\"term_at_most\":null}}"
        )
    );
    leader.signal(Signal::TERM);
    assert_eq!(leader.end_alone(), -15);
    assert_eq!(plain.line(), "led by nobody");
    for observer in [plain, json] {
        observer.signal(Signal::TERM);
        assert_eq!(observer.end_alone(), -15);
    }
}

#[test]
fn whoever_looks_on_at_servers_is_told_at_once_and_of_no_smaller_term_than_the_leaders() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let user = User::new();
    let nodes = servers.nodes();
    let on = |words: &[&str]| {
        let words = [&["elect", "--nodes", &nodes], words].concat();
        user.run(&words)
    };
    let mut looking = on(&["--observe", "demo"]).start();
    assert_eq!(looking.line(), "led by nobody");
    let mut delays = Vec::new();
    for _ in 0..4 {
        let script = "echo $$ $LEASEHOLD_TERM; exec sleep 30";
        let mut leader = on(&["demo", "--", "sh", "-c", script]).start();
        let led = leader.line();
        let since = now();
        let (_, term) = led.split_once(' ').expect("two");
        let mut line = looking.line();
        delays.push(since.elapsed());
        leader.signal(Signal::TERM);
        assert_eq!(leader.end_alone(), -15);
        let since = now();
        // Told again if a node that had counted further was heard later.
        let most = loop {
            let known = line
                .strip_suffix(" at most")
                .and_then(|line| line.rsplit_once(", term "));
            let (who, most) = known.expect(&line);
            assert!(who.starts_with("led by pid "), "{line}");
            let next = looking.line();
            if next == "led by nobody" {
                break most.to_owned();
            }
            line = next;
        };
        delays.push(since.elapsed());
        let number = |text: &str| text.parse::<u64>().expect("it is a number");
        assert!(number(term) <= number(&most), "{term}: {line}");
    }
    // Looking once a second would take half of one on the average.
    let all: Duration = delays.iter().sum();
    assert!(all < Duration::from_secs(2), "{delays:?}");
    // Tests may run where INT is ignored, as in the background of a script.
    looking.signal(Signal::TERM);
    assert_eq!(looking.end_alone(), -15);
}

#[test]
fn servers_that_are_gone_for_a_second_leave_the_leader_unknown() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let user = User::new();
    let nodes = servers.nodes();
    let mut looking = user
        .run(&["elect", "--nodes", &nodes, "--observe", "demo"])
        .start();
    assert_eq!(looking.line(), "led by nobody");
    for server in &servers[..2] {
        server.kill().expect("it runs");
    }
    assert_eq!(looking.line(), "not known");
    looking.signal(Signal::TERM);
    assert_eq!(looking.end_alone(), -15);
}

#[test]
fn an_observer_with_other_options_than_the_nodes_are_used_with_is_told_so() {
    let place = Place::on_servers(3);
    let script = "echo $$; exec sleep 30";
    let mut leader = place
        .run(&["elect", "demo", "--", "sh", "-c", script])
        .start();
    leader.pid();
    let looking = ["elect", "--observe", "--key-format", "lock:{}", "demo"];
    let seen = place.end(&looking);
    let nodes = place.servers()[0].url();
    let alone = place.end(&["elect", "--observe", "--nodes", &nodes, "other"]);
    leader.signal(Signal::TERM);
    leader.end_alone();
    let why = "no leader of \"demo\" was found; no lock can be acquired with this configuration: 0 of 3 nodes vote, 2 must\n";
    seen.assert_says(2, &[why, "hint: "]);
    assert_eq!(seen.stdout, "");
    alone.assert_says(
        2,
        &["no leader of \"other\" was found; ", "0 of 1 nodes vote"],
    );
    assert_eq!(alone.stdout, "");
}

#[test]
fn an_observer_does_not_take_servers_that_forgot_the_leader_for_its_end() {
    let place = Place::on_servers(3);
    let on = |words: &[&str]| place.run(words).guarded();
    assert_eq!(on(&["admit", "--yes"]).end().code, 0);
    let script = "echo $$; exec sleep 30";
    let words = ["elect", "--ttl", "30s", "demo", "--", "sh", "-c", script];
    let mut leader = on(&words).start();
    leader.pid();
    let mut looking = on(&["elect", "--observe", "demo"]).start();
    let line = looking.line();
    assert!(line.starts_with("led by pid "), "{line}");
    for server in place.servers().iter() {
        server.command(&["FLUSHALL"]).expect("it answers");
    }
    assert_eq!(looking.line(), "not known");
    let why = looking.error_line();
    let expected = "leasehold: no leader of \"demo\" was found; no lock can be acquired for ";
    assert!(
        why.starts_with(expected) && why.ends_with(" s: 0 of 3 nodes vote, 2 must"),
        "{why}"
    );
    leader.signal(Signal::TERM);
    assert_eq!(leader.end_alone(), -15);
    assert_eq!(on(&["admit", "--yes"]).end().code, 0);
    assert_eq!(looking.line(), "led by nobody");
    looking.signal(Signal::TERM);
    assert_eq!(looking.end_alone(), -15);
}
