//! What a job of the file does when it runs: a command under its guardian, or a call.
//!
//! Both end when the run is told to stop, each in its way: a command by signals, with the grace it was given; a call by closing its
//! connection, which is all that can be told to a service. A service that goes on all the same goes on without the lock, and
//! has the epoch among the headers, for the fence.

use std::sync::Arc;

use hourhand::{Failure, Job, Run};
use http::header::{HeaderName, HeaderValue};

use super::call::{self, Answered};
use super::hooks;
use crate::child;
use crate::config::{CommandWork, Endpoint, JobConfig, Work};

/// The job as the library runs it.
pub(super) fn job(config: &JobConfig) -> Job {
    hooks::attach(with_body(config), &config.hooks)
}

fn with_body(config: &JobConfig) -> Job {
    match &config.work {
        Work::Command(work) => {
            let command = Arc::new(command(&config.name, work));
            let stop_grace = command.job_stop_grace();
            let body = move |run: Run| {
                let command = command.clone();
                async move { child::run(&command, &run).await }
            };
            config.job(body).stop_grace(stop_grace)
        }
        Work::Http(endpoint) => {
            let endpoint = Arc::new(endpoint.clone());
            config.job(move |run| {
                let endpoint = endpoint.clone();
                async move { call(&endpoint, &run).await }
            })
        }
    }
}

/// The command as its guardian starts it.
pub(super) fn command(job: &str, work: &CommandWork) -> child::Command {
    child::Command {
        job: job.to_owned(),
        argv: work.argv.iter().map(Into::into).collect(),
        env: work.env.iter().map(|(name, value)| (name.into(), value.reveal().into())).collect(),
        dir: work.dir.clone(),
        stop_grace: work.stop_grace,
        output_bytes_max: work.output_bytes_max,
    }
}

/// Calls; a run that is told to stop closes the connection, and the service sees its caller gone.
async fn call(endpoint: &Endpoint, run: &Run) -> Result<(), Failure> {
    let facts = headers(child::facts(run));
    tokio::select! {
        Answered { verdict, output } = call::call(endpoint, &facts) => {
            if !output.trim().is_empty() {
                run.output(output.trim_end());
            }
            verdict
        }
        () = run.cancelled() => Err(Failure::transient("the call was broken off: the run was told to stop")),
    }
}

/// The run's facts as headers: `HOURHAND_EPOCH` is `Hourhand-Epoch`. What the sidecar was given as TRACEPARENT goes with them.
pub(super) fn headers(facts: impl IntoIterator<Item = (&'static str, String)>) -> Vec<(HeaderName, HeaderValue)> {
    let trace = std::env::var("TRACEPARENT").ok().map(|parent| ("TRACEPARENT", parent));
    let told = facts.into_iter().chain(trace).filter(|(_, value)| !value.is_empty());
    told.filter_map(|(name, value)| {
        let name = HeaderName::from_bytes(name.to_ascii_lowercase().replace('_', "-").as_bytes()).ok()?;
        Some((name, HeaderValue::from_str(&plain(&value)).ok()?))
    })
    .collect()
}

/// A text as a header may have it: what is not plain ASCII (a job's name may be any text) is percent-encoded, and so is `%`.
fn plain(value: &str) -> String {
    let encode = |byte: u8| match byte {
        b'%' => "%25".to_owned(),
        b' '..=b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    value.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_become_headers_and_what_is_not_there_is_left_out() {
        let told = headers([("HOURHAND_JOB", "naïve 100%".to_owned()), ("HOURHAND_SCHEDULED_FOR", String::new())]);
        let (name, value) = &told[0];
        assert_eq!((name.as_str(), value.to_str().unwrap()), ("hourhand-job", "na%C3%AFve 100%25"));
        assert!(told.iter().all(|(name, _)| name != "hourhand-scheduled-for"));
    }
}
