//! Plays a recipe: sends what a library would send.

use crate::{
    moment::{now, rest, since, uneven},
    protocol::Answer,
    recipe::{Acquire, CleanUp, Recipe, Signs},
    serve::Library,
};
use leasehold_servers::{Connection, Reply};
use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// Somebody who sends what a recipe says.
#[derive(Debug)]
pub(crate) struct Played {
    recipe: &'static Recipe,
    nodes: Vec<Node>,
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    key: String,
    value: Vec<u8>,
}

#[derive(Debug)]
struct Node {
    port: u16,
    connection: Option<Connection>,
}

impl Played {
    pub(crate) const fn new(recipe: &'static Recipe) -> Self {
        Self {
            recipe,
            nodes: Vec::new(),
            held: None,
        }
    }

    /// Sends to one node after the other, as most libraries do. True where it was granted.
    fn send(&mut self, words: &[&[u8]]) -> Vec<bool> {
        let nodes = self.nodes.iter_mut();
        nodes.map(|node| node.is_granted(words)).collect()
    }

    fn run(&mut self, script: &str, key: &str, value: &[u8], ttl: &str) -> Vec<bool> {
        let (script, key, ttl) = (script.as_bytes(), key.as_bytes(), ttl.as_bytes());
        self.send(&[b"EVAL", script, b"1", key, value, ttl])
    }

    fn is_quorum(&self, granted: &[bool]) -> bool {
        let count = granted.iter().filter(|&&is_granted| is_granted).count();
        count >= (self.recipe.quorum)(self.nodes.len())
    }

    /// What is left of the TTL, if the lock was won.
    fn attempt(&mut self, key: &str, value: &[u8], ttl: Duration) -> Option<Duration> {
        let started = now();
        let millis = ttl.as_millis().to_string();
        let granted = match self.recipe.acquire {
            Acquire::Set => {
                let (key, millis) = (key.as_bytes(), millis.as_bytes());
                self.send(&[b"SET", key, value, b"NX", b"PX", millis])
            }
            Acquire::Script(script) => self.run(script, key, value, &millis),
        };
        let drift = ttl / 100 + Duration::from_millis(2);
        let left = ttl.saturating_sub(since(started)).saturating_sub(drift);
        if self.is_quorum(&granted) && !left.is_zero() {
            return Some(left);
        }
        let release = self.recipe.release.as_bytes();
        let words = [b"EVAL", release, b"1", key.as_bytes(), value];
        for (node, is_granted) in self.nodes.iter_mut().zip(granted) {
            let is_due = match self.recipe.cleans_up {
                CleanUp::Everywhere => true,
                CleanUp::WhereGranted => is_granted,
                CleanUp::Nowhere => false,
            };
            if is_due {
                node.is_granted(&words);
            }
        }
        None
    }
}

impl Library for Played {
    fn open(&mut self, urls: &[String]) -> Answer {
        for url in urls {
            let port = url.rsplit(':').next().and_then(|port| port.parse().ok());
            let Some(port) = port else {
                return Answer::Failed(format!("`{url}` has no port"));
            };
            let connection = None;
            self.nodes.push(Node { port, connection });
        }
        Answer::Ready
    }

    fn lock(&mut self, key: &str, ttl: Duration, tries: u32) -> Answer {
        let key = self.recipe.key.replace("{}", key);
        for number in 0..tries {
            if number > 0 {
                rest(uneven(PAUSE_MS));
            }
            let value = random_value(self.recipe.signs);
            if let Some(left) = self.attempt(&key, &value, ttl) {
                let answer = Answer::Locked {
                    // What is no text goes into no line.
                    value: String::from_utf8(value.clone()).ok(),
                    validity: Some(left),
                    token: None,
                };
                self.held = Some(Held { key, value });
                return answer;
            }
        }
        Answer::Refused("no quorum granted".to_owned())
    }

    fn unlock(&mut self) -> Answer {
        let Some(Held { key, value }) = self.held.take() else {
            return Answer::Failed("nothing is locked".to_owned());
        };
        let released = self.run(self.recipe.release, &key, &value, "0");
        // One of them is enough to know that it was ours: where a node is away, no quorum may be left to tell.
        if released.contains(&true) {
            Answer::Unlocked
        } else {
            Answer::Gone("no node had the value".to_owned())
        }
    }

    fn extend(&mut self, ttl: Duration) -> Answer {
        let (Some(held), Some(script)) = (self.held.take(), self.recipe.extend) else {
            return Answer::Failed("cannot be extended".to_owned());
        };
        let ttl = ttl.as_millis().to_string();
        let extended = self.run(script, &held.key, &held.value, &ttl);
        self.held = Some(held);
        if self.is_quorum(&extended) {
            Answer::Extended
        } else {
            Answer::Gone("no quorum extended".to_owned())
        }
    }
}

impl Node {
    /// Whether the node says `OK` or 1. One that is away says nothing.
    fn is_granted(&mut self, words: &[&[u8]]) -> bool {
        if self.connection.is_none() {
            self.connection = Connection::open(self.port).ok();
        }
        let reply = self.connection.as_mut().map(|node| node.command(words));
        match reply {
            Some(Ok(Reply::Integer(number))) => number == 1,
            Some(Ok(Reply::Text(text))) => text == "OK",
            Some(Ok(_)) | None => false,
            Some(Err(_)) => {
                self.connection = None;
                false
            }
        }
    }
}

/// 32 hexadecimal digits, or 16 bytes that are no text. Each `RandomState` has keys of its own.
fn random_value(signs: Signs) -> Vec<u8> {
    let random = || RandomState::new().hash_one(0);
    match signs {
        Signs::Text => format!("{:016x}{:016x}", random(), random()).into_bytes(),
        Signs::Bytes => {
            let mut value = [random().to_be_bytes(), random().to_be_bytes()].concat();
            // Begins no character.
            value[0] = 0xff;
            value
        }
    }
}

const PAUSE_MS: u64 = 20;
