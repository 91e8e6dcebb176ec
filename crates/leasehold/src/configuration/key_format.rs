//! How a node's key is made of a resource's name.

use leasehold_core::Resource;
use std::{borrow::Cow, error::Error, fmt, str::FromStr, sync::Arc};

/// Under which key a lock is kept on a Redis or Valkey node: the resource's name as it is, or with something before
/// or behind it, as another library has it that is to be excluded.
///
/// | library | format |
/// |---|---|
/// | redsync, node-redlock, redlock-py, redlock-rb, rslock, … | [`raw`](Self::raw), the default |
/// | pottery, RedLock.net | [`pottery`](Self::pottery) |
/// | malkusch/lock for PHP, version 3 | [`php_lock_3`](Self::php_lock_3) |
/// | malkusch/lock for PHP, version 2 | [`php_lock_2`](Self::php_lock_2) |
/// | python-redis-lock | [`python_redis_lock`](Self::python_redis_lock) |
/// | others | [`new`](Self::new) |
///
/// All who lock the same resources on the same nodes must have the same format, or they do not exclude each other.
/// Nodes of managers that are not [plain](crate::Plain) keep it written down with what else all agree on, and do not
/// vote for a client with another one.
///
/// Only the key on the wire has the format: errors, guards and everything else that names a lock name the resource.
///
/// # Examples
/// ```
/// use leasehold::KeyFormat;
///
/// let format = KeyFormat::new("billing:{}:lock")?;
/// assert_eq!(format.key("orders/42"), "billing:orders/42:lock");
/// assert_eq!(KeyFormat::pottery().to_string(), "redlock:{}");
/// assert_eq!(KeyFormat::default(), KeyFormat::raw());
/// # Ok::<(), leasehold::KeyFormatError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeyFormat {
    /// None for the name as it is.
    around: Option<Arc<Around>>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Around {
    before: String,
    behind: String,
}

impl KeyFormat {
    /// The longest pattern, in bytes.
    pub const LONGEST: usize = 256;

    /// A format of your own: a pattern in which `{}`, exactly once, stands for the resource's name. Other braces
    /// stand for themselves, as in `{tenant}:{}`.
    ///
    /// # Errors
    /// A [`KeyFormatError`], which names the pattern, if it has no `{}` or more than one, is longer than
    /// [`LONGEST`](Self::LONGEST), or has control characters.
    pub fn new(pattern: &str) -> Result<Self, KeyFormatError> {
        let wrong = |what| KeyFormatError {
            pattern: pattern.to_owned(),
            what,
        };
        let Some((before, behind)) = pattern.split_once(PLACE) else {
            return Err(wrong(Wrong::NoPlace));
        };
        if behind.contains(PLACE) {
            return Err(wrong(Wrong::ManyPlaces));
        }
        if pattern.len() > Self::LONGEST {
            return Err(wrong(Wrong::TooLong));
        }
        if pattern.contains(char::is_control) {
            return Err(wrong(Wrong::ControlCharacter));
        }
        Ok(Self::with(before, behind))
    }

    /// `{}`: the resource's name as it is, as Redlock's page has it. The default.
    #[must_use]
    pub const fn raw() -> Self {
        Self { around: None }
    }

    /// `redlock:{}`, as pottery has it, and RedLock.net unless it is told otherwise.
    #[must_use]
    pub fn pottery() -> Self {
        Self::with("redlock:", "")
    }

    /// `lock_{}`, as version 2 of malkusch/lock for PHP has it.
    #[must_use]
    pub fn php_lock_2() -> Self {
        Self::with("lock_", "")
    }

    /// `php-malkusch-lock:{}`, as version 3 of malkusch/lock for PHP has it.
    #[must_use]
    pub fn php_lock_3() -> Self {
        Self::with("php-malkusch-lock:", "")
    }

    /// `lock:{}`, as python-redis-lock has it.
    ///
    /// That library waits for a list of its own, which nobody else writes to: it excludes and is excluded, but notices
    /// a release of ours only when it looks again.
    #[must_use]
    pub fn python_redis_lock() -> Self {
        Self::with("lock:", "")
    }

    fn with(before: &str, behind: &str) -> Self {
        if before.is_empty() && behind.is_empty() {
            return Self::raw();
        }
        let (before, behind) = (before.to_owned(), behind.to_owned());
        Self {
            around: Some(Arc::new(Around { before, behind })),
        }
    }

    /// Whether the key is the name as it is.
    #[must_use]
    pub const fn is_raw(&self) -> bool {
        self.around.is_none()
    }

    /// What stands before the resource's name, and behind it.
    pub(crate) fn around(&self) -> (&str, &str) {
        match self.around.as_deref() {
            None => ("", ""),
            Some(Around { before, behind }) => (before, behind),
        }
    }

    /// The key of the resource of this name.
    #[must_use]
    pub fn key<'a>(&self, name: &'a str) -> Cow<'a, str> {
        match self.around.as_deref() {
            None => Cow::Borrowed(name),
            Some(Around { before, behind }) => Cow::Owned([before, name, behind].concat()),
        }
    }

    /// What stands before and behind a name.
    #[cfg(feature = "redis")]
    pub(crate) fn affixes(&self) -> (&str, &str) {
        match self.around.as_deref() {
            None => ("", ""),
            Some(Around { before, behind }) => (before, behind),
        }
    }

    /// The resource whose key this is; none if it is no lock's key.
    #[must_use]
    pub fn resource(&self, key: &[u8]) -> Option<Resource> {
        let key = std::str::from_utf8(key).ok()?;
        let name = match self.around.as_deref() {
            None => key,
            Some(Around { before, behind }) => {
                key.strip_prefix(&**before)?.strip_suffix(&**behind)?
            }
        };
        Resource::new(name).ok()
    }
}

impl fmt::Display for KeyFormat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.key(PLACE))
    }
}

impl FromStr for KeyFormat {
    type Err = KeyFormatError;

    fn from_str(pattern: &str) -> Result<Self, KeyFormatError> {
        Self::new(pattern)
    }
}

/// What is wrong with the pattern of a [`KeyFormat`].
#[derive(Clone, PartialEq, Eq)]
pub struct KeyFormatError {
    pattern: String,
    what: Wrong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    NoPlace,
    ManyPlaces,
    TooLong,
    ControlCharacter,
}

impl KeyFormatError {
    /// The pattern that cannot be used.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }
}

impl fmt::Display for KeyFormatError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = &self.pattern;
        write!(out, "the key format {pattern:?} ")?;
        match self.what {
            Wrong::NoPlace => out.write_str(
                "has no {} for the resource's name: every resource would be the same lock",
            ),
            Wrong::ManyPlaces => out.write_str("has more than one {} for the resource's name"),
            Wrong::TooLong => {
                let most = KeyFormat::LONGEST;
                let count = pattern.len();
                write!(out, "has {count} bytes, at most {most} are allowed")
            }
            Wrong::ControlCharacter => out.write_str("has a control character"),
        }
    }
}

impl Error for KeyFormatError {}

leasehold_core::debug_by_sentence!(struct KeyFormatError { pattern, what });

/// What stands for the resource's name in a pattern.
const PLACE: &str = "{}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_of_a_name_and_a_name_is_found_in_its_key() {
        for (format, key) in [
            (KeyFormat::raw(), "r"),
            (KeyFormat::pottery(), "redlock:r"),
            (KeyFormat::php_lock_2(), "lock_r"),
            (KeyFormat::php_lock_3(), "php-malkusch-lock:r"),
            (KeyFormat::python_redis_lock(), "lock:r"),
            (KeyFormat::new("a{}z").expect("one place"), "arz"),
            (KeyFormat::new("{{}}").expect("one place"), "{r}"),
        ] {
            assert_eq!(format.key("r"), key);
            let found = format.resource(key.as_bytes());
            assert_eq!(found, Resource::new("r").ok(), "{format}");
            assert_eq!(KeyFormat::new(&format.to_string()), Ok(format));
        }
    }

    #[test]
    fn what_is_not_of_the_format_is_no_locks_key() {
        let format = KeyFormat::new("aa{}aa").expect("one place");
        for key in [
            &b""[..],
            b"aa",
            b"aaa",
            b"aaaa",
            b"r",
            b"aar",
            b"raa",
            b"aa\xffaa",
        ] {
            assert_eq!(format.resource(key), None, "{key:?}");
        }
    }

    #[test]
    fn a_pattern_has_exactly_one_place_for_the_name() {
        for (pattern, what) in [
            ("", "has no {}"),
            ("redlock:", "has no {}"),
            ("{ }", "has no {}"),
            ("{}{}", "has more than one {}"),
            ("a{}b{}c", "has more than one {}"),
            ("a\n{}", "has a control character"),
            (&format!("{}{{}}", "x".repeat(255)), "has 257 bytes"),
        ] {
            let wrong = KeyFormat::new(pattern).expect_err(pattern);
            assert_eq!(wrong.pattern(), pattern);
            let told = wrong.to_string();
            assert!(
                told.contains(what) && told.contains(&format!("{pattern:?}")),
                "{told}"
            );
        }
        assert_eq!(KeyFormat::new("{}"), Ok(KeyFormat::raw()));
    }
}
