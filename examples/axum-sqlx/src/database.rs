//! Which database. For PostgreSQL it is these two lines, and the feature of sqlx in `Cargo.toml`.

use leasehold::fence::sql::Dialect;

/// `sqlx::Postgres`.
pub(crate) type Database = sqlx::Sqlite;

/// `Dialect::PostgreSql`.
pub(crate) const DIALECT: Dialect = Dialect::Sqlite;

/// The fence is a column of the row that it protects.
pub(crate) const TABLES: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS account (
        id TEXT PRIMARY KEY, balance_cents BIGINT NOT NULL, fence BIGINT NOT NULL DEFAULT 0)",
    "CREATE TABLE IF NOT EXISTS withdrawal (
        account TEXT NOT NULL, id TEXT NOT NULL, balance_cents BIGINT NOT NULL, PRIMARY KEY (account, id))",
];
