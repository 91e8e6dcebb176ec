//! A sorted set as a server has it.

use crate::{Data, Interpreter, Reply, Server, Time};

struct Bench {
    server: Server,
    data: Data,
    lua: Interpreter,
    ms: u64,
}

impl Bench {
    fn new() -> Self {
        Self {
            server: Server::new("1a", "2b"),
            data: Data::default(),
            lua: Interpreter::new(),
            ms: 1_000,
        }
    }

    /// Carries out what stands here word by word.
    fn run(&mut self, command: &str) -> Reply {
        let words: Vec<_> = command.split(' ').map(str::as_bytes).collect();
        let time = Time::at(self.ms * 1_000);
        self.server.run(&mut self.data, &self.lua, time, &words)
    }

    fn eval(&mut self, body: &str) -> Reply {
        let text = format!("#!lua\n{body}");
        let words = [&b"EVAL"[..], text.as_bytes(), b"1", b"k"];
        let time = Time::at(self.ms * 1_000);
        self.server.run(&mut self.data, &self.lua, time, &words)
    }

    fn expect(&mut self, commands: &[(&str, Reply)]) {
        for (command, expected) in commands {
            assert_eq!(self.run(command), *expected, "{command}");
        }
    }
}

const WRONGTYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

fn text(text: &str) -> Reply {
    Reply::Bulk(text.as_bytes().to_vec())
}

fn list(parts: &[&str]) -> Reply {
    Reply::List(parts.iter().map(|part| text(part)).collect())
}

const fn int(number: i64) -> Reply {
    Reply::Integer(number)
}

#[test]
fn members_stand_in_the_order_of_their_scores() {
    Bench::new().expect(&[
        ("ZADD k 1700000000000 b", int(1)),
        ("ZADD k 1700000000000 a 5 c", int(2)),
        ("ZADD k 1700000000001 a", int(0)),
        ("ZSCORE k a", text("1700000000001")),
        ("ZSCORE k x", Reply::Nil),
        ("ZSCORE absent x", Reply::Nil),
        ("ZRANGE k 0 -1", list(&["c", "b", "a"])),
        ("ZRANGE k -1 -1 WITHSCORES", list(&["a", "1700000000001"])),
        ("ZRANGE k 0 0 withscores", list(&["c", "5"])),
        ("ZRANGE k -9 1", list(&["c", "b"])),
        ("ZRANGE k 2 9", list(&["a"])),
        ("ZRANGE k 3 9", list(&[])),
        ("ZRANGE k 2 1", list(&[])),
        ("ZRANGE k 0 -4", list(&[])),
        ("ZRANGE absent -1 -1 WITHSCORES", list(&[])),
        ("ZADD k 5 b", int(0)),
        ("ZRANGE k 0 1", list(&["b", "c"])),
    ]);
}

#[test]
fn a_set_without_members_is_gone() {
    Bench::new().expect(&[
        ("ZADD k 1 a 2 b 3 c", int(3)),
        ("TYPE k", Reply::Status("zset".to_owned())),
        ("ZREM k a x", int(1)),
        ("ZREM k x", int(0)),
        ("ZREMRANGEBYSCORE k -inf 1", int(0)),
        ("ZREMRANGEBYSCORE k -inf 2", int(1)),
        ("ZRANGE k 0 -1", list(&["c"])),
        ("ZREMRANGEBYSCORE k -inf 3", int(1)),
        ("TYPE k", Reply::Status("none".to_owned())),
        ("PTTL k", int(-2)),
        ("SET k v NX", Reply::ok()),
        ("DEL k", int(1)),
        ("ZADD k 1 a", int(1)),
        ("ZREM k a", int(1)),
        ("ZREM k a", int(0)),
        ("ZREMRANGEBYSCORE k -inf 3", int(0)),
        ("PTTL k", int(-2)),
    ]);
}

#[test]
fn a_set_ends_when_it_was_told_to_and_no_member_before_it() {
    let mut bench = Bench::new();
    bench.expect(&[
        ("PEXPIREAT k 1010", int(0)),
        ("ZADD k 1005 a", int(1)),
        ("PTTL k", int(-1)),
        ("PEXPIREAT k 1010", int(1)),
        ("PTTL k", int(10)),
        ("ZADD k 1010 b", int(1)),
        ("PTTL k", int(10)),
        ("ZREM k b", int(1)),
        ("PTTL k", int(10)),
    ]);
    bench.ms = 1_010;
    bench.expect(&[
        ("ZSCORE k a", text("1005")),
        ("SET k v NX", Reply::Nil),
        ("PEXPIRE k 10", int(1)),
    ]);
    bench.ms = 1_020;
    bench.expect(&[("PTTL k", int(0))]);
    bench.ms = 1_021;
    bench.expect(&[
        ("ZSCORE k a", Reply::Nil),
        ("ZADD k 7 a", int(1)),
        ("PTTL k", int(-1)),
        ("PEXPIREAT k 1021", int(1)),
        ("PTTL k", int(-2)),
        ("PEXPIREAT k soon", Reply::error(super::NO_INTEGER)),
    ]);
}

#[test]
fn what_is_no_set_is_refused_and_so_is_a_set_where_another_is_meant() {
    let wrong = || Reply::error(WRONGTYPE);
    Bench::new().expect(&[
        ("SET t v", Reply::ok()),
        ("ZADD t 1 a", wrong()),
        ("ZADD t x a", Reply::error("ERR value is not a valid float")),
        ("ZADD t 1 a 2", Reply::error("ERR syntax error")),
        ("ZSCORE t a", wrong()),
        ("ZREM t a", wrong()),
        ("ZRANGE t 0 -1", wrong()),
        ("ZRANGE t 0 x", Reply::error(super::NO_INTEGER)),
        ("ZREMRANGEBYSCORE t -inf 1", wrong()),
        (
            "ZREMRANGEBYSCORE t -inf x",
            Reply::error("ERR min or max is not a float"),
        ),
        ("GET t", text("v")),
        ("ZADD k 1 a", int(1)),
        ("GET k", wrong()),
        ("HGET k f", wrong()),
        ("HSET k f v", wrong()),
        ("LPUSH k x", wrong()),
        ("MGET t k", Reply::List(vec![text("v"), Reply::Nil])),
        ("SET k v NX PX 10", Reply::Nil),
        ("PEXPIRE k 10", int(1)),
        ("SET k v", Reply::ok()),
        ("GET k", text("v")),
        ("PTTL k", int(-1)),
    ]);
}

#[test]
fn a_script_sees_scores_as_text_and_the_wrong_type_as_an_error() {
    let mut bench = Bench::new();
    let told = bench.eval(
        "redis.call('ZADD', KEYS[1], string.format('%.0f', 1700000000000 + '500'), 'a') \
         local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES') \
         redis.call('PEXPIREAT', KEYS[1], last[2]) \
         return {type(last[2]), last[2], redis.call('ZSCORE', KEYS[1], 'x') or 'none', redis.pcall('GET', KEYS[1]).err}",
    );
    assert_eq!(told, list(&["string", "1700000000500", "none", WRONGTYPE]));
}

#[test]
fn a_set_needs_memory_to_grow_and_is_replicated() {
    let mut bench = Bench::new();
    bench.run("ZADD k 1 a 2 b");
    bench.server.is_out_of_memory = true;
    let starved = |told| matches!(told, Reply::Error(wrong) if wrong.starts_with("OOM"));
    assert!(starved(bench.run("ZADD k 3 c")));
    assert_eq!(bench.run("ZREM k a"), int(1));
    assert_eq!(bench.run("PEXPIREAT k 2000"), int(1));
    bench.data = bench.data.replicated();
    let left = bench.run("ZRANGE k 0 -1 WITHSCORES");
    assert_eq!((left, bench.run("PTTL k")), (list(&["b", "2"]), int(1_000)));
    let kept: Vec<_> = bench.data.sorted(b"k", 1_000).collect();
    assert_eq!(kept, [(&b"b"[..], 2)]);
    assert_eq!(bench.data.sorted(b"k", 2_001).count(), 0);
}
