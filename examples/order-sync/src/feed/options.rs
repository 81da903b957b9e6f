//! What the feed can be told to be like.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use jiff::Timestamp;

use super::file::{self, FileError};
use super::generate;
use super::world::{Change, World};
use crate::terms::{Terms, length};

/// The outside order service of the order-sync example: slow, rate-limited, now and then out of order.
#[derive(Debug, Clone, Parser)]
#[command(name = "order-feed", version)]
pub struct Options {
    /// Where to listen; port 0 takes a free one. The address is the one line on standard output.
    #[arg(long, env = "FEED_LISTEN", default_value = "127.0.0.1:7070")]
    pub listen: SocketAddr,
    /// Real orders from this CSV file, their dates moved so that the newest lies at now, instead of made-up ones.
    #[arg(long, value_name = "FILE.csv")]
    pub orders: Option<PathBuf>,
    /// The same seed tells the same story.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Made-up orders to begin with.
    #[arg(long, default_value_t = 400)]
    pub backlog: usize,
    /// How far back those reach.
    #[arg(long, default_value = "48h", value_parser = length)]
    pub backlog_span: Duration,
    /// Between two changes of orders; 0s for none.
    #[arg(long, default_value = "500ms", value_parser = length)]
    pub change_every: Duration,
    /// How late a change can show at most: keep it shorter than the lookback of whoever reads.
    #[arg(long, default_value = "5m", value_parser = length)]
    pub late_max: Duration,
    /// Orders on a page.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub page_size: u32,
    /// The fastest answer.
    #[arg(long, default_value = "200ms", value_parser = length)]
    pub answer_min: Duration,
    /// The slowest answer.
    #[arg(long, default_value = "1s", value_parser = length)]
    pub answer_max: Duration,
    /// When it may be called.
    #[command(flatten)]
    pub terms: Terms,
}

impl Options {
    /// The world as it is at the start.
    ///
    /// # Errors
    ///
    /// The file of `--orders` can't be taken.
    pub fn world(&self, now: Timestamp) -> Result<World, FileError> {
        let now = generate::microseconds(now);
        let orders = match &self.orders {
            Some(path) => {
                let mut orders = file::read(path)?;
                file::move_to(now, &mut orders);
                orders
            }
            None => generate::backlog(self.backlog, self.backlog_span, now, self.seed),
        };
        let change = Change { every: self.change_every, late_max: self.late_max, grows: self.orders.is_none() };
        Ok(World::new(orders, change, self.seed, now))
    }
}
