//! The commands that scripts call, and a few that tests need.

mod sorted;

use crate::{
    data::{Data, Entry, Fields, Value},
    protocol::Reply,
    server::{Server, Time},
};

/// How a command is called.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) time: Time,
    /// Whether what it writes goes to replicas and into the log.
    pub(crate) is_replicated: bool,
    /// The script that calls it, if it is one.
    pub(crate) script: Option<Declared>,
}

/// What a script declares in its first line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Declared {
    /// It writes nothing.
    pub(crate) no_writes: bool,
    /// It may run on a server without memory.
    pub(crate) allow_oom: bool,
}

/// What is known of a command before it is run.
struct Command {
    name: &'static str,
    /// With its own name.
    least: usize,
    writes: bool,
    needs_memory: bool,
    run: fn(&mut Step<'_>) -> Reply,
}

/// A command that is being run.
struct Step<'a> {
    server: &'a mut Server,
    data: &'a mut Data,
    call: &'a Call,
    words: &'a [Vec<u8>],
}

/// Runs a command that is no script.
pub(crate) fn run(server: &mut Server, data: &mut Data, call: &Call, words: &[Vec<u8>]) -> Reply {
    let in_script = call.script.is_some();
    let name = words.first().map(|name| name.to_ascii_uppercase());
    let found = COMMANDS
        .iter()
        .find(|command| Some(command.name.as_bytes()) == name.as_deref());
    let Some(command) = found else {
        let name = String::from_utf8_lossy(name.as_deref().unwrap_or_default()).into_owned();
        return Reply::Error(format!("MODEL does not know the command {name}"));
    };
    if words.len() < command.least {
        return Reply::error(if in_script {
            "ERR Wrong number of args calling command from script"
        } else {
            "ERR wrong number of arguments"
        });
    }
    if server.forbidden.contains(command.name) {
        return Reply::error(if in_script {
            "ERR The user executing the script can't run this command or subcommand"
        } else {
            "NOPERM this user has no permissions to run this command"
        });
    }
    if let Some(wrong) = refused(server, call, command) {
        return wrong;
    }
    if let Some(key) = words.get(1) {
        data.touch(key, call.time.expiry_ms);
    }
    (command.run)(&mut Step {
        server,
        data,
        call,
        words,
    })
}

/// Why the server does not run the command now.
fn refused(server: &Server, call: &Call, command: &Command) -> Option<Reply> {
    let declared = call.script.unwrap_or_default();
    if command.writes && declared.no_writes {
        let wrong = "ERR Write commands are not allowed from read-only scripts.";
        return Some(Reply::error(wrong));
    }
    if command.writes && server.is_replica {
        return Some(Reply::error(READONLY));
    }
    let is_starved = server.is_out_of_memory && command.needs_memory;
    (is_starved && !declared.allow_oom).then(|| Reply::error(OOM))
}

const fn reads(name: &'static str, least: usize, run: fn(&mut Step<'_>) -> Reply) -> Command {
    Command {
        name,
        least,
        writes: false,
        needs_memory: false,
        run,
    }
}

const fn writes(name: &'static str, least: usize, run: fn(&mut Step<'_>) -> Reply) -> Command {
    Command {
        writes: true,
        ..reads(name, least, run)
    }
}

const fn grows(name: &'static str, least: usize, run: fn(&mut Step<'_>) -> Reply) -> Command {
    Command {
        needs_memory: true,
        ..writes(name, least, run)
    }
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of `Step<'_>` is of one lifetime, and these are called for any"
)]
const COMMANDS: [Command; 22] = [
    reads("GET", 2, |step| step.get()),
    reads("MGET", 2, |step| step.mget()),
    reads("PTTL", 2, |step| step.pttl()),
    reads("HGET", 3, |step| step.hget()),
    reads("HMGET", 3, |step| step.hmget()),
    reads("HGETALL", 2, |step| step.hgetall()),
    reads("TIME", 1, |step| step.time()),
    reads("INFO", 1, |step| step.info()),
    reads("TYPE", 2, |step| step.kind()),
    reads("ZSCORE", 3, |step| step.zscore()),
    reads("ZRANGE", 4, |step| step.zrange()),
    grows("SET", 3, |step| step.set()),
    grows("HSET", 4, |step| step.hset()),
    grows("LPUSH", 3, |step| step.lpush()),
    grows("ZADD", 4, |step| step.zadd()),
    writes("HDEL", 3, |step| step.hdel()),
    writes("ZREM", 3, |step| step.zrem()),
    writes("ZREMRANGEBYSCORE", 4, |step| step.zremrangebyscore()),
    writes("DEL", 2, |step| step.del()),
    writes("PEXPIRE", 3, |step| step.pexpire()),
    writes("PEXPIREAT", 3, |step| step.pexpireat()),
    writes("FLUSHALL", 1, |step| step.flush()),
];

impl Step<'_> {
    fn entry(&self) -> Option<&Entry> {
        self.data.live(&self.words[1], self.call.time.expiry_ms)
    }

    fn put(&mut self, entry: Option<Entry>) {
        let key = self.words[1].clone();
        self.data.put(&key, entry, self.call.is_replicated);
    }

    /// The fields of the key, which are none if there is no key.
    fn fields(&self) -> Result<Option<&Fields>, Reply> {
        match self.entry().map(|entry| &entry.value) {
            None => Ok(None),
            Some(Value::Hash(fields)) => Ok(Some(fields)),
            Some(_) => Err(Reply::error(WRONGTYPE)),
        }
    }

    fn get(&mut self) -> Reply {
        match self.entry().map(|entry| &entry.value) {
            None => Reply::Nil,
            Some(Value::Text(text)) => Reply::Bulk(text.clone()),
            Some(_) => Reply::error(WRONGTYPE),
        }
    }

    fn mget(&mut self) -> Reply {
        for key in &self.words[1..] {
            self.data.touch(key, self.call.time.expiry_ms);
        }
        let text = |key: &Vec<u8>| {
            let entry = self.data.live(key, self.call.time.expiry_ms);
            match entry.map(|entry| &entry.value) {
                Some(Value::Text(text)) => Reply::Bulk(text.clone()),
                _ => Reply::Nil,
            }
        };
        Reply::List(self.words[1..].iter().map(text).collect())
    }

    fn pttl(&mut self) -> Reply {
        Reply::Integer(match self.entry().map(|entry| entry.expires_ms) {
            None => -2,
            Some(None) => -1,
            Some(Some(ends)) => {
                i64::try_from(ends.saturating_sub(self.call.time.expiry_ms)).unwrap_or(i64::MAX)
            }
        })
    }

    fn hget(&mut self) -> Reply {
        match self.fields() {
            Ok(fields) => bulk(fields.and_then(|fields| fields.get(&self.words[2]))),
            Err(wrong) => wrong,
        }
    }

    fn hmget(&mut self) -> Reply {
        match self.fields() {
            Ok(fields) => {
                let wanted = self.words[2..].iter();
                let value = |name| bulk(fields.and_then(|fields| fields.get(name)));
                Reply::List(wanted.map(value).collect())
            }
            Err(wrong) => wrong,
        }
    }

    fn hgetall(&mut self) -> Reply {
        match self.fields() {
            Ok(fields) => {
                let pairs = fields.into_iter().flatten();
                let parts = pairs.flat_map(|(name, value)| [name.clone(), value.clone()]);
                Reply::List(parts.map(Reply::Bulk).collect())
            }
            Err(wrong) => wrong,
        }
    }

    fn time(&mut self) -> Reply {
        let us = self.call.time.us;
        let part = |number: u64| Reply::Bulk(number.to_string().into_bytes());
        Reply::List(vec![part(us / 1_000_000), part(us % 1_000_000)])
    }

    fn info(&mut self) -> Reply {
        Reply::Bulk(self.server.info(&self.words[1..]).into_bytes())
    }

    fn kind(&mut self) -> Reply {
        Reply::Status(
            match self.entry().map(|entry| &entry.value) {
                None => "none",
                Some(Value::Text(_)) => "string",
                Some(Value::Hash(_)) => "hash",
                Some(Value::List(_)) => "list",
                Some(Value::Sorted(_)) => "zset",
            }
            .to_owned(),
        )
    }

    /// `SET key value [NX] [PX ms]`.
    fn set(&mut self) -> Reply {
        let (mut is_new_only, mut expires_ms) = (false, None);
        let mut options = self.words[3..].iter();
        while let Some(option) = options.next() {
            match option.to_ascii_uppercase().as_slice() {
                b"NX" => is_new_only = true,
                b"PX" => match options.next().map(|word| number(word)) {
                    Some(Some(span @ 1..)) => expires_ms = Some(self.ends(span)),
                    Some(Some(_)) => {
                        return Reply::error("ERR invalid expire time in 'set' command");
                    }
                    _ => return Reply::error(NO_INTEGER),
                },
                _ => return Reply::error("MODEL does not know this option of SET"),
            }
        }
        if is_new_only && self.entry().is_some() {
            return Reply::Nil;
        }
        let value = Value::Text(self.words[2].clone());
        self.put(Some(Entry { value, expires_ms }));
        Reply::ok()
    }

    fn hset(&mut self) -> Reply {
        let pairs = &self.words[2..];
        if pairs.len() % 2 == 1 {
            return Reply::error("ERR wrong number of arguments for 'hset' command");
        }
        if let Err(wrong) = self.fields() {
            return wrong;
        }
        let new = self
            .data
            .set_fields(&self.words[1], pairs, self.call.is_replicated);
        Reply::Integer(i64::try_from(new).unwrap_or(i64::MAX))
    }

    fn hdel(&mut self) -> Reply {
        let Some(entry) = self.entry() else {
            return Reply::Integer(0);
        };
        let mut entry = entry.clone();
        let Value::Hash(fields) = &mut entry.value else {
            return Reply::error(WRONGTYPE);
        };
        let before = fields.len();
        fields.retain(|name, _| !self.words[2..].contains(name));
        let (left, gone) = (fields.len(), before - fields.len());
        self.put(Some(entry).filter(|_| left > 0));
        Reply::Integer(i64::try_from(gone).unwrap_or(i64::MAX))
    }

    fn lpush(&mut self) -> Reply {
        let before = match self.entry().map(|entry| &entry.value) {
            None => 0,
            Some(Value::List(length)) => *length,
            Some(_) => return Reply::error(WRONGTYPE),
        };
        let new = i64::try_from(self.words.len()).unwrap_or(i64::MAX) - 2;
        let expires_ms = self.entry().and_then(|entry| entry.expires_ms);
        let value = Value::List(before + new);
        self.put(Some(Entry { value, expires_ms }));
        Reply::Integer(before + new)
    }

    fn del(&mut self) -> Reply {
        let mut gone = 0;
        for key in &self.words[1..] {
            let entry = self.data.live(key, self.call.time.expiry_ms);
            gone += i64::from(entry.is_some());
            self.data.put(key, None, self.call.is_replicated);
        }
        Reply::Integer(gone)
    }

    fn pexpire(&mut self) -> Reply {
        match number(&self.words[2]) {
            Some(span) => self.end_at(self.ends(span)),
            None => Reply::error(NO_INTEGER),
        }
    }

    fn pexpireat(&mut self) -> Reply {
        match number(&self.words[2]) {
            Some(ends) => self.end_at(u64::try_from(ends).unwrap_or_default()),
            None => Reply::error(NO_INTEGER),
        }
    }

    /// Lets the key end then, or at once.
    fn end_at(&mut self, ends: u64) -> Reply {
        let Some(entry) = self.entry().cloned() else {
            return Reply::Integer(0);
        };
        let expires_ms = Some(ends);
        self.put((ends > self.call.time.expiry_ms).then_some(Entry {
            expires_ms,
            ..entry
        }));
        Reply::Integer(1)
    }

    fn flush(&mut self) -> Reply {
        *self.data = Data::default();
        Reply::ok()
    }

    fn ends(&self, span: i64) -> u64 {
        self.call.time.expiry_ms.saturating_add_signed(span)
    }
}

fn bulk(text: Option<&Vec<u8>>) -> Reply {
    text.cloned().map_or(Reply::Nil, Reply::Bulk)
}

/// A whole number as a server reads it: no sign but `-`, no zeros in front, nothing around it.
fn number(word: &[u8]) -> Option<i64> {
    let number: i64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == word).then_some(number)
}

pub(crate) const OOM: &str = "OOM command not allowed when used memory > 'maxmemory'.";
pub(crate) const READONLY: &str = "READONLY You can't write against a read only replica.";
const WRONGTYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
const NO_INTEGER: &str = "ERR value is not an integer or out of range";
