//! True time, which nobody in the world can read.

/// Nanoseconds of true time since the world began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

pub(crate) const MICROSECOND: u64 = 1_000;
pub(crate) const MILLISECOND: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;

impl Moment {
    pub(crate) const START: Self = Self(0);
    pub(crate) const NEVER: Self = Self(u64::MAX);

    pub(crate) const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    pub(crate) const fn ns(self) -> u64 {
        self.0
    }

    /// This moment, `span_ns` later.
    pub(crate) const fn after(self, span_ns: u64) -> Self {
        Self(self.0.saturating_add(span_ns))
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub(crate) const fn since_ns(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// What a wall clock that is right shows when the world begins, in nanoseconds since 1970.
pub(crate) const TRUE_EPOCH_NS: u64 = 1_700_000_000 * SECOND;
