//! What must never be.

/// A broken promise, found while a step was taken or in the world after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Flaw {
    /// Two clients believe in their leases at one true instant.
    Exclusion,
    /// More clients believe in permits than there are.
    Count,
    /// A valid lease does not stand on a quorum of keys that outlive it.
    Standing,
    /// A lease was handed out when it was over.
    Late,
    /// An extension gave life to a lease that was over, or took some of it.
    Extension,
    /// Two attempts share an owner.
    Owner,
    /// A release was told as done, but no quorum is free of the key.
    Release,
    /// An operation ended twice, or as another kind of operation does.
    End,
    /// Something is left when all have let go: an operation, a release, a key.
    Rest,
    /// The engine's own assertion failed.
    Assertion,
}

impl Flaw {
    /// All of them: the properties that hold always.
    pub(crate) const ALL: [Self; 10] = [
        Self::Exclusion,
        Self::Count,
        Self::Standing,
        Self::Late,
        Self::Extension,
        Self::Owner,
        Self::Release,
        Self::End,
        Self::Rest,
        Self::Assertion,
    ];

    /// The property that it breaks.
    pub(crate) const fn property(self) -> &'static str {
        match self {
            Self::Exclusion => "one lease at most is valid at any instant",
            Self::Count => "of so many permits, no more are valid at any instant",
            Self::Standing => "a valid lease stands on a quorum of keys that outlive it",
            Self::Late => "no lease is handed out after its end",
            Self::Extension => "only a valid lease is extended, and never shortened",
            Self::Owner => "no two attempts share an owner",
            Self::Release => "a release that is told as done has freed a quorum",
            Self::End => "every operation ends once, as its kind does",
            Self::Rest => "when all have let go, nothing is left",
            Self::Assertion => "the engine's own assertions hold",
        }
    }
}
