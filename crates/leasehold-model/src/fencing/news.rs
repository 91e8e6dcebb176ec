//! What is worth knowing to have happened: a model in which it never does has checked nothing.

use super::{attempt::Attempt, site::Site, world::World};

/// Something that is so in some world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Every attempt has a token.
    AllDecided,
    /// A token stands on a node that was raised to it.
    Raised,
    /// A token stands on a node that granted when the token was fixed already.
    Late,
    /// A node refused to be raised, since the key was not the attempt's any more.
    RaiseRefused,
    /// Who began when another had its token proposed less than that, and has a larger one.
    ClockBehind,
    /// A request that arrived twice set a key that had vanished.
    SetAgain,
}

impl News {
    /// As a property that holds sometimes.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AllDecided => "all have their tokens",
            Self::Raised => "a second round made the token",
            Self::Late => "a late grant stands for the token",
            Self::RaiseRefused => "a raise was refused",
            Self::ClockBehind => "a later token in spite of a smaller proposal",
            Self::SetAgain => "a request that came twice set the key again",
        }
    }

    /// Whether it is so in `world`.
    pub(crate) fn is_in(self, world: &World) -> bool {
        let mut attempts = world.attempts().map(|attempt| match attempt {
            Attempt::Decided(decided) => Some(decided),
            _ => None,
        });
        match self {
            Self::AllDecided => attempts.all(|decided| decided.is_some()),
            Self::Raised => attempts.flatten().any(|decided| decided.raised),
            Self::Late => attempts.flatten().any(|decided| decided.late),
            Self::ClockBehind => attempts.flatten().any(|decided| {
                let begun = &decided.begun;
                begun.after.is_some_and(|after| begun.proposal < after)
            }),
            Self::RaiseRefused => world.sites().any(Site::has_refused_a_raise),
            Self::SetAgain => world.sites().any(Site::has_set_again),
        }
    }
}
