//! SQLite as the resource.

use crate::contest;
use leasehold::{
    FencingToken,
    fence::{
        Stale,
        sql::{self, Dialect, FenceTable, RowFence},
    },
};
use rusqlite::{Connection, params};
use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// A database in a file of its own, removed on drop.
pub(crate) struct Database {
    folder: PathBuf,
}

impl Database {
    pub(crate) fn create(name: &str, statements: &[&str]) -> Self {
        let name = format!("leasehold-fence-{name}-{}", std::process::id());
        let folder = env::temp_dir().join(name);
        drop(fs::remove_dir_all(&folder));
        fs::create_dir(&folder).expect("the temporary folder can be written");
        let database = Self { folder };
        let connection = database.open();
        for statement in statements {
            connection.execute_batch(statement).expect(statement);
        }
        database
    }

    pub(crate) fn open(&self) -> Connection {
        let connection = Connection::open(self.file()).expect("it opens");
        connection
            .busy_timeout(Duration::from_secs(30))
            .and_then(|()| connection.execute_batch("PRAGMA synchronous = OFF"))
            .expect("it can be set");
        connection
    }

    /// Where it is.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join("database")
    }

    fn written(&self) -> Vec<u64> {
        let connection = self.open();
        let mut statement = connection
            .prepare("SELECT token FROM log ORDER BY number")
            .expect("there is a log");
        let rows = statement.query_map((), |row| row.get::<_, i64>(0));
        rows.expect("it answers")
            .map(|number| number.expect("a number").cast_unsigned())
            .collect()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(Path::new(&self.folder)));
    }
}

pub(crate) fn fences() -> FenceTable {
    FenceTable::new(Dialect::Sqlite, "fences").expect("a good name")
}

pub(crate) fn account() -> RowFence {
    RowFence::new(Dialect::Sqlite, "account", "id", "fence").expect("good names")
}

pub(crate) const LOG: &str =
    "CREATE TABLE log (number INTEGER PRIMARY KEY AUTOINCREMENT, token INTEGER)";

fn database_with_fences(name: &str) -> Database {
    Database::create(name, &[LOG, &fences().create(), &fences().create()])
}

fn database_with_rows(name: &str) -> Database {
    let trigger = "CREATE TRIGGER written AFTER UPDATE ON account BEGIN \
                   INSERT INTO log (token) VALUES (new.fence); END";
    Database::create(
        name,
        &[
            LOG,
            "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER)",
            "INSERT INTO account VALUES (7, 100)",
            &account().add(),
            trigger,
        ],
    )
}

/// A transaction as the docs have it: the fence first.
fn append(connection: &mut Connection, token: FencingToken) -> Result<(), Stale> {
    let transaction = connection.transaction().expect("it begins");
    let number = sql::number(token);
    let rows = transaction.execute(&fences().admit(), params!["log", number]);
    // Dropping the transaction rolls it back.
    sql::check_rows(token, rows.expect("the statement is good") as u64)?;
    transaction
        .execute("INSERT INTO log (token) VALUES (?1)", [number])
        .and_then(|_| transaction.commit())
        .expect("it is written");
    Ok(())
}

fn set(connection: &Connection, balance: i64, token: FencingToken) -> Result<(), Stale> {
    let statement = account().update(&["balance"]).expect("a good name");
    let rows = connection.execute(&statement, params![balance, sql::number(token), 7]);
    sql::check_rows(token, rows.expect("the statement is good") as u64)
}

#[test]
fn a_fence_table_of_sqlite_compares_tokens_as_numbers() {
    let database = database_with_fences("table");
    let mut connection = database.open();
    contest::tokens_are_compared_as_numbers(|token| {
        let appended = append(&mut connection, token);
        let newest = connection.query_row(&fences().newest(), ["log"], |row| row.get(0));
        assert_eq!(
            sql::check_newest(token, newest.expect("it is there")).is_ok(),
            appended.is_ok()
        );
        appended
    });
}

#[test]
fn a_fence_table_of_sqlite_keeps_the_order_among_many_writers() {
    let database = database_with_fences("table-contest");
    contest::nothing_is_written_behind_a_newer_token(
        || {
            let mut connection = database.open();
            move |token| append(&mut connection, token)
        },
        || database.written(),
    );
}

#[test]
fn a_row_of_sqlite_compares_tokens_as_numbers() {
    let database = database_with_rows("row");
    let connection = database.open();
    contest::tokens_are_compared_as_numbers(|token| {
        let set = set(&connection, 90, token);
        let newest = connection.query_row(&account().newest(), [7], |row| row.get(0));
        let newest = newest.expect("it is there");
        assert_eq!(sql::check_newest(token, newest).is_ok(), set.is_ok());
        set
    });
}

#[test]
fn a_row_of_sqlite_keeps_the_order_among_many_writers() {
    let database = database_with_rows("row-contest");
    contest::nothing_is_written_behind_a_newer_token(
        || {
            let connection = database.open();
            // The same value again and again is a write as well.
            move |token| set(&connection, 90, token)
        },
        || database.written(),
    );
}
