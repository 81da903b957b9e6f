//! The faults, on real servers with real processes: each test states its bound, breaks something and measures.
//!
//! What takes seconds runs with every `cargo test`; what takes up to a minute is ignored there and runs by `cargo xtask faults`,
//! which puts the lines that [`report`] prints into a table. Where a machine does not allow a fault (no network namespaces,
//! no PgBouncer), the test says so in the same form and passes.
#![allow(clippy::unwrap_used, reason = "a test has nothing better to do with an error")]
#![allow(unreachable_pub, reason = "one test binary: everything in it is for itself")]

mod book;
mod child;
mod network;
mod pooler;
mod report;
mod scene;
#[allow(dead_code, reason = "shared with the promises, which use the rest of it")]
#[path = "../it/world.rs"]
mod world;

mod clocks;
mod continuous;
mod failover;
mod fence_race;
mod groups;
mod killed_and_frozen;
mod leases;
mod limits;
mod lost_runs;
mod network_cut;
mod poolers;
mod requested_runs;
mod restarts;
mod rights;
mod sabotage;
