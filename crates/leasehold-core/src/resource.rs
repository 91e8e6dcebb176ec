//! What is locked.

use crate::hash::fnv;
use alloc::sync::Arc;
use core::{
    fmt,
    hash::{Hash, Hasher},
};

/// The name of what is locked: 1 to 1,024 bytes of UTF-8 without control characters.
///
/// The name is the key on the nodes, so every program that is to be excluded must spell it alike.
/// Control characters are refused because the name also travels in environment variables, logs and
/// terminals; the length, because a key is sent with every request.
#[derive(Clone, Eq, PartialOrd, Ord)]
pub struct Resource {
    name: Arc<str>,
    /// Of the name. It is asked for with every attempt.
    hash: u64,
}

impl Resource {
    /// The longest name, in bytes.
    pub const LONGEST: usize = 1024;

    /// Checks a name.
    ///
    /// # Errors
    /// [`ResourceError`] says what is wrong with the name.
    ///
    /// # Examples
    /// ```
    /// # use leasehold_core::{Resource, ResourceError};
    /// assert_eq!(Resource::new("orders/42").unwrap().as_str(), "orders/42");
    /// assert_eq!(Resource::new(""), Err(ResourceError::Empty));
    /// ```
    pub fn new(name: &str) -> Result<Self, ResourceError> {
        if name.is_empty() {
            return Err(ResourceError::Empty);
        }
        if name.len() > Self::LONGEST {
            return Err(ResourceError::TooLong { bytes: name.len() });
        }
        // Most names are plain, which many bytes at once can tell.
        let is_plain = |is_plain, byte| is_plain & matches!(byte, b' '..=b'~');
        if !name.bytes().fold(true, is_plain)
            && let Some((at, character)) = name.char_indices().find(|(_, c)| c.is_control())
        {
            return Err(ResourceError::ControlCharacter { character, at });
        }
        Ok(Self {
            name: name.into(),
            hash: fnv(name.as_bytes()),
        })
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The name's bytes: the key on the nodes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.name.as_bytes()
    }

    /// 64-bit FNV-1a of the name: others may have the same.
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        self.hash
    }
}

/// Names that differ are told apart by their hashes, and those of one origin need not be compared.
impl PartialEq for Resource {
    fn eq(&self, other: &Self) -> bool {
        let is_same = || Arc::ptr_eq(&self.name, &other.name) || self.name == other.name;
        self.hash == other.hash && is_same()
    }
}

impl Hash for Resource {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Resource({:?})", &*self.name)
    }
}

/// Why a name cannot be locked.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourceError {
    /// The name has no characters.
    Empty,
    /// The name has more than [`Resource::LONGEST`] bytes.
    TooLong {
        /// How many it has.
        bytes: usize,
    },
    /// The name has a control character.
    ControlCharacter {
        /// Which one.
        character: char,
        /// At which byte.
        at: usize,
    },
}

impl fmt::Display for ResourceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => out.write_str("the resource's name is empty"),
            Self::TooLong { bytes } => write!(
                out,
                "the resource's name has {bytes} bytes, at most {} are allowed",
                Resource::LONGEST
            ),
            Self::ControlCharacter { character, at } => {
                write!(
                    out,
                    "the resource's name has the control character {character:?} at byte {at}"
                )
            }
        }
    }
}

impl core::error::Error for ResourceError {}

crate::debug_by_sentence!(ResourceError {
    Empty,
    TooLong { bytes },
    ControlCharacter { character, at },
});

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn names_at_the_border_are_told_from_names_beyond_it() {
        assert!(Resource::new(&"é".repeat(512)).is_ok());
        assert_eq!(
            Resource::new(&"x".repeat(1025)),
            Err(ResourceError::TooLong { bytes: 1025 })
        );
        assert_eq!(
            Resource::new("a\0b").unwrap_err().to_string(),
            r"the resource's name has the control character '\0' at byte 1"
        );
    }
}
