//! What became of a node that was to vote again.

use super::{Membership, Survey};
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
    /// It has been used before, with this configuration, and was left as it is:
    /// [`admit_new`](super::Operator::admit_new) is about others.
    NotNew {
        /// For how long it does not vote, and why; none if it votes.
        abstains: Option<Abstention>,
    },
}

/// Who is meant by an operator's word.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whom {
    /// All of the nodes.
    All,
    /// Those that are of no configuration yet.
    New,
}

impl Admission {
    pub(super) async fn ask(
        steward: &mut Steward,
        configuration: &Configuration,
        whom: Whom,
    ) -> Result<Self, String> {
        // What no lock can be kept on is not to vote.
        let look = steward.look(configuration.guard()).await?;
        if let Some(why) = look.unsuitable.clone() {
            return Err(why);
        }
        if let Whom::New = whom {
            let seen = Survey::of(look, configuration);
            match seen.membership {
                // Argument S9: it carries nothing. Whoever comes between this look and the word is of the configuration that
                // the word is about, or it is refused.
                Membership::Nobodys => {}
                Membership::Ours => {
                    let abstains = seen.abstains;
                    return Ok(Self::NotNew { abstains });
                }
                Membership::Others { configuration } => {
                    return Ok(Self::Disagrees { configuration });
                }
                Membership::Unfinished { change } => {
                    let configuration = change;
                    return Ok(Self::Disagrees { configuration });
                }
            }
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
            Self::NotNew { abstains: None } => {
                out.write_str("was left as it is: it is not new, and votes")
            }
            Self::NotNew {
                abstains: Some(abstention),
            } => write!(out, "was left as it is: it is not new; {abstention}"),
            Self::Disagrees { configuration } => write!(
                out,
                "was left as it is: its locks are used with another configuration: {configuration}"
            ),
        }
    }
}
