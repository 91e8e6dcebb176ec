//! Redis or Valkey: the crate `redis`, the command that comes with the server, and a client that writes the words as
//! they are.

use super::command_line::{CommandLine, version};
use crate::{
    contest::{self, token},
    page,
};
use leasehold::{
    FencingToken,
    fence::{
        Stale,
        redis::{self, FencedScript},
    },
};
use leasehold_servers::{Connection, Server, require_server};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sends words, and tells what came back as text, or the error as the client words it.
trait Client: Send {
    fn send(&mut self, words: &[Vec<u8>]) -> Result<String, String>;

    fn say(&mut self, words: &[&str]) -> Result<String, String> {
        let words = words.iter().map(|word| word.as_bytes().to_vec());
        self.send(&words.collect::<Vec<_>>())
    }

    fn write(&mut self, token: FencingToken, value: &str) -> Result<(), Stale> {
        let words = redis::set_if_newest("{account}", "{account}:fence", token, value);
        read(token, self.send(&words)).map(|reply| assert_eq!(reply, "OK"))
    }
}

fn read(token: FencingToken, reply: Result<String, String>) -> Result<String, Stale> {
    reply.map_err(|error| redis::stale(token, &error).unwrap_or_else(|| panic!("{error}")))
}

impl Client for Connection {
    fn send(&mut self, words: &[Vec<u8>]) -> Result<String, String> {
        let words = words.iter().map(|word| str::from_utf8(word));
        let words: Result<Vec<&str>, _> = words.collect();
        let reply = self.command(&words.expect("the tests write text"));
        let reply = reply.map_err(|error| error.to_string())?;
        Ok(reply
            .text()
            .map_or_else(|| format!("{reply:?}"), str::to_owned))
    }
}

struct Crate(redis_client::Connection);

impl Client for Crate {
    fn send(&mut self, words: &[Vec<u8>]) -> Result<String, String> {
        let mut command = redis_client::Cmd::new();
        for word in words {
            command.arg(word);
        }
        let value: redis_client::Value = command
            .query(&mut self.0)
            .map_err(|error| error.to_string())?;
        Ok(redis_client::from_redis_value(value.clone()).unwrap_or_else(|_| format!("{value:?}")))
    }
}

/// The command, at whose prompt somebody types, and whether that is in a `MULTI`.
struct Prompt(CommandLine, bool);

impl Client for Prompt {
    fn send(&mut self, words: &[Vec<u8>]) -> Result<String, String> {
        match words[0].as_slice() {
            b"MULTI" => self.1 = true,
            b"EXEC" | b"DISCARD" => self.1 = false,
            _ => {}
        }
        let words = words.iter().map(|word| {
            let word = str::from_utf8(word).expect("the tests write text");
            let word = word.replace('\\', "\\\\").replace('"', "\\\"");
            format!("\"{}\"", word.replace('\n', "\\n"))
        });
        let line = words.collect::<Vec<_>>().join(" ");
        let said = if self.1 {
            // A mark would be queued.
            self.0.answer(&line)
        } else {
            self.0.ask(&line).join("\n")
        };
        // It shows errors as it shows texts.
        if said.starts_with("STALE") || said.starts_with("NOFENCE") || said.starts_with("ERR") {
            return Err(said);
        }
        Ok(said)
    }
}

/// The command of this server, and its version.
fn command() -> Option<(String, String)> {
    let server = require_server();
    let beside = ["redis-cli", "valkey-cli"].map(|name| server.path().with_file_name(name));
    let program = beside.into_iter().find(|program| program.is_file());
    let program = program.map_or_else(|| "redis-cli".into(), |path| path.display().to_string());
    let version = version(&program, &["--version"])?;
    Some((program, version))
}

fn open(server: &Server, program: &str, which: usize) -> Box<dyn Client> {
    let port = server.port().to_string();
    match which {
        0 => Box::new(server.connect().expect("it listens")),
        1 => {
            let client = redis_client::Client::open(format!("redis://127.0.0.1:{port}"));
            let connection = client.and_then(|client| client.get_connection());
            Box::new(Crate(connection.expect("it listens")))
        }
        _ => {
            let session = CommandLine::start(program, &["-p", &port], "ECHO MARK");
            Box::new(Prompt(session, false))
        }
    }
}

fn each_writes_and_the_late_one_is_refused(early: &mut dyn Client, late: &mut dyn Client) {
    early.say(&["FLUSHALL"]).expect("it may");
    // The first write of all, and the same token again.
    for _ in 0..2 {
        assert_eq!(early.write(token(33), "90"), Ok(()));
    }
    assert_eq!(late.write(token(34), "120"), Ok(()));
    let stale = early.write(token(33), "60").expect_err("the lock has gone");
    assert_eq!((stale.token, stale.newest), (token(33), Some(token(34))));
    // What is queued and then discarded was not seen.
    assert_eq!(late.say(&["MULTI"]).as_deref(), Ok("OK"));
    let words = redis::set_if_newest("{account}", "{account}:fence", token(40), "400");
    assert_eq!(late.send(&words).as_deref(), Ok("QUEUED"));
    assert_eq!(late.say(&["DISCARD"]).as_deref(), Ok("OK"));
    assert_eq!(early.write(token(35), "130"), Ok(()));
    assert_eq!(late.say(&["GET", "{account}"]).as_deref(), Ok("130"));
    // The last tokens of all.
    let last = FencingToken::LAST;
    let before = token(last.get() - 1);
    for accepted in [before, last, last] {
        assert_eq!(late.write(accepted, "1"), Ok(()));
    }
    let stale = early.write(before, "2").expect_err("it is one less");
    assert_eq!((stale.token, stale.newest), (before, Some(last)));
}

/// What the documentation warns of: a server does not end a `MULTI` at an error.
fn what_follows_in_a_multi_is_not_stopped(early: &mut dyn Client, late: &mut dyn Client) {
    early.say(&["FLUSHALL"]).expect("it may");
    assert_eq!(late.write(token(34), "120"), Ok(()));
    early.say(&["MULTI"]).expect("it may");
    let words = redis::set_if_newest("{account}", "{account}:fence", token(33), "60");
    assert_eq!(early.send(&words).as_deref(), Ok("QUEUED"));
    early.say(&["SET", "beside", "60"]).expect("it is queued");
    drop(early.say(&["EXEC"]));
    assert_eq!(late.say(&["GET", "{account}"]).as_deref(), Ok("120"));
    assert_eq!(late.say(&["GET", "beside"]).as_deref(), Ok("60"));
}

#[test]
fn redis_keeps_the_order_with_a_crate_with_its_command_and_with_words() {
    let Some((program, version)) = command() else {
        return;
    };
    let server = Server::start().expect("it starts");
    for early in 0..3 {
        for late in 0..3 {
            let [mut early, mut late] = [early, late].map(|which| open(&server, &program, which));
            each_writes_and_the_late_one_is_refused(early.as_mut(), late.as_mut());
            what_follows_in_a_multi_is_not_stopped(early.as_mut(), late.as_mut());
        }
    }
    server.command(&["FLUSHALL"]).expect("it may");
    // Clients of every kind at once.
    let script = FencedScript::new("return redis.call('RPUSH', KEYS[1], ARGV[1])");
    let count = AtomicUsize::new(0);
    contest::nothing_is_written_behind_a_newer_token(
        || {
            let which = count.fetch_add(1, Ordering::SeqCst) % 3;
            let mut client = open(&server, &program, which);
            let script = &script;
            move |token| {
                let words = script.eval("fence", token, &["log"], &[token.to_string()]);
                read(token, client.send(&words)).map(drop)
            }
        },
        || {
            let log = server.command(&["LRANGE", "log", "0", "-1"]);
            let log = log.expect("it answers");
            let numbers = log.texts().into_iter().map(str::parse);
            numbers.map(|number| number.expect("a number")).collect()
        },
    );
    let server = require_server().version().expect("it tells").to_string();
    let (name, number) = server.split_once(' ').unwrap_or(("Redis", &server));
    page::tell(
        name,
        number,
        &["the crate `redis`", &version, "the words as they are"],
    );
}
