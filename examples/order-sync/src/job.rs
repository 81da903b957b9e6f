//! The job: pull what has changed, page by page.
//!
//! The body waits a lot (for the feed to answer, for its rest to pass) and works a little. It waits with nothing in its
//! hands: no transaction, no connection of the pool, no lock of its own. That a second one does not run meanwhile is
//! hourhand's business, on hourhand's own connection.

use std::time::Duration;

use hourhand::{Failure, Job, Retry, Run};
use jiff::SignedDuration;
use tokio::time::{Instant, sleep};

use crate::client::{FeedClient, FeedError};
use crate::options::JobOptions;
use crate::order::OrderPage;
use crate::store::Store;
use crate::walk::{Ask, Walk};

/// The job's name: its lock's key is made of it, so all processes must call it the same.
pub const NAME: &str = "order-sync";

/// A short outage of the feed should not cost a whole hour.
const ATTEMPTS: u32 = 3;
const RETRY_AFTER: SignedDuration = SignedDuration::from_mins(2);

/// What a run needs.
#[derive(Debug)]
pub struct OrderSync {
    feed: FeedClient,
    store: Store,
    options: JobOptions,
}

impl OrderSync {
    /// From the feed into the store.
    ///
    /// # Errors
    ///
    /// The feed's address is none.
    pub fn new(feed_url: &str, store: Store, options: JobOptions) -> anyhow::Result<Self> {
        Ok(Self { feed: FeedClient::new(feed_url, &options.terms, options.call_max)?, store, options })
    }

    /// The job, with this as its body.
    pub fn job<F, B>(options: &JobOptions, body: B) -> Job
    where
        B: Fn(Run) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        Job::new(NAME, options.schedule.clone(), body)
            .lookback(options.lookback)
            .initial_window(options.initial_window)
            .timeout(options.timeout)
            .retry(Retry::fixed(ATTEMPTS, RETRY_AFTER))
    }

    /// One run: brings the local copy up to the end of the run's window.
    ///
    /// Each page is saved before the next one is asked for, together with how far it reaches. So a run that fails, is
    /// stopped or killed loses nothing but the page it was waiting for, and a span that is too long for one run is
    /// covered by several.
    ///
    /// # Errors
    ///
    /// [`Failure::transient`] if the feed is out of order or wants its rest: nobody has to get up for that. Anything
    /// else is worth a look.
    pub async fn run(&self, run: Run) -> Result<(), Failure> {
        tokio::select! {
            result = self.pull(&run) => result,
            // Dropping the pull closes a call's connection and rolls a transaction back.
            () = run.cancelled() => Err(Failure::transient("stopped before the end of the window")),
        }
    }

    /// Page after page to the window's end. The last page is saved together with the run's success.
    async fn pull(&self, run: &Run) -> Result<(), Failure> {
        let window = run.window();
        let mut walk = Walk::new(window.from, window.until);
        let (mut pages, mut orders) = (0, 0);
        while let Some(ask) = walk.next() {
            let page = self.ask(run, ask).await?;
            let progress = walk.took(&page)?;
            let pause = self.options.terms.pause_after(page.orders.len());
            self.store.save(run, &page.orders, (pause, progress)).await?;
            pages += 1;
            orders += page.orders.len();
            run.output(format_args!("page {pages}: {} orders", page.orders.len()));
        }
        run.output(format_args!("orders: {orders}, pages: {pages}"));
        Ok(())
    }

    /// Calls the feed until it answers with a page, as long as patience lasts.
    async fn ask(&self, run: &Run, ask: Ask) -> Result<OrderPage, Failure> {
        let reserve = self.call_max();
        let patience_ends = Instant::now() + self.options.patience.max(reserve);
        loop {
            self.wait(patience_ends).await?;
            // Before the call: whoever runs next keeps out of its way, even if we never come back from it.
            self.store.pause_calls(run, reserve).await?;
            match self.feed.orders(ask).await {
                Ok(page) => return Ok(page),
                Err(FeedError::Busy(rest)) => {
                    self.store.pause_calls(run, rest.max(self.options.terms.interval)).await?
                }
                Err(outage @ FeedError::Outage { retry_after, .. }) => {
                    // The call is over, but who knows how large an answer it was that did not arrive.
                    let rest = retry_after.unwrap_or_default().max(self.options.terms.pause_max());
                    self.store.pause_calls(run, rest).await?;
                    return Err(match retry_after {
                        Some(rest) => Failure::transient(outage).retry_after(rest),
                        None => Failure::transient(outage),
                    });
                }
                Err(unexpected @ FeedError::Unexpected(_)) => return Err(unexpected.into()),
            }
        }
    }

    /// Waits until the feed may be called; with no transaction open, however long it takes.
    async fn wait(&self, patience_ends: Instant) -> Result<(), Failure> {
        loop {
            let rest = self.store.next_call_in().await?;
            if rest.is_zero() {
                return Ok(());
            }
            if patience_ends.saturating_duration_since(Instant::now()) < rest {
                return Err(Failure::transient(FeedError::Busy(rest)).retry_after(rest));
            }
            sleep(rest).await;
        }
    }

    /// The longest from the wish to call until the next call: the limiter's wait, the call, the rest after it.
    fn call_max(&self) -> Duration {
        self.options.terms.interval + self.feed.call_max() + self.options.terms.pause_max()
    }
}
