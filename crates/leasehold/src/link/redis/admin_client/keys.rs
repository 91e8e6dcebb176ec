//! The locks' keys on a node, all of them.

use super::{AdminClient, ODD, explain, number, text_of};
use crate::{
    configuration::KeyFormat,
    link::redis::{
        codec::Frame,
        look::{CACHING, TRACKING},
        talk::hear_push,
    },
};
use leasehold_core::{FencingToken, Owner, Resource, fence::counter_of};
use std::{collections::BTreeSet, time::Duration};

/// What stands under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    Nothing,
    /// The value, and for how long; none if for ever.
    Value(Vec<u8>, Option<Duration>),
    /// Those who have permits, and for how long each.
    Permits(Vec<(Owner, Duration)>),
    /// No text, or a longer one than any owner.
    Other {
        /// In the server's own words, or `readers`; none if it does not tell.
        kind: Option<String>,
        /// Who has the lock that Redisson keeps there.
        redisson: Option<String>,
        remaining: Option<Duration>,
    },
}

/// Which keys are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Texts,
    Hashes,
    /// Those who read a name, or have permits of it, are such a set.
    SortedSets,
}

impl AdminClient {
    /// The resources whose names begin with `prefix` and whose keys may be locks: of this sort, that have a TTL or not.
    /// Stops when there are `most`, which the second value tells.
    pub(crate) async fn scan(
        &mut self,
        sort: Sort,
        format: &KeyFormat,
        prefix: &str,
        most: usize,
    ) -> Result<(BTreeSet<Resource>, bool), String> {
        let pattern = pattern(format, prefix);
        let (mut found, mut cursor) = (BTreeSet::new(), "0".to_owned());
        loop {
            let parts: [&[u8]; 8] = [
                b"SCAN",
                cursor.as_bytes(),
                b"MATCH",
                pattern.as_bytes(),
                b"COUNT",
                b"1000",
                b"TYPE",
                match sort {
                    Sort::Texts => b"string",
                    Sort::Hashes => b"hash",
                    Sort::SortedSets => b"zset",
                },
            ];
            let read = |frame: &Frame<'_>| batch(frame, format, prefix);
            let (next, resources) = self.ask(&parts, read).await.map_err(forbidden)?;
            found.extend(resources);
            if found.len() > most {
                found = found.into_iter().take(most).collect();
                return Ok((found, false));
            }
            if next == "0" {
                return Ok((found, true));
            }
            cursor = next;
        }
    }

    /// What stands under the keys of these resources.
    pub(crate) async fn read(
        &mut self,
        format: &KeyFormat,
        resources: &[Resource],
    ) -> Result<Vec<Stored>, String> {
        let mut stored = Vec::with_capacity(resources.len());
        for some in resources.chunks(AT_ONCE) {
            let keys: Vec<_> = some
                .iter()
                .map(|resource| format.key(resource.as_str()))
                .collect();
            let count = keys.len().to_string();
            let mut parts = vec![&b"EVAL"[..], READ.as_bytes(), count.as_bytes()];
            parts.extend(keys.iter().map(|key| key.as_bytes()));
            let longest = Owner::LONGEST.to_string();
            parts.push(longest.as_bytes());
            let read = |frame: &Frame<'_>| match frame {
                Frame::List(entries) if entries.len() == keys.len() => {
                    entries.iter().map(entry).collect::<Option<Vec<_>>>()
                }
                _ => None,
            };
            stored.extend(self.ask(&parts, read).await?);
        }
        Ok(stored)
    }
}

impl AdminClient {
    /// The same of a server of a cluster, where each key may be elsewhere: the error of one is what the server says of it.
    pub(crate) async fn read_each(
        &mut self,
        format: &KeyFormat,
        resources: &[&Resource],
    ) -> Result<Vec<Result<Stored, String>>, String> {
        let (mut told, longest) = (
            Vec::with_capacity(resources.len()),
            Owner::LONGEST.to_string(),
        );
        for some in resources.chunks(AT_ONCE) {
            let keys: Vec<_> = { some.iter() }
                .map(|resource| format.key(resource.as_str()))
                .collect();
            let questions: Vec<_> = { keys.iter() }.map(|key| reading(key, &longest)).collect();
            let questions: Vec<&[&[u8]]> = questions.iter().map(|parts| &parts[..]).collect();
            told.extend(self.ask_all(&questions, only).await?);
        }
        Ok(told)
    }

    /// The same of one key, which this server may have because its slot is moving here, if it is `asked` so.
    pub(crate) async fn read_one(
        &mut self,
        format: &KeyFormat,
        resource: &Resource,
        asked: bool,
    ) -> Result<Stored, String> {
        let (key, longest) = (format.key(resource.as_str()), Owner::LONGEST.to_string());
        let question = reading(&key, &longest);
        let asking: [&[u8]; 1] = [b"ASKING"];
        let questions: &[&[&[u8]]] = match asked {
            true => &[&asking, &question],
            false => &[&question],
        };
        let told = self.ask_all(questions, only).await?;
        told.into_iter()
            .last()
            .unwrap_or_else(|| Err(ODD.to_owned()))
    }

    /// How far the node has counted grants of this resource; none if it has no counter, or tells us none.
    pub(crate) async fn counter(
        &mut self,
        resource: &Resource,
    ) -> Result<Option<FencingToken>, String> {
        let (key, field) = (self.node_key.clone(), format!("f{}", counter_of(resource)));
        let parts: [&[u8]; 3] = [b"HGET", key.as_bytes(), field.as_bytes()];
        let read = |frame: &Frame<'_>| Some(number(frame).and_then(FencingToken::new));
        match self.ask(&parts, read).await {
            Err(why) if why.starts_with("NOPERM") || why.starts_with("WRONGTYPE") => Ok(None),
            told => told,
        }
    }

    /// Asks to be told when the key changes the next time. False if this node does not tell.
    pub(crate) async fn watch(&mut self, key: &str) -> bool {
        let steps: [&[&[u8]]; 3] = [&TRACKING, &CACHING, &[b"GET", key.as_bytes()]];
        for step in steps {
            if self.ask(step, |_| Some(())).await.is_err() {
                return false;
            }
        }
        true
    }

    /// Waits until the node tells something without having been asked, unless it has done so since the last time. The
    /// error is that the connection is gone.
    pub(crate) async fn hear_of_change(&mut self) -> Result<(), String> {
        if std::mem::take(&mut self.was_told) {
            return Ok(());
        }
        Ok(hear_push(&mut self.stream, &mut self.received).await?)
    }
}

/// The pattern of a key, in which only the name's rest is open.
fn pattern(format: &KeyFormat, prefix: &str) -> String {
    let whole = format.to_string();
    let (before, behind) = whole.split_once("{}").unwrap_or((&whole, ""));
    let escaped = |text: &str| {
        let mut escaped = String::new();
        for letter in text.chars() {
            if matches!(letter, '*' | '?' | '[' | ']' | '\\' | '^') {
                escaped.push('\\');
            }
            escaped.push(letter);
        }
        escaped
    };
    [&*escaped(before), &*escaped(prefix), "*", &*escaped(behind)].concat()
}

fn batch(frame: &Frame<'_>, format: &KeyFormat, prefix: &str) -> Option<(String, Vec<Resource>)> {
    let Frame::List(parts) = frame else {
        return None;
    };
    let [cursor, Frame::List(keys)] = &parts[..] else {
        return None;
    };
    let resources = keys.iter().filter_map(|key| match key {
        Frame::Text(key) => format.resource(key),
        _ => None,
    });
    let resources = resources.filter(|resource| resource.as_str().starts_with(prefix));
    Some((text_of(cursor)?, resources.collect()))
}

fn entry(frame: &Frame<'_>) -> Option<Stored> {
    let Frame::List(parts) = frame else {
        return None;
    };
    match &parts[..] {
        [] => Some(Stored::Nothing),
        [Frame::Integer(_), _, _, Frame::List(owners)] => {
            let owner = |pair: &[Frame<'_>]| match pair {
                [Frame::Text(owner), left] => {
                    let left = Duration::from_millis(number(left)?);
                    Some((Owner::from_bytes(owner)?, left))
                }
                _ => None,
            };
            let owners: Option<Vec<_>> = owners.chunks(2).map(owner).collect();
            Some(Stored::Permits(owners?))
        }
        [Frame::Integer(_), kind, left, redisson @ ..] => Some(Stored::Other {
            kind: text_of(kind).filter(|kind| !kind.is_empty() && kind != "none"),
            redisson: redisson.first().and_then(text_of),
            remaining: number(left).map(Duration::from_millis),
        }),
        [Frame::Text(value), left] => {
            let left = number(left).map(Duration::from_millis);
            Some(Stored::Value(value.to_vec(), left))
        }
        _ => None,
    }
}

/// The question for what stands under this key alone.
fn reading<'a>(key: &'a str, longest: &'a str) -> [&'a [u8]; 5] {
    [
        b"EVAL",
        READ.as_bytes(),
        b"1",
        key.as_bytes(),
        longest.as_bytes(),
    ]
}

/// Its answer.
fn only(frame: &Frame<'_>) -> Result<Stored, String> {
    match frame {
        Frame::Error(error) => Err(explain(error)),
        Frame::List(entries) => entries
            .first()
            .and_then(entry)
            .ok_or_else(|| ODD.to_owned()),
        _ => Err(ODD.to_owned()),
    }
}

fn forbidden(why: String) -> String {
    match why.starts_with("NOPERM") || why.starts_with("ERR unknown command") {
        true => format!("does not let us list its keys (+scan): {why}"),
        false => why,
    }
}

const READ: &str = include_str!("read.lua");

/// So many keys one script reads: a server does nothing else meanwhile.
const AT_ONCE: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::redis::{admin_client::LIMIT, codec::ReceiveBuffer};
    use std::time::Duration;
    use tokio::{
        io::{AsyncWriteExt, DuplexStream, duplex},
        time::timeout,
    };

    #[test]
    fn a_pattern_is_open_where_the_rest_of_the_name_is() {
        let format = KeyFormat::new("a*{}[z]").expect("one place");
        assert_eq!(pattern(&format, "or?d"), r"a\*or\?d*\[z\]");
        assert_eq!(pattern(&KeyFormat::raw(), ""), "*");
    }

    /// The next thing that the node tells; none if there is nothing to hear.
    async fn told(admin_client: &mut AdminClient) -> Option<Result<(), String>> {
        let soon = Duration::from_millis(10);
        timeout(soon, admin_client.hear_of_change()).await.ok()
    }

    /// One on a connection whose other end the test holds.
    fn admin_client(stream: DuplexStream) -> AdminClient {
        AdminClient {
            stream: Box::new(stream),
            received: ReceiveBuffer::default(),
            was_told: false,
            owes: false,
            failover: None,
            node_key: "leasehold:node".to_owned(),
            limit: LIMIT,
            is_proxied: false,
        }
    }

    #[tokio::test]
    async fn a_change_that_is_told_before_another_answer_is_not_lost() {
        let (mut node, stream) = duplex(1_024);
        let mut admin_client = admin_client(stream);
        let push = b">2\r\n+invalidate\r\n*1\r\n+r\r\n";
        let answers = [&push[..], b"+OK\r\n"].concat();
        node.write_all(&answers).await.expect("there is room");
        let answer = admin_client.ask(&[b"PING"], |_| Some(())).await;
        assert_eq!(answer, Ok(()));
        assert_eq!(told(&mut admin_client).await, Some(Ok(())));
        assert_eq!(told(&mut admin_client).await, None, "it is told once");
    }

    #[tokio::test]
    async fn an_answer_that_comes_too_late_is_not_taken_for_the_next() {
        let (mut node, stream) = duplex(1_024);
        let mut admin_client = admin_client(stream);
        let text = |frame: &Frame<'_>| text_of(frame);
        let soon = Duration::from_millis(10);
        let first = timeout(soon, admin_client.ask(&[b"GET", b"a"], text)).await;
        assert!(first.is_err(), "{first:?}");
        node.write_all(b"+late\r\n").await.expect("there is room");
        let next = admin_client.ask(&[b"GET", b"b"], text).await;
        let owed = Err("the node has not answered an earlier question".to_owned());
        assert_eq!(next, owed);
    }

    #[tokio::test]
    async fn fewer_answers_than_keys_are_no_answer() {
        let (mut node, stream) = duplex(4_096);
        let mut admin_client = admin_client(stream);
        node.write_all(b"*1\r\n*0\r\n")
            .await
            .expect("there is room");
        let names = ["a", "b"].map(|name| Resource::new(name).expect("a plain name"));
        let read = admin_client.read(&KeyFormat::raw(), &names).await;
        assert_eq!(read, Err(ODD.to_owned()));
    }
}
