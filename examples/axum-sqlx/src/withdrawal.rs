//! A withdrawal: the balance is read, something slow is asked about it, and the new balance is written.
//!
//! The slow part is why there is a lock: a transaction that is open for so long would keep a connection and a row. And it
//! is why there is a fence: this process may be stopped at any line below, until the lock is somebody else's.

use crate::{Bank, refusal::Refusal};
use axum::{
    Json,
    extract::{Path, State},
};
use leasehold::LeaseGuard;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Deserialize)]
pub(crate) struct Order {
    /// Chosen by the client, and the same when it asks again, so that a withdrawal whose answer was lost is not made twice.
    pub(crate) id: String,
    pub(crate) amount_cents: u32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) balance_cents: i64,
}

/// `POST /accounts/{account}/withdrawals`.
///
/// If the client hangs up, axum drops this at its last `await`, and the guard with it, which releases the lock in the
/// background. Whether a write that was under way was made is told to whoever asks again with the same id.
pub(crate) async fn post(
    State(bank): State<Arc<Bank>>,
    Path(account): Path<String>,
    Json(order): Json<Order>,
) -> Result<Json<Receipt>, Refusal> {
    // First of all: strangers must not make a lock, and a counter on every node, of any name that they make up.
    bank.accounts.balance_cents(&account).await?;
    let turn = Turn::take(&bank, &account).await?;
    // Asked after the fence was raised. Before, an older holder might have written right after the answer.
    if let Some(balance_cents) = bank.accounts.made(&account, &order.id).await? {
        return Ok(Json(Receipt { balance_cents }));
    }
    turn.check().await?;
    Ok(Json(turn.withdraw(&order).await?))
}

/// The lock of an account, and what is in it.
pub(crate) struct Turn<'a> {
    bank: &'a Bank,
    account: &'a str,
    guard: LeaseGuard,
    balance_cents: i64,
}

impl<'a> Turn<'a> {
    pub(crate) async fn take(bank: &'a Bank, account: &'a str) -> Result<Self, Refusal> {
        let mutex = bank.locks.mutex(&format!("accounts/{account}"))?;
        let guard = mutex.acquire_within(bank.patience).await?;
        let balance_cents = bank.accounts.enter(account, guard.fencing_token()).await?;
        Ok(Self {
            bank,
            account,
            guard,
            balance_cents,
        })
    }

    /// Asks whether the withdrawal is lawful, as a service elsewhere would. Given up when the lease is lost: what comes
    /// after it could not be written.
    pub(crate) async fn check(&self) -> Result<(), Refusal> {
        tokio::select! {
            biased;
            lost = self.guard.lost() => Err(Refusal::Lost(Box::new(lost))),
            () = tokio::time::sleep(self.bank.check_takes) => Ok(()),
        }
    }

    /// Writes the new balance, and gives the lock back.
    ///
    /// Not dropped when the lease is lost: nobody would know then whether the write was made. It needs no lease, since the
    /// database looks at the token.
    pub(crate) async fn withdraw(self, order: &Order) -> Result<Receipt, Refusal> {
        let balance_cents = self.balance_cents - i64::from(order.amount_cents);
        if balance_cents < 0 {
            return Err(Refusal::TooLittle);
        }
        let token = self.guard.fencing_token();
        let accounts = &self.bank.accounts;
        accounts
            .write(self.account, token, &order.id, balance_cents)
            .await?;
        // The client need not wait for the release: the guard is dropped here, and the manager sees to it.
        Ok(Receipt { balance_cents })
    }
}
