//! What became of a node that was to vote again.

#[cfg(doc)]
use super::NodeAnswer;
use super::{Membership, Operator, Survey, Told};
use crate::{
    configuration::Configuration,
    error::{ConfigError, Span},
    link::redis::admin_client::{AdminClient, NodeChange},
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
enum Whom {
    /// All of the nodes.
    All,
    /// Those that are of no configuration yet.
    New,
}

impl Operator {
    /// The operator's word that these nodes have forgotten nothing that matters: they vote at once, and do not wait
    /// until leases that they may have forgotten have ended.
    ///
    /// **Say it only if nobody can hold a lease that these nodes may have forgotten**: the servers are brand-new, or
    /// every program that locks was stopped. Said of a node that did forget, it lets two hold the same lock. A node
    /// of another configuration, or with a change that is not finished, is left as it is. After
    /// [`reconfigure`](Self::reconfigure) it is the word that no lease of the old configuration is held.
    ///
    /// Waits for all nodes at once, for about half a minute at most. Doing it again changes nothing.
    ///
    /// # Errors
    /// [`ConfigError::Thread`] if there is no thread to be had, [`ConfigError::FencedCluster`] if a node is a Redis Cluster. What a
    /// single node said is in its [`NodeAnswer`].
    ///
    /// # Cancel safety
    /// Dropping the future loses the answers; the nodes are told all the same.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::{LockManager, operate::NodeAnswer};
    ///
    /// for told in LockManager::builder().memory(3).operator()?.admit().await? {
    ///     assert_eq!(told.answer, NodeAnswer::NeedsNone);
    /// }
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    ///
    /// # Source
    /// Argument [S9](crate::safety#s9), which takes the operator's word here.
    pub async fn admit(&self) -> Result<Vec<Told<Admission>>, ConfigError> {
        self.admit_those(Whom::All).await
    }

    /// As [`admit`](Self::admit), but only those nodes that are nobody's: of no configuration yet, since no program has
    /// locked on them. The others are left as they are, with [`Admission::NotNew`]. So the word is given of new servers
    /// only, in a deployment that adds one to servers in use, and is not given by mistake of one that has restarted.
    ///
    /// **A server that has lost everything looks like a new one.** Say it only of servers that cannot have held locks.
    ///
    /// Waits as [`admit`](Self::admit) does. Doing it again changes nothing.
    ///
    /// # Errors
    /// As [`admit`](Self::admit).
    ///
    /// # Cancel safety
    /// As [`admit`](Self::admit).
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::LockManager;
    ///
    /// let nodes = ["redis://db1", "redis://db2", "redis://new"];
    /// for told in LockManager::builder().nodes(nodes).operator()?.admit_new().await? {
    ///     println!("{}: {}", told.node, told.answer);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Source
    /// Argument [S9](crate::safety#s9), which takes the operator's word here.
    pub async fn admit_new(&self) -> Result<Vec<Told<Admission>>, ConfigError> {
        self.admit_those(Whom::New).await
    }

    async fn admit_those(&self, whom: Whom) -> Result<Vec<Told<Admission>>, ConfigError> {
        let configuration = self.operated.configuration.clone();
        self.ask(move |mut admin_client| {
            let configuration = configuration.clone();
            async move { Admission::ask(&mut admin_client, &configuration, whom).await }
        })
        .await
    }
}

impl Admission {
    async fn ask(
        admin_client: &mut AdminClient,
        configuration: &Configuration,
        whom: Whom,
    ) -> Result<Self, String> {
        // What no lock can be kept on is not to vote.
        let look = admin_client
            .look(configuration.guard(), &configuration.quarantine_text())
            .await?;
        if let Some(why) = look.unsuitable.clone() {
            return Err(why);
        }
        if let Whom::New = whom {
            let seen = Survey::of(look, configuration);
            match seen.membership {
                // Argument S9: it carries nothing. A client that comes between this look and the word is of the configuration that
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
        let change = admin_client
            .admit(&fingerprint, configuration.text(), &guard)
            .await?;
        Ok(match change {
            NodeChange::Done((cause, left)) => Self::Admitted {
                was: (!left.is_zero()).then_some(Abstention { cause, left }),
            },
            NodeChange::Other(configuration) => Self::Disagrees { configuration },
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
