//! How safe a lease is.

use crate::error::{Danger, LeaseLost};
use std::fmt;

/// How safe a lease is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseState {
    /// A quorum has confirmed it, and enough of its time is left.
    Held,
    /// It is valid, but nobody has confirmed it for long, and it ends soon.
    InDanger(Danger),
    /// It is over, for good.
    Lost(LeaseLost),
    /// Its holder has given it back.
    Released,
}

impl LeaseState {
    /// Whether the lease is over.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_))
    }

    /// Whether the lease is lost or released: it never changes again.
    pub(crate) const fn is_over(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Released)
    }
}

/// `held`, `in danger: …`, `lost the lock "orders/42": …`, `released`.
impl fmt::Display for LeaseState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held => out.write_str("held"),
            Self::InDanger(danger) => write!(out, "in danger: {danger}"),
            Self::Lost(lost) => lost.fmt(out),
            Self::Released => out.write_str("released"),
        }
    }
}

#[cfg(test)]
mod tests;
