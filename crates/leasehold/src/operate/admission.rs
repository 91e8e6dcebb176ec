//! What became of a node that was to vote again.

use crate::{
    configuration::Configuration,
    error::Span,
    link::redis::steward::{Change, Steward},
};
use leasehold_core::Abstention;
use std::fmt;

/// What became of a node that was to vote again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Admission {
    /// It votes now.
    Admitted {
        /// For how long it would not have, and why; none if it voted already.
        was: Option<Abstention>,
    },
    /// It is of another configuration, and was left as it is.
    Disagrees {
        /// Which one.
        configuration: String,
    },
}

impl Admission {
    pub(super) async fn ask(
        steward: &mut Steward,
        configuration: &Configuration,
    ) -> Result<Self, String> {
        // What no lock can be kept on is not to vote.
        let look = steward.look(configuration.guard()).await?;
        if let Some(why) = look.unsuitable {
            return Err(why);
        }
        let (fingerprint, guard) = (configuration.fingerprint(), configuration.quarantine_text());
        let change = steward
            .admit(&fingerprint, configuration.text(), &guard)
            .await?;
        Ok(match change {
            Change::Done((cause, left)) => Self::Admitted {
                was: (!left.is_zero()).then_some(Abstention { cause, left }),
            },
            Change::Other(configuration) => Self::Disagrees { configuration },
        })
    }
}

impl fmt::Display for Admission {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admitted { was: None } => out.write_str("votes, as it did before"),
            Self::Admitted { was: Some(was) } => {
                write!(out, "votes now, and not only in {}", Span(was.left))
            }
            Self::Disagrees { configuration } => write!(
                out,
                "was left as it is: its locks are used with another configuration: {configuration}"
            ),
        }
    }
}
