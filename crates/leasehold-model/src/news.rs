//! What is worth knowing to have happened: a model in which it never does has checked nothing.

/// Something that a step brought about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// A lease was handed out.
    Acquired,
    /// A second lease was handed out.
    AcquiredAgain,
    /// A lease was handed out while somebody still thought to have one that was over.
    Succeeded,
    /// An acquisition failed of nodes that refused, though one had granted.
    Split,
    /// A quorum granted when the validity was over.
    TooLate,
    /// An acquisition failed of nodes that did not answer.
    Unreachable,
    /// The caller gave up.
    Cancelled,
    /// A lease was extended.
    Extended,
    /// An extension failed while the lease was valid.
    ExtensionFailed,
    /// An extension failed because the lease was over.
    ExtensionLate,
    /// A node's grant came after its attempt was lost.
    Straggler,
    /// A node refused what was free, since another comes first.
    Queued,
    /// Two read at once.
    ReadTogether,
    /// Two have permits at once.
    PermitsTogether,
    /// Two have a name each at once.
    Apart,
    /// A key that a lost attempt had set was released.
    TakenBack,
    /// A release was told as done.
    Released,
    /// What became of a release could not be told.
    ReleaseUnknown,
    /// A lease was released for a second time.
    ReleasedAgain,
    /// A client has learned of another list of nodes.
    Learned,
    /// A node that took the place of another has granted.
    NewcomerGranted,
    /// Nothing goes on any more, and nothing is left.
    Ended,
}

impl News {
    /// As a property that holds sometimes.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Acquired => "acquired",
            Self::AcquiredAgain => "two leases one after the other",
            Self::Succeeded => "a lease ran out and another was won",
            Self::Split => "lost to a split vote",
            Self::TooLate => "won too late",
            Self::Unreachable => "too few answers",
            Self::Cancelled => "cancelled",
            Self::Extended => "extended",
            Self::ExtensionFailed => "extension failed",
            Self::ExtensionLate => "extension too late",
            Self::Straggler => "granted after the attempt was lost",
            Self::Queued => "refused what is free, behind another",
            Self::ReadTogether => "two read at once",
            Self::PermitsTogether => "two have permits at once",
            Self::Apart => "two have different names at once",
            Self::TakenBack => "taken back after the attempt was lost",
            Self::Released => "released",
            Self::ReleaseUnknown => "release unknown",
            Self::ReleasedAgain => "released again",
            Self::Learned => "learned the new list",
            Self::NewcomerGranted => "granted by the new node",
            Self::Ended => "ended with nothing left",
        }
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// What one step brought about. It is part of the world after the step, so that no way to bring it about is
/// taken for another that was seen before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Tidings(u32);

impl Tidings {
    pub(crate) const fn add(&mut self, news: News) {
        self.0 |= news.bit();
    }

    pub(crate) const fn tell_of(self, news: News) -> bool {
        self.0 & news.bit() != 0
    }
}
