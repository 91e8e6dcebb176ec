//! PostgreSQL as the resource.

use crate::contest::{self, token};
use leasehold::{
    FencingToken,
    fence::{
        Stale,
        sql::{self, Dialect, FenceTable, RowFence},
    },
};
use leasehold_servers::{Postgres, skip};
use postgres::{Client, IsolationLevel, NoTls, Transaction, error::SqlState};
use std::thread;

/// A server with a log of what was written, a table of fences, and a row with a fence.
struct Database {
    server: Postgres,
}

impl Database {
    /// None, after having said so, where there is no PostgreSQL.
    fn start() -> Option<Self> {
        let server = match Postgres::start() {
            Ok(server) => server,
            Err(error) => {
                skip(&format!("no PostgreSQL: {error}"));
                return None;
            }
        };
        let database = Self { server };
        let mut client = database.open();
        for statement in [&fences().create(), TABLES, &account().add(), TRIGGER] {
            client.batch_execute(statement).expect(statement);
        }
        Some(database)
    }

    fn open(&self) -> Client {
        Client::connect(&self.server.address(), NoTls).expect("it listens")
    }

    fn written(&self) -> Vec<u64> {
        let rows = self
            .open()
            .query("SELECT token FROM log ORDER BY number", &[]);
        let tokens = rows.expect("it answers").into_iter();
        tokens
            .map(|row| row.get::<_, i64>(0).cast_unsigned())
            .collect()
    }

    /// Waits until somebody waits for a lock. `is_over` says that nobody will.
    fn await_waiter(&self, is_over: impl Fn() -> bool) {
        let mut client = self.open();
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

pub(crate) fn fences() -> FenceTable {
    FenceTable::new(Dialect::PostgreSql, "public.fences").expect("a good name")
}

pub(crate) fn account() -> RowFence {
    RowFence::new(Dialect::PostgreSql, "account", "id", "fence").expect("good names")
}

const TABLES: &str = "
    CREATE TABLE log (number BIGSERIAL, token BIGINT);
    CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL);
    INSERT INTO account VALUES (7, 100)";

const TRIGGER: &str = "
    CREATE FUNCTION written() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO log (token) VALUES (new.fence); RETURN NULL; END';
    CREATE TRIGGER written AFTER UPDATE ON account FOR EACH ROW EXECUTE FUNCTION written()";

fn admit(transaction: &mut Transaction<'_>, token: FencingToken) -> Result<(), Stale> {
    let rows = transaction.execute(&fences().admit(), &[&"log", &sql::number(token)]);
    sql::check_rows(token, rows.expect("the statement is good"))
}

/// A transaction as the docs have it: the fence first.
fn append(client: &mut Client, token: FencingToken) -> Result<(), Stale> {
    let mut transaction = client.transaction().expect("it begins");
    // Dropping the transaction rolls it back.
    admit(&mut transaction, token)?;
    log(transaction, token);
    Ok(())
}

fn log(mut transaction: Transaction<'_>, token: FencingToken) {
    let statement = "INSERT INTO log (token) VALUES ($1)";
    let logged = transaction.execute(statement, &[&sql::number(token)]);
    logged
        .and_then(|_| transaction.commit())
        .expect("it is written");
}

fn set(client: &mut Client, balance: i64, token: FencingToken) -> Result<(), Stale> {
    let statement = account().update(&["balance"]).expect("a good name");
    let rows = client.execute(&statement, &[&balance, &sql::number(token), &7]);
    sql::check_rows(token, rows.expect("the statement is good"))
}

#[test]
fn a_fence_table_of_postgresql_keeps_the_order() {
    let Some(database) = Database::start() else {
        return;
    };
    contest::nothing_is_written_behind_a_newer_token(
        || {
            let mut client = database.open();
            move |token| append(&mut client, token)
        },
        || database.written(),
    );
    let mut client = database.open();
    client
        .batch_execute("DELETE FROM fences")
        .expect("it answers");
    contest::tokens_are_compared_as_numbers(|token| {
        let appended = append(&mut client, token);
        let newest = client.query_one(&fences().newest(), &[&"log"]);
        let newest = newest.expect("it is there").get(0);
        assert_eq!(sql::check_newest(token, newest).is_ok(), appended.is_ok());
        appended
    });
}

#[test]
fn a_row_of_postgresql_keeps_the_order() {
    let Some(database) = Database::start() else {
        return;
    };
    contest::nothing_is_written_behind_a_newer_token(
        || {
            let mut client = database.open();
            // The same value again and again is a write as well.
            move |token| set(&mut client, 90, token)
        },
        || database.written(),
    );
    let mut client = database.open();
    client
        .batch_execute("UPDATE account SET fence = 0")
        .expect("it answers");
    contest::tokens_are_compared_as_numbers(|token| {
        let set = set(&mut client, 90, token);
        let newest = client.query_one(&account().newest(), &[&7]);
        let newest = newest.expect("it is there").get(0);
        assert_eq!(sql::check_newest(token, newest).is_ok(), set.is_ok());
        set
    });
}

/// What comes of a write with token 33 that arrives while 34, in a transaction that has begun and not ended, is
/// about to write. `end` ends that transaction.
fn late_write(
    database: &Database,
    isolation: IsolationLevel,
    end: impl FnOnce(Transaction<'_>),
) -> Result<Result<(), Stale>, postgres::Error> {
    let mut client = database.open();
    client
        .batch_execute("TRUNCATE fences, log")
        .expect("it answers");
    append(&mut client, token(32)).expect("the first one");
    let mut newer = client.transaction().expect("it begins");
    admit(&mut newer, token(34)).expect("newer than 32");
    thread::scope(|scope| {
        let late = scope.spawn(|| {
            let mut client = database.open();
            let transaction = client.build_transaction().isolation_level(isolation);
            let mut transaction = transaction.start()?;
            let number = sql::number(token(33));
            let rows = transaction.execute(&fences().admit(), &[&"log", &number])?;
            let admitted = sql::check_rows(token(33), rows);
            if admitted.is_ok() {
                log(transaction, token(33));
            }
            Ok(admitted)
        });
        database.await_waiter(|| late.is_finished());
        end(newer);
        late.join().expect("the late writer ends")
    })
}

#[test]
fn a_late_transaction_of_postgresql_waits_for_the_newer_one_and_is_refused() {
    let Some(database) = Database::start() else {
        return;
    };
    let commit = |transaction: Transaction<'_>| log(transaction, token(34));
    let late = late_write(&database, IsolationLevel::ReadCommitted, commit).expect("no error");
    assert_eq!(late.map_err(|stale| stale.token), Err(token(33)));
    assert_eq!(database.written(), [32, 34]);
    for isolation in [IsolationLevel::RepeatableRead, IsolationLevel::Serializable] {
        let error = late_write(&database, isolation, commit).expect_err("it has an old snapshot");
        assert_eq!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE));
        assert_eq!(database.written(), [32, 34]);
    }
    // If the newer one did not write after all, it has seen nothing.
    let undo = |transaction: Transaction<'_>| transaction.rollback().expect("it can be undone");
    let late = late_write(&database, IsolationLevel::ReadCommitted, undo).expect("no error");
    assert_eq!(late, Ok(()));
    assert_eq!(database.written(), [32, 33]);
}
