//! Periodic jobs inside the processes a service already has, coordinated only by the PostgreSQL it already has.
//!
//! Start the same binary 2, 4 or 200 times: each job runs on exactly one of them, catches up after downtime, and never stops in
//! silence. No broker, no cron host, no extra container.
//!
//! ```no_run
//! use hourhand::{Failure, Job, Run, Schedule, Scheduler};
//! use jiff::ToSpan;
//!
//! async fn sync_orders(run: Run) -> Result<(), Failure> {
//!     println!("pulling the orders changed in {}", run.window());
//!     Ok(())
//! }
//!
//! # async fn example(database_url: String) -> Result<(), hourhand::Error> {
//! let scheduler = Scheduler::builder(database_url)
//!     .job(Job::new("order-sync", Schedule::hourly(), sync_orders).lookback(10.minutes()))
//!     .migrate(true)
//!     .start()
//!     .await?;
//! # Ok(()) }
//! ```
//!
//! # What a lock can do, and what it cannot
//!
//! A run begins only under the job's advisory lock, held by this process's one dedicated session, and only if the job's row says
//! that its occurrence is not handled. That stops overlap and repetition as long as processes live and networks work. If the
//! session is lost in mid-run, another node takes over within seconds, and for a moment two bodies may be at work. What keeps
//! the older one from doing harm is the *fence*: write in a transaction of your own, and commit it with [`Run::commit`]. A
//! superseded run never commits.
//!
//! # Windows
//!
//! A run is told the span of outside data it has to cover ([`Run::window`]). Consecutive successes leave no gap; a failed run
//! moved nothing, so the next covers its span too. Long spans can be saved piece by piece, with [`Run::advance`].

// Without a client to fence with, what only the fence needs lies idle.
#![cfg_attr(not(any(feature = "sqlx", feature = "tokio-postgres")), allow(dead_code))]

mod builder;
mod clock;
mod directory;
mod drive;
mod error;
mod failure;
#[cfg(any(feature = "sqlx", feature = "tokio-postgres"))]
mod fence;
mod hooks;
mod job;
#[cfg(feature = "serde")]
mod json;
mod member;
mod migrate;
mod once;
mod operator;
mod pg;
mod run;
mod scheduler;
mod status;
mod thread;
mod written;

pub use builder::SchedulerBuilder;
pub use error::Error;
pub use failure::Failure;
#[cfg(any(feature = "sqlx", feature = "tokio-postgres"))]
pub use fence::FencedTransaction;
pub use hooks::JobEvent;
pub use hourhand_core::backoff::Retry;
pub use hourhand_core::job::{CatchUp, Overlap};
pub use hourhand_core::node::Exclusion;
pub use hourhand_core::outcome::{Outcome, Trigger};
pub use hourhand_core::schedule::Schedule;
pub use job::Job;
pub use migrate::{Migrated, grant, migrate, migration_sql};
pub use once::Once;
pub use operator::{AdvisoryLock, AuditEntry, AuditQuery, HistoryEntry, HistoryQuery, Operator, OperatorBuilder};
pub use operator::{Asked, Cancelled, Eviction, Forgetting, LockHolder, NextWindow, OpenRequest, RunEnd};
pub use operator::{Changes, ConnectedNode, JobDetail, OpenRun};
pub use operator::{Finding, Fixed, Severity};
pub use run::{Run, Trust, Window};
pub use scheduler::{Backfill, Scheduler, Triggered};
pub use status::{Health, JobStatus, Paused, Running};
