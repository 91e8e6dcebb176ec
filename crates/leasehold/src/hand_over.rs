//! A lease that goes from one process to another.

use crate::{
    error::{AcquireError, AdoptError, LeaseLost, LossCause},
    guard::LeaseGuard,
    manager::LockManager,
    mode::Mode,
    options::LockOptions,
    state::LeaseState,
};
use leasehold_core::{Owner, owner::hexadecimal};

impl<M: Mode> LeaseGuard<M> {
    /// Gives the lease out of hand, as a text that another process turns into a guard again, by
    /// [`LockManager::adopt`]. The lock stays held meanwhile, and nobody extends it: the other process has
    /// what is left of the TTL, so the lease is extended once more before.
    ///
    /// **The text names the owner, and anyone who knows an owner can take its lease over**, also one that nobody
    /// handed over: then two hold the lock until the first extension of the former. Owners are told to those who
    /// are refused, and by [`inspect`](LockManager::inspect), so among programs that share a lock this is a
    /// matter of trust, as [`force_release`](LockManager::force_release) is.
    ///
    /// The text is good for one adoption: it carries the value that signs the lock, so keep it from those
    /// who must not have the lock. If nobody adopts the lease, it ends with its TTL; in the
    /// store of one machine also with this process, so let that live until the other has taken over.
    ///
    /// Waits for the extension, for the nodes' time limit at most.
    ///
    /// # Errors
    /// [`LeaseLost`] if there is nothing to hand over any more.
    ///
    /// # Cancel safety
    /// Dropping the future releases the lock in the background, unless the text was nearly ready: then the lock
    /// ends with its TTL.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let guard = manager.mutex("report")?.acquire().await?;
    /// let text = guard.hand_over().await?;
    /// // … in another process, with a manager of the same nodes
    /// let guard = manager.adopt(&text).await?;
    /// assert!(guard.is_valid());
    /// // The second to come with the same text gets nothing.
    /// assert!(manager.adopt(&text).await.is_err());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    ///
    /// # Source
    /// Arguments [S3](crate::safety#s3) and [S8](crate::safety#s8): the identity of a holder is the owner, and the keys change it in one step.
    pub async fn hand_over(self) -> Result<String, LeaseLost> {
        // As good as it gets: what is left may do as well.
        let _ = self.extend().await;
        let (resource, owner) = (self.resource().clone(), self.owner().clone());
        let state = self.state();
        if self.into_held().hand_over().await {
            let owner = hexadecimal(owner.as_bytes());
            // One line, so that no part of it can be taken for all.
            let names: Vec<&str> = resource.names().collect();
            return Ok(format!("{PREFIX}{owner}:{}", names.join(BETWEEN)));
        }
        Err(match state {
            LeaseState::Lost(lost) => lost,
            LeaseState::Released => LeaseLost {
                resource,
                cause: LossCause::Released,
            },
            // Lost just now, or with the thread.
            LeaseState::Held | LeaseState::InDanger(_) => LeaseLost {
                resource,
                cause: LossCause::TimedOut { trouble: None },
            },
        })
    }
}

impl<M: Mode> LockManager<M> {
    /// Takes over a lease that [`LeaseGuard::hand_over`] gave out of hand, with the manager's default
    /// options. The nodes must be the same.
    ///
    /// The keys get an owner of their own in the same step, so the text is worth nothing afterwards. Makes
    /// one attempt and waits for the nodes' answers, for their time limit at most.
    ///
    /// # Errors
    /// [`AdoptError::Malformed`] if the text is none of a hand-over, [`AdoptError::Gone`] if the lease has
    /// ended or somebody was faster, [`AdoptError::Failed`] if too few nodes answered: then it is gone as
    /// well, unless no node was reached at all. Limits and a minimum hold begin anew.
    ///
    /// # Cancel safety
    /// Dropping the future gives up and releases on every node in the background.
    pub async fn adopt(&self, text: &str) -> Result<LeaseGuard<M>, AdoptError> {
        self.adopt_with(text, self.defaults().clone()).await
    }

    /// As [`adopt`](Self::adopt), with options of its own.
    ///
    /// # Errors
    /// As [`adopt`](Self::adopt), and [`AdoptError::Config`] if the options do not go together.
    ///
    /// # Cancel safety
    /// As [`adopt`](Self::adopt).
    pub async fn adopt_with(
        &self,
        text: &str,
        options: LockOptions,
    ) -> Result<LeaseGuard<M>, AdoptError> {
        let (owner, resource) = parse(text).ok_or(AdoptError::Malformed)?;
        let mutex = self.mutex_all_with(resource.split(BETWEEN), options);
        let mutex = mutex.map_err(AdoptError::Config)?;
        mutex.take_over(owner).await.map_err(|error| match error {
            AcquireError::Held(held) => AdoptError::Gone {
                resource: held.resource,
                refused: held.refused,
                quorum: held.quorum,
                nodes: held.nodes,
                holder: held.holder,
            },
            error => AdoptError::Failed(error),
        })
    }
}

fn parse(text: &str) -> Option<(Owner, &str)> {
    let (digits, resource) = text
        .trim_start()
        .trim_end_matches(['\r', '\n'])
        .strip_prefix(PREFIX)?
        .split_once(':')?;
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        // The standard library reads a sign as well.
        let is_plain = pair.len() == 2 && pair.iter().all(u8::is_ascii_hexdigit);
        let pair = std::str::from_utf8(pair).ok().filter(|_| is_plain)?;
        u8::from_str_radix(pair, 16).ok()
    };
    let bytes: Option<Vec<u8>> = pairs.map(byte).collect();
    Some((Owner::from_bytes(&bytes?)?, resource))
}

const PREFIX: &str = "leasehold-lease:1:";

/// What stands between several names, and in none.
const BETWEEN: &str = "\t";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_it_was_written() {
        let (owner, resource) = parse("leasehold-lease:1:00ff:a:b \n").expect("it is one");
        assert_eq!(owner.as_bytes(), [0, 255]);
        assert_eq!(resource, "a:b ", "a name may end in a space");
        let (_, several) = parse("leasehold-lease:1:00ff:a\tb\n").expect("it is one");
        assert_eq!(several.split(BETWEEN).collect::<Vec<_>>(), ["a", "b"]);
        for wrong in [
            "",
            "leasehold-lease:1:",
            "leasehold-lease:1:abc:r",
            "leasehold-lease:1::r",
            "leasehold-lease:1:zz:r",
            "leasehold-lease:1:+1:r",
            "leasehold-lease:2:00:r",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
