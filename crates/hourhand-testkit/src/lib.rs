//! Real PostgreSQL servers for tests, the demo and benchmarks: found or fetched, started, broken on purpose.
//!
//! It exists to keep finding, starting and breaking servers out of `xtask` and out of the tests. hourhand puts no trait
//! in front of PostgreSQL, so whatever it promises is tried against PostgreSQL itself.
//!
//! - [`Database`] is what most tests want: a fresh database, dropped afterwards.
//! - [`Server`] is for tests that break something: a private server to be restarted, killed or frozen.
//! - [`Installation`] is a `bin/` directory to start servers from, found on this machine or fetched without root.
//! - [`Leash`] starts any process such that it ends with its owner, even if the owner is killed with `kill -9`.
//! - [`eventually`] waits for a condition up to a deadline, and says what it saw last.
//!
//! ```no_run
//! use hourhand_testkit::{Database, eventually};
//! use std::time::Duration;
//!
//! # async fn example() {
//! let database = Database::create().await;
//! let client = database.connect().await;
//! client.batch_execute("create table page (number int)").await.unwrap();
//! let pages = eventually(Duration::from_secs(5), async || {
//!     let rows = client.query_typed("select number from page", &[]).await.map_err(|error| error.to_string())?;
//!     if rows.is_empty() { Err("no page yet".to_owned()) } else { Ok(rows.len()) }
//! })
//! .await;
//! assert_eq!(pages, 1);
//! # }
//! ```
//!
//! # What the environment says
//!
//! | variable | meaning |
//! | --- | --- |
//! | `HOURHAND_TEST_DATABASE_URL` | a superuser's URL of the server on which [`Database`] makes its databases; without it each test process starts a server of its own |
//! | `HOURHAND_TEST_BIN` | the `bin/` directory from which tests start servers of their own; without it they look for one |
//! | `HOURHAND_CACHE` | where fetched servers are kept, instead of the usual cache directory |

mod account;
mod command;
mod database;
mod eventually;
mod fetch;
mod find;
mod installation;
mod leash;
mod processes;
mod server;

pub use account::{Account, private_directory};
pub use database::{Database, URL_VARIABLE};
pub use eventually::eventually;
pub use find::BIN_VARIABLE;
pub use installation::{Installation, SUPPORTED};
pub use leash::{Leash, Leashed};
pub use rustix::process::Signal;
pub use server::{Server, ServerBuilder, Shutdown};
