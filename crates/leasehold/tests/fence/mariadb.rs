//! MariaDB as the resource.

use crate::contest::{self, token};
use leasehold::{
    FencingToken,
    fence::{
        Stale,
        sql::{self, Dialect, FenceTable, RowFence},
    },
};
use leasehold_servers::{MariaDb, skip};
use mysql::{Conn, Error, OptsBuilder, consts::CapabilityFlags, prelude::Queryable};
use std::path::PathBuf;

/// A server with a log of what was written, a table of fences, and a row with a fence.
pub(crate) struct Server(MariaDb);

impl Server {
    /// None, after having said so, where there is no MariaDB.
    pub(crate) fn start() -> Option<Self> {
        let server = match MariaDb::start() {
            Ok(server) => Self(server),
            Err(error) => {
                skip(&format!("no MariaDB: {error}"));
                return None;
            }
        };
        let mut client = server.connect(false);
        let tables = [
            fences().create().as_str(),
            "CREATE TABLE log (number BIGINT AUTO_INCREMENT PRIMARY KEY, token BIGINT) ENGINE = InnoDB",
            "CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL) ENGINE = InnoDB",
            "INSERT INTO account VALUES (7, 100)",
            &account().add(),
        ]
        .map(str::to_owned);
        for statement in tables {
            client.query_drop(&statement).expect(&statement);
        }
        Some(server)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.0.socket()
    }

    /// A connection that counts rows that were changed, or those that were found.
    pub(crate) fn connect(&self, counts_found: bool) -> Conn {
        let capabilities = if counts_found {
            CapabilityFlags::CLIENT_FOUND_ROWS
        } else {
            CapabilityFlags::empty()
        };
        let options = OptsBuilder::new()
            .socket(Some(self.socket().display().to_string()))
            .user(Some("root"))
            .db_name(Some("leasehold"))
            .additional_capabilities(capabilities);
        Conn::new(options).expect("it listens")
    }

    fn written(&self) -> Vec<u64> {
        let mut client = self.connect(false);
        let tokens = client.query("SELECT token FROM log ORDER BY number");
        tokens.expect("it answers")
    }
}

pub(crate) fn fences() -> FenceTable {
    FenceTable::new(Dialect::MySql, "leasehold.fences").expect("a good name")
}

pub(crate) fn account() -> RowFence {
    RowFence::new(Dialect::MySql, "account", "id", "fence").expect("good names")
}

/// The statement of the table, and what it kept.
pub(crate) fn admit(client: &mut Conn, token: FencingToken) -> Result<Result<(), Stale>, Error> {
    let number = sql::number(token);
    client.exec_drop(fences().admit(), ("log", number, number))?;
    let newest = client.exec_first(fences().newest(), ("log",))?;
    Ok(sql::check_newest(token, newest.expect("it is there")))
}

/// The statement of the row, and what it kept if it counted none.
pub(crate) fn set(
    client: &mut Conn,
    balance: i64,
    token: FencingToken,
) -> Result<Result<(), Stale>, Error> {
    let number = sql::number(token);
    let statement = account().update(&["balance"]).expect("a good name");
    client.exec_drop(statement, (balance, number, 7, number))?;
    if client.affected_rows() > 0 {
        return Ok(Ok(()));
    }
    let newest = client.exec_first(account().newest(), (7,))?;
    Ok(sql::check_newest(token, newest.expect("it is there")))
}

/// A transaction as the docs have it: the fence first. A deadlock is a refusal, to be tried again.
fn append(client: &mut Conn, token: FencingToken) -> Result<(), Stale> {
    let number = sql::number(token);
    let mut attempt = || -> Result<Result<(), Stale>, Error> {
        client.query_drop("START TRANSACTION")?;
        let admitted = admit(client, token)?;
        if admitted.is_err() {
            client.query_drop("ROLLBACK")?;
            return Ok(admitted);
        }
        client.exec_drop("INSERT INTO log (token) VALUES (?)", (number,))?;
        client.query_drop("COMMIT")?;
        Ok(Ok(()))
    };
    loop {
        match attempt() {
            Ok(outcome) => return outcome,
            Err(error) if code(&error) == Some(DEADLOCK) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn code(error: &Error) -> Option<u16> {
    match error {
        Error::MySqlError(error) => Some(error.code),
        _ => None,
    }
}

const DEADLOCK: u16 = 1213;
const CHANGED_SINCE_READ: u16 = 1020;

#[test]
fn a_fence_table_of_mariadb_keeps_the_order() {
    let Some(server) = Server::start() else {
        return;
    };
    contest::nothing_is_written_behind_a_newer_token(
        || {
            let mut client = server.connect(false);
            move |token| append(&mut client, token)
        },
        || server.written(),
    );
    let mut client = server.connect(false);
    client.query_drop("DELETE FROM fences").expect("it answers");
    contest::tokens_are_compared_as_numbers(|token| append(&mut client, token));
    // Also where a client sends them as texts, which would be compared as texts by some versions.
    client.query_drop("DELETE FROM fences").expect("it answers");
    contest::tokens_are_compared_as_numbers(|token| {
        let text = token.to_string();
        let admitted = client.exec_drop(fences().admit(), ("log", &text, &text));
        admitted.expect("it answers");
        let newest: Option<i64> = client
            .exec_first(fences().newest(), ("log",))
            .expect("it answers");
        sql::check_newest(token, newest.expect("it is there"))
    });
}

#[test]
fn a_row_of_mariadb_keeps_the_order() {
    let Some(server) = Server::start() else {
        return;
    };
    let mut client = server.connect(false);
    client
        .query_drop(
            "CREATE TRIGGER written AFTER UPDATE ON account FOR EACH ROW \
             INSERT INTO log (token) VALUES (NEW.fence)",
        )
        .expect("it may");
    // Rows that were found are counted also if nothing changed: there `check_rows` tells.
    contest::nothing_is_written_behind_a_newer_token(
        || {
            let mut client = server.connect(true);
            move |token| {
                let number = sql::number(token);
                let statement = account().update(&["balance"]).expect("a good name");
                let updated = client.exec_drop(statement, (90, number, 7, number));
                updated.expect("the statement is good");
                sql::check_rows(token, client.affected_rows())
            }
        },
        || server.written(),
    );
    client
        .query_drop("UPDATE account SET fence = 0")
        .expect("it answers");
    contest::tokens_are_compared_as_numbers(|token| {
        // The same value again and again is a write as well.
        set(&mut client, 90, token).expect("the statement is good")
    });
}

/// A transaction has read before it writes, and somebody else has written in between.
#[test]
fn a_transaction_of_mariadb_with_an_old_snapshot_is_refused() {
    let Some(server) = Server::start() else {
        return;
    };
    for isolation in ["READ COMMITTED", "REPEATABLE READ"] {
        for is_row in [true, false] {
            let [mut early, mut late] = [(); 2].map(|()| server.connect(false));
            let writes = |client: &mut Conn, number| {
                if is_row {
                    set(client, 90, token(number))
                } else {
                    admit(client, token(number))
                }
            };
            for statement in [
                "DELETE FROM fences",
                "UPDATE account SET balance = 90, fence = 0",
                &format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"),
            ] {
                early.query_drop(statement).expect(statement);
            }
            // Servers that refuse an old snapshot by themselves (MariaDB 11.6 does, unless told otherwise): below.
            early
                .query_drop("SET SESSION innodb_snapshot_isolation = OFF")
                .expect("it may");
            assert_eq!(writes(&mut early, 33).expect("it answers"), Ok(()));
            early.query_drop("START TRANSACTION").expect("it may");
            for table in ["account", "fences"] {
                let read = format!("SELECT * FROM {table}");
                early.query_drop(read).expect("it answers");
            }
            assert_eq!(writes(&mut late, 34).expect("it answers"), Ok(()));
            let refused = writes(&mut early, 33).expect("it answers");
            let stale = refused.expect_err("34 is committed");
            assert_eq!(stale.newest, Some(token(34)), "{isolation} {is_row}");
            early.query_drop("ROLLBACK").expect("it may");
            if isolation == "REPEATABLE READ" {
                let strict = "SET SESSION innodb_snapshot_isolation = ON";
                early.query_drop(strict).expect("it may");
                early.query_drop("START TRANSACTION").expect("it may");
                for table in ["account", "fences"] {
                    let read = format!("SELECT * FROM {table}");
                    early.query_drop(read).expect("it answers");
                }
                assert_eq!(writes(&mut late, 35).expect("it answers"), Ok(()));
                let error = writes(&mut early, 34).expect_err("the snapshot is old");
                assert_eq!(code(&error), Some(CHANGED_SINCE_READ), "{error}");
                drop(early.query_drop("ROLLBACK"));
            }
        }
    }
}
