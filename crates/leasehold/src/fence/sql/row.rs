//! A fence in the row that is protected.

use super::{Dialect, NameError, name};

/// A fence that is a column of the row that it protects: the `UPDATE` that writes checks and moves it.
///
/// # Examples
/// ```
/// use leasehold::fence::sql::{Dialect, RowFence};
///
/// let account = RowFence::new(Dialect::Sqlite, "account", "id", "fence")?;
/// assert_eq!(account.add(), "ALTER TABLE account ADD COLUMN fence BIGINT NOT NULL DEFAULT 0");
/// assert_eq!(
///     account.update(&["balance", "holder"])?,
///     "UPDATE account SET balance = ?1, holder = ?2, fence = ?3 WHERE id = ?4 AND fence <= ?3"
/// );
/// assert_eq!(account.newest(), "SELECT fence FROM account WHERE id = ?1");
/// assert!(RowFence::new(Dialect::Sqlite, "account; DROP TABLE account", "id", "fence").is_err());
/// # Ok::<(), leasehold::fence::sql::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFence {
    dialect: Dialect,
    table: String,
    key: String,
    fence: String,
}

impl RowFence {
    /// The fence in the column `fence` of `table`, whose rows are told apart by the column `key`.
    ///
    /// Names are written into the statements as they are, without quotes.
    ///
    /// # Errors
    /// [`NameError`] if one of the names is more than letters, digits and `_`, or longer than 63, or if one column is to be both. A
    /// word of SQL (`order`) is refused by the database alone.
    pub fn new(dialect: Dialect, table: &str, key: &str, fence: &str) -> Result<Self, NameError> {
        let (key, fence) = (name::column(key)?, name::column(fence)?);
        // Each write would give its row another key.
        if key.eq_ignore_ascii_case(&fence) {
            return Err(NameError::Twice { column: fence });
        }
        let table = name::table(table)?;
        Ok(Self {
            dialect,
            table,
            key,
            fence,
        })
    }

    /// The statement that adds the column to the table. No parameters. Rows that are there have seen no token.
    #[must_use]
    pub fn add(&self) -> String {
        let Self { table, fence, .. } = self;
        format!("ALTER TABLE {table} ADD COLUMN {fence} BIGINT NOT NULL DEFAULT 0")
    }

    /// The statement that sets these columns, and the fence, of one row.
    ///
    /// Parameters: the values of the columns, the token ([`number`](super::number)), the row's key; for MySQL the
    /// token once more. No rows mean that the token is stale, or that there is no such row: see
    /// [`check_rows`](super::check_rows), and for MySQL [the trap](super#why-this-is-one-step).
    ///
    /// # Errors
    /// [`NameError`] if a name cannot be used, or is there twice.
    pub fn update(&self, columns: &[&str]) -> Result<String, NameError> {
        let mut set: Vec<String> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for column in columns.iter().copied().chain([self.fence.as_str()]) {
            let column = name::column(column)?;
            // MySQL would take the last one without a word, and the fence with it.
            if names
                .iter()
                .any(|other| other.eq_ignore_ascii_case(&column))
            {
                return Err(NameError::Twice { column });
            }
            let value = self.dialect.placeholder(names.len() + 1);
            set.push(format!("{column} = {value}"));
            names.push(column);
        }
        let Self {
            table, key, fence, ..
        } = self;
        let (set, count) = (set.join(", "), names.len());
        let token = self.dialect.placeholder(count);
        let row = self.dialect.placeholder(count + 1);
        Ok(format!(
            "UPDATE {table} SET {set} WHERE {key} = {row} AND {fence} <= {token}"
        ))
    }

    /// The statement that reads the newest token of one row. Parameter: the row's key.
    ///
    /// After an update that counted no rows it tells why: no row, or a newer token, or, with MySQL, the same one: see
    /// [`check_newest`](super::check_newest). It decides nothing beforehand. In MySQL it locks, and so reads what is
    /// committed: a transaction that has read before would read its snapshot, and take a stale token for the newest.
    #[must_use]
    pub fn newest(&self) -> String {
        let Self {
            table, key, fence, ..
        } = self;
        let row = self.dialect.placeholder(1);
        let lock = self.dialect.locking();
        format!("SELECT {fence} FROM {table} WHERE {key} = {row}{lock}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(dialect: Dialect) -> RowFence {
        RowFence::new(dialect, "bank.account", "id", "fence").expect("good names")
    }

    #[test]
    fn each_dialect_has_its_placeholders() {
        for (dialect, expected) in [
            (
                Dialect::PostgreSql,
                "UPDATE bank.account SET a = $1, b = $2, fence = $3 WHERE id = $4 AND fence <= $3",
            ),
            (
                Dialect::MySql,
                "UPDATE bank.account SET a = ?, b = ?, fence = ? WHERE id = ? AND fence <= ?",
            ),
            (
                Dialect::Sqlite,
                "UPDATE bank.account SET a = ?1, b = ?2, fence = ?3 WHERE id = ?4 AND fence <= ?3",
            ),
        ] {
            assert_eq!(row(dialect).update(&["a", "b"]).as_deref(), Ok(expected));
        }
        assert_eq!(
            row(Dialect::MySql).update(&[]).as_deref(),
            Ok("UPDATE bank.account SET fence = ? WHERE id = ? AND fence <= ?")
        );
        assert_eq!(
            row(Dialect::MySql).newest(),
            "SELECT fence FROM bank.account WHERE id = ? FOR UPDATE"
        );
    }

    #[test]
    fn a_column_is_set_once() {
        for columns in [&["a", "A"][..], &["fence"], &["Fence", "a"]] {
            let error = row(Dialect::MySql).update(columns);
            assert!(matches!(error, Err(NameError::Twice { .. })), "{error:?}");
        }
        let both = RowFence::new(Dialect::Sqlite, "account", "id", "ID");
        assert!(matches!(both, Err(NameError::Twice { .. })), "{both:?}");
        let error = row(Dialect::MySql).update(&["a = 1 --"]);
        assert!(
            matches!(error, Err(NameError::Malformed { .. })),
            "{error:?}"
        );
    }
}
