//! A definition as it stands in the database: for other nodes, which stand down if theirs is another, and for people.
//!
//! Only what differs from the defaults is written, in a fixed order: a version that knows more policies writes the same text for
//! a job that uses none of them, and replicas of both versions run it side by side. What another version wrote beyond what this one knows
//! is read past.

use std::sync::Arc;

use hourhand_core::backoff::Retry;
use hourhand_core::facts::Registered;
use hourhand_core::job::{CatchUp, Definition, Group, Overlap, Policies};
use hourhand_core::key::Key;
use hourhand_core::name::JobName;
use hourhand_core::schedule::Schedule;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

/// The json. Lengths are seconds.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Body {
    schedule: String,
    time_zone: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    abandon_after: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    catch_up: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    catch_up_window: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    completes: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exclusive_group: Option<String>,
    /// For statements, which can't compute it.
    #[serde(skip_serializing_if = "Option::is_none")]
    group_key: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_window: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lookback: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retention: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<RetryBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_delay: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_grace: Option<f64>,
    /// 0: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warn_after: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_max: Option<f64>,
}

/// How a failed run is tried again.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct RetryBody {
    attempts: u32,
    backoff: f64,
    #[serde(default = "one")]
    factor: u32,
    #[serde(default)]
    backoff_max: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jitter: Option<f64>,
}

fn one() -> u32 {
    1
}

/// The text of a definition, and the process's start delay.
pub(crate) fn write(definition: &Definition, start_delay: SignedDuration) -> String {
    let defaults = Definition::new(definition.name.clone(), definition.key, definition.schedule.clone());
    let length = |value: SignedDuration, default: SignedDuration| (value != default).then(|| value.as_secs_f64());
    let retry = definition.retry;
    let body = Body {
        schedule: definition.schedule.to_string(),
        time_zone: definition.schedule.time_zone().to_owned(),
        abandon_after: length(definition.abandon_after, defaults.abandon_after),
        catch_up: (definition.catch_up != defaults.catch_up).then(|| match definition.catch_up {
            CatchUp::Latest => "latest".to_owned(),
            CatchUp::All(most) => format!("all({most})"),
            CatchUp::None => "none".to_owned(),
        }),
        catch_up_window: definition.catch_up_window.map(|length| length.as_secs_f64()),
        completes: definition.completes,
        deadline: definition.deadline.map(|length| length.as_secs_f64()),
        exclusive_group: definition.group.as_ref().map(|group| group.name.to_string()),
        group_key: definition.group.as_ref().map(|group| group.key.0),
        initial_window: length(definition.initial_window, defaults.initial_window),
        jitter: length(definition.jitter, defaults.jitter),
        lookback: length(definition.lookback, defaults.lookback),
        overlap: (definition.overlap != defaults.overlap).then(|| match definition.overlap {
            Overlap::Skip => "skip".to_owned(),
            Overlap::BufferOne => "buffer_one".to_owned(),
        }),
        retention: length(definition.retention, defaults.retention),
        retry: (retry != defaults.retry).then(|| RetryBody {
            attempts: retry.attempts,
            backoff: retry.backoff.as_secs_f64(),
            factor: retry.factor,
            backoff_max: retry.backoff_max.as_secs_f64(),
            jitter: length(retry.jitter, SignedDuration::ZERO),
        }),
        start_delay: length(start_delay, SignedDuration::ZERO),
        stop_grace: length(definition.stop_grace, defaults.stop_grace),
        timeout: (definition.timeout != defaults.timeout)
            .then(|| definition.timeout.map_or(0.0, |length| length.as_secs_f64())),
        warn_after: definition.warn_after.map(|length| length.as_secs_f64()),
        window_max: definition.window_max.map(|length| length.as_secs_f64()),
    };
    serde_json::to_string(&body).unwrap_or_else(|error| unreachable!("plain values: {error}"))
}

/// What tells definitions apart: the digest of their text.
pub(crate) fn fingerprint(text: &str) -> i64 {
    Key::digest(text).value()
}

/// What another process registered. Whatever can't be read leaves no definition: this node's own has to do.
pub(crate) fn read(name: &str, key: Key, fingerprint: i64, text: &str) -> Registered {
    let body: Option<Body> = serde_json::from_str(text).ok();
    let start_delay = body.as_ref().and_then(|body| body.start_delay).and_then(seconds).unwrap_or_default();
    let definition = body.and_then(|body| definition(name, key, &body)).map(Arc::new);
    Registered { fingerprint, definition, start_delay }
}

fn definition(name: &str, key: Key, body: &Body) -> Option<Definition> {
    let schedule = Schedule::parse(&body.schedule, &body.time_zone).ok()?;
    let defaults = Definition::new(JobName::parse(name).ok()?, key, schedule);
    let or = |length: Option<f64>, default: SignedDuration| length.map_or(Some(default), seconds);
    let maybe = |length: Option<f64>| length.map_or(Some(None), |length| seconds(length).map(Some));
    let policies = Policies {
        abandon_after: or(body.abandon_after, defaults.abandon_after)?,
        catch_up: body.catch_up.as_deref().map_or(Some(defaults.catch_up), catch_up)?,
        catch_up_window: maybe(body.catch_up_window)?,
        completes: body.completes,
        deadline: maybe(body.deadline)?,
        group: match body.exclusive_group.as_deref().zip(body.group_key) {
            Some((name, key)) => Some(Group { name: JobName::parse(name).ok()?, key: Key(key) }),
            None => None,
        },
        initial_window: or(body.initial_window, defaults.initial_window)?,
        jitter: or(body.jitter, defaults.jitter)?,
        lookback: or(body.lookback, defaults.lookback)?,
        overlap: body.overlap.as_deref().map_or(Some(defaults.overlap), overlap)?,
        retention: or(body.retention, defaults.retention)?,
        retry: body.retry.as_ref().map_or(Some(defaults.retry), retry)?,
        stop_grace: or(body.stop_grace, defaults.stop_grace)?,
        timeout: maybe(body.timeout)?.map_or(defaults.timeout, |length| (!length.is_zero()).then_some(length)),
        warn_after: maybe(body.warn_after)?,
        window_max: maybe(body.window_max)?,
        ..Policies::clone(&defaults)
    };
    Some(Definition { policies: Arc::new(policies), ..defaults })
}

fn seconds(length: f64) -> Option<SignedDuration> {
    SignedDuration::try_from_secs_f64(length).ok()
}

fn catch_up(text: &str) -> Option<CatchUp> {
    match text {
        "latest" => Some(CatchUp::Latest),
        "none" => Some(CatchUp::None),
        _ => text.strip_prefix("all(")?.strip_suffix(')')?.parse().ok().map(CatchUp::All),
    }
}

fn overlap(text: &str) -> Option<Overlap> {
    match text {
        "skip" => Some(Overlap::Skip),
        "buffer_one" => Some(Overlap::BufferOne),
        _ => None,
    }
}

fn retry(body: &RetryBody) -> Option<Retry> {
    let backoff = seconds(body.backoff)?;
    let backoff_max = seconds(body.backoff_max)?.max(backoff);
    let jitter = body.jitter.map_or(Some(SignedDuration::ZERO), seconds)?;
    Some(Retry { attempts: body.attempts, backoff, factor: body.factor, backoff_max, jitter })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Definition {
        let name = JobName::parse("order-sync").expect("a name");
        Definition::new(name.clone(), Key::of(None, &name), Schedule::cron("30 2 * * *").in_zone("Asia/Seoul"))
    }

    /// Frozen: replicas of another version with another text would stand down for each other.
    #[test]
    fn a_job_without_policies_is_its_schedule_and_its_zone() {
        let text = write(&plain(), SignedDuration::ZERO);
        assert_eq!(text, r#"{"schedule":"30 2 * * *","time_zone":"Asia/Seoul"}"#);
        assert_eq!(fingerprint(&text), 434599081886710114);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let full = Policies {
            abandon_after: SignedDuration::from_secs(5),
            warn_after: Some(SignedDuration::from_mins(20)),
            catch_up: CatchUp::All(5),
            catch_up_window: Some(SignedDuration::from_hours(2)),
            completes: true,
            deadline: Some(SignedDuration::from_mins(5)),
            group: Some(Group { name: JobName::parse("erp").expect("a name"), key: Key(-7) }),
            initial_window: SignedDuration::from_hours(1),
            jitter: SignedDuration::from_millis(1500),
            lookback: SignedDuration::from_mins(10),
            overlap: Overlap::BufferOne,
            retention: SignedDuration::from_hours(24),
            retry: Retry::exponential(4, SignedDuration::from_secs(1), SignedDuration::from_secs(60))
                .jitter(SignedDuration::from_secs(2)),
            stop_grace: SignedDuration::from_secs(3),
            timeout: None,
            window_max: Some(SignedDuration::from_hours(6)),
            ..Policies::clone(&plain())
        };
        let full = Definition { policies: Arc::new(full), ..plain() };
        for definition in [plain(), full] {
            let text = write(&definition, SignedDuration::from_secs(90));
            let read = read("order-sync", definition.key, 7, &text);
            assert_eq!(read.definition.as_deref(), Some(&definition), "{text}");
            assert_eq!((read.fingerprint, read.start_delay), (7, SignedDuration::from_secs(90)));
        }
    }

    #[test]
    fn what_a_later_version_wrote_is_read_past_or_not_at_all() {
        let key = plain().key;
        let more = r#"{"schedule":"@hourly","time_zone":"UTC","colour":"green"}"#;
        assert!(read("order-sync", key, 1, more).definition.is_some());
        for bad in [
            "",
            "[]",
            r#"{"schedule":"@fortnightly","time_zone":"UTC"}"#,
            r#"{"schedule":"@hourly","time_zone":"UTC","overlap":"both"}"#,
        ] {
            assert_eq!(read("order-sync", key, 1, bad).definition, None, "{bad}");
        }
    }
}
