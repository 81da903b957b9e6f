//! What `save_orders` does with what comes twice, late and out of order.

use order_sync::order::{Order, Status};
use sqlx::PgPool;

use crate::support::{database, order, save};

async fn status(pool: &PgPool, id: &str) -> String {
    let statement = "select status from orders where outside_id = $1 and deleted_at is null";
    sqlx::query_scalar(statement).bind(id).fetch_one(pool).await.unwrap()
}

fn paid(order: &Order, seconds_ago: i64) -> Order {
    let updated_at = crate::support::order("", seconds_ago).updated_at;
    Order { status: Status::Paid, updated_at, ..order.clone() }
}

#[tokio::test]
async fn a_newer_telling_replaces_an_older_one_and_an_older_one_changes_nothing() {
    let (_database, pool) = database().await;
    let first = order("1", 100);
    let newer = paid(&first, 50);
    save(&pool, std::slice::from_ref(&first)).await;
    save(&pool, std::slice::from_ref(&newer)).await;
    assert_eq!(status(&pool, "1").await, "paid");
    save(&pool, &[first]).await;
    assert_eq!(status(&pool, "1").await, "paid");
    // The same instant again is a telling of the same change; the last one counts.
    save(&pool, &[Order { status: Status::Cancelled, ..newer }]).await;
    assert_eq!(status(&pool, "1").await, "cancelled");
}

#[tokio::test]
async fn an_order_that_stands_on_one_page_twice_is_saved_once_as_its_newer_telling() {
    let (_database, pool) = database().await;
    let older = order("1", 100);
    for page in [[older.clone(), paid(&older, 50)], [paid(&older, 40), older.clone()]] {
        save(&pool, &page).await;
        assert_eq!(status(&pool, "1").await, "paid");
    }
}

#[tokio::test]
async fn an_order_that_was_removed_here_and_changes_there_comes_back_as_a_new_row() {
    let (_database, pool) = database().await;
    let first = order("1", 100);
    save(&pool, std::slice::from_ref(&first)).await;
    sqlx::query("update orders set deleted_at = now()").execute(&pool).await.unwrap();
    save(&pool, &[paid(&first, 50)]).await;
    assert_eq!(status(&pool, "1").await, "paid");
}

#[tokio::test]
async fn an_empty_page_is_saved_as_nothing() {
    let (_database, pool) = database().await;
    save(&pool, &[]).await;
    let rows: i64 = sqlx::query_scalar("select count(*) from orders").fetch_one(&pool).await.unwrap();
    assert_eq!(rows, 0);
}
