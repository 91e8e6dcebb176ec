//! Clients that do without one of the library's defences, which the library itself does not allow.
//!
//! A plain Redlock on blocking connections, right but for what it [misses](Missing). If the nemesis gets
//! no two of these to hold together, it would not have found the defence missing in the library either.

mod one_by_one;

use crate::{
    checker::{counted_place, read_place},
    client::{Orders, RESOURCES, hold_time},
    draw::Draw,
    journal::{Entry, Step, Writer},
    moment::{Moment, rest},
    scenario::Missing,
};
use leasehold_servers::{Connection, Reply};
use std::{convert::Infallible, io, time::Duration};

/// Runs such a client for ever.
///
/// # Errors
/// If the journal cannot be written.
pub(crate) fn run(
    orders: &Orders,
    missing: Missing,
) -> Result<Infallible, Box<dyn std::error::Error>> {
    let name = orders.journal.file_stem().unwrap_or_default();
    let mut client = Reckless {
        missing,
        name: name.to_string_lossy().into_owned(),
        ttl: orders.ttl,
        nodes: orders.ports.iter().map(|&port| Node::new(port)).collect(),
        draw: Draw::new(orders.seed),
        journal: Writer::create(&orders.journal)?,
        attempts: 0,
        unconfirmed: Vec::new(),
    };
    if missing == Missing::Comparison {
        let [a, b, c] = RESOURCES;
        client.ask(&["DEL", a, b, c]);
    }
    loop {
        match missing {
            Missing::OneStep => client.one_by_one()?,
            _ => client.attempt()?,
        }
    }
}

struct Reckless {
    missing: Missing,
    name: String,
    ttl: Duration,
    nodes: Vec<Node>,
    draw: Draw,
    journal: Writer,
    attempts: u64,
    /// Releases that not every node has answered: resource and owner.
    unconfirmed: Vec<(&'static str, String)>,
}

impl Reckless {
    /// Votes once, and holds if it won.
    fn attempt(&mut self) -> io::Result<()> {
        self.attempts += 1;
        let resource = match self.missing {
            Missing::Slot => RESOURCES[0],
            _ => self.draw.pick(&RESOURCES),
        };
        let owner = match self.missing {
            Missing::FreshOwner => self.name.clone(),
            _ => format!("{}-{}", self.name, self.attempts),
        };
        let wish = self.wish();
        let ttl = self.ttl(wish);
        let millis = ttl.as_millis().to_string();
        let started = Moment::now();
        let votes = match wish {
            Wish::Name => self.ask(&["SET", resource, &owner, "NX", "PX", &millis]),
            Wish::Share => self.ask(&["EVAL", READ_WITH_OTHERS, "1", resource, &owner, &millis]),
            Wish::Permit => self.ask(&["EVAL", COUNT_PERMITS, "1", resource, &owner, &millis]),
        };
        let is_quorum = self.is_quorum(&votes);
        let counted_from = match self.missing {
            Missing::SendTime => Moment::now(),
            _ => started,
        };
        let valid_until = match self.missing {
            Missing::Deadline => Moment::NEVER,
            _ => counted_from
                .plus(ttl)
                .minus(ttl / 100 + Duration::from_millis(2)),
        };
        if is_quorum && Moment::now() < valid_until {
            let voted_for = Moment::now().since(started);
            self.hold((resource, wish), &owner, voted_for, valid_until)?;
        }
        self.release(resource, owner);
        rest(
            self.draw
                .time(&(Duration::from_millis(1)..Duration::from_millis(20))),
        );
        Ok(())
    }

    /// Whether a quorum has done what it was asked for.
    fn is_quorum(&self, votes: &[Option<Reply>]) -> bool {
        let granted = votes.iter().flatten();
        granted.filter(|vote| vote.text() == Some("OK")).count() > self.nodes.len() / 2
    }

    /// What it wants this time.
    fn wish(&mut self) -> Wish {
        match self.missing {
            Missing::OwnEnd if self.draw.percent(70) => Wish::Share,
            Missing::Slot => Wish::Permit,
            _ => Wish::Name,
        }
    }

    /// For how long it wants it: of those who read, some for a short time.
    fn ttl(&mut self, wish: Wish) -> Duration {
        match wish {
            Wish::Share if self.draw.percent(50) => self.ttl / 5,
            _ => self.ttl,
        }
    }

    fn hold(
        &mut self,
        (resource, wish): (&'static str, Wish),
        owner: &str,
        voted_for: Duration,
        valid_until: Moment,
    ) -> io::Result<()> {
        let acquired = Step::Acquired {
            valid_until,
            fence: None,
        };
        let place = wish.place(resource);
        self.write_all(&place, owner, acquired)?;
        let time = match self.missing {
            // The slower the vote, the wronger the end of the validity. What was won fast makes room.
            Missing::SendTime if voted_for > self.ttl / 10 => self.ttl * 2,
            // To the end, so that others who read for a short time come and go meanwhile.
            Missing::OwnEnd if wish == Wish::Share => self.ttl,
            _ => hold_time(&mut self.draw, self.ttl),
        };
        let until = Moment::now().plus(time);
        let (again, others) = std::mem::take(&mut self.unconfirmed)
            .into_iter()
            .partition(|(other, _)| *other == resource);
        self.unconfirmed = others;
        let again: Vec<_> = again;
        for (resource, owner) in again {
            // Harmless, unless that owner is this one.
            self.release(resource, owner);
        }
        while Moment::now() < until.min(valid_until) {
            rest(Duration::from_millis(5).min(until.since(Moment::now())));
        }
        self.write_all(&place, owner, Step::Ended)
    }

    /// Of every name that it holds, or believes to hold.
    fn write_all(&mut self, resource: &str, owner: &str, step: Step) -> io::Result<()> {
        self.write(resource, owner, step)?;
        if self.missing != Missing::SecondName {
            return Ok(());
        }
        let first = RESOURCES.iter().position(|name| *name == resource);
        let second = first.map_or(0, |first| (first + 1) % RESOURCES.len());
        self.write(RESOURCES[second], owner, step)
    }

    /// Compares and deletes on every node.
    fn release(&mut self, resource: &'static str, owner: String) {
        let answers = self.ask(&["EVAL", COMPARE_AND_DELETE, "1", resource, &owner]);
        let entry = (resource, owner);
        if answers.iter().any(Option::is_none) && !self.unconfirmed.contains(&entry) {
            self.unconfirmed.push(entry);
        }
    }

    /// Sends to all nodes, then waits for all answers. Nodes hear of those who want a permit in different orders, as they would
    /// of clients that are far from each other.
    fn ask(&mut self, words: &[&str]) -> Vec<Option<Reply>> {
        let patience = match self.missing {
            // Who counts from the reply has all the time in the world.
            Missing::SendTime => self.ttl * 2,
            _ => self.ttl / 5,
        };
        let first = match self.missing {
            Missing::Slot => self.draw.below(self.nodes.len()),
            _ => 0,
        };
        let (before, after) = self.nodes.split_at_mut(first);
        for node in after.iter_mut().chain(before) {
            node.send(words);
            if self.missing == Missing::Slot {
                rest(self.draw.share(self.ttl, 0..2));
            }
        }
        let end = Moment::now().plus(patience);
        let nodes = self.nodes.iter_mut();
        nodes.map(|node| node.receive(end)).collect()
    }

    fn write(&mut self, resource: &str, owner: &str, step: Step) -> io::Result<()> {
        self.journal.write(&Entry {
            at: Moment::now(),
            step,
            resource: resource.to_owned(),
            owner: owner.to_owned(),
        })
    }
}

/// What a reckless client wants of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Name,
    Share,
    Permit,
}

impl Wish {
    /// As journals call it.
    fn place(self, resource: &str) -> String {
        match self {
            Self::Name => resource.to_owned(),
            Self::Share => read_place(resource),
            Self::Permit => counted_place(resource),
        }
    }
}

/// A node, and the connection to it as long as it is good.
struct Node {
    port: u16,
    connection: Option<Connection>,
}

impl Node {
    const fn new(port: u16) -> Self {
        Self {
            port,
            connection: None,
        }
    }

    fn send(&mut self, words: &[&str]) {
        if self.connection.is_none() {
            self.connection = Connection::open(self.port).ok();
        }
        if let Some(connection) = &mut self.connection
            && connection.send(words).is_err()
        {
            self.connection = None;
        }
    }

    fn receive(&mut self, end: Moment) -> Option<Reply> {
        // What is there already is taken in any case.
        let patience = end.since(Moment::now()).max(Duration::from_millis(1));
        let connection = self.connection.as_mut()?;
        let answer = connection
            .set_patience(patience)
            .and_then(|()| connection.receive());
        if answer.is_err() {
            // An answer that comes later would be taken for that of the next request.
            self.connection = None;
        }
        answer.ok()
    }
}

const COMPARE_AND_DELETE: &str = "local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'string' then return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0 end
return kind == 'zset' and redis.call('ZREM', KEYS[1], ARGV[1]) or 0";

/// One end for all who read: that of the last who came.
const READ_WITH_OTHERS: &str = "if redis.call('TYPE', KEYS[1]).ok == 'string' then return 0 end
redis.call('ZADD', KEYS[1], 0, ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.status_reply('OK')";

/// As long as fewer than two have a permit here, another may.
const COUNT_PERMITS: &str = "local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= 2 then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], 60000)
return redis.status_reply('OK')";
