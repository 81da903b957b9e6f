//! Policies that mean nothing, each by itself well-formed: whoever writes one expects what will never come.
//!
//! Only what can never do anything is refused. What is unusual but does something (a timeout over the period, a backoff over it, as long as
//! errors may ask for a shorter wait of their own) is the job's own business.

use std::collections::{HashMap, HashSet};

use hourhand_core::backoff::Retry;
use hourhand_core::job::{CatchUp, Starts};
use hourhand_core::schedule::Schedule;
use jiff::{SignedDuration, Timestamp};

use super::{Job, LENGTH_MAX, length_shown};

/// So many distances between occurrences are compared: a week of hours, a year of weeks.
const DISTANCES: usize = 200;

/// What also a run by hand has.
const OF_RUNS: [&str; 4] = ["exclusive_group", "timeout", "warn_after", "window_max"];

/// What is wrong with a retry by itself.
pub(super) fn of_retry(retry: &Retry) -> Vec<String> {
    let (attempts, backoff, most) = (retry.attempts, retry.backoff, retry.backoff_max);
    let fits = |length: SignedDuration| !length.is_negative() && length <= LENGTH_MAX;
    let lengths = [("backoff", backoff), ("backoff_max", most), ("jitter", retry.jitter)];
    let odd = lengths.into_iter().filter(|(_, length)| !fits(*length));
    let mut complaints: Vec<String> = odd
        .map(|(what, length)| format!("retry: a {what} of {} is not between 0s and 100 years", length_shown(length)))
        .collect();
    if attempts == 0 {
        complaints.push("retry: with 0 attempts nothing would ever run: 1 is without a retry".to_owned());
    }
    if most < backoff {
        complaints.push(format!(
            "retry: no wait is longer than the backoff_max of {}, and the backoff is {}",
            length_shown(most),
            length_shown(backoff)
        ));
    }
    if retry.factor == 0 {
        complaints
            .push("retry: a factor of 0 makes nothing of every wait: 1 keeps the backoff, 2 doubles it".to_owned());
    }
    complaints
}

pub(crate) fn still_there(before: &str) -> String {
    format!("renamed_from: {before:?} is a job of this scheduler, and keeps its state: leave one of the two out")
}

pub(crate) fn taken(before: &str, heir: &str) -> String {
    format!("renamed_from: {heir:?} was called {before:?} too, and only one can go on where that was")
}

impl Job {
    /// Jobs of one scheduler, each with the name it had before, that can't have had it: the place of each, and why. For a reader of
    /// configuration files, who knows the places.
    #[doc(hidden)]
    pub fn renamed_twice(jobs: &[(&str, Option<&str>)]) -> Vec<(usize, String)> {
        let names: HashSet<&str> = jobs.iter().map(|(name, _)| *name).collect();
        let mut heirs: HashMap<&str, &str> = HashMap::new();
        let mut complaints = Vec::new();
        for (place, (name, before)) in jobs.iter().enumerate() {
            // That it is its own name is said of the job by itself.
            let Some(before) = before.filter(|before| before != name) else { continue };
            if names.contains(before) {
                complaints.push((place, still_there(before)));
            }
            let heir = *heirs.entry(before).or_insert(*name);
            if heir != *name {
                complaints.push((place, taken(before, heir)));
            }
        }
        complaints
    }

    /// What of its policies can never do anything.
    pub(super) fn senseless(&self) -> Vec<String> {
        let leave_out = |why: &str, policy: &str| format!("{policy}: {why}: leave it out");
        if self.schedule.is_continuous() {
            let why = "a continuous job has no occurrences, and its run no length";
            return self.policies_set().chain(self.hooks_set()).map(|policy| leave_out(why, policy)).collect();
        }
        if self.starts == Starts::WhenAsked {
            let why = "a job that runs when somebody asks has no occurrences";
            let of_occurrences = self.policies_set().filter(|policy| !OF_RUNS.contains(policy)).chain(self.hooks_set());
            return of_occurrences.map(|policy| leave_out(why, policy)).chain(self.never_warns()).collect();
        }
        let all = [self.never_warns(), self.never_in_its_period(), self.never_caught_up(), self.never_overlaps()];
        all.into_iter().flatten().collect()
    }

    /// Those set of the policies that a continuous job can't have.
    fn policies_set(&self) -> impl Iterator<Item = &'static str> {
        let policies = &self.policies;
        let set = [
            ("jitter", policies.jitter.is_some()),
            ("exclusive_group", policies.group.is_some()),
            ("timeout", policies.timeout.is_some()),
            ("warn_after", policies.warn_after.is_some()),
            ("retry", policies.retry.is_some()),
            ("catch_up", policies.catch_up.is_some()),
            ("catch_up_window", policies.catch_up_window.is_some()),
            ("deadline", policies.deadline.is_some()),
            ("overlap", policies.overlap.is_some()),
            ("window_max", policies.window_max.is_some()),
        ];
        set.into_iter().filter(|(_, set)| *set).map(|(policy, _)| policy)
    }

    /// Those set of the hooks that only occurrences have.
    fn hooks_set(&self) -> impl Iterator<Item = &'static str> {
        let set = [("on_late", self.hooks.late.is_some()), ("only_if", self.hooks.condition.is_some())];
        set.into_iter().filter(|(_, set)| *set).map(|(hook, _)| hook)
    }

    fn never_warns(&self) -> Option<String> {
        let warns = self.policies.warn_after?;
        let by_default = (self.starts == Starts::BySchedule).then_some(SignedDuration::from_hours(1));
        let timeout = self.policies.timeout.or(by_default).filter(|timeout| warns >= *timeout)?;
        let own = if self.policies.timeout.is_some() { "the timeout" } else { "the timeout that every job has" };
        Some(format!(
            "warn_after: {warns:#} is not shorter than {own}, {timeout:#}: nobody would ever be warned. A shorter one, or a longer timeout"
        ))
    }

    fn never_in_its_period(&self) -> Option<String> {
        let jitter = self.policies.jitter.filter(|jitter| !jitter.is_zero())?;
        let period = longest_period(&self.schedule, jitter)?;
        Some(format!(
            "jitter: {jitter:#} is longer than the schedule's period of {period:#}, so that runs would start after the next \
             occurrence: at most the period"
        ))
    }

    fn never_caught_up(&self) -> Option<String> {
        let (none, window) = (self.policies.catch_up == Some(CatchUp::None), self.policies.catch_up_window);
        window.filter(|_| none).map(|_| {
            "catch_up_window: nothing is caught up (catch_up is none), however young: leave one of them out".to_owned()
        })
    }

    fn never_overlaps(&self) -> Option<String> {
        let all = matches!(self.policies.catch_up, Some(CatchUp::All(most)) if most > 0);
        self.policies.overlap.filter(|_| all).map(|_| {
            "overlap: what comes due during a run is caught up like all that was missed (catch_up is all): leave one of them out"
                .to_owned()
        })
    }
}

/// The longest distance between two occurrences that follow each other, if all are shorter than `length`. Where the schedule rests
/// longer now and then, over night say, there is an occurrence that the length fits in.
fn longest_period(schedule: &Schedule, length: SignedDuration) -> Option<SignedDuration> {
    // Any instant that all processes agree on: what is refused must not depend on the hour of the start.
    let from = Timestamp::from_second(1_767_225_600).ok()?;
    let mut last = schedule.next_after(from)?;
    let mut longest = SignedDuration::ZERO;
    for next in schedule.occurrences_after(last).take(DISTANCES) {
        longest = longest.max(next.duration_since(last));
        if longest >= length {
            return None;
        }
        last = next;
    }
    (!longest.is_zero()).then_some(longest)
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;

    use super::*;
    use crate::failure::Failure;

    fn job(schedule: &str) -> Job {
        Job::new("j", Schedule::parse(schedule, "Europe/Vienna").unwrap(), async |_| Ok::<_, Failure>(()))
    }

    fn fixed(attempts: u32, minutes: i64) -> Retry {
        Retry::fixed(attempts, SignedDuration::from_mins(minutes))
    }

    #[test]
    fn what_can_never_do_anything_is_said_and_all_of_it_at_once() {
        let retry =
            Retry { factor: 0, ..Retry::exponential(0, SignedDuration::from_mins(5), SignedDuration::from_secs(1)) };
        let all = job("@hourly")
            .jitter(61.minutes())
            .warn_after(2.hours())
            .catch_up(CatchUp::None)
            .catch_up_window(3.hours())
            .retry(retry);
        let said = all.complaints().join("\n");
        let wanted = [
            "retry: with 0 attempts nothing would ever run: 1 is without a retry",
            "retry: no wait is longer than the backoff_max of 1s, and the backoff is 5m",
            "retry: a factor of 0 makes nothing of every wait: 1 keeps the backoff, 2 doubles it",
            "warn_after: 2h is not shorter than the timeout that every job has, 1h: nobody would ever be warned. A shorter one, or a longer timeout",
            "jitter: 1h 1m is longer than the schedule's period of 1h, so that runs would start after the next occurrence: at most the period",
            "catch_up_window: nothing is caught up (catch_up is none), however young: leave one of them out",
        ];
        assert_eq!(said, wanted.join("\n"));
    }

    #[test]
    fn each_policy_that_means_nothing_is_named() {
        let asked = || Job::on_demand("j", async |_| Ok::<_, Failure>(()));
        let odd = Retry::fixed(2, SignedDuration::from_secs(-1));
        let absurd = Retry::exponential(3, SignedDuration::from_secs(1), SignedDuration::MAX);
        let cases = [
            (
                job("@hourly").timeout(10.minutes()).warn_after(10.minutes()),
                "warn_after: 10m is not shorter than the timeout, 10m",
            ),
            (job("every 90s").jitter(91.seconds()), "jitter: 1m 31s is longer than the schedule's period of 1m 30s"),
            (job("@daily").retry(odd), "retry: a backoff of -1s"),
            (job("@daily").retry(absurd), "retry: a backoff_max of 2562047788015215h 30m 7s 999ms"),
            (
                job("@daily").catch_up(CatchUp::All(3)).overlap(hourhand_core::job::Overlap::BufferOne),
                "overlap: what comes due",
            ),
            (job("continuous").only_if(|| std::future::ready(true)), "only_if: a continuous job has no occurrences"),
            (job("continuous").on_late(|_| std::future::ready(())), "on_late: a continuous job"),
            (asked().retry(fixed(3, 1)), "retry: a job that runs when somebody asks has no occurrences"),
            (asked().deadline(1.hour()), "deadline: a job that runs when somebody asks"),
            (asked().timeout(1.minute()).warn_after(1.hour()), "warn_after: 1h is not shorter than the timeout, 1m"),
        ];
        for (job, wanted) in cases {
            let said = job.complaints();
            assert!(said.first().is_some_and(|first| first.starts_with(wanted)), "{said:?} instead of {wanted}");
        }
    }

    #[test]
    fn what_is_unusual_and_means_something_is_taken() {
        let asked = || Job::on_demand("j", async |_| Ok::<_, Failure>(()));
        let cases = [
            job("@hourly").jitter(1.hour()).timeout(3.hours()).warn_after(2.hours()),
            // Nights are longer than that, and a retry has its place there.
            job("*/5 8-18 * * *").jitter(20.minutes()).retry(fixed(3, 30)),
            job("0 9 * * MON-FRI").jitter(30.hours()),
            job("@hourly").catch_up(CatchUp::All(3)).catch_up_window(2.hours()).retry(fixed(3, 600)),
            job("@hourly").catch_up(CatchUp::None).deadline(30.minutes()).retry(fixed(3, 10)),
            // An error may ask for a wait of its own, which is shorter.
            job("@hourly").retry(fixed(3, 61)).deadline(5.minutes()),
            job("@hourly").retry(fixed(1, 600)).deadline(1.minute()),
            job("@hourly").retry(Retry::fixed(3, SignedDuration::ZERO)),
            job("@daily").lookback(48.hours()).initial_window(1.hour()).deadline(40.hours()),
            job("29 2 29 2 *").jitter(48.hours()),
            asked().timeout(1.hour()).exclusive_group("g").lookback(1.hour()),
            asked().warn_after(2.hours()),
        ];
        for job in cases {
            assert_eq!(job.complaints(), [""; 0]);
        }
    }

    #[test]
    fn one_former_name_has_one_heir_and_is_no_job_any_more() {
        let said = |jobs: &[(&str, Option<&str>)]| Job::renamed_twice(jobs);
        assert_eq!(said(&[("b", Some("a")), ("c", None)]), []);
        assert_eq!(said(&[("b", Some("a")), ("a", None)]), [(0, still_there("a"))]);
        assert_eq!(said(&[("b", Some("a")), ("c", Some("a"))]), [(1, taken("a", "b"))]);
        assert_eq!(said(&[("b", Some("a")), ("a", Some("b"))]), [(0, still_there("a")), (1, still_there("b"))]);
        assert_eq!(said(&[("b", Some("b"))]), [], "that is said of the job by itself");
    }
}
