//! A server: what it is, apart from its data.

use crate::{
    commands::{self, Call},
    data::Data,
    interpreter::Interpreter,
    protocol::{Reply, words},
};
use std::collections::BTreeSet;

/// When a command is carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a server has these two")]
pub struct Time {
    /// What `TIME` tells, in microseconds since 1970.
    pub us: u64,
    /// By what keys expire: the millisecond in which the server began with the command.
    pub expiry_ms: u64,
}

impl Time {
    /// Both by one reading of the clock.
    #[must_use]
    pub const fn at(us: u64) -> Self {
        Self {
            us,
            expiry_ms: us / 1_000,
        }
    }
}

/// A server. What it says of itself in `INFO` is made of its fields.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::exhaustive_structs,
    reason = "tests make of a server what they like"
)]
pub struct Server {
    /// The process: hexadecimal digits.
    pub run_id: String,
    /// The history of the data.
    pub replid: String,
    /// The history before, of a replica that was promoted; none is written as zeros.
    pub replid2: Option<String>,
    /// Whether it is a replica, which refuses writes.
    pub is_replica: bool,
    /// Whether `appendonly` is on.
    pub has_log: bool,
    /// Whether that log is being rewritten.
    pub is_rewriting: bool,
    /// Whether it is to be rewritten when another child has come to its end.
    pub is_rewrite_scheduled: bool,
    /// Whether it has done so before, since it started.
    pub has_rewritten: bool,
    /// How many replicas it has.
    pub replicas: u64,
    /// The limit of its memory in bytes; none if 0.
    pub maxmemory: u64,
    /// What it does at the limit; nothing is `noeviction`.
    pub maxmemory_policy: String,
    /// How many keys it has evicted.
    pub evicted_keys: u64,
    /// Whether it refuses what needs memory.
    pub is_out_of_memory: bool,
    /// Commands that the user may not run, in capitals.
    pub forbidden: BTreeSet<String>,
    /// What `INFO` says besides, in the section of this name: `("memory", "used_memory", "1024")`. What is said here
    /// comes before what the fields say.
    pub facts: Vec<(String, String, String)>,
}

impl Server {
    /// A master of this process and history, without a limit of memory and without a log.
    #[must_use]
    pub fn new(run_id: &str, replid: &str) -> Self {
        Self {
            run_id: run_id.to_owned(),
            replid: replid.to_owned(),
            maxmemory_policy: "noeviction".to_owned(),
            ..Self::default()
        }
    }

    /// Carries out one command, in the bytes of the protocol.
    pub fn answer(
        &mut self,
        data: &mut Data,
        lua: &Interpreter,
        time: Time,
        wire: &[u8],
    ) -> Vec<u8> {
        let reply = match words(wire) {
            Some(words) => self.run(data, lua, time, &words),
            None => Reply::error("ERR Protocol error"),
        };
        let mut wire = Vec::new();
        reply.encode(&mut wire);
        wire
    }

    /// Carries out one command, word by word.
    pub fn run(
        &mut self,
        data: &mut Data,
        lua: &Interpreter,
        time: Time,
        words: &[&[u8]],
    ) -> Reply {
        let name = words.first().map(|name| name.to_ascii_uppercase());
        match name.as_deref() {
            Some(b"EVAL") => lua.eval(self, data, time, words),
            Some(b"EVALSHA") => lua.eval_known(self, data, time, words),
            _ => {
                let words: Vec<Vec<u8>> = words.iter().map(|word| word.to_vec()).collect();
                let call = Call {
                    time,
                    is_replicated: true,
                    script: None,
                };
                commands::run(self, data, &call, &words)
            }
        }
    }

    /// What `INFO` says of these sections; of all, if none is named.
    pub(crate) fn info(&self, wanted: &[Vec<u8>]) -> String {
        let mut text = String::new();
        for section in SECTIONS {
            let is_wanted = |word: &Vec<u8>| {
                word.eq_ignore_ascii_case(section.as_bytes())
                    || ALL.iter().any(|all| word.eq_ignore_ascii_case(all))
            };
            if wanted.is_empty() || wanted.iter().any(is_wanted) {
                self.section(section, &mut text);
            }
        }
        text
    }

    fn section(&self, section: &str, text: &mut String) {
        if !text.is_empty() {
            text.push_str("\r\n");
        }
        text.push_str("# ");
        text.extend(
            section
                .chars()
                .take(1)
                .map(|letter| letter.to_ascii_uppercase()),
        );
        text.push_str(&section[1..]);
        text.push_str("\r\n");
        let mut say = |name: &str, value: &str| {
            for part in [name, ":", value, "\r\n"] {
                text.push_str(part);
            }
        };
        for (_, name, value) in self.facts.iter().filter(|(place, ..)| place == section) {
            say(name, value);
        }
        match section {
            "server" => {
                say("redis_version", "7.0.15");
                say("redis_mode", "standalone");
                say("run_id", &self.run_id);
            }
            "memory" => {
                say("maxmemory", &self.maxmemory.to_string());
                say("maxmemory_policy", &self.maxmemory_policy);
            }
            "persistence" => {
                say("loading", "0");
                say("aof_enabled", flag(self.has_log));
                say("aof_rewrite_in_progress", flag(self.is_rewriting));
                say("aof_rewrite_scheduled", flag(self.is_rewrite_scheduled));
                let took = if self.has_rewritten { "0" } else { "-1" };
                say("aof_last_rewrite_time_sec", took);
            }
            "stats" => say("evicted_keys", &self.evicted_keys.to_string()),
            _ => {
                say("role", if self.is_replica { "slave" } else { "master" });
                say("connected_slaves", &self.replicas.to_string());
                say("master_replid", &self.replid);
                say("master_replid2", self.replid2.as_deref().unwrap_or(NOBODY));
            }
        }
    }
}

const fn flag(is_so: bool) -> &'static str {
    if is_so { "1" } else { "0" }
}

/// In the order in which a server tells them.
const SECTIONS: [&str; 5] = ["server", "memory", "persistence", "stats", "replication"];

const ALL: [&[u8]; 3] = [b"all", b"everything", b"default"];

const NOBODY: &str = "0000000000000000000000000000000000000000";
