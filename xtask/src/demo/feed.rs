//! The outside order service of the demo, and what it tells about itself.

use super::http;
use super::process::Process;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// The feed's account of its callers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stats {
    /// Calls that came sooner than its terms allow.
    pub(crate) rate_violations: i64,
    /// Calls that are under way now: begun, not answered, and their client not gone.
    pub(crate) under_way: i64,
    /// The most calls that were under way at the same time.
    pub(crate) under_way_max: i64,
    /// Orders in sight.
    pub(crate) orders: i64,
}

/// A running feed.
pub(crate) struct Feed {
    pub(crate) process: Process,
    pub(crate) url: String,
}

impl Feed {
    pub(crate) fn stats(&self) -> Result<Stats> {
        let stats = http::get(&format!("{}/stats", self.url))?;
        let count = |name: &str| stats[name].as_i64().with_context(|| format!("the feed's statistics have no {name}"));
        Ok(Stats {
            rate_violations: count("rate_violations")?,
            under_way: count("under_way")?,
            under_way_max: count("under_way_max")?,
            orders: count("orders")?,
        })
    }

    /// From now on it cuts every call off without an answer, for so many seconds; 0 ends that.
    pub(crate) fn break_down(&self, seconds: u32) -> Result<()> {
        self.control(&json!({ "outage_for_seconds": seconds }))
    }

    /// Ends all change, and shows what was late. The truth from then on: all orders, as a list in JSON.
    pub(crate) fn freeze(&self) -> Result<String> {
        self.control(&json!({ "freeze": true }))?;
        let truth = http::get(&format!("{}/truth", self.url))?;
        ensure!(truth["frozen"] == Value::Bool(true), "the feed does not stand still");
        Ok(truth["orders"].to_string())
    }

    fn control(&self, wish: &Value) -> Result<()> {
        let (status, answer) = http::post(&format!("{}/control", self.url), wish)?;
        ensure!(status == 200, "the feed answered {status} to {wish}: {answer}");
        Ok(())
    }
}
