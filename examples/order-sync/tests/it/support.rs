//! A feed, a database and a service for one test.

use std::fmt::Debug;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use axum::Router;
use axum::routing::any;
use clap::Parser;
use hourhand_testkit::{Database, Leash, Leashed, Signal, eventually};
use jiff::{SignedDuration, Timestamp};
use order_sync::feed::{self, Books, Change, Options, Stats, Truth, World};
use order_sync::order::{Order, Status};
use order_sync::store;
use reqwest::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sqlx::PgPool;
use sqlx::types::Json;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A bound for what happens soon, on a machine that may be busy.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// Waits until what is asked for is so.
#[track_caller]
pub(crate) fn until<T: Debug>(mut ask: impl AsyncFnMut() -> T, so: impl Fn(&T) -> bool) -> impl Future<Output = T> {
    eventually(SOON, async move || {
        let seen = ask().await;
        if so(&seen) { Ok(seen) } else { Err(format!("{seen:?}")) }
    })
}

/// The outside service, over HTTP; ends with the test.
pub(crate) struct Feed {
    pub(crate) url: String,
    task: JoinHandle<()>,
}

/// The feed's options: quick, at rest and of few orders unless `more` says otherwise.
fn feed_options(more: &[&str]) -> Options {
    let quick = ["--answer-min", "0s", "--answer-max", "0s", "--change-every", "0s", "--late-max", "0s"];
    let small = ["--backlog", "20", "--feed-interval", "200ms", "--feed-rest", "600ms"];
    let options = last_of_each(quick.iter().chain(&small).chain(more));
    Options::try_parse_from(["order-feed"].into_iter().chain(options)).unwrap()
}

/// clap refuses an option that is given twice.
fn last_of_each<'a>(words: impl Iterator<Item = &'a &'a str>) -> Vec<&'a str> {
    let words: Vec<&str> = words.copied().collect();
    let pairs = words.chunks(2).enumerate();
    let last = |i: usize, pair: &[&str]| !words.chunks(2).skip(i + 1).any(|later| later[0] == pair[0]);
    pairs.filter(|(i, pair)| last(*i, pair)).flat_map(|(_, pair)| pair.to_vec()).collect()
}

impl Feed {
    pub(crate) async fn start(more: &[&str]) -> Self {
        let options = feed_options(more);
        let world = options.world(Timestamp::now()).unwrap();
        Self::of(world, &options).await
    }

    /// A feed of just these orders, which do not change by themselves.
    pub(crate) async fn with(orders: Vec<Order>, more: &[&str]) -> Self {
        let change = Change { every: Duration::ZERO, late_max: Duration::ZERO, grows: false };
        Self::of(World::new(orders, change, 1, Timestamp::now()), &feed_options(more)).await
    }

    async fn of(world: World, options: &Options) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let books = Books::new(world, options);
        let task = tokio::spawn(async move { feed::serve(listener, books, std::future::pending()).await.unwrap() });
        Self { url, task }
    }

    pub(crate) fn orders_url(&self) -> String {
        format!("{}/orders?updated_from=1990-01-01T00:00:00Z&updated_until=2100-01-01T00:00:00Z", self.url)
    }

    pub(crate) async fn stats(&self) -> Stats {
        get(&format!("{}/stats", self.url)).await
    }

    pub(crate) async fn truth(&self) -> Truth {
        get(&format!("{}/truth", self.url)).await
    }

    pub(crate) async fn control(&self, control: Value) -> StatusCode {
        let url = format!("{}/control", self.url);
        reqwest::Client::new().post(url).json(&control).send().await.unwrap().status()
    }

    /// Waits until the feed's account of itself is so.
    pub(crate) async fn until(&self, so: impl Fn(&Stats) -> bool) -> Stats {
        until(async || self.stats().await, so).await
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) async fn get<T: DeserializeOwned>(url: &str) -> T {
    reqwest::get(url).await.unwrap().json().await.unwrap()
}

/// A feed that answers one thing, whatever it is asked, and counts how often.
pub(crate) struct Parrot {
    pub(crate) url: String,
    calls: Arc<AtomicU32>,
}

impl Parrot {
    pub(crate) async fn start(status: u16, header: (&'static str, &'static str), body: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let calls = Arc::new(AtomicU32::new(0));
        let counter = calls.clone();
        let answer = move || async move {
            counter.fetch_add(1, Relaxed);
            (StatusCode::from_u16(status).unwrap(), [header], body)
        };
        tokio::spawn(async move { axum::serve(listener, Router::new().route("/orders", any(answer))).await });
        Self { url, calls }
    }

    pub(crate) fn calls(&self) -> u32 {
        self.calls.load(Relaxed)
    }
}

/// An order that changed that many seconds ago.
pub(crate) fn order(id: &str, seconds_ago: i64) -> Order {
    let now = Timestamp::from_microsecond(Timestamp::now().as_microsecond()).unwrap();
    let at = now - SignedDuration::from_secs(seconds_ago);
    Order {
        id: id.to_owned(),
        customer: "ALFKI".to_owned(),
        status: Status::Placed,
        placed_at: at,
        updated_at: at,
        ship_name: "Alfreds Futterkiste".to_owned(),
        ship_address: "Obere Str. 57".to_owned(),
        ship_city: "Berlin".to_owned(),
        ship_country: "Germany".to_owned(),
        items: 3,
        total_cents: 1050,
    }
}

/// A database with the service's tables, hourhand's too.
pub(crate) async fn database() -> (Database, PgPool) {
    let database = Database::create().await;
    store::migrate(&database.url()).await.unwrap();
    hourhand::migrate(&database.url(), "hourhand").await.unwrap();
    // As strict as the database of the people who asked for this.
    let strict = "alter database \"{name}\" set statement_timeout = '30s';
                  alter database \"{name}\" set idle_in_transaction_session_timeout = '60s'";
    let client = database.connect().await;
    client.batch_execute(&strict.replace("{name}", database.name())).await.unwrap();
    let pool = PgPool::connect(&database.url()).await.unwrap();
    (database, pool)
}

/// Puts orders into the copy by the statement that the service uses.
pub(crate) async fn save(pool: &PgPool, orders: &[Order]) {
    let statement = include_str!("../../sql/save_orders.sql");
    sqlx::query(statement).bind(Json(orders)).execute(pool).await.unwrap();
}

/// The whole copy, by id.
pub(crate) async fn copy(pool: &PgPool) -> Vec<Order> {
    let statement = "select to_jsonb(o) - 'id' || jsonb_build_object('id', outside_id) from orders o
                     where deleted_at is null order by outside_id";
    let rows: Vec<Json<Order>> = sqlx::query_scalar(statement).fetch_all(pool).await.unwrap();
    rows.into_iter().map(|row| row.0).collect()
}

/// One of the built binaries, as a process that ends with the test.
pub(crate) struct Process {
    pub(crate) leashed: Leashed,
    log: PathBuf,
    _directory: TempDir,
}

impl Process {
    /// `order-sync` with these arguments, and nothing in its environment that could speak for others.
    pub(crate) fn order_sync(arguments: &[&str]) -> Self {
        Self::start(arguments, &[])
    }

    pub(crate) fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_order-sync"));
        command.args(arguments).env("RUST_LOG", "info").envs(environment.iter().copied());
        for name in std::env::vars().map(|(name, _)| name) {
            let ours =
                ["DATABASE_URL", "FEED_", "ORDER_SYNC_", "SENTRY_"].iter().any(|prefix| name.starts_with(prefix));
            if ours && !environment.iter().any(|(set, _)| *set == name) {
                command.env_remove(name);
            }
        }
        let leashed = Leash::new(&log).spawn(&command).unwrap();
        Self { leashed, log, _directory: directory }
    }

    /// `order-sync serve` in compressed time: an occurrence every other second.
    pub(crate) fn serve(database: &Database, feed_url: &str, more: &[&str]) -> Self {
        let url = database.url();
        let place = ["--database-url", &url, "--feed-url", feed_url, "--listen", "127.0.0.1:0"];
        let quick = ["--schedule", "every 2s", "--start-delay", "0s", "--ttl", "5s", "--lookback", "10s"];
        let terms = ["--feed-interval", "200ms", "--feed-rest", "600ms", "--call-max", "2s"];
        let options = last_of_each(place.iter().chain(&quick).chain(&terms).chain(more));
        Self::order_sync(&[&["serve"][..], &options].concat())
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Where it listens, once it does.
    pub(crate) async fn url(&self) -> String {
        let log = until(async || self.log(), |log| log.contains("listening on ")).await;
        log.lines().find_map(|line| line.strip_prefix("listening on ")).unwrap().to_owned()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        get(&format!("{}{path}", self.url().await)).await
    }

    /// `POST /sync`
    pub(crate) async fn sync_now(&self) -> (StatusCode, Value) {
        let url = format!("{}/sync", self.url().await);
        let answer = reqwest::Client::new().post(url).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    /// Waits for its end, without keeping the feed from answering it; its exit code.
    pub(crate) async fn code(&mut self) -> i32 {
        let ended = until(async || self.leashed.wait(Duration::ZERO).unwrap(), Option::is_some).await;
        ended.and_then(|status| status.code()).unwrap()
    }

    /// Asks it to end, as a deploy does.
    pub(crate) async fn stop(&mut self) {
        self.leashed.signal(Signal::TERM);
        assert_eq!(self.code().await, 0, "{}", self.log());
    }
}

/// How many runs ended like this.
pub(crate) async fn runs(pool: &PgPool, outcome: &str) -> i64 {
    let statement = "select count(*) from hourhand.history where outcome = $1";
    sqlx::query_scalar(statement).bind(outcome).fetch_one(pool).await.unwrap()
}

/// Whether the copy is what the feed says, row by row; if not, the first difference.
pub(crate) async fn differences(pool: &PgPool, feed: &Feed) -> Option<String> {
    let (copy, truth) = (copy(pool).await, feed.truth().await.orders);
    let different = truth.iter().find(|order| !copy.contains(order));
    match different {
        Some(order) => Some(format!("{} rows of {}, without {}", copy.len(), truth.len(), json!(order))),
        None if copy.len() != truth.len() => Some(format!("{} rows instead of {}", copy.len(), truth.len())),
        None => None,
    }
}
