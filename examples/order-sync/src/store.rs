//! The service's tables: the local copy of the orders, and the feed's pace.
//!
//! `feed_pace` keeps when the feed may be called next. It is written with each page, in the page's own transaction, so
//! that the next run, in whatever process, keeps the rest that the last answer asked for. And it is written
//! *before* each call, as if the call took as long as it may and its answer were a large one: a process that is
//! killed in mid-call leaves behind a time from which on its call is over and its rest is kept, whatever
//! happened. That write is fenced, so a run that has been superseded without noticing (a frozen process that wakes up)
//! finds out before it calls the feed, not after.
//!
//! All of it goes through the service's ordinary pool, in transactions as short as a page: no lock is ever taken on it,
//! and nothing is waited for while one is open.

use std::time::Duration;

use anyhow::Context;
use hourhand::{Failure, Run};
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnection, PgPoolOptions};
use sqlx::types::Json;
use sqlx::{Connection, FromRow, PgPool, query, query_as, query_scalar};

use crate::order::{Order, Status};
use crate::walk::Progress;

const LIST_ORDERS: &str = include_str!("../sql/list_orders.sql");
const NEXT_CALL_IN: &str = include_str!("../sql/next_call_in.sql");
const PAUSE_CALLS: &str = include_str!("../sql/pause_calls.sql");
const SAVE_ORDERS: &str = include_str!("../sql/save_orders.sql");

/// A request that gets no connection is better refused than kept.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// The limit is one for each endpoint; the feed has one.
const ENDPOINT: &str = "orders";

static MIGRATOR: Migrator = sqlx::migrate!();

/// Makes or upgrades this service's tables.
///
/// # Errors
///
/// The database can't be reached or refuses.
pub async fn migrate(database_url: &str) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect(database_url).await.context("DATABASE_URL")?;
    MIGRATOR.run(&mut connection).await?;
    Ok(connection.close().await?)
}

/// Access to the tables.
#[derive(Debug, Clone)]
pub struct Store {
    pool: PgPool,
}

/// Which orders to list.
#[derive(Debug, Default)]
pub struct Filter {
    /// Only those as far as this.
    pub status: Option<Status>,
    /// Only this customer's, by its code.
    pub customer: Option<String>,
    /// Only those with this text, as it is but for upper and lower case, in one of their fields.
    pub search: Option<String>,
    /// From 1.
    pub page: u32,
    /// How many to a page.
    pub page_size: u32,
}

/// A page of the local copy.
#[derive(Debug, FromRow)]
pub struct Listed {
    /// How many orders the filter lets through, on all pages.
    pub total: i64,
    /// Those of this page, newest first.
    pub orders: Json<Vec<Order>>,
}

impl Store {
    /// Through a pool of at most so many connections, made when they are needed: a database that is away is no reason
    /// not to start.
    ///
    /// # Errors
    ///
    /// The URL is none.
    pub fn lazy(database_url: &str, connections: u32) -> anyhow::Result<Self> {
        let options = PgPoolOptions::new().max_connections(connections).acquire_timeout(CONNECT_MAX);
        Ok(Self::new(options.connect_lazy(database_url).context("DATABASE_URL")?))
    }

    /// Through this pool.
    pub fn new(pool: PgPool) -> Self {
        Self { pool }
    }

    /// Closes the pool, once what is under way on it has ended.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Whether the database answers.
    ///
    /// # Errors
    ///
    /// It does not.
    pub async fn answers(&self) -> Result<(), sqlx::Error> {
        query("select 1").execute(&self.pool).await.map(drop)
    }

    /// Orders of the local copy.
    ///
    /// # Errors
    ///
    /// The database's.
    pub async fn list(&self, filter: &Filter) -> Result<Listed, sqlx::Error> {
        let size = i64::from(filter.page_size);
        query_as(LIST_ORDERS)
            .bind(filter.status.map(Status::as_str))
            .bind(&filter.customer)
            .bind(&filter.search)
            .bind(size)
            .bind((i64::from(filter.page) - 1) * size)
            .fetch_one(&self.pool)
            .await
    }

    /// How long the feed is still to be left alone.
    ///
    /// # Errors
    ///
    /// The database's.
    pub async fn next_call_in(&self) -> Result<Duration, sqlx::Error> {
        let seconds: f64 = query_scalar(NEXT_CALL_IN).bind(ENDPOINT).fetch_one(&self.pool).await?;
        Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }

    /// From now on leave the feed alone for so long, whoever runs next; refused to a run that is no longer the current one.
    ///
    /// # Errors
    ///
    /// The database's, or the fence's.
    pub async fn pause_calls(&self, run: &Run, pause: Duration) -> Result<(), Failure> {
        let mut tx = self.pool.begin().await?;
        query(PAUSE_CALLS).bind(ENDPOINT).bind(pause.as_secs_f64()).execute(&mut *tx).await?;
        Ok(run.commit(tx).await?)
    }

    /// Saves a page, the pause that its answer asks for and how far it brings the run: all or nothing, and nothing from
    /// a run that is no longer the current one.
    ///
    /// # Errors
    ///
    /// The database's, or the fence's.
    pub async fn save(
        &self,
        run: &Run,
        orders: &[Order],
        (pause, progress): (Duration, Progress),
    ) -> Result<(), Failure> {
        let mut tx = self.pool.begin().await?;
        query(SAVE_ORDERS).bind(Json(orders)).execute(&mut *tx).await?;
        query(PAUSE_CALLS).bind(ENDPOINT).bind(pause.as_secs_f64()).execute(&mut *tx).await?;
        // Last, for each of them fences: from here to the commit no later run can start.
        match progress {
            Progress::Within => run.fence(&mut tx).await?,
            Progress::Reached(at) => run.advance(&mut tx, at).await?,
            Progress::Done => run.complete(&mut tx).await?,
        }
        Ok(tx.commit().await?)
    }
}
