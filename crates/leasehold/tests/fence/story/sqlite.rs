//! The crate `rusqlite`, and `sqlite3`.

use super::{
    Client,
    command_line::{CommandLine, numbers, version},
};
use crate::{
    page,
    sqlite::{Database, LOG, account, fences},
};
use leasehold::{
    FencingToken,
    fence::{Stale, sql},
};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Params, params};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

const CLEAR: &str =
    "DELETE FROM fences; DELETE FROM log; UPDATE account SET balance = 100, fence = 0;";

/// How often somebody was told that the database is busy, and came again.
type Waited = Arc<AtomicUsize>;

struct Rust(Connection, Waited);

impl Rust {
    /// What a statement does that may have to wait: as often as needed, for nobody tells who waits inside.
    fn execute(&mut self, statement: &str, parameters: impl Params + Copy) -> u64 {
        loop {
            match self.0.execute(statement, parameters) {
                Ok(rows) => return rows as u64,
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                    self.1.fetch_add(1, Ordering::SeqCst);
                    thread::yield_now();
                }
                Err(error) => panic!("{statement}: {error}"),
            }
        }
    }

    /// The same of statements that may be said again. A commit is refused too while somebody reads.
    fn say(&mut self, statements: &str) {
        loop {
            match self.0.execute_batch(statements) {
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                    thread::yield_now();
                }
                said => return said.expect(statements),
            }
        }
    }
}

impl Client for Rust {
    fn begin(&mut self) {
        self.say("BEGIN");
    }

    fn admit(&mut self, token: FencingToken) -> Result<(), Stale> {
        let rows = self.execute(&fences().admit(), params!["log", sql::number(token)]);
        sql::check_rows(token, rows)
    }

    fn log(&mut self, token: FencingToken) {
        let statement = "INSERT INTO log (token) VALUES (?1)";
        assert_eq!(self.execute(statement, params![sql::number(token)]), 1);
    }

    fn commit(&mut self) {
        self.say("COMMIT");
    }

    fn rollback(&mut self) {
        self.say("ROLLBACK");
    }

    fn set(&mut self, balance: i64, token: FencingToken) -> Result<(), Stale> {
        let statement = account().update(&["balance"]).expect("a good name");
        let rows = self.execute(&statement, params![balance, sql::number(token), 7]);
        sql::check_rows(token, rows)
    }

    fn newest(&mut self) -> Option<i64> {
        let newest = self
            .0
            .query_row(&fences().newest(), ["log"], |row| row.get(0));
        newest.optional().expect("it answers")
    }

    fn written(&mut self) -> Vec<u64> {
        let statement = self.0.prepare("SELECT token FROM log ORDER BY number");
        let mut statement = statement.expect("there is a log");
        let rows = statement.query_map((), |row| row.get::<_, i64>(0));
        rows.expect("it answers")
            .map(|number| number.expect("a number").cast_unsigned())
            .collect()
    }

    fn balance(&mut self) -> i64 {
        let balance = self
            .0
            .query_row("SELECT balance FROM account", (), |row| row.get(0));
        balance.expect("it answers")
    }

    fn clear(&mut self) {
        self.say(CLEAR);
    }
}

struct Sqlite3(CommandLine, Waited);

impl Sqlite3 {
    /// What the statement says. Parameters are set before, as the command's users do.
    fn ask(&mut self, parameters: &[&str], statement: &str) -> Vec<String> {
        let mut words = ".parameter clear\n".to_owned();
        for (number, value) in (1..).zip(parameters) {
            words += &format!(".parameter set ?{number} {value}\n");
        }
        words += statement;
        words += ";";
        loop {
            let said = self.0.ask(&words);
            if !said.iter().any(|line| line.contains("database is locked")) {
                assert!(!said.iter().any(|line| line.contains("rror")), "{said:?}");
                return said;
            }
            self.1.fetch_add(1, Ordering::SeqCst);
            thread::yield_now();
        }
    }

    fn rows(&mut self, parameters: &[&str], statement: &str) -> u64 {
        self.0.order("");
        let said = self.ask(parameters, statement);
        assert_eq!(said, Vec::<String>::new(), "{statement}");
        let rows = self.0.line("SELECT changes();");
        rows.parse().expect("a number")
    }
}

impl Client for Sqlite3 {
    fn begin(&mut self) {
        self.0.order("BEGIN;");
    }

    fn admit(&mut self, token: FencingToken) -> Result<(), Stale> {
        let rows = self.rows(&["log", &token.to_string()], &fences().admit());
        sql::check_rows(token, rows)
    }

    fn log(&mut self, token: FencingToken) {
        let statement = "INSERT INTO log (token) VALUES (?1)";
        assert_eq!(self.rows(&[&token.to_string()], statement), 1);
    }

    fn commit(&mut self) {
        assert_eq!(self.ask(&[], "COMMIT"), Vec::<String>::new());
    }

    fn rollback(&mut self) {
        assert_eq!(self.ask(&[], "ROLLBACK"), Vec::<String>::new());
    }

    fn set(&mut self, balance: i64, token: FencingToken) -> Result<(), Stale> {
        let statement = account().update(&["balance"]).expect("a good name");
        let values = [balance.to_string(), token.to_string()];
        let rows = self.rows(&[&values[0], &values[1], "7"], &statement);
        sql::check_rows(token, rows)
    }

    fn newest(&mut self) -> Option<i64> {
        numbers(&self.ask(&["log"], &fences().newest())).pop()
    }

    fn written(&mut self) -> Vec<u64> {
        let said = self.0.ask("SELECT token FROM log ORDER BY number;");
        numbers(&said).into_iter().map(i64::cast_unsigned).collect()
    }

    fn balance(&mut self) -> i64 {
        numbers(&self.0.ask("SELECT balance FROM account;"))[0]
    }

    fn clear(&mut self) {
        self.0.order(CLEAR);
    }
}

struct File(Database, Waited);

impl super::Database for File {
    fn open(&self) -> Vec<Box<dyn Client>> {
        let connection = self.0.open();
        let at_once = connection.busy_timeout(Duration::ZERO);
        at_once.expect("it can be set");
        let path = self.0.file();
        let words = ["-batch", path.to_str().expect("a text")];
        let session = CommandLine::start("sqlite3", &words, ".print MARK");
        vec![
            Box::new(Rust(connection, Arc::clone(&self.1))),
            Box::new(Sqlite3(session, Arc::clone(&self.1))),
        ]
    }

    fn await_waiter(&self, is_over: &dyn Fn() -> bool) {
        let before = self.1.load(Ordering::SeqCst);
        // Who was refused once more after that has come again.
        while self.1.load(Ordering::SeqCst) == before {
            assert!(!is_over(), "the late writer did not wait");
            thread::yield_now();
        }
    }
}

#[test]
fn sqlite_keeps_the_order_with_its_crate_and_with_its_command() {
    let Some(command) = version("sqlite3", &["--version"]) else {
        return;
    };
    let tables = [
        LOG,
        &fences().create(),
        "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER)",
        "INSERT INTO account VALUES (7, 100)",
        &account().add(),
    ];
    let file = File(Database::create("story", &tables), Waited::default());
    super::tell(&file);
    let command = command.split(' ').next().unwrap_or_default();
    page::tell(
        "SQLite",
        rusqlite::version(),
        &["the crate `rusqlite`", &format!("sqlite3 {command}")],
    );
}
