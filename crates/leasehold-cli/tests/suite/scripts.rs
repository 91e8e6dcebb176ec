//! The verbs for scripts: a lock that a process keeps for others, and one that no process keeps.

use crate::support::{Place, Seen, User, wait_until};
use leasehold_servers::{Server, require_server};
use rustix::process::Signal;

/// What the lines for the shell say of one variable.
#[track_caller]
fn value<'a>(seen: &'a Seen, name: &str) -> &'a str {
    let line = seen.stdout.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|line| line.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {name} in {seen:?}"))
}

#[test]
fn a_lock_whose_owner_nobody_can_read_is_given_back() {
    let site = Place::on_servers(3);
    let output = std::process::Command::new("sh")
        .args(["-c", "\"$0\" acquire --ttl 30s demo > /dev/full"])
        .arg(env!("CARGO_BIN_EXE_leasehold"))
        .env("LEASEHOLD_NODES", site.servers().nodes())
        .env("LEASEHOLD_CONFIG", "")
        .env("LEASEHOLD_RESTART_GUARD", "off")
        .output()
        .expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("cannot print whose lock"), "{said}");
    assert!(site.gets(&["demo"]));
}

#[test]
fn a_lock_that_no_process_keeps_is_extended_and_released_by_its_owner() {
    let site = Place::on_servers(3);
    let seen = site.end(&["acquire", "--ttl", "1s", "demo"]);
    assert_eq!((seen.code, seen.stderr.as_str()), (0, ""), "{seen:?}");
    assert_eq!(value(&seen, "LEASEHOLD_RESOURCE"), "demo");
    let token = value(&seen, "LEASEHOLD_FENCING_TOKEN").parse::<u64>();
    assert!(token.is_ok());
    let owner = value(&seen, "LEASEHOLD_OWNER");
    let until = |seen: &Seen| {
        let until = value(seen, "LEASEHOLD_VALID_UNTIL");
        until.parse::<f64>().expect("it is a number")
    };
    let extended = site.end(&["extend", "--ttl", "20s", "--owner", owner, "demo"]);
    assert_eq!(extended.code, 0, "{extended:?}");
    assert!(until(&extended) > until(&seen) + 15.0, "{extended:?}");
    // Its usual TTL is shorter than what is left, and takes nothing away.
    let again = site.end(&["extend", "--owner", owner, "demo"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(until(&again) > until(&extended) - 1.0, "{again:?}");
    // Nobody else is held up by its first TTL any more, and nobody else gets in.
    let wait = site.end(&["run", "-w", "2s", "demo", "--", "true"]);
    assert_eq!(wait.code, 124, "{wait:?}");
    let released = site.end(&["release", "--owner", owner, "demo"]);
    released.assert(0, "", "");
    assert!(site.gets(&["demo"]));
}

#[test]
fn a_lock_that_no_process_keeps_ends_with_its_ttl() {
    let site = Place::on_servers(1);
    let seen = site.end(&["acquire", "--ttl", "500ms", "demo"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(!site.gets(&["demo"]));
    wait_until(|| site.gets(&["demo"]));
    let owner = value(&seen, "LEASEHOLD_OWNER");
    let late = site.end(&["extend", "--owner", owner, "demo"]);
    late.assert_says(
        123,
        &["cannot extend the lock \"demo\": 1 of 1 nodes no longer have it"],
    );
    assert!(site.gets(&["demo"]), "a late extension took it back");
    let late = site.end(&["release", "--owner", owner, "demo"]);
    late.assert_says(
        123,
        &["cannot release \"demo\": no lock of this owner is there"],
    );
}

#[test]
fn somebody_elses_lock_is_neither_extended_nor_released() {
    let site = Place::on_servers(3);
    let seen = site.end(&["acquire", "demo"]);
    let held = value(&seen, "LEASEHOLD_OWNER").replace("LEASEHOLD", "");
    let stranger = ["--owner", "somebody", "demo"];
    let extend = site.end(&[&["extend"], &stranger[..]].concat());
    extend.assert_says(123, &[" of 3 nodes no longer have it"]);
    let release = site.end(&[&["release", "--json"], &stranger[..]].concat());
    assert_eq!(
        release.stdout,
        "{\"resource\":\"demo\",\"owner\":\"somebody\",\"outcome\":\"taken\"}\n"
    );
    release.assert_says(123, &["cannot release \"demo\": it is held by pid "]);
    assert!(!site.gets(&["demo"]));
    let own = site.end(&["release", "--owner", &held, "demo"]);
    assert_eq!(own.code, 0, "{own:?}");
}

#[test]
fn nodes_that_are_not_there_leave_a_lock_as_it_was() {
    let site = Place::on_servers(3);
    let seen = site.end(&["acquire", "--ttl", "20s", "demo"]);
    let owner = value(&seen, "LEASEHOLD_OWNER");
    let act = |verb| site.end(&[verb, "--owner", owner, "demo"]);
    // All three have it, and not only those that were the first to answer.
    site.servers()[0].kill().expect("it runs");
    let spare = act("extend");
    assert_eq!(spare.code, 0, "one of three is spare: {spare:?}");
    site.servers()[1].kill().expect("it runs");
    act("extend").assert_says(122, &["no quorum: 2 of 3 nodes did not vote"]);
    act("release").assert_says(122, &["unknown whether the lock was released"]);
}

#[test]
fn a_label_is_seen_by_who_is_refused_and_any_name_can_be_read_by_a_shell() {
    let site = Place::on_servers(1);
    let name = "it's $(false); a \"name\"";
    let seen = site.end(&["acquire", "--label", "nightly run", name]);
    // The shell itself reads it.
    let script = format!(
        "{}\nprintf '%s|%s' \"$LEASEHOLD_RESOURCE\" \"$LEASEHOLD_OWNER\"",
        seen.stdout
    );
    let shell = site.end(&["run", "other", "--", "sh", "-c", &script]);
    let (resource, owner) = shell.stdout.split_once('|').expect("there are two");
    assert_eq!(resource, name);
    assert!(owner.ends_with(".nightly run"), "{owner}");
    let refused = site.end(&["run", "-n", name, "--", "true"]);
    refused.assert_says(
        121,
        &["held by pid ", " (nightly run), whose lease ends in"],
    );
    assert_eq!(site.end(&["release", "--owner", owner, name]).code, 0);
}

#[test]
fn a_lock_for_programs_is_one_json_object() {
    let site = Place::on_servers(1);
    let seen = site.end(&["acquire", "--json", "a \"b\""]);
    let start = "{\"resource\":\"a \\\"b\\\"\",\"owner\":\"";
    let rest = seen.stdout.strip_prefix(start).expect(&seen.stdout);
    let (owner, rest) = rest
        .split_once("\",\"fencing_token\":")
        .expect("it is next");
    let (token, until) = rest
        .split_once(",\"valid_until_unix_ms\":")
        .expect("it is last");
    assert!(token.parse::<u64>().is_ok() && until.trim_end().ends_with('}'));
    let release = site.end(&["release", "--json", "--owner", owner, "a \"b\""]);
    assert!(
        release.stdout.ends_with(",\"outcome\":\"released\"}\n"),
        "{release:?}"
    );
}

#[test]
fn a_file_holds_no_lock_that_no_process_keeps() {
    let user = User::new();
    let acquire = user.run(&["acquire", "demo"]).end();
    let says = [
        "a lock ends with its process",
        "hint: give --nodes, or use `leasehold hold`",
    ];
    acquire.assert_says(2, &says);
    let extend = user.run(&["extend", "--owner", "x", "demo"]).end();
    extend.assert_says(2, &says);
}

#[test]
fn a_lock_is_held_until_standard_input_ends() {
    let user = User::new();
    let mut holder = user
        .run(&["hold", "--ttl", "300ms", "demo"])
        .keeping_stdin();
    let lines: Vec<_> = (0..4).map(|_| holder.line()).collect();
    assert_eq!(lines[0], "LEASEHOLD_RESOURCE=demo");
    assert!(lines[3].starts_with("LEASEHOLD_VALID_UNTIL="), "{lines:?}");
    let look = || user.run(&["run", "-n", "demo", "--", "true"]).end().code;
    // For longer than its TTL.
    let wait = user.run(&["run", "-w", "1s", "demo", "--", "true"]).end();
    assert_eq!((wait.code, look()), (124, 121));
    holder.close_stdin();
    holder.end().assert(0, "", &user.local());
    assert_eq!(look(), 0);
}

#[test]
fn a_signal_ends_a_hold_and_frees_the_lock() {
    let user = User::new();
    for (signal, code) in [(Signal::TERM, -15), (Signal::INT, -2), (Signal::HUP, -1)] {
        let mut holder = user.run(&["hold", "demo"]).keeping_stdin();
        assert_eq!(holder.line(), "LEASEHOLD_RESOURCE=demo");
        holder.signal(signal);
        assert_eq!(holder.end_alone(), code);
        let next = user.run(&["run", "-n", "demo", "--", "true"]).end();
        assert_eq!(next.code, 0, "{next:?}");
    }
}

#[test]
fn a_hold_that_is_lost_says_so_while_its_input_is_open() {
    require_server();
    let server = Server::start().expect("it starts");
    let user = User::new();
    let words = ["hold", "--ttl", "1s", "--nodes", &server.url(), "demo"];
    let mut holder = user.run(&words).keeping_stdin();
    assert_eq!(holder.line(), "LEASEHOLD_RESOURCE=demo");
    server.kill().expect("it runs");
    let mut said = String::new();
    while !said.contains("lost the lock") {
        said = holder.error_line();
        assert_ne!(said, "", "it ended without a word");
    }
    assert!(said.ends_with("; stop whatever relies on it"), "{said}");
    assert_eq!(holder.end_alone(), 123);
}
