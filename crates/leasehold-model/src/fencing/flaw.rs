//! What must never be.

/// A broken promise of the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Flaw {
    /// Two attempts have the same token.
    Twins,
    /// Who began when another had its token has not a larger one.
    Time,
    /// Of two that stand on one node, the one that had the key there later has not the larger token.
    Node,
}

impl Flaw {
    /// All of them: the properties that hold always.
    pub(crate) const ALL: [Self; 3] = [Self::Twins, Self::Time, Self::Node];

    /// The property that it breaks.
    pub(crate) const fn property(self) -> &'static str {
        match self {
            Self::Twins => "no two attempts have the same token",
            Self::Time => "who begins when another has its token gets a larger one",
            Self::Node => "on every node that two stand on, tokens order them as the key did",
        }
    }
}
