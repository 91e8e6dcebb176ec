//! A bank on the web: withdrawals under a lock, written with its fencing token, so that a holder who was stopped and
//! comes back late is refused by the database.
//!
//! ```sh
//! cargo run --manifest-path examples/axum-sqlx/Cargo.toml
//! curl -i localhost:8080/accounts/ann/withdrawals -H 'content-type: application/json' \
//!      -d '{"id": "rent-may", "amount_cents": 3000}'
//! ```
//!
//! It needs no server: the accounts are in SQLite, and the locks in a file, which is enough for all processes of one
//! user on one machine. For several machines the locks are on servers and the accounts in PostgreSQL:
//!
//! ```sh
//! leasehold servers start -n 5
//! LEASEHOLD_NODES="$(leasehold servers status --nodes)" cargo run --manifest-path examples/axum-sqlx/Cargo.toml
//! ```
//!
//! `database.rs` names the lines that are different with PostgreSQL.
//!
//! # What to see
//! Run two on the same files, with `LISTEN=127.0.0.1:8081` the second, and `CHECK_MS=5000` both. While one withdraws
//! from an account the other says 423; stop the one with `kill -STOP` in the middle, and some ten seconds later the other may
//! withdraw; let the one go on with `kill -CONT`, and it says 409 and has written nothing.
//!
//! # Where to look
//! * `withdrawal.rs`: what is done under the lock, and in which order.
//! * `accounts.rs`: the statements that carry the token.
//! * `refusal.rs`: what the client of the service is told when the lock is busy or lost, or no quorum answers.

mod accounts;
mod database;
mod refusal;
#[cfg(test)]
mod tests;
mod withdrawal;

use accounts::Accounts;
use axum::{Router, routing::post};
use leasehold::{LockManager, LockOptions};
use std::{env, error::Error, fs, sync::Arc, time::Duration};
use tokio::{net::TcpListener, signal};
use tracing::info;

/// What the handlers share.
struct Bank {
    locks: LockManager,
    accounts: Accounts,
    /// How long a client waits for an account that somebody else withdraws from. Less than it waits for an answer.
    patience: Duration,
    /// How long the check of a withdrawal takes, which is the slow part.
    check_takes: Duration,
}

fn routes(bank: Arc<Bank>) -> Router {
    Router::new()
        .route("/accounts/{account}/withdrawals", post(withdrawal::post))
        .with_state(bank)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().init();
    let setting = |name: &str, default: &str| env::var(name).unwrap_or_else(|_| default.to_owned());
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/target/bank");
    let folder = setting("BANK_FOLDER", folder);
    fs::create_dir_all(&folder)?;

    let locks = LockManager::builder();
    let locks = match env::var("LEASEHOLD_NODES") {
        Ok(nodes) => locks.nodes(nodes.split(',')),
        Err(_) => locks.file(format!("{folder}/locks")),
    };
    let ttl = Duration::from_millis(setting("TTL_MS", "10000").parse()?);
    let bank = Arc::new(Bank {
        locks: locks.defaults(LockOptions::new().ttl(ttl)).build()?,
        accounts: Accounts::open(&setting(
            "DATABASE_URL",
            &format!("sqlite://{folder}/accounts.db?mode=rwc"),
        ))
        .await?,
        patience: Duration::from_secs(2),
        check_takes: Duration::from_millis(setting("CHECK_MS", "200").parse()?),
    });
    bank.accounts.add("ann", 10_000).await?;

    let listener = TcpListener::bind(setting("LISTEN", "127.0.0.1:8080")).await?;
    info!(address = %listener.local_addr()?, "listening");
    axum::serve(listener, routes(Arc::clone(&bank)))
        .with_graceful_shutdown(async {
            // Where the signal cannot be waited for, it ends the process at once: what is held lives until its TTL ends.
            let _ = signal::ctrl_c().await;
        })
        .await?;
    // No handler runs any more. What they have dropped is released before the process ends.
    bank.locks.shutdown().await;
    Ok(())
}
