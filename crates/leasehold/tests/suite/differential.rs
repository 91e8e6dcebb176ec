//! The model of a server against real servers: the same bytes, in any order, to both, and the same answers and the same
//! keys from both. What the simulator proves on the model holds on servers as far as this is so.

mod disturbed;
mod stamped;
mod together;

use crate::support::{
    dice::Dice,
    real::{Kept, NodeAnswer, Real, encoded, pairs, shares, text, value},
};
use leasehold::{
    RestartGuard,
    configuration::Configuration,
    link::redis::wire::{self, Wire},
};
use leasehold_core::{Quorum, Ttl, quarantine::Disk};
use leasehold_fake_redis::{Data, Interpreter, Reply, Server, Time};
use leasehold_servers::require_server;
use std::time::Duration;

/// How many steps are gone; more by the environment.
fn steps() -> u64 {
    let told = std::env::var("LEASEHOLD_STEPS");
    told.map_or(4_000, |told| {
        told.parse().expect("LEASEHOLD_STEPS is a number")
    })
}

/// The same server twice.
struct Both {
    dice: Dice,
    real: Real,
    /// One that is its replica now and then.
    other: leasehold_servers::Server,
    model: Server,
    data: Data,
    /// What a restart would find, if the log does not get everything.
    log: Option<Data>,
    lua: Interpreter,
    /// Of the quarantine, of disks that are trusted, of no guard; of others who agreed on something else; of plain locks.
    links: Vec<(Configuration, Wire)>,
    /// Steps of which nobody can say in which millisecond what was done.
    undecided: u64,
}

const KEYS: [&str; 5] = ["r", "s", "t", "ns:queue:r", "ns:queue:s"];
const NODE: &str = "ns:node";
const TTLS: [Duration; 4] = [
    Duration::from_millis(10),
    Duration::from_millis(15),
    Duration::from_millis(40),
    Duration::from_millis(200),
];

fn links() -> Vec<(Configuration, Wire)> {
    let quorum = Quorum::majority(1).expect("one node");
    let of = |names, guard| {
        let skew = Duration::from_millis(8);
        Configuration::new("ns", names, quorum, guard, Ttl::SHORTEST, skew)
    };
    let all = [
        of("n", RestartGuard::Quarantine),
        of("n", RestartGuard::TrustAof),
        of("n", RestartGuard::Off),
        Configuration::plain(),
    ];
    let link = |configuration| (Wire::new(&configuration), configuration);
    all.map(link)
        .map(|(wire, configuration)| (configuration, wire))
        .into()
}

impl Both {
    fn new([real, other]: [leasehold_servers::Server; 2], seed: u64) -> Self {
        let lua = Interpreter::new();
        let mut real = Real::new(real, NODE, &KEYS);
        for (sha1, text) in wire::scripts() {
            lua.load(sha1, text);
            real.command(&["SCRIPT", "LOAD", text]);
        }
        let mut both = Self {
            dice: Dice(seed),
            real,
            other,
            model: Server {
                has_log: true,
                ..Server::new("", "")
            },
            data: Data::default(),
            log: None,
            lua,
            links: links(),
            undecided: 0,
        };
        both.meet();
        both
    }

    /// The model takes the identity of the server.
    fn meet(&mut self) {
        self.model.run_id = self.real.says("run_id");
        self.model.replid = self.real.says("master_replid");
        let before = self.real.says("master_replid2");
        self.model.replid2 = Some(before).filter(|id| id.contains(|digit| digit != '0'));
        self.model.is_replica = self.real.says("role") == "slave";
        self.look_for_rewrites();
    }

    fn look_for_rewrites(&mut self) {
        self.model.has_rewritten = self.real.says("aof_last_rewrite_time_sec") != "-1";
    }

    fn step(&mut self) {
        let wire = match self.dice.roll(100) {
            0 => return self.disturb(),
            1..4 => self.tampering(),
            4..10 => self.operation(),
            10..14 => self.stamp(),
            14..18 => self.greeting(),
            _ => self.request(),
        };
        self.compare(&wire);
    }

    fn link(&mut self) -> usize {
        // Most belong together, so that not every vote is of another configuration.
        self.dice.pick(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3])
    }

    /// What is relied upon of the disk over this link: the second one trusts it, if it is told that it may.
    fn disk(&mut self, link: usize) -> Disk {
        match link {
            1 => self.dice.pick(&[
                Disk::Trusted,
                Disk::Trusted,
                Disk::Distrusted,
                Disk::Unasked,
            ]),
            _ => Disk::Ignored,
        }
    }

    fn greeting(&mut self) -> Vec<u8> {
        let link = self.link().min(2);
        let disk = self.disk(link);
        let failover = self.dice.pick(&[None, None, Some(1), Some(2)]);
        self.links[link]
            .1
            .greeting(disk, failover)
            .expect("there is a hash")
    }

    /// What an operator does.
    fn operation(&mut self) -> Vec<u8> {
        let link = self.link().min(2);
        let configuration = &self.links[link].0;
        let (cfg, about) = (configuration.fingerprint(), configuration.text().to_owned());
        let quarantine = configuration.quarantine().as_millis().to_string();
        let dice = &mut self.dice;
        let (name, arguments) = match dice.roll(9) {
            0 => ("survey", vec![]),
            1 => {
                let disk = dice.pick(&["1", "1", "2", "3"]).to_owned();
                (
                    "block",
                    vec![cfg, "mark".to_owned(), "a change".to_owned(), about, disk],
                )
            }
            8 => (
                "succeed",
                vec!["mark".to_owned(), cfg, about, "1".to_owned()],
            ),
            2..4 => (
                "admit",
                vec![cfg, about, dice.pick(&[&*quarantine, "off"]).to_owned()],
            ),
            _ => {
                let is_guarded = dice.roll(2).to_string();
                let mut arguments = vec!["mark".to_owned(), cfg, about, quarantine, is_guarded];
                for _ in 0..dice.roll(3) {
                    arguments.extend([dice.roll(1_024).to_string(), dice.roll(60).to_string()]);
                }
                ("settle", arguments)
            }
        };
        call(name, NODE, &arguments)
    }

    /// Somebody else writes what is not theirs.
    fn tampering(&mut self) -> Vec<u8> {
        let now_ms = self.data_ms();
        let some_ms = (now_ms + self.dice.roll(60)).to_string();
        let now_ms = now_ms.to_string();
        let key = self.dice.pick(&KEYS);
        let words: Vec<&str> = match self.dice.roll(14) {
            0 => vec!["HSET", NODE, "id", "12ab/34cd"],
            1 => vec!["HSET", NODE, "until", &some_ms],
            2 => vec!["HSET", NODE, "why", "reconfigured"],
            3 => vec!["HSET", NODE, "fit", &now_ms],
            4 => vec!["HSET", NODE, "logged", "1"],
            5 => vec!["HDEL", NODE, "id"],
            6 => vec!["HDEL", NODE, "cfg", "about"],
            7 => vec!["HSET", NODE, "f0", "9007199254740991"],
            8 => vec!["DEL", NODE],
            9 => vec!["LPUSH", key, "x"],
            10 => vec!["LPUSH", NODE, "x"],
            11 => vec!["SET", key, "foreign", "PX", "15", "NX"],
            12 => vec!["SET", "t", "x"],
            _ => vec!["DEL", key],
        };
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        // A server without memory takes none of it.
        if self.model.is_out_of_memory || self.model.is_replica {
            return encoded(&[b"TIME"]);
        }
        encoded(&words)
    }

    fn data_ms(&mut self) -> u64 {
        self.real.answer(&encoded(&[b"TIME"])).before_us / 1_000
    }

    /// Puts the same command to both.
    fn compare(&mut self, wire: &[u8]) {
        let real = self.real.answer(wire);
        let told = normal(&real.reply);
        let mut first = None;
        for time in moments(&real) {
            let (mut model, mut data) = (self.model.clone(), self.data.clone());
            let reply = model.answer(&mut data, &self.lua, time, wire);
            let mut kept = kept(&mut model, &mut data, &self.lua, time);
            forgive_the_end(&mut kept, &real);
            let reply = normal(&read(&reply));
            if (&reply, &kept) == (&told, &real.kept) {
                self.data = data;
                return;
            }
            first.get_or_insert((reply, kept));
        }
        // The server has looked at its clock several times, in two milliseconds, and one of them was a key's last.
        if real.before_us / 1_000 != real.after_us / 1_000 {
            self.undecided += 1;
            return self.adopt(&real);
        }
        let said = String::from_utf8_lossy(wire).replace("\r\n", " ");
        let words = said
            .split(' ')
            .filter(|word| !word.starts_with('$') && word.len() < 60);
        let words: Vec<_> = words.collect();
        let (reply, kept) = first.expect("there is a moment");
        assert_eq!((reply, kept), (told, real.kept), "model, server: {words:?}");
    }

    /// The model takes over what the server has.
    fn adopt(&mut self, real: &NodeAnswer) {
        self.data = Data::default();
        let now_ms = real.after_us / 1_000;
        let mut put = |words: &[&[u8]]| {
            let (mut model, time) = (Server::new("", ""), Time::at(now_ms * 1_000));
            model.run(&mut self.data, &self.lua, time, words);
        };
        match &real.kept.hash {
            Ok(fields) => {
                for (field, value) in fields {
                    put(&[b"HSET", NODE.as_bytes(), field.as_bytes(), value.as_bytes()]);
                }
            }
            Err(_) => put(&[b"LPUSH", NODE.as_bytes(), b"x"]),
        }
        for (key, (value, ends)) in KEYS.iter().zip(&real.kept.keys) {
            let left = ends.saturating_sub_unsigned(now_ms).to_string();
            match value {
                // It has ended since its value was read.
                _ if *ends == -2 => {}
                Reply::Bulk(text) if *ends > 0 => {
                    put(&[b"SET", key.as_bytes(), text, b"PX", left.as_bytes()]);
                }
                Reply::Bulk(text) => put(&[b"SET", key.as_bytes(), text]),
                Reply::List(shares) => {
                    for share in shares.chunks(2) {
                        let [owner, ends] = [0, 1].map(|part| text(&share[part]));
                        put(&[b"ZADD", key.as_bytes(), ends.as_bytes(), owner.as_bytes()]);
                    }
                    put(&[b"PEXPIRE", key.as_bytes(), left.as_bytes()]);
                }
                _ => put(&[b"LPUSH", key.as_bytes(), b"x"]),
            }
        }
    }
}

/// When it may have been: what `TIME` told, and the millisecond by which keys expire.
fn moments(real: &NodeAnswer) -> Vec<Time> {
    let (first, last) = (real.before_us / 1_000, real.after_us / 1_000);
    let clocks = match told_us(&real.reply) {
        Some(us) => vec![us],
        None => (first..=last)
            .map(|ms| (ms * 1_000).max(real.before_us))
            .collect(),
    };
    let mut moments = Vec::new();
    for us in clocks {
        for expiry_ms in (first - 1..=last).rev() {
            moments.push(Time { us, expiry_ms });
        }
    }
    moments
}

/// The time that stands in an answer.
fn told_us(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::Bulk(text) => {
            let text = std::str::from_utf8(text).ok()?.strip_prefix("granted ")?;
            let mut words = text.split(' ').skip(1).map(|word| word.parse::<u64>().ok());
            Some(words.next()?? * 1_000_000 + words.next()??)
        }
        Reply::List(parts) => parts.iter().find_map(|part| match part {
            Reply::Bulk(_) | Reply::List(_) => told_us(part),
            Reply::Integer(us @ 1_000_000_000_000_000..) => u64::try_from(*us).ok(),
            Reply::Integer(ms @ 1_000_000_000_000..) => u64::try_from(*ms * 1_000).ok(),
            _ => None,
        }),
        _ => None,
    }
}

/// A key that ended while the server was read is there in one of the two only.
fn forgive_the_end(model: &mut Kept, real: &NodeAnswer) {
    let last = real.after_us / 1_000;
    for (ours, theirs) in model.keys.iter_mut().zip(&real.kept.keys) {
        let is_over = u64::try_from(ours.1).is_ok_and(|ends| ends <= last);
        if is_over && *theirs == (Reply::Nil, -2) {
            *ours = theirs.clone();
        }
    }
}

fn kept(model: &mut Server, data: &mut Data, lua: &Interpreter, time: Time) -> Kept {
    let hash = model.run(data, lua, time, &[b"HGETALL", NODE.as_bytes()]);
    let mut of = |key: &str| {
        let whole = model.run(data, lua, time, &[b"GET", key.as_bytes()]);
        let value = value(whole, model.run(data, lua, time, &shares(key)));
        let left = model.run(data, lua, time, &[b"PTTL", key.as_bytes()]);
        let ends = match left {
            Reply::Integer(left @ 0..) => left.saturating_add_unsigned(time.expiry_ms),
            Reply::Integer(none) => none,
            other => panic!("no TTL: {other:?}"),
        };
        (value, ends)
    };
    Kept {
        keys: KEYS.iter().map(|key| of(key)).collect(),
        hash: pairs(&hash),
    }
}

/// The answer without what INFO says beside what matters, and errors by their codes.
fn normal(reply: &Reply) -> Reply {
    match reply {
        Reply::Bulk(text) if text.starts_with(b"# ") => Reply::Status(facts(text)),
        Reply::Error(told) => Reply::Error(told.split(' ').next().unwrap_or_default().to_owned()),
        Reply::List(parts) if parts.len() == 2 && parts[0] != Reply::Integer(0) => {
            // The answer to TIME, which is another moment.
            let is_time = |part: &Reply| matches!(part, Reply::Bulk(text) if text.iter().all(u8::is_ascii_digit));
            match parts.iter().all(is_time) {
                true => Reply::Status("TIME".to_owned()),
                false => Reply::List(parts.iter().map(normal).collect()),
            }
        }
        Reply::List(parts) => Reply::List(parts.iter().map(normal).collect()),
        other => other.clone(),
    }
}

/// What INFO says of what scripts and links read, one after the other.
fn facts(info: &[u8]) -> String {
    // Valkey 9.1 calls the mode by a name of its own.
    let info = String::from_utf8_lossy(info).replace("server_mode:", "redis_mode:");
    let said = FACTS.map(|name| {
        let line = |line: &&str| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(':'))
        };
        info.lines()
            .find(line)
            .map(|line| match line.trim() {
                // Whether there was one counts, and not how long it took.
                took if name == REWRITE && !took.ends_with(":-1") => format!("{name}:0"),
                said => said.to_owned(),
            })
            .unwrap_or_default()
    });
    said.join(" ")
}

/// What scripts read of INFO, and what links read of their answers, but for the version.
const FACTS: [&str; 13] = [
    "redis_mode",
    "run_id",
    "role",
    "master_replid",
    "master_replid2",
    "connected_slaves",
    "maxmemory",
    "maxmemory_policy",
    "evicted_keys",
    "aof_enabled",
    "aof_rewrite_in_progress",
    "aof_rewrite_scheduled",
    REWRITE,
];
const REWRITE: &str = "aof_last_rewrite_time_sec";

/// The model's bytes, by the reader of the real server's.
fn read(wire: &[u8]) -> Reply {
    crate::support::real::read(&mut &*wire)
}

fn call(name: &str, key: &str, arguments: &[String]) -> Vec<u8> {
    let texts = wire::texts();
    let found = texts.iter().find(|(other, _)| *other == name);
    let (_, text) = found.expect("a script of this name");
    let mut words = vec![&b"EVAL"[..], text.as_bytes(), b"1", key.as_bytes()];
    words.extend(arguments.iter().map(String::as_bytes));
    encoded(&words)
}

#[test]
fn the_model_of_a_server_answers_and_keeps_what_a_server_does() {
    require_server();
    // A log that the server does not rewrite by itself, and that has everything when it is killed.
    let options = [
        ("save", ""),
        ("appendonly", "yes"),
        ("appendfsync", "no"),
        ("auto-aof-rewrite-percentage", "0"),
        ("repl-diskless-sync-delay", "0"),
    ];
    let start = || {
        let builder = leasehold_servers::Server::builder();
        let with = |builder: leasehold_servers::ServerBuilder, (name, value)| {
            builder.option(name, &[value])
        };
        options
            .into_iter()
            .fold(builder, with)
            .start()
            .expect("it starts")
    };
    let mut both = Both::new([start(), start()], 1);
    let count = steps();
    for _ in 0..count {
        both.step();
    }
    // Nothing is proved by steps that were taken over.
    assert!(
        both.undecided * 50 <= count,
        "{} of {count}",
        both.undecided
    );
}

#[test]
fn whatever_scripts_read_of_info_is_compared() {
    let links = links();
    let greeting = links[0]
        .1
        .greeting(Disk::Trusted, None)
        .expect("there is a hash");
    let greeting = String::from_utf8(greeting).expect("text");
    let texts = wire::scripts().map(|(_, text)| text);
    let texts = texts.chain(wire::texts().into_iter().map(|(_, text)| text));
    let mut found = 0;
    for text in texts.chain([&*greeting]) {
        let named = text.split("said(info, '").skip(1);
        let matched = text.split("string.match(info, '").skip(1);
        let sought = text.split("string.find(info, '\\n").skip(1);
        for rest in named.chain(matched).chain(sought) {
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let name = rest
                .split(|letter| !is_name(letter))
                .next()
                .unwrap_or_default();
            // The pattern of `said` itself.
            if !name.is_empty() {
                assert!(FACTS.contains(&name), "{name}");
                found += 1;
            }
        }
    }
    assert!(found > 20, "{found}");
}
