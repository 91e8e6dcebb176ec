//! A table of fences.

use super::{Dialect, NameError, name};

/// A table with one row for each fence: its statement comes first in the transaction that writes.
///
/// # Examples
/// ```
/// use leasehold::fence::sql::{Dialect, FenceTable};
///
/// let fences = FenceTable::new(Dialect::Sqlite, "fences")?;
/// assert_eq!(
///     fences.admit(),
///     "INSERT INTO fences AS f (resource, newest) VALUES (?1, ?2) ON CONFLICT (resource) \
///      DO UPDATE SET newest = excluded.newest WHERE f.newest <= excluded.newest"
/// );
/// // BEGIN; fences.admit() with a name and sql::number(token); sql::check_rows: ROLLBACK if it says so;
/// // what is to be written; COMMIT.
/// # Ok::<(), leasehold::fence::sql::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FenceTable {
    dialect: Dialect,
    table: String,
}

impl FenceTable {
    /// Fences in this table. The name is written into the statements as it is, without quotes.
    ///
    /// # Errors
    /// [`NameError`] if the name is more than letters, digits and `_`, with or without a schema, or longer than 63.
    pub fn new(dialect: Dialect, table: &str) -> Result<Self, NameError> {
        let table = name::table(table)?;
        Ok(Self { dialect, table })
    }

    /// The statement that creates the table if it is not there. No parameters.
    #[must_use]
    pub fn create(&self) -> String {
        let table = &self.table;
        // As many bytes as a resource's name may have; compared byte by byte.
        let (text, rest) = match self.dialect {
            Dialect::PostgreSql | Dialect::Sqlite => ("TEXT", ""),
            Dialect::MySql => ("VARBINARY(1024)", " ENGINE = InnoDB"),
        };
        format!(
            "CREATE TABLE IF NOT EXISTS {table} (resource {text} NOT NULL PRIMARY KEY, newest BIGINT NOT NULL){rest}"
        )
    }

    /// The statement that lets a token pass, or does not, and locks the fence until the transaction ends.
    ///
    /// Parameters: the fence's name (the lock's resource, as a rule) and the token ([`number`](super::number)); for
    /// MySQL the token once more. In PostgreSQL and SQLite no rows mean that the token is stale:
    /// [`check_rows`](super::check_rows). In MySQL the count tells nothing: ask [`newest`](Self::newest) in the same
    /// transaction, and then [`check_newest`](super::check_newest).
    ///
    /// A transaction with several fences passes them in an order that all agree on, or two may wait for each other.
    #[must_use]
    pub fn admit(&self) -> String {
        let table = &self.table;
        let [name, token] = [1, 2].map(|number| self.dialect.placeholder(number));
        match self.dialect {
            Dialect::PostgreSql | Dialect::Sqlite => format!(
                "INSERT INTO {table} AS f (resource, newest) VALUES ({name}, {token}) ON CONFLICT (resource) \
                 DO UPDATE SET newest = excluded.newest WHERE f.newest <= excluded.newest"
            ),
            // Without a condition, and with the token once more: MySQL has no condition there, and it and MariaDB
            // have different words for the row that was to be inserted. Cast, because a client may send a text, and
            // MySQL compares a number and a text as texts: there "9" is greater than "10".
            Dialect::MySql => format!(
                "INSERT INTO {table} (resource, newest) VALUES (?, ?) \
                 ON DUPLICATE KEY UPDATE newest = GREATEST(newest, CAST(? AS SIGNED))"
            ),
        }
    }

    /// The statement that reads the newest token of a fence. Parameter: the fence's name.
    ///
    /// In MySQL it locks, and so reads what is committed even where the transaction has a snapshot from before.
    #[must_use]
    pub fn newest(&self) -> String {
        let table = &self.table;
        let name = self.dialect.placeholder(1);
        let lock = self.dialect.locking();
        format!("SELECT newest FROM {table} WHERE resource = {name}{lock}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mysql_is_asked_what_it_kept() {
        let fences = FenceTable::new(Dialect::MySql, "bank.fences").expect("a good name");
        assert_eq!(
            [fences.create(), fences.admit(), fences.newest()],
            [
                "CREATE TABLE IF NOT EXISTS bank.fences (resource VARBINARY(1024) NOT NULL PRIMARY KEY, \
                 newest BIGINT NOT NULL) ENGINE = InnoDB",
                "INSERT INTO bank.fences (resource, newest) VALUES (?, ?) \
                 ON DUPLICATE KEY UPDATE newest = GREATEST(newest, CAST(? AS SIGNED))",
                "SELECT newest FROM bank.fences WHERE resource = ? FOR UPDATE",
            ]
        );
    }

    #[test]
    fn a_bad_name_is_refused() {
        for bad in ["", "a b", "fences;", "a.b.c"] {
            assert!(FenceTable::new(Dialect::Sqlite, bad).is_err(), "{bad}");
        }
    }
}
