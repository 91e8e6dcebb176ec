//! Accounts in a database that refuses tokens older than the newest it has seen.

use crate::{
    database::{DIALECT, Database, TABLES},
    refusal::Refusal,
};
use leasehold::{
    FencingToken,
    fence::sql::{self, NameError, RowFence},
};
use sqlx::Pool;

pub(crate) struct Accounts {
    pool: Pool<Database>,
    statements: Statements,
}

struct Statements {
    /// Raises the fence of an account and tells the balance, in one step.
    enter: String,
    /// Sets the balance of an account.
    write: String,
    /// The newest token of an account.
    newest: String,
}

impl Statements {
    fn new() -> Result<Self, NameError> {
        let account = RowFence::new(DIALECT, "account", "id", "fence")?;
        Ok(Self {
            enter: format!("{} RETURNING balance_cents", account.update(&[])?),
            write: account.update(&["balance_cents"])?,
            newest: account.newest(),
        })
    }
}

impl Accounts {
    pub(crate) async fn open(url: &str) -> Result<Self, sqlx::Error> {
        Self::on(Pool::connect(url).await?).await
    }

    pub(crate) async fn on(pool: Pool<Database>) -> Result<Self, sqlx::Error> {
        for table in TABLES {
            sqlx::query(table).execute(&pool).await?;
        }
        Ok(Self {
            pool,
            statements: Statements::new().expect("the names in this file are plain"),
        })
    }

    /// Opens an account, unless it is there.
    pub(crate) async fn add(&self, account: &str, balance_cents: i64) -> Result<(), sqlx::Error> {
        let add =
            "INSERT INTO account (id, balance_cents) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING";
        let add = sqlx::query(add).bind(account).bind(balance_cents);
        add.execute(&self.pool).await.map(drop)
    }

    /// What is in the account, by nobody's lock: true when it was read.
    pub(crate) async fn balance_cents(&self, account: &str) -> Result<i64, Refusal> {
        let read = sqlx::query_scalar("SELECT balance_cents FROM account WHERE id = $1");
        let balance = read.bind(account).fetch_optional(&self.pool).await?;
        balance.ok_or(Refusal::NoAccount)
    }

    /// Raises the fence, and only then reads: nobody with an older token can change any more what this returns.
    pub(crate) async fn enter(&self, account: &str, token: FencingToken) -> Result<i64, Refusal> {
        let enter = sqlx::query_scalar(&self.statements.enter)
            .bind(sql::number(token))
            .bind(account);
        match enter.fetch_optional(&self.pool).await? {
            Some(balance) => Ok(balance),
            None => Err(self.why_not(account, token).await),
        }
    }

    /// The balance that this withdrawal left, if it was made.
    pub(crate) async fn made(&self, account: &str, id: &str) -> Result<Option<i64>, Refusal> {
        let read = sqlx::query_scalar(
            "SELECT balance_cents FROM withdrawal WHERE account = $1 AND id = $2",
        );
        let read = read.bind(account).bind(id);
        Ok(read.fetch_optional(&self.pool).await?)
    }

    /// Writes the balance that a withdrawal leaves, and that it was made: both, or nothing if the token is stale.
    pub(crate) async fn write(
        &self,
        account: &str,
        token: FencingToken,
        id: &str,
        balance_cents: i64,
    ) -> Result<(), Refusal> {
        let mut transaction = self.pool.begin().await?;
        // First the statement that checks the token. It locks the row, so nobody comes between it and the commit.
        let write = sqlx::query(&self.statements.write)
            .bind(balance_cents)
            .bind(sql::number(token))
            .bind(account);
        let affected = write.execute(&mut *transaction).await?.rows_affected();
        if sql::check_rows(token, affected).is_err() {
            transaction.rollback().await?;
            return Err(self.why_not(account, token).await);
        }
        let note = "INSERT INTO withdrawal (account, id, balance_cents) VALUES ($1, $2, $3)";
        let note = sqlx::query(note).bind(account).bind(id).bind(balance_cents);
        note.execute(&mut *transaction).await?;
        Ok(transaction.commit().await?)
    }

    /// No row was changed: there is none, or its fence is newer. The answer is for people; it decides nothing.
    async fn why_not(&self, account: &str, token: FencingToken) -> Refusal {
        let newest = sqlx::query_scalar(&self.statements.newest).bind(account);
        match newest.fetch_optional(&self.pool).await {
            Ok(None) => Refusal::NoAccount,
            Ok(Some(newest)) => match sql::check_newest(token, newest) {
                Err(stale) => Refusal::Stale(stale),
                Ok(()) => Refusal::Vanished,
            },
            Err(error) => Refusal::Database(error),
        }
    }
}
