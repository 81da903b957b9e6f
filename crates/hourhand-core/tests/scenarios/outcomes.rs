//! The table of outcomes. A line is how a body ended, then `stopped=WHY`, `attempt=N`, `completes`, `retry=ATTEMPTS/BACKOFF`,
//! `retry=ATTEMPTS/BACKOFF..MAX` (doubling), `asks=LENGTH` (a `retry_after`); the answer is what that does to the occurrence.

use hourhand_core::backoff::Retry;
use hourhand_core::outcome::{BodyEnd, StopReason, judge};
use jiff::SignedDuration;

use crate::golden::{self, Scene};
use crate::notation::{length, length_shown, pairs};

#[test]
fn every_outcome_does_to_its_occurrence_what_the_table_says() {
    golden::check::<Judged>("outcomes.txt");
}

struct Judged;

impl Scene for Judged {
    fn begin(_title: &str) -> Judged {
        Judged
    }

    fn answer(&mut self, line: &str) -> String {
        let (how, policies) = line.split_once(' ').unwrap_or((line, ""));
        let (mut stopped, mut attempt, mut completes, mut retry, mut asks) = (None, 1, false, Retry::none(), None);
        for (key, value) in pairs(policies) {
            match key {
                "stopped" => stopped = Some(stop_reason(value)),
                "attempt" => attempt = value.parse().unwrap(),
                "completes" => completes = true,
                "retry" => retry = retry_of(value),
                "asks" => asks = Some(length(value)),
                _ => panic!("{line}: {key}"),
            }
        }
        let verdict = judge(body_end(how, asks), stopped, completes, attempt, &retry);
        let message = verdict.error.map(|error| format!(" {error:?}")).unwrap_or_default();
        let then = match (verdict.handled, verdict.backoff) {
            (true, _) => "handled".to_owned(),
            (false, SignedDuration::ZERO) => "due at once".to_owned(),
            (false, backoff) => format!("due after {}", length_shown(backoff)),
        };
        let counts = if verdict.counts { ", an attempt" } else { "" };
        let transient = if verdict.transient { ", expected" } else { "" };
        format!("{}{message}: {then}{counts}{transient}", verdict.outcome)
    }
}

/// How a body ended.
pub(crate) fn body_end(how: &str, asks: Option<SignedDuration>) -> BodyEnd {
    match how {
        "returned" => BodyEnd::Returned { completing: false },
        "completing" => BodyEnd::Returned { completing: true },
        "failed" => BodyEnd::Failed { error: "no such order".to_owned(), transient: false, retry_after: asks },
        "transient" => BodyEnd::Failed { error: "503".to_owned(), transient: true, retry_after: asks },
        "panicked" => BodyEnd::Panicked("index out of bounds".to_owned()),
        "aborted" => BodyEnd::Aborted,
        _ => panic!("a body does not end like this: {how}"),
    }
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "shutdown" => StopReason::Shutdown,
        "lock-lost" => StopReason::LockLost,
        "timeout" => StopReason::TimedOut,
        "cancel" => StopReason::Cancelled,
        _ => panic!("a body is not told to stop because of {word}"),
    }
}

/// `3/10s`: fixed; `3/10s..1m`: doubling up to a minute.
pub(crate) fn retry_of(text: &str) -> Retry {
    let (attempts, backoff) = text.split_once('/').unwrap();
    let attempts = attempts.parse().unwrap();
    match backoff.split_once("..") {
        Some((first, longest)) => Retry::exponential(attempts, length(first), length(longest)),
        None => Retry::fixed(attempts, length(backoff)),
    }
}
