//! The crate `postgres`, and `psql`.

use super::{
    Client, Database,
    command_line::{CommandLine, numbers, version},
};
use crate::{
    page,
    postgres::{account, fences},
};
use leasehold::{
    FencingToken,
    fence::{Stale, sql},
};
use leasehold_servers::{Postgres, skip};
use postgres::NoTls;
use std::thread;

const TABLES: &str = "
    CREATE TABLE log (number BIGSERIAL, token BIGINT);
    CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL);
    INSERT INTO account VALUES (7, 100)";

const CLEAR: &str =
    "DELETE FROM fences; DELETE FROM log; UPDATE account SET balance = 100, fence = 0";

struct Rust(postgres::Client);

impl Rust {
    fn say(&mut self, statements: &str) {
        self.0.batch_execute(statements).expect(statements);
    }
}

impl Client for Rust {
    fn begin(&mut self) {
        self.say("BEGIN");
    }

    fn admit(&mut self, token: FencingToken) -> Result<(), Stale> {
        let rows = self
            .0
            .execute(&fences().admit(), &[&"log", &sql::number(token)]);
        sql::check_rows(token, rows.expect("the statement is good"))
    }

    fn log(&mut self, token: FencingToken) {
        let statement = "INSERT INTO log (token) VALUES ($1)";
        let rows = self.0.execute(statement, &[&sql::number(token)]);
        assert_eq!(rows.expect(statement), 1);
    }

    fn commit(&mut self) {
        self.say("COMMIT");
    }

    fn rollback(&mut self) {
        self.say("ROLLBACK");
    }

    fn set(&mut self, balance: i64, token: FencingToken) -> Result<(), Stale> {
        let statement = account().update(&["balance"]).expect("a good name");
        let rows = self
            .0
            .execute(&statement, &[&balance, &sql::number(token), &7]);
        sql::check_rows(token, rows.expect("the statement is good"))
    }

    fn newest(&mut self) -> Option<i64> {
        let row = self.0.query_opt(&fences().newest(), &[&"log"]);
        row.expect("it answers").map(|row| row.get(0))
    }

    fn written(&mut self) -> Vec<u64> {
        let rows = self.0.query("SELECT token FROM log ORDER BY number", &[]);
        let tokens = rows.expect("it answers").into_iter();
        tokens
            .map(|row| row.get::<_, i64>(0).cast_unsigned())
            .collect()
    }

    fn balance(&mut self) -> i64 {
        let row = self.0.query_one("SELECT balance FROM account", &[]);
        row.expect("it answers").get(0)
    }

    fn clear(&mut self) {
        self.say(CLEAR);
    }
}

/// Statements are prepared once, and executed with parameters, as by `psql`'s users who have them.
struct Psql(CommandLine);

impl Psql {
    fn start(server: &Postgres) -> Self {
        let address = server.address();
        let words = ["-X", "-A", "-t", address.as_str()];
        let mut session = CommandLine::start("psql", &words, "\\echo MARK");
        let update = account().update(&["balance"]).expect("a good name");
        let statements = [
            ("admit", fences().admit()),
            ("newest", fences().newest()),
            ("row_update", update),
        ];
        for (name, statement) in statements {
            let said = session.line(&format!("PREPARE {name} AS {statement};"));
            assert_eq!(said, "PREPARE");
        }
        Self(session)
    }

    /// What the tag of a statement says: `INSERT 0 1`, `UPDATE 1`.
    fn rows(&mut self, statement: &str) -> u64 {
        let tag = self.0.line(statement);
        let count = tag.rsplit(' ').next().map(str::parse);
        count.expect("a tag has words").expect(&tag)
    }
}

impl Client for Psql {
    fn begin(&mut self) {
        assert_eq!(self.0.line("BEGIN;"), "BEGIN");
    }

    fn admit(&mut self, token: FencingToken) -> Result<(), Stale> {
        let rows = self.rows(&format!("EXECUTE admit ('log', {token});"));
        sql::check_rows(token, rows)
    }

    fn log(&mut self, token: FencingToken) {
        let rows = self.rows(&format!("INSERT INTO log (token) VALUES ({token});"));
        assert_eq!(rows, 1);
    }

    fn commit(&mut self) {
        assert_eq!(self.0.line("COMMIT;"), "COMMIT");
    }

    fn rollback(&mut self) {
        assert_eq!(self.0.line("ROLLBACK;"), "ROLLBACK");
    }

    fn set(&mut self, balance: i64, token: FencingToken) -> Result<(), Stale> {
        let rows = self.rows(&format!("EXECUTE row_update ({balance}, {token}, 7);"));
        sql::check_rows(token, rows)
    }

    fn newest(&mut self) -> Option<i64> {
        numbers(&self.0.ask("EXECUTE newest ('log');")).pop()
    }

    fn written(&mut self) -> Vec<u64> {
        let said = self.0.ask("SELECT token FROM log ORDER BY number;");
        numbers(&said).into_iter().map(i64::cast_unsigned).collect()
    }

    fn balance(&mut self) -> i64 {
        numbers(&self.0.ask("SELECT balance FROM account;"))[0]
    }

    fn clear(&mut self) {
        let said = self.0.ask(&format!("{CLEAR};"));
        assert!(!said.iter().any(|line| line.contains("ERROR")), "{said:?}");
    }
}

struct Server(Postgres);

impl Server {
    fn connect(&self) -> postgres::Client {
        postgres::Client::connect(&self.0.address(), NoTls).expect("it listens")
    }
}

impl Database for Server {
    fn open(&self) -> Vec<Box<dyn Client>> {
        vec![
            Box::new(Rust(self.connect())),
            Box::new(Psql::start(&self.0)),
        ]
    }

    fn await_waiter(&self, is_over: &dyn Fn() -> bool) {
        let mut client = self.connect();
        let mut is_waited = || {
            let row = client.query_one("SELECT count(*) FROM pg_locks WHERE NOT granted", &[]);
            row.expect("it answers").get::<_, i64>(0) > 0
        };
        while !is_waited() {
            assert!(!is_over(), "the late writer did not wait");
            thread::yield_now();
        }
    }
}

#[test]
fn postgresql_keeps_the_order_with_its_crate_and_with_psql() {
    let server = match Postgres::start() {
        Ok(server) => Server(server),
        Err(error) => return skip(&format!("no PostgreSQL: {error}")),
    };
    let Some(psql) = version("psql", &["--version"]) else {
        return;
    };
    let mut client = server.connect();
    for statement in [&fences().create(), TABLES, &account().add()] {
        client.batch_execute(statement).expect(statement);
    }
    super::tell(&server);
    let row = client.query_one("SHOW server_version", &[]);
    let version: String = row.expect("it answers").get(0);
    page::tell("PostgreSQL", &version, &["the crate `postgres`", &psql]);
}
