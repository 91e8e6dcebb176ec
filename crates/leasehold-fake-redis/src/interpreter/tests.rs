//! What Lua makes of replies, and a server of what scripts return.

use super::*;

fn eval(body: &str, arguments: &[&str]) -> Reply {
    eval_on(
        &mut Server::new("1a", "2b"),
        &mut Data::default(),
        body,
        arguments,
    )
}

fn eval_on(server: &mut Server, data: &mut Data, body: &str, arguments: &[&str]) -> Reply {
    let text = format!("#!lua\n{body}");
    let mut words = vec![&b"EVAL"[..], text.as_bytes(), b"1", b"k"];
    words.extend(arguments.iter().map(|argument| argument.as_bytes()));
    server.run(data, &Interpreter::new(), Time::at(5_000_007), &words)
}

fn text(text: &str) -> Reply {
    Reply::Bulk(text.as_bytes().to_vec())
}

#[test]
fn values_are_told_as_a_server_tells_them() {
    for (body, expected) in [
        ("return 'a'", text("a")),
        ("return 3.99", Reply::Integer(3)),
        ("return -3.99", Reply::Integer(-3)),
        (
            "return 1700000000000001",
            Reply::Integer(1_700_000_000_000_001),
        ),
        ("return true", Reply::Integer(1)),
        ("return false", Reply::Nil),
        ("return nil", Reply::Nil),
        (
            "return {1, 'a', nil, 2}",
            Reply::List(vec![Reply::Integer(1), text("a")]),
        ),
        (
            "return {1, false, {2}}",
            Reply::List(vec![
                Reply::Integer(1),
                Reply::Nil,
                Reply::List(vec![Reply::Integer(2)]),
            ]),
        ),
        ("return {err = 'WRONG so', 1}", Reply::error("WRONG so")),
        ("return redis.error_reply('so')", Reply::error("ERR so")),
        (
            "return redis.status_reply('well')",
            Reply::Status("well".to_owned()),
        ),
        (
            "return {KEYS[1], ARGV[1], #ARGV}",
            Reply::List(vec![text("k"), text("x"), Reply::Integer(1)]),
        ),
        (
            "return redis.call('TIME')",
            Reply::List(vec![text("5"), text("7")]),
        ),
        ("return type(redis.call('GET', 'k'))", text("boolean")),
    ] {
        assert_eq!(eval(body, &["x"]), expected, "{body}");
    }
}

#[test]
fn an_error_ends_a_script_unless_it_asked_for_it() {
    let is_told = |body: &str, words: &str| match eval(body, &[]) {
        Reply::Error(told) => assert!(told.starts_with(words), "{told}"),
        other => panic!("{other:?}"),
    };
    is_told(
        "redis.call('LPUSH', 'k', 'x') return redis.call('GET', 'k')",
        "WRONGTYPE Operation",
    );
    is_told("global = 1", "ERR user_script:2: Attempt to modify");
    is_told(
        "return absent",
        "ERR user_script:2: Script attempted to access",
    );
    is_told(
        "return os.time()",
        "ERR user_script:2: Script attempted to access",
    );
    is_told(
        "return 1 + {}",
        "ERR user_script:2: attempt to perform arithmetic",
    );
    is_told(
        "return redis.call('GET', {})",
        "ERR Lua redis lib command arguments",
    );
    let kept = eval(
        "redis.call('LPUSH', 'k', 'x') return redis.pcall('GET', 'k').err ~= nil",
        &[],
    );
    assert_eq!(kept, Reply::Integer(1));
}

#[test]
fn a_key_is_there_to_the_end_of_its_last_millisecond() {
    let (mut server, mut data, lua) =
        (Server::new("1a", "2b"), Data::default(), Interpreter::new());
    let mut at =
        |ms: u64, words: &[&[u8]]| server.run(&mut data, &lua, Time::at(ms * 1_000), words);
    assert_eq!(at(1_000, &[b"SET", b"k", b"v", b"PX", b"10"]), Reply::ok());
    assert_eq!(at(1_000, &[b"PTTL", b"k"]), Reply::Integer(10));
    assert_eq!(at(1_010, &[b"PTTL", b"k"]), Reply::Integer(0));
    assert_eq!(at(1_010, &[b"SET", b"k", b"w", b"NX"]), Reply::Nil);
    assert_eq!(at(1_011, &[b"GET", b"k"]), Reply::Nil);
    assert_eq!(at(1_011, &[b"PTTL", b"k"]), Reply::Integer(-2));
    assert_eq!(at(1_011, &[b"SET", b"k", b"w", b"NX"]), Reply::ok());
    assert_eq!(at(1_011, &[b"PTTL", b"k"]), Reply::Integer(-1));
}

#[test]
fn what_is_not_replicated_is_not_on_the_replica() {
    let (mut server, mut data) = (Server::new("1a", "2b"), Data::default());
    let body = "redis.call('HSET', KEYS[1], 'a', 1, 'b', 1) redis.set_repl(redis.REPL_NONE)
        redis.call('HSET', KEYS[1], 'b', 2) redis.set_repl(redis.REPL_ALL) return redis.call('HSET', KEYS[1], 'c', 3)";
    assert_eq!(
        eval_on(&mut server, &mut data, body, &[]),
        Reply::Integer(1)
    );
    assert_eq!(data.field(b"k", b"b"), Some(&b"2"[..]));
    let replica = data.replicated();
    let fields: Vec<_> = replica.hash(b"k").collect();
    assert_eq!(fields, [(&b"a"[..], &b"1"[..]), (b"b", b"1"), (b"c", b"3")]);
}

#[test]
fn the_first_line_says_where_a_script_may_run() {
    let run = |first: &str, body: &str, prepare: fn(&mut Server)| {
        let mut server = Server::new("1a", "2b");
        prepare(&mut server);
        let text = format!("{first}\n{body}");
        let words = [&b"EVAL"[..], text.as_bytes(), b"0"];
        server.run(
            &mut Data::default(),
            &Interpreter::new(),
            Time::at(1),
            &words,
        )
    };
    let (write, read) = (
        "return redis.call('SET', 'k', 'v')",
        "return redis.call('GET', 'k')",
    );
    let starved = |server: &mut Server| server.is_out_of_memory = true;
    let replica = |server: &mut Server| server.is_replica = true;
    assert_eq!(run("#!lua", read, starved), Reply::error(OOM));
    assert_eq!(run("#!lua flags=allow-oom", write, starved), Reply::ok());
    assert_eq!(run("#!lua flags=no-writes", read, starved), Reply::Nil);
    assert_eq!(
        run("#!lua flags=allow-oom", read, replica),
        Reply::error(READONLY)
    );
    assert_eq!(run("#!lua flags=no-writes", read, replica), Reply::Nil);
    let refused = run("#!lua flags=no-writes", write, |_| {});
    assert!(
        matches!(refused, Reply::Error(told) if told.starts_with("ERR Write commands are not allowed"))
    );
}

#[test]
fn info_tells_the_sections_that_are_asked_for() {
    let mut server = Server::new("1a", "2b");
    server.facts.push((
        "memory".to_owned(),
        "used_memory".to_owned(),
        "5".to_owned(),
    ));
    let info = |server: &mut Server, body| match eval_on(server, &mut Data::default(), body, &[]) {
        Reply::Bulk(told) => String::from_utf8(told).expect("text"),
        other => panic!("{other:?}"),
    };
    let some = info(
        &mut server,
        "return redis.call('INFO', 'Replication', 'server')",
    );
    assert!(some.starts_with("# Server\r\nredis_version:"), "{some}");
    assert!(
        some.contains("\r\nrun_id:1a\r\n\r\n# Replication\r\nrole:master\r\n"),
        "{some}"
    );
    assert!(!some.contains("maxmemory"), "{some}");
    let all = info(&mut server, "return redis.call('INFO')");
    assert!(
        all.contains("# Memory\r\nused_memory:5\r\nmaxmemory:0\r\n"),
        "{all}"
    );
}
