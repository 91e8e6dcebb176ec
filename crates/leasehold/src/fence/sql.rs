//! Fenced writes to SQL databases, by whichever client is there: texts of statements, and how to read what came back.
//!
//! There are two ways, and one table or column to add for each:
//!
//! * [`RowFence`]: **a column in the row that is protected**. The `UPDATE` that writes carries the condition. One
//!   statement, so no transaction is needed.
//! * [`FenceTable`]: **a table of fences, for everything else**: several rows, inserts, deletes. Its statement comes
//!   first in the transaction that writes, and keeps the fence's row locked until that ends.
//!
//! ```sql
//! -- a column, here for PostgreSQL: 0 rows mean that the token is stale, or that there is no such row
//! UPDATE account SET balance = $1, fence = $2 WHERE id = $3 AND fence <= $2
//!
//! -- a table: 0 rows mean that the token is stale; then ROLLBACK
//! BEGIN;
//! INSERT INTO fences AS f (resource, newest) VALUES ($1, $2)
//!   ON CONFLICT (resource) DO UPDATE SET newest = excluded.newest WHERE f.newest <= excluded.newest;
//! -- … whatever is to be written
//! COMMIT;
//! ```
//!
//! # Why this is one step
//! **PostgreSQL**, at `READ COMMITTED`, the default: both statements lock the row, and a transaction that waited for
//! the lock looks at the condition again, with what the other has committed. So of two that meet the second one sees
//! the first one's token, and nothing gets between the condition and `COMMIT`. At `REPEATABLE READ` and
//! `SERIALIZABLE` the one that waited fails with SQLSTATE 40001 instead: refused as well, and to be tried again.
//!
//! **MySQL and MariaDB** (InnoDB): the same locks, at every isolation level, since a statement that writes looks at
//! what is committed, not at its snapshot. With `innodb_snapshot_isolation`, which MariaDB has on from 11.6.2, a
//! transaction whose snapshot is older than the row fails with error 1020 instead. That, a deadlock (1213) and a wait
//! that took too long (1205) are refusals as well: `ROLLBACK`, and try again. The trap is the number of affected rows: these count a row only if a value
//! *changed*. A second write with the same token and the same values counts 0, as a stale one does, and must be told
//! from it. So [`FenceTable`] is read back there in the same transaction, by [`check_newest`]. A [`RowFence`] is as
//! well if its `UPDATE` counted 0; or let the connection count rows that were found (`CLIENT_FOUND_ROWS`; some
//! clients do by default).
//!
//! **SQLite**: one transaction writes at a time. Let the statement be the first one of its transaction, or begin that
//! with `BEGIN IMMEDIATE`: a transaction that has read before may be refused to write, with `SQLITE_BUSY`. Upserts
//! need version 3.24.
//!
//! # What makes it no fence
//! * The statement of the table outside of the transaction that writes (autocommit): that is two steps.
//! * Reading the fence and then deciding in the program.
//! * A savepoint that is rolled back to *before* the statement while the transaction goes on.
//! * A statement that writes the same data without it.
//! * A fence that is `NULL`: it refuses everybody. Both helpers create columns that cannot be.
//! * With the column: deleting the row and inserting it again, which forgets. Use the table.
//!
//! # Examples
//! ```
//! use leasehold::{FencingToken, fence::sql::{self, Dialect, FenceTable, RowFence}};
//!
//! let account = RowFence::new(Dialect::PostgreSql, "account", "id", "fence")?;
//! assert_eq!(
//!     account.update(&["balance"])?,
//!     "UPDATE account SET balance = $1, fence = $2 WHERE id = $3 AND fence <= $2"
//! );
//!
//! // client.execute(&statement, &[&balance, &sql::number(token), &id])? said how many rows:
//! let token = FencingToken::new(33).unwrap();
//! assert!(sql::check_rows(token, 1).is_ok());
//! assert!(sql::check_rows(token, 0).is_err());
//! # Ok::<(), sql::NameError>(())
//! ```

mod name;
mod row;
mod table;

pub use name::NameError;
pub use row::RowFence;
pub use table::FenceTable;

use super::Stale;
use leasehold_core::FencingToken;

/// Whose SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// PostgreSQL 9.5 or newer. Placeholders are `$1`, `$2`, …
    PostgreSql,
    /// MySQL and MariaDB, with InnoDB. Placeholders are `?`, so the token is given twice.
    MySql,
    /// SQLite 3.24 or newer. Placeholders are `?1`, `?2`, …
    Sqlite,
}

impl Dialect {
    /// The placeholder of the parameter of this number, from 1.
    fn placeholder(self, number: usize) -> String {
        match self {
            Self::PostgreSql => format!("${number}"),
            Self::MySql => "?".to_owned(),
            Self::Sqlite => format!("?{number}"),
        }
    }

    /// What makes a `SELECT` read what is committed, where a transaction would read its snapshot.
    const fn locking(self) -> &'static str {
        match self {
            Self::PostgreSql | Self::Sqlite => "",
            Self::MySql => " FOR UPDATE",
        }
    }
}

/// The token as databases take it: a 64-bit integer.
#[must_use]
pub fn number(token: FencingToken) -> i64 {
    token.get().cast_signed()
}

/// Reads the number of rows that a statement affected: none means that the token is stale.
///
/// For [`RowFence`] it may mean as well that there is no such row: its [`newest`](RowFence::newest) tells the two
/// apart. Not for MySQL, unless it counts the rows that it found: see [above](self#why-this-is-one-step).
///
/// # Errors
/// [`Stale`] if it is 0. End the transaction by `ROLLBACK` then.
pub const fn check_rows(token: FencingToken, affected: u64) -> Result<(), Stale> {
    if affected == 0 {
        let newest = None;
        return Err(Stale { token, newest });
    }
    Ok(())
}

/// Reads the newest token, as it is stored *after* the statement: the write was accepted if it is this one.
///
/// # Errors
/// [`Stale`] if it is another. End the transaction by `ROLLBACK` then.
///
/// # Examples
/// ```
/// use leasehold::{FencingToken, fence::sql};
///
/// let token = FencingToken::new(33).unwrap();
/// assert!(sql::check_newest(token, 33).is_ok());
/// assert_eq!(sql::check_newest(token, 34).unwrap_err().newest, FencingToken::new(34));
/// ```
pub fn check_newest(token: FencingToken, newest: i64) -> Result<(), Stale> {
    if newest == number(token) {
        return Ok(());
    }
    // A smaller one is the trace of no newer holder, but of a statement that was not carried out.
    let newest = u64::try_from(newest).ok().and_then(FencingToken::new);
    let newest = newest.filter(|newest| *newest > token);
    Err(Stale { token, newest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_a_number_of_64_bits() {
        assert_eq!(number(FencingToken::FIRST), 1);
        assert_eq!(number(FencingToken::LAST), 9_007_199_254_740_991);
    }

    #[test]
    fn only_the_token_itself_is_an_acceptance() {
        let token = FencingToken::new(33).expect("in range");
        assert_eq!(check_newest(token, 33), Ok(()));
        for (newest, told) in [
            (34, FencingToken::new(34)),
            (32, None),
            (0, None),
            (-33, None),
            (i64::MAX, None),
            (i64::MIN, None),
        ] {
            let stale = check_newest(token, newest).expect_err("another token");
            assert_eq!((stale.token, stale.newest), (token, told), "{newest}");
        }
    }
}
