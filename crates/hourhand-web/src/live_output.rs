//! What runs under way in this process have written so far: asked of whoever has them, never of the database.

use std::sync::Arc;

use futures_util::future::BoxFuture;

/// Answers for a job and an epoch; none: not under way here.
#[derive(Clone, Default)]
pub(crate) struct LiveOutput(Option<Arc<Ask>>);

type Ask = dyn Fn(String, i64) -> BoxFuture<'static, Option<String>> + Send + Sync;

impl LiveOutput {
    pub(crate) fn of<F, Fut>(ask: F) -> LiveOutput
    where
        F: Fn(String, i64) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<String>> + Send + 'static,
    {
        LiveOutput(Some(Arc::new(move |job, epoch| Box::pin(ask(job, epoch)))))
    }

    pub(crate) async fn get(&self, job: &str, epoch: i64) -> Option<String> {
        match &self.0 {
            Some(ask) => ask(job.to_owned(), epoch).await,
            None => None,
        }
    }
}
