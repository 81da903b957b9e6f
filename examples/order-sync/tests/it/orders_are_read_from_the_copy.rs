//! `GET /orders`: filters, pages, and whatever people type.

use hourhand_testkit::Database;
use order_sync::order::{Order, Status};
use order_sync::store::Store;
use order_sync::web;
use reqwest::{StatusCode, Url};
use serde_json::Value;
use sqlx::PgPool;
use tokio::net::TcpListener;

use crate::support::{database, order, save};

/// The service without a scheduler, and so without a feed.
struct Service {
    url: String,
    pool: PgPool,
    _database: Database,
}

impl Service {
    async fn start(orders: &[Order]) -> Self {
        let (database, pool) = database().await;
        save(&pool, orders).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = web::router(Store::new(pool.clone()), None, "node".to_owned());
        tokio::spawn(async { axum::serve(listener, router).await });
        Self { url, pool, _database: database }
    }

    async fn get(&self, query: &[(&str, &str)]) -> (StatusCode, Value) {
        let url = Url::parse_with_params(&format!("{}/orders", self.url), query).unwrap();
        let response = reqwest::get(url).await.unwrap();
        (response.status(), response.json().await.unwrap())
    }

    async fn ids(&self, query: &[(&str, &str)]) -> Vec<String> {
        let (status, answer) = self.get(query).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        let orders: Vec<Order> = serde_json::from_value(answer["orders"].clone()).unwrap();
        assert_eq!(answer["total"], orders.len());
        orders.into_iter().map(|order| order.id).collect()
    }
}

fn named(id: &str, name: &str) -> Order {
    Order { ship_name: name.to_owned(), ..order(id, id.parse().unwrap()) }
}

#[tokio::test]
async fn filters_narrow_and_combine_and_the_newest_comes_first() {
    let paid = Order { status: Status::Paid, ..order("3", 30) };
    let other = Order { customer: "BONAP".to_owned(), ..paid.clone() };
    let service = Service::start(&[order("1", 10), order("2", 20), paid, Order { id: "4".to_owned(), ..other }]).await;
    assert_eq!(service.ids(&[]).await, ["1", "2", "3", "4"]);
    assert_eq!(service.ids(&[("status", "paid")]).await, ["3", "4"]);
    assert_eq!(service.ids(&[("status", "paid"), ("customer", "BONAP")]).await, ["4"]);
    assert_eq!(service.ids(&[("customer", "bonap")]).await, [""; 0]);
    assert_eq!(service.ids(&[("search", ""), ("customer", "")]).await.len(), 4);
}

#[tokio::test]
async fn an_order_is_read_as_it_was_written() {
    let written = Order { ship_name: "Księgarnia \"Pod Łosiem\" \\ 한일".to_owned(), ..order("1", 5) };
    let service = Service::start(std::slice::from_ref(&written)).await;
    let (_, answer) = service.get(&[]).await;
    let read: Vec<Order> = serde_json::from_value(answer["orders"].clone()).unwrap();
    assert_eq!(read, [written]);
}

#[tokio::test]
async fn a_search_finds_its_text_as_it_is_in_any_field_whatever_the_case() {
    let service = Service::start(&[
        named("1", "Toms Spezialitäten"),
        named("2", "100 % Half_Price"),
        named("3", "100 X HalfXPrice"),
        named("4", "O'Brien's; drop table orders; --"),
        named("5", r"Back\Slash"),
    ])
    .await;
    assert_eq!(service.ids(&[("search", "TOMS SPEZIALItäten")]).await, ["1"]);
    assert_eq!(service.ids(&[("search", "%")]).await, ["2"]);
    assert_eq!(service.ids(&[("search", "half_price")]).await, ["2"]);
    assert_eq!(service.ids(&[("search", "o'brien's; DROP table")]).await, ["4"]);
    assert_eq!(service.ids(&[("search", r"\")]).await, ["5"]);
    assert_eq!(service.ids(&[("search", "berlin")]).await.len(), 5);
    // A hit may not begin in one field and end in the next.
    assert_eq!(service.ids(&[("search", "Berlin Germany")]).await, [""; 0]);
}

#[tokio::test]
async fn hostile_input_is_refused_or_finds_nothing_and_is_never_a_server_error() {
    let service = Service::start(&[order("1", 10)]).await;
    let long = "x".repeat(201);
    for query in [
        [("search", "\0")],
        [("search", "a\nb")],
        [("search", long.as_str())],
        [("customer", "\0")],
        [("status", "lost")],
        [("page", "0")],
        [("page", "-1")],
        [("page", "100001")],
        [("page", "99999999999999999999")],
        [("staus", "paid")],
    ] {
        let (status, answer) = service.get(&query).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{query:?}: {answer}");
        assert!(answer["error"].is_string(), "{query:?}: {answer}");
    }
    for search in ["' or 1=1 --", "$1", "{}", "\u{202e}", "😀", "%%%%%%", "(((((((", "\u{fffd}"] {
        assert_eq!(service.ids(&[("search", search)]).await, [""; 0], "{search:?}");
    }
    // Bytes that are no UTF-8.
    let answer = reqwest::get(format!("{}/orders?search=%ff%fe", service.url)).await.unwrap();
    assert!(!answer.status().is_server_error(), "{}", answer.status());
}

#[tokio::test]
async fn pages_hold_fifty_and_one_past_the_end_is_empty() {
    let orders: Vec<Order> = (0..120).map(|i| order(&format!("{i:03}"), i)).collect();
    let service = Service::start(&orders).await;
    let (_, first) = service.get(&[]).await;
    assert_eq!((&first["total"], &first["pages"], &first["page"]), (&120.into(), &3.into(), &1.into()));
    let mut seen = 0;
    for (page, count) in [("1", 50), ("2", 50), ("3", 20), ("4", 0), ("100000", 0)] {
        let (_, answer) = service.get(&[("page", page)]).await;
        assert_eq!(answer["orders"].as_array().unwrap().len(), count);
        assert_eq!(answer["total"], 120);
        seen += count;
    }
    assert_eq!(seen, 120);
}

#[tokio::test]
async fn an_order_removed_here_is_not_shown_and_its_id_is_free() {
    let service = Service::start(&[order("1", 100), order("2", 90)]).await;
    sqlx::query("update orders set deleted_at = now() where outside_id = '1'").execute(&service.pool).await.unwrap();
    assert_eq!(service.ids(&[]).await, ["2"]);
    save(&service.pool, &[order("1", 80)]).await;
    assert_eq!(service.ids(&[]).await, ["1", "2"]);
    let rows: i64 = sqlx::query_scalar("select count(*) from orders").fetch_one(&service.pool).await.unwrap();
    assert_eq!(rows, 3);
}

#[tokio::test]
async fn without_a_scheduler_the_service_serves_and_says_that_it_is_off() {
    let service = Service::start(&[]).await;
    let sync: Value = reqwest::get(format!("{}/sync", service.url)).await.unwrap().json().await.unwrap();
    assert_eq!(sync["scheduler"], "off");
    let answer = reqwest::Client::new().post(format!("{}/sync", service.url)).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    let health = reqwest::get(format!("{}/healthz", service.url)).await.unwrap();
    assert_eq!(health.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_database_that_is_away_is_said_so_without_its_particulars() {
    let service = Service::start(&[]).await;
    service.pool.close().await;
    let (status, answer) = service.get(&[]).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer["error"], "the database does not answer as it should; try again");
    let health = reqwest::get(format!("{}/healthz", service.url)).await.unwrap();
    assert_eq!(health.status(), StatusCode::SERVICE_UNAVAILABLE);
}
