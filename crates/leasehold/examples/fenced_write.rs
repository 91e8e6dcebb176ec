//! What fencing tokens are for: a holder is stopped between its look at the lease and its write, its lease runs
//! out, somebody else acquires the lock and writes, and then it goes on. Once with an account that does not look
//! at tokens, and once with one that does.
//!
//! ```sh
//! cargo run -p leasehold --example fenced_write
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use leasehold::{
    FencingToken, LockManager, LockOptions, Mutex,
    fence::{Fence, Stale},
};
use std::{error::Error, sync, time::Duration};

/// A resource: a balance, and perhaps a fence, behind one mutex of this program.
struct Account {
    inner: sync::Mutex<(Option<Fence>, i64)>,
}

impl Account {
    fn new(fence: Option<Fence>) -> Self {
        let inner = sync::Mutex::new((fence, 100));
        Self { inner }
    }

    /// Reading raises the fence too: what is read cannot be changed any more by somebody who is late.
    fn balance(&self, token: FencingToken) -> Result<i64, Stale> {
        self.step(token, |balance| *balance)
    }

    fn set_balance(&self, token: FencingToken, balance: i64) -> Result<(), Stale> {
        self.step(token, |old| *old = balance)
    }

    /// The check and what is to be done, in one step: nobody else has the mutex meanwhile.
    fn step<T>(&self, token: FencingToken, act: impl FnOnce(&mut i64) -> T) -> Result<T, Stale> {
        let mut inner = self.inner.lock().expect("nobody panics with it");
        if let Some(fence) = &mut inner.0 {
            fence.admit(token)?;
        }
        Ok(act(&mut inner.1))
    }
}

/// Two holders, one of them stopped. Returns what became of its write.
async fn two_holders(
    mutex: &Mutex,
    account: &Account,
) -> Result<Result<(), Stale>, Box<dyn Error>> {
    let ann = mutex.acquire().await?;
    let ann_read = account.balance(ann.fencing_token())?;
    assert!(ann.is_valid());
    println!(
        "Ann holds the lock, token …{}, and reads {ann_read}",
        last_digits(ann.fencing_token())
    );

    println!("Ann is stopped, as by garbage collection; her lease runs out");
    ann.lost().await;

    let bob = mutex.acquire().await?;
    assert!(bob.fencing_token() > ann.fencing_token());
    let bob_read = account.balance(bob.fencing_token())?;
    let paid_in = bob_read + 50;
    account.set_balance(bob.fencing_token(), paid_in)?;
    println!(
        "Bob holds the lock, token …{}, reads {bob_read}, pays in 50, writes {paid_in}",
        last_digits(bob.fencing_token())
    );
    println!("Bob gives it back: {}", bob.release().await);

    println!(
        "Ann goes on, takes out 30 from what she read, writes {}",
        ann_read - 30
    );
    Ok(account.set_balance(ann.fencing_token(), ann_read - 30))
}

fn last_digits(token: FencingToken) -> String {
    let digits = token.to_string();
    digits
        .get(digits.len().saturating_sub(6)..)
        .unwrap_or(&digits)
        .to_owned()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let manager = LockManager::builder().memory(3).build()?;
    // A process that is stopped extends nothing.
    let options = LockOptions::new()
        .ttl(Duration::from_millis(200))
        .no_renewal();
    let mutex = manager.mutex_with("account/7", options)?;

    println!("— an account that does not look at tokens");
    let account = Account::new(None);
    let written = two_holders(&mutex, &account).await?;
    assert_eq!(written, Ok(()));
    let last = mutex.acquire().await?;
    let balance = account.balance(last.fencing_token())?;
    println!("given back: {}", last.release().await);
    assert_eq!(balance, 70, "the right balance is 120");
    println!("the balance is {balance}: Bob's 50 are lost\n");

    println!("— an account with a fence");
    let account = Account::new(Some(Fence::new()));
    let written = two_holders(&mutex, &account).await?;
    let stale = written.expect_err("Bob has written with a newer token");
    println!("refused: cannot {stale}");
    let last = mutex.acquire().await?;
    let balance = account.balance(last.fencing_token())?;
    println!("given back: {}", last.release().await);
    assert_eq!(balance, 150);
    println!("the balance is {balance}: Ann has to acquire the lock again, and to read again");
    manager.shutdown().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_story_is_true() {
        super::main().expect("it ends well");
    }
}
