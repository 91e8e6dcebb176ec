//! What is locked.

use crate::{hash::fnv, permit::PermitCount};
use alloc::{sync::Arc, vec::Vec};
use core::{
    fmt,
    hash::{Hash, Hasher},
};

/// The name of what is locked: 1 to 1,024 bytes of UTF-8 without control characters. Or [several](Self::several) names that
/// are locked together, a name that is locked to be [read](Self::shared), or one of
/// several [permits](Self::permit) of a name.
///
/// A name is the key on the nodes, so every program that is to be excluded must spell it alike.
/// Control characters are refused because the name also travels in environment variables, logs and
/// terminals; the length, because a key is sent with every request.
#[derive(Clone, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// Several names stand in lines, in their order.
    name: Arc<str>,
    /// Of the name. It is asked for with every attempt.
    hash: u64,
    extent: Extent,
}

/// What one who waits wants of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Name,
    Permit,
    Share,
}

/// What of a name is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Extent {
    /// All of it.
    Whole,
    /// All of several names.
    Several,
    /// A share.
    Share,
    /// One of so many permits.
    Permit(PermitCount),
}

impl Resource {
    /// The longest name, in bytes.
    pub const LONGEST: usize = 1024;
    /// How many names can be locked together at most.
    pub const MOST_NAMES: usize = 64;
    /// How many bytes the names that are locked together have at most: they are all sent with every request, and one request
    /// must not keep others from a node.
    pub const MOST_BYTES: usize = 8 * 1024;

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
        Ok(Self::of(name))
    }

    /// Checks names that are to be locked together: 1 to 64, with 8,192 bytes in all. Their order does not matter, and one
    /// that is there twice counts once; if only one is left, it is as [`new`](Self::new) makes it.
    ///
    /// # Errors
    /// [`ResourceError`] says what is wrong with one of the names, or with all.
    ///
    /// # Examples
    /// ```
    /// # use leasehold_core::{Resource, ResourceError};
    /// let both = Resource::several(["b", "a", "b"]).unwrap();
    /// assert_eq!(both.to_string(), "a, b");
    /// assert_eq!(both, Resource::several(["a", "b"]).unwrap());
    /// assert_eq!(Resource::several(["a"]), Resource::new("a"));
    /// assert_eq!(Resource::several([]), Err(ResourceError::NoNames));
    /// ```
    pub fn several<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, ResourceError> {
        let mut checked = Vec::new();
        for name in names {
            Self::new(name)?;
            checked.push(name);
        }
        checked.sort_unstable();
        checked.dedup();
        let bytes = checked.iter().map(|name| name.len()).sum();
        match checked.len() {
            0 => Err(ResourceError::NoNames),
            names if names > Self::MOST_NAMES => Err(ResourceError::TooMany { names }),
            _ if bytes > Self::MOST_BYTES => Err(ResourceError::TooLongTogether { bytes }),
            1 => Ok(Self::of(checked[0])),
            _ => Ok(Self {
                extent: Extent::Several,
                ..Self::of(&checked.join(BETWEEN))
            }),
        }
    }

    /// A share of this name: any number of callers can lock it at once, and none of them while somebody has locked
    /// the name itself, or the other way round.
    ///
    /// # Errors
    /// [`ResourceError`] says what is wrong with the name.
    ///
    /// # Examples
    /// ```
    /// # use leasehold_core::Resource;
    /// let share = Resource::shared("doc").unwrap();
    /// assert_eq!(share.as_str(), "doc");
    /// assert_eq!(share.whole(), Resource::new("doc").unwrap());
    /// assert_ne!(share, share.whole());
    /// ```
    pub fn shared(name: &str) -> Result<Self, ResourceError> {
        Ok(Self {
            extent: Extent::Share,
            ..Self::new(name)?
        })
    }

    /// A permit of this name: so many callers can lock it at once, and none of them while somebody has locked the name itself,
    /// or a [share](Self::shared) of it.
    ///
    /// # Errors
    /// [`ResourceError`] says what is wrong with the name.
    ///
    /// # Examples
    /// ```
    /// # use leasehold_core::{PermitCount, Resource};
    /// let permit = Resource::permit("gpu", PermitCount::new(4).unwrap()).unwrap();
    /// assert_eq!(permit.permits().map(PermitCount::get), Some(4));
    /// assert_eq!(permit.whole(), Resource::new("gpu").unwrap());
    /// ```
    pub fn permit(name: &str, of: PermitCount) -> Result<Self, ResourceError> {
        Ok(Self {
            extent: Extent::Permit(of),
            ..Self::new(name)?
        })
    }

    fn of(name: &str) -> Self {
        Self {
            name: name.into(),
            hash: fnv(name.as_bytes()),
            extent: Extent::Whole,
        }
    }

    /// Whether these are several names that are locked together.
    #[must_use]
    #[inline]
    pub const fn is_several(&self) -> bool {
        matches!(self.extent, Extent::Several)
    }

    /// Whether it is a share of a name, for those who read.
    #[must_use]
    #[inline]
    pub const fn is_shared(&self) -> bool {
        matches!(self.extent, Extent::Share)
    }

    /// Of how many permits it is one, if it is one.
    #[must_use]
    #[inline]
    pub const fn permits(&self) -> Option<PermitCount> {
        match self.extent {
            Extent::Permit(of) => Some(of),
            Extent::Whole | Extent::Several | Extent::Share => None,
        }
    }

    /// What one who waits for this wants of the name.
    pub(crate) const fn wanted(&self) -> Wanted {
        match self.extent {
            Extent::Whole | Extent::Several => Wanted::Name,
            Extent::Share => Wanted::Share,
            Extent::Permit(_) => Wanted::Permit,
        }
    }

    /// Whether others can have a part of the same name at the same time: it is a [share](Self::is_shared), or one of several
    /// [permits](Self::permits).
    #[must_use]
    #[inline]
    pub const fn is_part(&self) -> bool {
        matches!(self.extent, Extent::Share | Extent::Permit(_))
    }

    /// The name itself, if this is a [part](Self::is_part) of it; everything else as it is.
    #[must_use]
    pub fn whole(&self) -> Self {
        let mut whole = self.clone();
        if self.is_part() {
            whole.extent = Extent::Whole;
        }
        whole
    }

    /// Its names, in their order: one, unless it is [several](Self::several).
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.name.split(BETWEEN)
    }

    /// Each of its names as a resource of its own.
    pub fn each(&self) -> impl Iterator<Item = Self> {
        self.names().map(Self::of)
    }

    /// The name; several names one a line.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The name in quotation marks, as errors have it; several with commas between them.
    #[must_use]
    pub const fn quoted(&self) -> impl fmt::Display + '_ {
        Quoted(self)
    }

    /// The name's bytes: the key on the nodes, if it is one name.
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
        self.hash == other.hash && self.extent == other.extent && is_same()
    }
}

impl Hash for Resource {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.extent.hash(state);
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, name) in self.names().enumerate() {
            let before = if number > 0 { ", " } else { "" };
            write!(out, "{before}{name}")?;
        }
        Ok(())
    }
}

struct Quoted<'a>(&'a Resource);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, name) in self.0.names().enumerate() {
            let before = if number > 0 { ", " } else { "" };
            write!(out, "{before}{name:?}")?;
        }
        Ok(())
    }
}

/// What stands between several names, and in none.
const BETWEEN: &str = "\n";

impl fmt::Debug for Resource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.extent {
            Extent::Share => "Share",
            Extent::Permit(_) => "Permit",
            Extent::Whole | Extent::Several => "Resource",
        };
        write!(out, "{what}({:?})", &*self.name)
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
    /// No name was given.
    NoNames,
    /// More than [`Resource::MOST_NAMES`] names are to be locked together.
    TooMany {
        /// How many they are.
        names: usize,
    },
    /// The names that are to be locked together have more than [`Resource::MOST_BYTES`] bytes, with what stands around them in
    /// the keys of the nodes.
    TooLongTogether {
        /// How many they have.
        bytes: usize,
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
            Self::NoNames => out.write_str("no name of a resource was given"),
            Self::TooMany { names } => write!(
                out,
                "{names} names are to be locked together, at most {} are allowed",
                Resource::MOST_NAMES
            ),
            Self::TooLongTogether { bytes } => write!(
                out,
                "the keys of the names that are to be locked together have {bytes} bytes, at most {} are allowed",
                Resource::MOST_BYTES
            ),
        }
    }
}

impl core::error::Error for ResourceError {}

crate::debug_by_sentence!(ResourceError {
    Empty,
    TooLong { bytes },
    ControlCharacter { character, at },
    NoNames,
    TooMany { names },
    TooLongTogether { bytes },
});

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{
        format,
        string::{String, ToString},
    };

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

    #[test]
    fn several_names_are_one_set_however_they_are_given() {
        let set = |names: &[&str]| Resource::several(names.iter().copied());
        let both = set(&["b", "a", "b"]).expect("good names");
        assert_eq!(Ok(&both), set(&["a", "b"]).as_ref());
        assert!(both.is_several());
        assert_eq!(both.names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(both.to_string(), "a, b");
        assert_eq!(both.quoted().to_string(), r#""a", "b""#);
        assert_eq!(both.as_str(), "a\nb");
        let a = Resource::new("a").expect("a name");
        assert!(!a.is_several());
        assert_eq!(set(&["a", "a"]), Ok(a.clone()));
        assert_eq!(both.each().next(), Some(a.clone()));
        // What is between names is in none.
        assert!(set(&["a\nb", "c"]).is_err());
    }

    #[test]
    fn a_share_is_told_from_its_name() {
        let (share, whole) = (Resource::shared("doc"), Resource::new("doc"));
        let (share, whole) = (share.expect("a name"), whole.expect("a name"));
        assert!(share.is_shared() && !share.is_several() && !whole.is_shared());
        assert_ne!(share, whole);
        assert_ne!(share.cmp(&whole), core::cmp::Ordering::Equal);
        assert_eq!((share.whole(), whole.whole()), (whole.clone(), whole));
        assert_eq!(share.each().next(), Some(share.whole()));
        assert_eq!(share.fingerprint(), share.whole().fingerprint());
        assert_eq!(Resource::shared(""), Err(ResourceError::Empty));
    }

    #[test]
    fn several_names_have_bounds() {
        let numbered = |count: usize| (0..count).map(|n| format!("{n}")).collect::<Vec<String>>();
        let set = |names: &[String]| Resource::several(names.iter().map(String::as_str));
        assert!(set(&numbered(64)).is_ok());
        assert_eq!(
            set(&numbered(65)),
            Err(ResourceError::TooMany { names: 65 })
        );
        assert_eq!(set(&[]), Err(ResourceError::NoNames));
        let long = |count: u8| (0..count).map(|n| char::from(b'a' + n).to_string().repeat(1024));
        assert!(set(&long(8).collect::<Vec<_>>()).is_ok());
        assert_eq!(
            set(&long(9).collect::<Vec<_>>()),
            Err(ResourceError::TooLongTogether { bytes: 9 * 1024 })
        );
    }
}
