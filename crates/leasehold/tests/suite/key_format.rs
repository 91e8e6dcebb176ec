//! Locks under keys that are not the resources' names.

use crate::support::{
    block_on,
    driven::{Driven, MINUTE, acquire, by, extend, inspect, name, release, transfer, unguarded},
};
use leasehold::{
    ConfigError, KeyFormat, LockManager, LockOptions, ManagerBuilder, RestartGuard,
    configuration::Configuration,
};
use leasehold_core::Vote;
use leasehold_servers::{Server, require_server};

fn server() -> Server {
    require_server();
    Server::start().expect("the server starts")
}

fn builder(server: &Server, format: &KeyFormat) -> ManagerBuilder {
    LockManager::builder()
        .nodes([server.url()])
        .restart_guard(RestartGuard::Off)
        .key_format(format.clone())
        .defaults(LockOptions::new().tries(1))
}

fn formats() -> [KeyFormat; 6] {
    [
        KeyFormat::raw(),
        KeyFormat::pottery(),
        KeyFormat::php_lock_2(),
        KeyFormat::php_lock_3(),
        KeyFormat::python_redis_lock(),
        KeyFormat::new("{locks}:{}:end").expect("one place"),
    ]
}

/// The keys of locks on a server.
fn keys(server: &Server) -> Vec<String> {
    let keys = server.command(&["KEYS", "*"]).expect("it answers");
    let locks = keys
        .texts()
        .into_iter()
        .filter(|key| *key != "leasehold:node");
    locks.map(str::to_owned).collect()
}

#[test]
fn every_request_is_about_the_key_that_the_format_makes() {
    for format in formats() {
        for configuration in [unguarded(), Configuration::plain()] {
            let server = server();
            let configuration = configuration.with_key_format(format.clone());
            let mut link = Driven::with(&server.url(), &configuration);
            assert!(link.ask(&acquire("r", "us", MINUTE)).is_granted());
            assert_eq!(keys(&server), [format.key("r")]);
            assert!(link.ask(&extend("r", "us", 2 * MINUTE)).is_granted());
            assert!(link.ask(&transfer("r", "us", "them", MINUTE)).is_granted());
            let Vote::Refused(refusal) = link.ask(&inspect("r")) else {
                panic!("it is there");
            };
            assert_eq!(refusal.holder, Some(by("them")));
            assert!(link.ask(&release("r", "them")).is_granted());
            assert!(keys(&server).is_empty());
        }
    }
}

#[test]
fn a_set_nx_of_another_program_excludes_us_and_is_excluded_by_us() {
    for format in formats() {
        let server = server();
        let key = format.key("x").into_owned();
        let set = || server.command(&["SET", &key, "v", "NX", "PX", "60000"]);
        let fenced = builder(&server, &format).build().expect("good");
        let plain = builder(&server, &format).build_plain().expect("good");
        let (fenced, plain) = (fenced.mutex("x"), plain.mutex("x"));
        let (fenced, plain) = (fenced.expect("a name"), plain.expect("a name"));
        assert_eq!(set().expect("it answers").text(), Some("OK"));
        let held = block_on(fenced.try_acquire()).expect_err("it is held");
        assert!(
            held.is_contention() && held.to_string().contains(r#"lock "x""#),
            "{held}"
        );
        let held = block_on(plain.try_acquire()).expect_err("it is held");
        assert!(held.is_contention(), "{held}");
        server.command(&["DEL", &key]).expect("it answers");
        let guard = block_on(fenced.try_acquire()).expect("it is free");
        assert_eq!(guard.resource().as_str(), "x");
        assert_eq!(set().expect("it answers").text(), None, "{format}");
        assert!(block_on(plain.try_acquire()).is_err());
        assert!(block_on(guard.release()).is_released());
        let guard = block_on(plain.try_acquire()).expect("it is free");
        assert_eq!(set().expect("it answers").text(), None, "{format}");
        assert!(block_on(guard.release()).is_released());
        assert_eq!(set().expect("it answers").text(), Some("OK"));
    }
}

#[test]
fn a_waiter_is_told_of_the_resource_when_its_key_changes() {
    for format in formats() {
        let server = server();
        let configuration = unguarded().with_key_format(format.clone());
        let mut waiter = Driven::with(&server.url(), &configuration);
        assert_eq!(waiter.hint(), None, "some may have been missed");
        let key = format.key("r");
        server.command(&["SET", &key, "v"]).expect("it answers");
        let vote = waiter.ask(&acquire("r", "us", MINUTE));
        assert!(matches!(vote, Vote::Refused(_)), "{vote:?}");
        server.command(&["DEL", &key]).expect("it answers");
        assert_eq!(waiter.hint(), Some(name("r")), "{format}");
    }
}

#[test]
fn the_nodes_own_key_is_no_lock_in_any_format() {
    let server = server();
    let format = KeyFormat::new("leasehold:{}").expect("one place");
    let manager = builder(&server, &format).build().expect("good");
    let wrong = manager.mutex("node").expect_err("it is the node's own");
    assert!(matches!(wrong, ConfigError::Reserved { .. }), "{wrong}");
    assert_eq!(
        wrong.to_string(),
        "the name \"node\" cannot be used: its key would be \"leasehold:node\", and under this key nodes keep what they \
         know of themselves; choose another name, or another namespace for all who use these nodes"
    );
    // Elsewhere these are names like others.
    assert!(manager.mutex("leasehold:node").is_ok());
    let pottery = builder(&server, &KeyFormat::pottery());
    assert!(
        pottery
            .build()
            .expect("good")
            .mutex("leasehold:node")
            .is_ok()
    );
}

#[test]
fn whoever_keeps_locks_under_other_keys_disagrees() {
    let server = server();
    let try_with = |format| {
        let manager = builder(&server, &format).build().expect("good");
        let mutex = manager.mutex("r").expect("a name");
        block_on(mutex.try_acquire()).map(drop)
    };
    try_with(KeyFormat::raw()).expect("it is free");
    let error = try_with(KeyFormat::pottery()).expect_err("others are here");
    let text = error.to_string();
    assert!(
        text.contains("keys=redlock:{}") && text.contains("counters=1024"),
        "{text}"
    );
}

#[test]
fn a_wrong_pattern_is_told_by_its_name() {
    for (pattern, what) in [("redlock:", "has no {}"), ("{}{}", "has more than one {}")] {
        let wrong = ConfigError::from(KeyFormat::new(pattern).expect_err(pattern));
        let told = wrong.to_string();
        assert!(told.contains(pattern) && told.contains(what), "{told}");
    }
}

#[test]
fn a_plain_lock_has_no_key_that_is_a_queues_or_the_nodes_own() {
    let server = server();
    let plain = |format: &KeyFormat| builder(&server, format).build_plain().expect("good");
    let raw = plain(&KeyFormat::raw());
    for (name, use_of_it) in [
        ("leasehold:node", "what they know of themselves"),
        ("leasehold:queue:orders/42", "who waits for a fair lock"),
    ] {
        let wrong = raw.mutex(name).expect_err(name);
        assert!(matches!(wrong, ConfigError::Reserved { .. }), "{wrong}");
        assert_eq!(
            wrong.to_string(),
            format!(
                "the name {name:?} cannot be used: under this key nodes keep {use_of_it}; choose another name, or \
                 another namespace for all who use these nodes"
            )
        );
    }
    let wrong = plain(&KeyFormat::new("leasehold:{}").expect("one place"));
    let wrong = wrong.mutex("queue:r").expect_err("its key is a queue's");
    assert!(
        wrong
            .to_string()
            .contains("its key would be \"leasehold:queue:r\""),
        "{wrong}"
    );
    assert!(
        plain(&KeyFormat::pottery())
            .mutex("leasehold:queue:r")
            .is_ok()
    );
    let elsewhere = builder(&server, &KeyFormat::raw()).namespace("others");
    let elsewhere = elsewhere.build_plain().expect("good");
    assert!(elsewhere.mutex("leasehold:queue:r").is_ok());
    assert!(elsewhere.mutex("others:queue:r").is_err());
}
