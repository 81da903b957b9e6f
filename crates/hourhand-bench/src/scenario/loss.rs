//! A process is lost while its body is at work, by `kill -9` or by `SIGSTOP`: does the same occurrence run elsewhere?

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};
use hourhand_bench_replica::{Line, What, boot_time};
use hourhand_testkit::Signal;

use super::{LONG, REPLICAS, is_between_instants, occurrence};
use crate::figure::Figure;
use crate::fleet::{Fleet, Load, Started, until};
use crate::ground::Ground;
use crate::spans::Spans;
use crate::subject::Subject;

const EVERY: u64 = 60;

/// How long the holder stays frozen.
const FROZEN: Duration = Duration::from_secs(30);

/// How long a woken body is given to stop.
const STOPS_WITHIN: Duration = Duration::from_secs(10);

/// A fleet with one body at work, which has been so for three seconds.
struct AtWork {
    fleet: Fleet,
    body: Line,
}

/// Starts it; or says why not.
fn at_work(ground: &Ground, subject: &Subject) -> Result<Result<AtWork, String>> {
    let load = Load { jobs: 1, every: EVERY, body: LONG };
    let fleet = match Fleet::start(subject, &ground.place()?, load, REPLICAS)? {
        Started::Ready(fleet) => fleet,
        Started::Cannot(why) => return Ok(Err(why)),
    };
    let Some(body) = until(Duration::from_secs(2 * EVERY + 10), || fleet.begun().into_iter().next()) else {
        return Ok(Err("nothing ran within two minutes".to_owned()));
    };
    sleep(Duration::from_secs(3));
    let began: BTreeSet<u32> = fleet.begun().iter().filter(|line| is_same(line, &body)).map(|line| line.pid).collect();
    if began.len() > 1 {
        return Ok(Err(format!("{} of {REPLICAS} replicas run each occurrence, at the same time", began.len())));
    }
    Ok(Ok(AtWork { fleet, body }))
}

fn is_same(line: &Line, body: &Line) -> bool {
    occurrence(line, EVERY) == occurrence(body, EVERY)
}

/// The same occurrence beginning elsewhere after that moment.
fn elsewhere(begun: Vec<Line>, body: &Line, after: Duration) -> Option<Line> {
    begun.into_iter().find(|line| {
        let repeats = if line.scheduled_for.is_some() { is_same(line, body) } else { is_between_instants(line, EVERY) };
        line.at > after && line.pid != body.pid && repeats
    })
}

pub(super) fn killed(ground: &Ground, subject: &Subject, spans: Spans) -> Result<Vec<Figure>> {
    let row = "holder killed: the same occurrence runs elsewhere after";
    let mut at_work = match at_work(ground, subject)? {
        Ok(at_work) => at_work,
        Err(why) => return Ok(vec![Figure::no(row, why)]),
    };
    let within = Duration::from_secs(spans.pick(45, 60, 180));
    let killed = boot_time();
    let pid = at_work.body.pid;
    at_work.fleet.replica(pid).context("the body is nobody's")?.signal(Signal::KILL);
    Ok(vec![match until(within, || elsewhere(at_work.fleet.begun(), &at_work.body, killed)) {
        Some(line) => Figure::number(row, (line.at - killed).as_secs_f64(), "s"),
        None => Figure::no(row, format!("not within {} s", within.as_secs())),
    }])
}

pub(super) fn frozen(ground: &Ground, subject: &Subject) -> Result<Vec<Figure>> {
    let row = "holder frozen: taken over after";
    let mut at_work = match at_work(ground, subject)? {
        Ok(at_work) => at_work,
        Err(why) => return Ok(vec![Figure::no(row, why)]),
    };
    let pid = at_work.body.pid;
    let frozen = boot_time();
    at_work.fleet.replica(pid).context("the body is nobody's")?.freeze();
    let taken = until(FROZEN, || elsewhere(at_work.fleet.begun(), &at_work.body, frozen));
    sleep((frozen + FROZEN).saturating_sub(boot_time()));
    let woken = boot_time();
    at_work.fleet.replica(pid).context("the body is nobody's")?.thaw();
    let Some(taken) = taken else {
        return Ok(vec![Figure::no(row, format!("not within {} s", FROZEN.as_secs()))]);
    };
    let ended = || at_work.fleet.lines().into_iter().find(|line| line.what == What::Ended && line.pid == pid);
    let both = "holder frozen, then woken: both bodies at work for";
    Ok(vec![
        Figure::number(row, (taken.at - frozen).as_secs_f64(), "s"),
        match until(STOPS_WITHIN, ended) {
            Some(line) => Figure::number(both, (line.at.saturating_sub(woken)).as_secs_f64(), "s"),
            None => Figure::words(both, format!("more than {} s", STOPS_WITHIN.as_secs())),
        },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body of that process, beginning so many seconds after 1970 and after the machine's start.
    fn line(pid: u32, at: u64, due: &str) -> Line {
        Line::parse(&format!("{at}000000000 {pid} began job-0 {at}000000000 {due}")).unwrap()
    }

    const DUE: &str = "60000000000";

    #[test]
    fn the_same_occurrence_of_another_process_is_the_take_over() {
        let (body, after) = (line(1, 60, DUE), Duration::from_secs(63));
        let next = "120000000000";
        let begun = vec![line(1, 60, DUE), line(2, 61, DUE), line(1, 70, DUE), line(3, 120, next), line(4, 121, DUE)];
        assert_eq!(elsewhere(begun, &body, after), Some(line(4, 121, DUE)));
        assert_eq!(elsewhere(vec![line(1, 70, DUE), line(3, 120, next)], &body, after), None);
    }

    #[test]
    fn of_a_body_that_is_not_told_its_occurrence_only_a_beginning_between_instants_is() {
        let (body, after) = (line(1, 60, "-"), Duration::from_secs(63));
        assert_eq!(elsewhere(vec![line(2, 120, "-"), line(3, 121, "-")], &body, after), None);
        assert_eq!(elsewhere(vec![line(2, 120, "-"), line(3, 150, "-")], &body, after), Some(line(3, 150, "-")));
    }
}
