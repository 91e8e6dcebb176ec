//! The keys of a server, and what its replicas and its log have of them.

use std::collections::BTreeMap;

type Keys = BTreeMap<Vec<u8>, Entry>;

/// Everything that a server loses together, or that goes back in time together.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// What the server has, and a snapshot of it.
    here: Keys,
    /// What was replicated: what a replica has that does not lag, and the log. A write behind `set_repl(REPL_NONE)` is
    /// not in it.
    there: Keys,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) value: Value,
    /// The last millisecond in which the key is there.
    pub(crate) expires_ms: Option<u64>,
}

pub(crate) type Fields = BTreeMap<Vec<u8>, Vec<u8>>;

pub(crate) type Scores = BTreeMap<Vec<u8>, i64>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(Vec<u8>),
    Hash(Fields),
    /// So long; the scripts need to know only that it is another type.
    List(i64),
    /// A sorted set.
    Sorted(Scores),
}

impl Data {
    /// What a replica has that takes over, or a log that is read again.
    #[must_use]
    pub fn replicated(&self) -> Self {
        Self {
            here: self.there.clone(),
            there: self.there.clone(),
        }
    }

    /// The value of a key that is a string and is there at `now_ms`, and the last millisecond in which it is.
    #[must_use]
    pub fn text(&self, key: &[u8], now_ms: u64) -> Option<(&[u8], Option<u64>)> {
        let entry = self.live(key, now_ms)?;
        match &entry.value {
            Value::Text(text) => Some((text, entry.expires_ms)),
            _ => None,
        }
    }

    /// The members of a sorted set that is there at `now_ms`, and their scores, in the order of the members.
    pub fn sorted(&self, key: &[u8], now_ms: u64) -> impl Iterator<Item = (&[u8], i64)> {
        let scores = self.live(key, now_ms).and_then(|entry| match &entry.value {
            Value::Sorted(scores) => Some(scores),
            _ => None,
        });
        let scores = scores.into_iter().flatten();
        scores.map(|(member, score)| (member.as_slice(), *score))
    }

    /// The field of a hash.
    #[must_use]
    pub fn field(&self, key: &[u8], field: &[u8]) -> Option<&[u8]> {
        match &self.here.get(key)?.value {
            Value::Hash(fields) => fields.get(field).map(Vec::as_slice),
            _ => None,
        }
    }

    /// The whole of a hash, in the order of its fields.
    pub fn hash(&self, key: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
        let fields = self.here.get(key).and_then(|entry| match &entry.value {
            Value::Hash(fields) => Some(fields),
            _ => None,
        });
        let fields = fields.into_iter().flatten();
        fields.map(|(field, value)| (field.as_slice(), value.as_slice()))
    }

    /// Deletes the keys whose TTL has ended, as a server does in the background.
    pub fn expire(&mut self, now_ms: u64) {
        for keys in [&mut self.here, &mut self.there] {
            keys.retain(|_, entry| entry.is_live(now_ms));
        }
    }

    /// Deletes this key if its TTL has ended, as a server does when the key is touched. So a clock that is set back
    /// afterwards does not bring it back.
    pub(crate) fn touch(&mut self, key: &[u8], now_ms: u64) {
        if self
            .here
            .get(key)
            .is_some_and(|entry| !entry.is_live(now_ms))
        {
            self.put(key, None, true);
        }
    }

    pub(crate) fn live(&self, key: &[u8], now_ms: u64) -> Option<&Entry> {
        self.here.get(key).filter(|entry| entry.is_live(now_ms))
    }

    /// Lets the key be this, or nothing.
    pub(crate) fn put(&mut self, key: &[u8], entry: Option<Entry>, is_replicated: bool) {
        if is_replicated {
            put(&mut self.there, key, entry.clone());
        }
        put(&mut self.here, key, entry);
    }

    /// Sets fields of a hash, which is there or is made. The number of new fields.
    pub(crate) fn set_fields(
        &mut self,
        key: &[u8],
        pairs: &[Vec<u8>],
        is_replicated: bool,
    ) -> usize {
        if is_replicated {
            set_fields(&mut self.there, key, pairs);
        }
        set_fields(&mut self.here, key, pairs)
    }
}

impl Entry {
    /// A server keeps a key to the end of the millisecond in which its TTL ends.
    fn is_live(&self, now_ms: u64) -> bool {
        self.expires_ms.is_none_or(|ends| now_ms <= ends)
    }
}

fn put(keys: &mut Keys, key: &[u8], entry: Option<Entry>) {
    match entry {
        Some(entry) => {
            keys.insert(key.to_vec(), entry);
        }
        None => {
            keys.remove(key);
        }
    }
}

fn set_fields(keys: &mut Keys, key: &[u8], pairs: &[Vec<u8>]) -> usize {
    let new = || Entry {
        value: Value::Hash(BTreeMap::new()),
        expires_ms: None,
    };
    let entry = keys.entry(key.to_vec()).or_insert_with(new);
    let Value::Hash(fields) = &mut entry.value else {
        return 0;
    };
    let pairs = pairs.chunks_exact(2);
    pairs
        .filter(|pair| fields.insert(pair[0].clone(), pair[1].clone()).is_none())
        .count()
}
