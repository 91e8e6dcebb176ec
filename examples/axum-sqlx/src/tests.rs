//! What the database and the clients of the service see when locks are busy, lost or not to be had.

use crate::{
    Bank,
    accounts::Accounts,
    refusal::Refusal,
    routes,
    withdrawal::{Order, Receipt, Turn},
};
use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use leasehold::testing::World;
use sqlx::pool::PoolOptions;
use std::{sync::Arc, time::Duration};
use tower::ServiceExt;

/// Ann has 100.
async fn accounts() -> Accounts {
    // Each connection would have a database of its own in memory.
    let pool = PoolOptions::new().max_connections(1);
    let pool = pool.connect("sqlite::memory:").await.expect("in memory");
    let accounts = Accounts::on(pool).await.expect("tables are created");
    accounts.add("ann", 100).await.expect("an account is added");
    accounts
}

async fn bank(world: &World) -> Arc<Bank> {
    Arc::new(Bank {
        locks: world.manager(),
        accounts: accounts().await,
        patience: Duration::ZERO,
        check_takes: Duration::ZERO,
    })
}

fn order(id: &str, amount_cents: u32) -> Order {
    let id = id.to_owned();
    Order { id, amount_cents }
}

async fn ask(bank: &Arc<Bank>, account: &str, order: Order) -> Response {
    let body = format!(
        r#"{{"id": "{}", "amount_cents": {}}}"#,
        order.id, order.amount_cents
    );
    let request = Request::post(format!("/accounts/{account}/withdrawals"))
        .header("content-type", "application/json")
        .body(Body::from(body))
        .expect("a good request");
    let answer = routes(Arc::clone(bank)).oneshot(request).await;
    answer.expect("routes do not fail")
}

async fn receipt(response: Response) -> Receipt {
    assert_eq!(response.status(), StatusCode::OK);
    let body = to_bytes(response.into_body(), 1000).await;
    serde_json::from_slice(&body.expect("a small body")).expect("a receipt")
}

fn retry_after(response: &Response) -> Option<&str> {
    let header = response.headers().get(RETRY_AFTER)?;
    header.to_str().ok()
}

#[tokio::test]
async fn a_withdrawal_is_made_once_however_often_it_is_asked_for() {
    let bank = bank(&World::new(3)).await;
    for _ in 0..2 {
        let answer = ask(&bank, "ann", order("rent", 30)).await;
        assert_eq!(receipt(answer).await, Receipt { balance_cents: 70 });
    }
    let answer = ask(&bank, "ann", order("bread", 5)).await;
    assert_eq!(receipt(answer).await, Receipt { balance_cents: 65 });
    let answer = ask(&bank, "ann", order("yacht", 1000)).await;
    assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let answer = ask(&bank, "nobody", order("rent", 30)).await;
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
}

/// The worst moment: after the last look at the lease, before the write.
#[tokio::test]
async fn a_holder_that_was_stopped_before_its_write_is_refused_by_the_database() {
    let world = World::new(3);
    let bank = bank(&world).await;
    let late = Turn::take(&bank, "ann").await.expect("a free account");
    late.check().await.expect("the lease is held");

    // Here it is stopped; its lock goes to somebody else, who is through before it goes on.
    world.lose("accounts/ann");
    let answer = ask(&bank, "ann", order("bread", 5)).await;
    assert_eq!(receipt(answer).await, Receipt { balance_cents: 95 });

    let refusal = late.withdraw(&order("rent", 30)).await.expect_err("stale");
    assert!(matches!(refusal, Refusal::Stale(_)), "{refusal:?}");
    let answer = refusal.into_response();
    assert_eq!(answer.status(), StatusCode::CONFLICT);
    assert_eq!(retry_after(&answer), Some("1"));
    // Not 70, which would be what it had read less 30; and nothing of it was noted.
    assert_eq!(bank.accounts.balance_cents("ann").await.ok(), Some(95));
    assert_eq!(bank.accounts.made("ann", "rent").await.ok(), Some(None));

    // Asked again, it begins from what is there.
    let answer = ask(&bank, "ann", order("rent", 30)).await;
    assert_eq!(receipt(answer).await, Receipt { balance_cents: 65 });
}

/// Nobody has written meanwhile: the next holder has only read.
#[tokio::test]
async fn a_late_write_is_refused_as_soon_as_the_next_holder_has_read() {
    let world = World::new(3);
    let bank = bank(&world).await;
    let late = Turn::take(&bank, "ann").await.expect("a free account");
    world.lose("accounts/ann");
    let next = Turn::take(&bank, "ann").await.expect("a lost lock is free");
    let refusal = late.withdraw(&order("rent", 30)).await.expect_err("stale");
    assert!(matches!(refusal, Refusal::Stale(_)), "{refusal:?}");
    let made = next.withdraw(&order("bread", 5)).await;
    assert_eq!(made.ok(), Some(Receipt { balance_cents: 95 }));
}

#[tokio::test]
async fn a_lock_that_is_lost_ends_the_check_at_once_and_is_a_conflict() {
    let world = World::new(3);
    let mut bank = bank(&world).await;
    let an_hour = Duration::from_secs(3600);
    Arc::get_mut(&mut bank).expect("not shared yet").check_takes = an_hour;
    let turn = Turn::take(&bank, "ann").await.expect("a free account");
    let loss = async { world.lose("accounts/ann") };
    let (checked, ()) = tokio::join!(turn.check(), loss);
    let refusal = checked.expect_err("the lease is lost");
    assert!(matches!(refusal, Refusal::Lost(_)), "{refusal:?}");
    let answer = refusal.into_response();
    assert_eq!(answer.status(), StatusCode::CONFLICT);
    assert_eq!(retry_after(&answer), Some("1"));
}

#[tokio::test]
async fn a_busy_account_is_locked_and_another_is_not() {
    let bank = bank(&World::new(3)).await;
    bank.accounts
        .add("bob", 10)
        .await
        .expect("an account is added");
    let turn = Turn::take(&bank, "ann").await.expect("a free account");
    let answer = ask(&bank, "ann", order("rent", 30)).await;
    assert_eq!(answer.status(), StatusCode::LOCKED);
    assert_eq!(retry_after(&answer), Some("1"));
    let answer = ask(&bank, "bob", order("rent", 3)).await;
    assert_eq!(answer.status(), StatusCode::OK);
    drop(turn);
}

#[tokio::test]
async fn a_quorum_that_is_away_makes_the_service_unavailable_and_one_node_does_not() {
    let world = World::new(3);
    let bank = bank(&world).await;
    world.node(0).down("no route");
    let answer = ask(&bank, "ann", order("bread", 5)).await;
    assert_eq!(answer.status(), StatusCode::OK);
    world.node(1).down("no route");
    let answer = ask(&bank, "ann", order("rent", 30)).await;
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(retry_after(&answer), Some("1"));
    world.node(1).up();
    world.settle();
    let answer = ask(&bank, "ann", order("rent", 30)).await;
    assert_eq!(receipt(answer).await, Receipt { balance_cents: 65 });
}
