//! A part of a world, shared between all worlds in which it is the same.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    ops::Deref,
    sync::Arc,
};

/// A value with its hash. A step changes few parts of a world: the others are neither copied nor hashed again.
#[derive(Clone, Debug)]
pub(crate) struct Part<T> {
    value: Arc<T>,
    /// None while the value is being changed.
    hash: Option<u64>,
}

impl<T: Clone + Hash> Part<T> {
    pub(crate) fn new(value: T) -> Self {
        let mut part = Self {
            value: Arc::new(value),
            hash: None,
        };
        part.seal();
        part
    }

    /// The value, to be changed. [`seal`](Self::seal) must follow.
    pub(crate) fn open(&mut self) -> &mut T {
        self.hash = None;
        Arc::make_mut(&mut self.value)
    }

    /// Hashes the value if it was changed.
    pub(crate) fn seal(&mut self) {
        if self.hash.is_none() {
            let mut hasher = DefaultHasher::new();
            self.value.hash(&mut hasher);
            self.hash = Some(hasher.finish());
        }
    }
}

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Hash for Part<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let hash = self
            .hash
            .expect("a part is sealed before its world is looked at");
        state.write_u64(hash);
    }
}

/// Two parts are the same if their hashes are, as two worlds are for the checker.
impl<T> PartialEq for Part<T> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}
