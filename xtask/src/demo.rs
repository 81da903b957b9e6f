//! `cargo xtask demo`: the order service on several nodes, on a database of its own.
//!
//! ```text
//!   Stage ─┬─ Place    the database: a private server, or one of the demo's own on somebody's server
//!          ├─ Feed     the outside order service, a process
//!          ├─ nodes    `order-sync serve`, a process each
//!          └─ Book     the demo's own session, which looks on
//! ```
//!
//! Without `--once` it shows who runs what, until Ctrl-C ([`live`]). With it, the whole story is played ([`story`]), and
//! what it came to is counted and judged ([`verdict`]). What must not happen is looked for without hourhand's help where
//! that can be had: in the feed's account of its callers, in a trigger on the orders, in the spans of the runs.
//!
//! Every process is on a leash: it ends with us, even if we are killed.

mod book;
mod feed;
mod http;
mod live;
mod place;
mod process;
mod stage;
mod story;
mod verdict;
mod wait;

#[cfg(test)]
mod audit_tests;

use crate::arguments::Arguments;
use crate::foreground::signal_received;
use anyhow::{Result, ensure};
use stage::{EVERY, Stage};
use std::path::{Path, PathBuf};

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let once = arguments.take_flag("--once");
    let orders = arguments.take_value("--orders")?.map(PathBuf::from);
    arguments.finish()?;
    // From here on Ctrl-C is ours to answer.
    signal_received();
    if once { play(orders.as_deref()) } else { live::watch(&mut Stage::set(orders.as_deref())?) }
}

fn play(orders: Option<&Path>) -> Result<()> {
    let mut stage = Stage::set(orders)?;
    eprintln!("on {}; time is compressed: every {} s instead of every hour", stage.place.told(), EVERY.as_secs());
    let told = story::play(&mut stage).and_then(|report| {
        let complaints = report.complaints();
        println!("{}", serde_json::to_string(&report)?);
        ensure!(complaints.is_empty(), "{}", complaints.join("; "));
        Ok(())
    });
    if told.is_err() && signal_received() == 0 {
        eprint!("{}", stage.last_words());
        eprintln!("── the logs are kept in {}", stage.end_but_keep_logs().display());
    }
    told
}
