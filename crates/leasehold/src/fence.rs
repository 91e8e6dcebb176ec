//! Fenced writes: what a resource does with the tokens of those who write to it.
//!
//! A holder may be stopped at any moment, for any length of time: by garbage collection, by swapping, with the
//! virtual machine that it runs on. Its lease ends meanwhile, somebody else acquires the lock and writes, and then
//! it goes on and writes as well, from what it knew before. No lock can prevent that: the write was on its way when
//! the lease was valid. The resource can.
//!
//! ```text
//! holder 1   token 33 ── stopped ─────────────────────── write, token 33 ──►  33 < 34: refused
//! holder 2              token 34 ── write, token 34 ──►  the resource has seen 34
//! ```
//!
//! Each lease has a [`FencingToken`], larger than those of all leases before it. A writer sends it along, and
//! **the resource accepts a write if its token is not smaller than the newest that it has seen, and remembers it,
//! in the same atomic step as the write**. Not smaller, rather than larger: a holder writes more than once.
//!
//! # The trap
//! Checking the token and then writing are two steps, and a writer may be stopped between them as well as anywhere
//! else. That is no fence. Let the resource do both in one step, under its own lock or in its own transaction:
//!
//! * [`Fence`], for a resource that is a program of one's own: behind the same mutex as the data.
//! * [`redis`], for values in Redis or Valkey: one script that checks and writes.
//! * [`sql`], for rows in PostgreSQL, MySQL, MariaDB or SQLite: a condition of the statement that writes, or a
//!   statement at the start of the transaction that writes.
//! * Stores that write on a condition (etcd, S3 and its like) can be fenced by hand: keep the token with the value,
//!   and make "nobody has changed it since I read it, and the token that I read is not larger than mine" the
//!   condition.
//!
//! # What cannot be fenced
//! What does not check: an e-mail, a payment by somebody else's interface, a file on a plain disk, a motor. There a
//! lock makes it rare that two do the same, and no more. Give such a service an idempotency key if it takes one, or
//! write the order for it to a fenced resource and let one place carry it out.
//!
//! # What a fence promises
//! After a write with a token was accepted, no write with a smaller one is, whatever clocks, networks and pauses did.
//! That needs no assumption about time. It does need that tokens grow (they do, as long as the nodes keep their
//! counters; see [`fencing_token`](crate::LeaseGuard::fencing_token)), that *every* writer goes through the fence, and that the resource does not forget the newest
//! token while it keeps the data.
//!
//! It orders writes, and does not order what was read before them: a late write is accepted if nobody has written with
//! a newer token *yet*, also if somebody has read. So a holder that writes what it makes of something that it read raises the
//! fence first, and then reads: by [`Fence::admit`], by a [fenced script](redis::FencedScript) that reads, by an
//! [update](sql::RowFence::update) of no columns, or in the transaction that writes, behind its fence.
//!
//! Nothing here needs a lock manager or connects to anything: the helpers are texts, numbers and answers for
//! whichever client is there already.
//!
//! # Examples
//! ```
//! use leasehold::{FencingToken, fence::{Fence, Stale}};
//! use std::sync::Mutex;
//!
//! /// A resource: what it guards, and its fence, behind one mutex.
//! #[derive(Default)]
//! struct Account {
//!     inner: Mutex<(Fence, i64)>,
//! }
//!
//! impl Account {
//!     fn set(&self, token: FencingToken, balance: i64) -> Result<(), Stale> {
//!         let mut inner = self.inner.lock().unwrap();
//!         inner.0.admit(token)?;
//!         inner.1 = balance; // still under the mutex: one step with the check
//!         Ok(())
//!     }
//! }
//!
//! let account = Account::default();
//! let [earlier, later] = [33, 34].map(|number| FencingToken::new(number).unwrap());
//! account.set(later, 100)?;
//! account.set(later, 90)?;
//! assert!(account.set(earlier, 500).is_err());
//! # Ok::<(), Stale>(())
//! ```

pub mod redis;
pub mod sql;

use leasehold_core::FencingToken;
use std::{error::Error, fmt};

/// The newest token that a resource has seen, for resources that are programs of one's own.
///
/// It is of use only behind the same lock as what it guards, and [`admit`](Self::admit) wants it exclusively, so
/// that nobody admits on the way past that lock. See the [module](self) for an example. It lives as long as the
/// program: if the data lives longer, keep [`newest`](Self::newest) with the data, and begin
/// [`after`](Self::after) it.
#[derive(Debug, Default)]
pub struct Fence {
    newest: Option<FencingToken>,
}

impl Fence {
    /// The fence of a resource that has seen no token.
    #[must_use]
    pub const fn new() -> Self {
        Self { newest: None }
    }

    /// The fence of a resource that has seen this token, as one that was read from disk has.
    #[must_use]
    pub const fn after(newest: FencingToken) -> Self {
        Self {
            newest: Some(newest),
        }
    }

    /// Lets the holder of `token` write, now and before anything else is admitted, unless a newer token was seen.
    ///
    /// # Errors
    /// [`Stale`] if a newer token was seen: the lock is somebody else's. Nothing has changed then.
    ///
    /// # Examples
    /// ```
    /// use leasehold::{FencingToken, fence::Fence};
    ///
    /// let mut fence = Fence::new();
    /// let [earlier, later] = [33, 34].map(|number| FencingToken::new(number).unwrap());
    /// fence.admit(later)?;
    /// fence.admit(later)?;
    /// let stale = fence.admit(earlier).unwrap_err();
    /// assert_eq!((stale.token, stale.newest), (earlier, Some(later)));
    /// # Ok::<(), leasehold::fence::Stale>(())
    /// ```
    ///
    /// # Source
    /// Argument [S4](crate::safety#s4).
    pub fn admit(&mut self, token: FencingToken) -> Result<(), Stale> {
        match self.newest {
            Some(newest) if token < newest => Err(Stale::against(token, newest)),
            _ => {
                self.newest = Some(token);
                Ok(())
            }
        }
    }

    /// The newest token that was admitted.
    #[must_use]
    pub const fn newest(&self) -> Option<FencingToken> {
        self.newest
    }
}

/// A write was refused: its token is smaller than one that the resource has seen.
///
/// The writer is not the holder any more, whatever the guard says. Trying again with the same token is of no use,
/// and with a newer one only after reading anew.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stale {
    /// The token of the write.
    pub token: FencingToken,
    /// The newest that the resource has seen, where it tells.
    pub newest: Option<FencingToken>,
}

impl Stale {
    const fn against(token: FencingToken, newest: FencingToken) -> Self {
        Self {
            token,
            newest: Some(newest),
        }
    }
}

impl fmt::Display for Stale {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token;
        match self.newest {
            Some(newest) => write!(
                out,
                "write with token {token}: the resource has seen {newest}; the lock has gone to somebody else"
            ),
            None => write!(
                out,
                "write with token {token}: the resource has seen a newer one; the lock has gone to somebody else"
            ),
        }
    }
}

impl Error for Stale {}

leasehold_core::debug_by_sentence!(struct Stale { token, newest });

#[cfg(test)]
mod tests {
    use super::*;

    fn token(number: u64) -> FencingToken {
        FencingToken::new(number).expect("in range")
    }

    #[test]
    fn a_fence_only_moves_forward() {
        let mut fence = Fence::new();
        assert_eq!(fence.newest(), None);
        for (number, admitted) in [
            (9, true),
            (9, true),
            (10, true),
            (9, false),
            (10, true),
            (FencingToken::LAST.get() - 1, true),
            (FencingToken::LAST.get(), true),
            (FencingToken::LAST.get() - 1, false),
            (1, false),
        ] {
            let before = fence.newest();
            assert_eq!(fence.admit(token(number)).is_ok(), admitted, "{number}");
            let after = if admitted {
                Some(token(number))
            } else {
                before
            };
            assert_eq!(fence.newest(), after);
        }
    }

    #[test]
    fn a_fence_begins_where_it_left_off() {
        let mut fence = Fence::after(token(7));
        assert_eq!(
            fence.admit(token(6)),
            Err(Stale::against(token(6), token(7)))
        );
        assert_eq!(fence.admit(token(7)), Ok(()));
    }

    #[test]
    fn a_refusal_says_both_tokens() {
        assert_eq!(
            Stale::against(token(6), token(7)).to_string(),
            "write with token 6: the resource has seen 7; the lock has gone to somebody else"
        );
    }
}
