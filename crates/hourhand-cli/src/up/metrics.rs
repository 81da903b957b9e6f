//! The recorder of what the library counts; the names are the library's, and stand in the guide to the sidecar.

use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::refusal::Refusal;

/// Runs take from milliseconds to hours, and so does what makes them late.
const SECONDS: [f64; 12] = [0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 86_400.0];

/// From now on everything is counted.
pub(super) fn install() -> Result<PrometheusHandle, Refusal> {
    let failed = |error| Refusal::failed(format!("could not count: {error}"));
    let builder = PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS);
    builder.map_err(failed)?.install_recorder().map_err(failed)
}

/// What was measured is kept one by one until it is asked for: with nobody asking, it is put into its buckets each minute.
pub(super) async fn keep(metrics: PrometheusHandle) {
    loop {
        tokio::time::sleep(Duration::from_secs(60)).await;
        metrics.run_upkeep();
    }
}
