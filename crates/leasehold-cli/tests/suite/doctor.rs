//! What doctor finds on servers that are set up wrongly.

use crate::support::User;
use leasehold_servers::{Server, require_server};

#[test]
fn doctor_waits_aloud_for_a_server_that_hangs_and_asks_for_the_password_of_another() {
    require_server();
    let [hung, locked] = [0, 1].map(|_| Server::start().expect("it starts"));
    let words = ["CONFIG", "SET", "requirepass", "x"];
    locked.command(&words).expect("it is taken");
    hung.pause().expect("it runs");
    let nodes = format!("{},{}", hung.url(), locked.url());
    let seen = User::new().run(&["doctor", "--nodes", &nodes]).end();
    let (hung, locked) = (hung.port(), locked.port());
    let waits =
        format!("leasehold: no answer within 500 ms from 127.0.0.1:{hung}; waiting for 2 s more\n");
    assert_eq!(
        (seen.code, seen.stderr.as_str()),
        (122, waits.as_str()),
        "{seen:?}"
    );
    for part in [
        format!("problem  127.0.0.1:{hung}: does not answer\n"),
        format!("problem  127.0.0.1:{locked}: needs a password\n"),
    ] {
        assert!(seen.stdout.contains(&part), "no {part:?} in {seen:?}");
    }
}

#[test]
fn doctor_finds_one_server_under_two_names_a_replica_and_rights_that_are_missing() {
    require_server();
    let server = Server::start().expect("it starts");
    let replica = Server::builder().replica_of(&server).start();
    let replica = replica.expect("it starts");
    let poor = Server::start().expect("it starts");
    let words = [
        "ACL", "SETUSER", "u", "on", ">p", "~*", "+@all", "-hset", "-config",
    ];
    poor.command(&words).expect("it is taken");
    let nodes = format!(
        "redis://127.0.0.1:{0},redis://localhost:{0},{1},redis://u:p@127.0.0.1:{2}",
        server.port(),
        replica.url(),
        poor.port()
    );
    let user = User::new();
    let seen = user.run(&["doctor", "--nodes", &nodes]).end();
    assert_eq!(seen.code, 122, "{seen:?}");
    let (one, other) = (server.port(), server.port());
    for part in [
        format!("problem  127.0.0.1:{one}, localhost:{other}: are the same server"),
        format!("problem  127.0.0.1:{}: is a replica", replica.port()),
        format!(
            "problem  127.0.0.1:{}: its user lacks rights: +hset",
            poor.port()
        ),
        "note     4 nodes tolerate no more failures than 3".to_owned(),
        "warning  the restart guard is off".to_owned(),
        "has 1 replica\n".to_owned(),
    ] {
        assert!(
            seen.stdout.contains(&part),
            "no {part:?} in {}",
            seen.stdout
        );
    }
}

#[test]
fn a_new_server_is_marked_by_status_as_its_help_says_and_by_nobody_who_examines() {
    require_server();
    let server = Server::start().expect("it starts");
    let user = User::new();
    let ask = |words: &[&str]| {
        let test = user.run(words).guarded();
        test.env("LEASEHOLD_NODES", server.url()).end()
    };
    let keys = || {
        let told = server.command(&["KEYS", "*"]).expect("it answers");
        format!("{told:?}")
    };
    let none = keys();
    for words in [
        &["doctor"][..],
        &["watch", "--once"],
        &["list"],
        &["wait", "--wait", "100ms", "demo"],
    ] {
        ask(words);
        assert_eq!(keys(), none, "{words:?}");
    }
    ask(&["status", "demo"]);
    assert!(keys().contains("leasehold:node"), "{}", keys());
    let help = ask(&["status", "--help"]).stdout;
    let help: Vec<_> = help.split_whitespace().collect();
    let mark =
        "but for the mark by which a new one takes this configuration and begins its quarantine";
    assert!(help.join(" ").contains(mark), "{help:?}");
}
