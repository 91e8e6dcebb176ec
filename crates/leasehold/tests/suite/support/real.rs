//! A real server, asked in the bytes that a link would send, and all that it keeps read behind.

use leasehold_fake_redis::Reply;
use leasehold_servers::Server;
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    time::Duration,
};

pub(crate) struct Real {
    pub(crate) server: Server,
    stream: BufReader<TcpStream>,
    node_key: String,
    keys: Vec<String>,
}

/// What a server answered, and what it has afterwards.
#[derive(Debug)]
pub(crate) struct NodeAnswer {
    pub(crate) reply: Reply,
    /// What its clock showed before and after, in microseconds.
    pub(crate) before_us: u64,
    pub(crate) after_us: u64,
    pub(crate) kept: Kept,
}

/// What a server has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kept {
    /// Its own hash; an error where something else is under that key.
    pub(crate) hash: Result<BTreeMap<String, String>, String>,
    /// Of each key the value, or the shares, or how it is neither, and the last millisecond in which it is there.
    pub(crate) keys: Vec<(Reply, i64)>,
}

impl Real {
    /// Of this server, of which the hash and the keys matter.
    pub(crate) fn new(server: Server, node_key: &str, keys: &[&str]) -> Self {
        Self {
            stream: connect(&server),
            server,
            node_key: node_key.to_owned(),
            keys: keys.iter().map(|&key| key.to_owned()).collect(),
        }
    }

    /// Restarts the server with what is on its disk.
    pub(crate) fn restart(&mut self) {
        self.server.restart().expect("it starts again");
        self.stream = connect(&self.server);
    }

    pub(crate) fn command(&mut self, words: &[&str]) -> Reply {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.send(&encoded(&words));
        self.hear()
    }

    /// What `INFO` says by this name.
    pub(crate) fn says(&mut self, name: &str) -> String {
        let Reply::Bulk(info) = self.command(&["INFO"]) else {
            panic!("INFO is a text");
        };
        let info = String::from_utf8_lossy(&info).into_owned();
        let line = info
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("no {name}")).to_owned()
    }

    /// Carries out the command that `wire` is, and reads everything, in one write: nobody else is there to come between.
    pub(crate) fn answer(&mut self, wire: &[u8]) -> NodeAnswer {
        let time = encoded(&[b"TIME"]);
        let mut all = [&time[..], wire].concat();
        all.extend(encoded(&[b"HGETALL", self.node_key.as_bytes()]));
        for key in &self.keys {
            all.extend(encoded(&[b"GET", key.as_bytes()]));
            all.extend(encoded(&shares(key)));
            all.extend(encoded(&[b"PEXPIRETIME", key.as_bytes()]));
        }
        all.extend(time);
        self.send(&all);
        let count = 4 + 3 * self.keys.len();
        let replies: Vec<_> = (0..count).map(|_| self.hear()).collect();
        let mut replies = replies.into_iter();
        let mut next = || replies.next().expect("one for each");
        let (before_us, reply, hash) = (micros(&next()), next(), next());
        let keys = self.keys.iter().map(|_| {
            let value = value(next(), next());
            (value, integer(&next()))
        });
        let keys = keys.collect();
        NodeAnswer {
            reply,
            before_us,
            after_us: micros(&next()),
            kept: Kept {
                hash: pairs(&hash),
                keys,
            },
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("it listens");
    }

    fn hear(&mut self) -> Reply {
        read(&mut self.stream)
    }
}

/// The command that reads the shares of a name.
pub(crate) fn shares(key: &str) -> [&[u8]; 5] {
    [b"ZRANGE", key.as_bytes(), b"0", b"-1", b"WITHSCORES"]
}

/// What a key has, of which these are the value and the shares.
pub(crate) fn value(value: Reply, shares: Reply) -> Reply {
    match value {
        Reply::Error(_) => shares,
        value => value,
    }
}

/// Reads one reply.
pub(crate) fn read(from: &mut impl BufRead) -> Reply {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line).expect("it answers");
    let line = String::from_utf8_lossy(&line).trim_end().to_owned();
    let (kind, rest) = line.split_at(1);
    let number = || rest.parse::<i64>().expect("a number");
    match kind {
        "+" => Reply::Status(rest.to_owned()),
        "-" => Reply::Error(rest.to_owned()),
        ":" => Reply::Integer(number()),
        "$" => usize::try_from(number()).map_or(Reply::Nil, |length| {
            let mut text = vec![0; length + 2];
            from.read_exact(&mut text).expect("it answers");
            text.truncate(length);
            Reply::Bulk(text)
        }),
        "*" => Reply::List((0..number()).map(|_| read(from)).collect()),
        other => panic!("no reply begins with {other}"),
    }
}

fn connect(server: &Server) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).expect("it listens");
    stream.set_nodelay(true).expect("a socket");
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).expect("a socket");
    BufReader::new(stream)
}

pub(crate) fn encoded(words: &[&[u8]]) -> Vec<u8> {
    let mut wire = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        wire.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        wire.extend_from_slice(word);
        wire.extend_from_slice(b"\r\n");
    }
    wire
}

pub(crate) fn text(reply: &Reply) -> String {
    match reply {
        Reply::Bulk(text) => String::from_utf8_lossy(text).into_owned(),
        other => panic!("no text: {other:?}"),
    }
}

/// The fields of a hash; an error's first word if it is none.
pub(crate) fn pairs(reply: &Reply) -> Result<BTreeMap<String, String>, String> {
    match reply {
        Reply::List(parts) => Ok(parts
            .chunks(2)
            .map(|pair| (text(&pair[0]), text(&pair[1])))
            .collect()),
        Reply::Error(told) => Err(told.split(' ').next().unwrap_or_default().to_owned()),
        other => panic!("no hash: {other:?}"),
    }
}

fn integer(reply: &Reply) -> i64 {
    match reply {
        Reply::Integer(number) => *number,
        other => panic!("no number: {other:?}"),
    }
}

fn micros(time: &Reply) -> u64 {
    match time {
        Reply::List(parts) => {
            let part = |place: usize| text(&parts[place]).parse::<u64>().expect("a number");
            part(0) * 1_000_000 + part(1)
        }
        other => panic!("no time: {other:?}"),
    }
}
