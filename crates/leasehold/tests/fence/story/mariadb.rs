//! The crate `mysql`, and the command `mariadb`.

use super::{
    Client, Database,
    command_line::{CommandLine, numbers, version},
};
use crate::{
    mariadb::{Server, account, fences},
    page,
};
use leasehold::{
    FencingToken,
    fence::{Stale, sql},
};
use mysql::prelude::Queryable;
use std::thread;

const CLEAR: [&str; 3] = [
    "DELETE FROM fences",
    "DELETE FROM log",
    "UPDATE account SET balance = 100, fence = 0",
];

struct Rust(mysql::Conn);

impl Rust {
    fn say(&mut self, statement: &str) {
        self.0.query_drop(statement).expect(statement);
    }
}

impl Client for Rust {
    fn begin(&mut self) {
        self.say("START TRANSACTION");
    }

    fn admit(&mut self, token: FencingToken) -> Result<(), Stale> {
        crate::mariadb::admit(&mut self.0, token).expect("the statement is good")
    }

    fn log(&mut self, token: FencingToken) {
        let statement = "INSERT INTO log (token) VALUES (?)";
        let logged = self.0.exec_drop(statement, (sql::number(token),));
        logged.expect(statement);
    }

    fn commit(&mut self) {
        self.say("COMMIT");
    }

    fn rollback(&mut self) {
        self.say("ROLLBACK");
    }

    fn set(&mut self, balance: i64, token: FencingToken) -> Result<(), Stale> {
        crate::mariadb::set(&mut self.0, balance, token).expect("the statement is good")
    }

    fn newest(&mut self) -> Option<i64> {
        let newest = self.0.exec_first(fences().newest(), ("log",));
        newest.expect("it answers")
    }

    fn written(&mut self) -> Vec<u64> {
        let tokens = self.0.query("SELECT token FROM log ORDER BY number");
        tokens.expect("it answers")
    }

    fn balance(&mut self) -> i64 {
        let balance = self.0.query_first("SELECT balance FROM account");
        balance.expect("it answers").expect("there is one")
    }

    fn clear(&mut self) {
        CLEAR.into_iter().for_each(|statement| self.say(statement));
    }
}

/// Statements are prepared once, and executed with variables of the session: the only parameters that both MariaDB and
/// MySQL take there.
struct Command(CommandLine);

impl Command {
    fn start(server: &Server) -> Self {
        let socket = format!("--socket={}", server.socket().display());
        let words = [
            "--no-defaults",
            "--batch",
            "--unbuffered",
            "--skip-column-names",
            "--force",
            "--user=root",
            &socket,
            "leasehold",
        ];
        let mut session = CommandLine::start("mariadb", &words, "SELECT 'MARK';");
        let update = account().update(&["balance"]).expect("a good name");
        let statements = [
            ("admit", fences().admit()),
            ("newest", fences().newest()),
            ("row_update", update),
            ("row_newest", account().newest()),
        ];
        for (name, statement) in statements {
            session.order(&format!("PREPARE {name} FROM '{statement}';"));
        }
        session.order("SET @fence = 'log', @id = 7;");
        Self(session)
    }

    fn number(&mut self, statement: &str) -> i64 {
        self.0.line(statement).parse().expect(statement)
    }
}

impl Client for Command {
    fn begin(&mut self) {
        self.0.order("START TRANSACTION;");
    }

    fn admit(&mut self, token: FencingToken) -> Result<(), Stale> {
        let admit = format!("SET @token = {token}; EXECUTE admit USING @fence, @token, @token;");
        self.0.order(&admit);
        sql::check_newest(token, self.number("EXECUTE newest USING @fence;"))
    }

    fn log(&mut self, token: FencingToken) {
        self.0
            .order(&format!("INSERT INTO log (token) VALUES ({token});"));
    }

    fn commit(&mut self) {
        self.0.order("COMMIT;");
    }

    fn rollback(&mut self) {
        self.0.order("ROLLBACK;");
    }

    fn set(&mut self, balance: i64, token: FencingToken) -> Result<(), Stale> {
        let rows = self.number(&format!(
            "SET @balance = {balance}, @token = {token}; \
             EXECUTE row_update USING @balance, @token, @id, @token; SELECT ROW_COUNT();"
        ));
        if rows > 0 {
            return Ok(());
        }
        sql::check_newest(token, self.number("EXECUTE row_newest USING @id;"))
    }

    fn newest(&mut self) -> Option<i64> {
        numbers(&self.0.ask("EXECUTE newest USING @fence;")).pop()
    }

    fn written(&mut self) -> Vec<u64> {
        let said = self.0.ask("SELECT token FROM log ORDER BY number;");
        numbers(&said).into_iter().map(i64::cast_unsigned).collect()
    }

    fn balance(&mut self) -> i64 {
        self.number("SELECT balance FROM account;")
    }

    fn clear(&mut self) {
        self.0.order(&format!("{};", CLEAR.join("; ")));
    }
}

impl Database for Server {
    fn open(&self) -> Vec<Box<dyn Client>> {
        vec![
            Box::new(Rust(self.connect(false))),
            Box::new(Command::start(self)),
        ]
    }

    fn await_waiter(&self, is_over: &dyn Fn() -> bool) {
        let mut client = self.connect(false);
        let mut is_waited = || {
            // Not `innodb_trx`: what that says is kept for as long as somebody asks again and again.
            let waiting = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'";
            let row: Option<(String, i64)> = client.query_first(waiting).expect("it answers");
            row.is_some_and(|(_, count)| count > 0)
        };
        while !is_waited() {
            assert!(!is_over(), "the late writer did not wait");
            thread::yield_now();
        }
    }
}

#[test]
fn mariadb_keeps_the_order_with_a_crate_and_with_its_command() {
    let Some(server) = Server::start() else {
        return;
    };
    let Some(command) = version("mariadb", &["--no-defaults", "--version"]) else {
        return;
    };
    super::tell(&server);
    let version: Option<String> = server
        .connect(false)
        .query_first("SELECT version()")
        .expect("it answers");
    let version = version.expect("there is one");
    let command: Vec<&str> = command
        .split(',')
        .take(1)
        .flat_map(str::split_whitespace)
        .collect();
    page::tell(
        "MariaDB",
        &version,
        &["the crate `mysql`", &command.join(" ")],
    );
}
