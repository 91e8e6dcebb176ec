//! Redis or Valkey as the resource.

use crate::contest::{self, token};
use leasehold::{
    FencingToken,
    fence::{
        Stale,
        redis::{self, FencedScript, SET_IF_NEWEST},
    },
};
use leasehold_servers::{Connection, Reply, Server, require_server};
use std::io;

fn server() -> Server {
    require_server();
    Server::start().expect("the server starts")
}

fn send(connection: &mut Connection, words: &[Vec<u8>]) -> io::Result<Reply> {
    let words: Result<Vec<&str>, _> = words.iter().map(|word| str::from_utf8(word)).collect();
    connection.command(&words.expect("the tests write text"))
}

/// What the answer to a fenced write with this token says.
fn read(token: FencingToken, answer: io::Result<Reply>) -> Result<Reply, Stale> {
    answer.map_err(|error| {
        let error = error.to_string();
        redis::stale(token, &error).unwrap_or_else(|| panic!("{error}"))
    })
}

#[test]
fn redis_compares_tokens_as_numbers() {
    let server = server();
    let mut connection = server.connect().expect("it listens");
    contest::tokens_are_compared_as_numbers(|token| {
        let words = redis::set_if_newest("value", "fence", token, token.to_string());
        let written = read(token, send(&mut connection, &words)).map(|reply| {
            assert_eq!(reply.text(), Some("OK"));
        });
        for key in ["fence", "value"] {
            let newest = server.command(&["GET", key]).expect("it answers");
            let expected = written.map_or_else(|stale| stale.newest, |()| Some(token));
            assert_eq!(
                newest.text().map(str::to_owned),
                expected.map(|newest| newest.to_string())
            );
        }
        written
    });
}

#[test]
fn redis_keeps_the_order_among_many_writers() {
    let server = server();
    let script = FencedScript::new("return redis.call('RPUSH', KEYS[1], ARGV[1])");
    contest::nothing_is_written_behind_a_newer_token(
        || {
            let mut connection = server.connect().expect("it listens");
            let script = &script;
            move |token| {
                let words = script.eval("fence", token, &["log"], &[token.to_string()]);
                read(token, send(&mut connection, &words)).map(drop)
            }
        },
        || {
            let log = server
                .command(&["LRANGE", "log", "0", "-1"])
                .expect("it answers");
            let numbers = log.texts().into_iter().map(str::parse);
            numbers.map(|number| number.expect("a number")).collect()
        },
    );
}

#[test]
fn a_script_counts_its_keys_and_arguments_as_without_a_fence() {
    let server = server();
    let mut connection = server.connect().expect("it listens");
    let body = "return {#KEYS, KEYS[1], KEYS[2] or 'none', #ARGV, ARGV[1], ARGV[2], unpack(ARGV)}";
    for script in [body.to_owned(), format!("#!lua\n{body}")] {
        let words = FencedScript::new(&script).eval("fence", token(7), &["a"], &["x", "y"]);
        let reply = send(&mut connection, &words).expect("it answers");
        assert_eq!(
            reply,
            Reply::Array(vec![
                Reply::Integer(1),
                Reply::Text("a".to_owned()),
                Reply::Text("none".to_owned()),
                Reply::Integer(2),
                Reply::Text("x".to_owned()),
                Reply::Text("y".to_owned()),
                Reply::Text("x".to_owned()),
                Reply::Text("y".to_owned()),
            ])
        );
    }
    let none: [&str; 0] = [];
    let words = FencedScript::new("return {#KEYS, #ARGV}").eval("fence", token(7), &none, &none);
    let reply = send(&mut connection, &words).expect("it answers");
    assert_eq!(
        reply,
        Reply::Array(vec![Reply::Integer(0), Reply::Integer(0)])
    );
}

#[test]
fn what_is_no_token_is_refused_and_leaves_no_trace() {
    let server = server();
    let no_fence = |words: &[&str]| {
        let error = server
            .command(words)
            .expect_err("it is no token")
            .to_string();
        assert!(error.starts_with("NOFENCE "), "{error}");
    };
    for bad in [
        "",
        "0",
        "-1",
        "007",
        "7.0",
        "7 ",
        "0x10",
        "1e3",
        "nan",
        "inf",
        "9007199254740992",
        "9007199254740993",
        "99999999999999999999",
    ] {
        no_fence(&["EVAL", SET_IF_NEWEST, "2", "value", "fence", "v", bad]);
    }
    no_fence(&["EVAL", SET_IF_NEWEST, "0"]);
    no_fence(&["EVAL", SET_IF_NEWEST, "2", "value", "value", "v", "7"]);
    no_fence(&["EVAL", SET_IF_NEWEST, "2", "value", "fence"]);
    let count = server
        .command(&["EXISTS", "value", "fence"])
        .expect("it answers");
    assert_eq!(count.integer(), Some(0));
    // A fence that holds something else stops everybody, rather than nobody.
    for bad in ["", "x", "9007199254740992"] {
        server.command(&["SET", "fence", bad]).expect("it answers");
        no_fence(&["EVAL", SET_IF_NEWEST, "2", "value", "fence", "v", "7"]);
    }
    server.command(&["DEL", "fence"]).expect("it answers");
    server
        .command(&["RPUSH", "fence", "7"])
        .expect("it answers");
    let words = redis::set_if_newest("value", "fence", token(7), "v");
    let mut connection = server.connect().expect("it listens");
    let error = send(&mut connection, &words).expect_err("a list is no fence");
    assert_eq!(redis::stale(token(7), &error.to_string()), None, "{error}");
    assert_eq!(
        server
            .command(&["EXISTS", "value"])
            .expect("it answers")
            .integer(),
        Some(0)
    );
}
