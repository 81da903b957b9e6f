//! hourhand alone, against its own goals: each figure names the goal that it is to keep.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, bail};
use hourhand_bench_replica::{Line, What, wall_time};

use crate::figure::Figure;
use crate::fleet::{Fleet, Load, Started};
use crate::ground::Ground;
use crate::scenario::{Scenario, ms, occurrence};
use crate::spans::Spans;
use crate::subject::Subject;
use crate::{pgbench, process};

/// The scheduler's own thread.
const THREAD: &str = "hourhand";

/// Long enough for the first connection to be given up.
const SETTLE: Duration = Duration::from_secs(75);

/// All of them, one after another.
pub(crate) fn run(ground: &Ground, ours: &Subject, spans: Spans) -> Result<Vec<Figure>> {
    let mut figures = connected(ground, ours, spans)?;
    figures.extend(connecting(ground, ours, spans)?);
    figures.extend(Scenario::Burst.run(ground, ours, spans)?);
    figures.extend(many_registered(ground, ours)?);
    figures.extend(sustained(ground, ours, spans)?);
    figures.extend(thread(ground, ours, spans)?);
    Ok(figures)
}

fn fleet(ground: &Ground, ours: &Subject, load: Load) -> Result<Fleet> {
    match Fleet::start(ours, &ground.place()?, load, 1)? {
        Started::Ready(fleet) => Ok(fleet),
        Started::Cannot(why) => bail!("hourhand's own replica cannot: {why}"),
    }
}

fn lateness(begun: &[Line]) -> Vec<f64> {
    let late = |line: &Line| line.scheduled_for.map(|due| ms(line.wall.saturating_sub(due)));
    begun.iter().filter_map(late).collect()
}

/// The session is there already: a job a second keeps it.
fn connected(ground: &Ground, ours: &Subject, spans: Spans) -> Result<Vec<Figure>> {
    let fleet = fleet(ground, ours, Load { jobs: 1, every: 1, body: Duration::ZERO })?;
    sleep(Duration::from_secs(spans.pick(25, 70, 100)));
    let begun = fleet.begun();
    Ok(Figure::spread(
        "lateness with a connected session, goal p99 10 ms",
        lateness(begun.get(3..).unwrap_or_default()),
        "ms",
    ))
}

/// It has to connect first: processes with a job each, so far between that its session has gone, and no two due together.
fn connecting(ground: &Ground, ours: &Subject, spans: Spans) -> Result<Vec<Figure>> {
    const EVERY: u64 = 90;
    const PROCESSES: u64 = 20;
    let mut fleet = Fleet::none(ours, &ground.place()?, Load { jobs: 1, every: EVERY, body: Duration::ZERO })?;
    for process in 0..PROCESSES {
        let (offset, prefix) = ((process * EVERY * 1000 / PROCESSES).to_string(), format!("p{process}-"));
        fleet.add(1, &["--offset-ms", &offset, "--prefix", &prefix])?;
    }
    fleet.await_ready()?;
    // What is due while the connection of the start still lingers does not count.
    let from = wall_time() + SETTLE;
    sleep(SETTLE + Duration::from_secs(EVERY * spans.pick(1, 2, 4)));
    let begun: Vec<Line> = fleet.begun().into_iter().filter(|line| line.wall > from).collect();
    Ok(Figure::spread("lateness when it has to connect first, goal p99 40 ms", lateness(&begun), "ms"))
}

/// 10,000 jobs that are due tomorrow, beside one.
fn many_registered(ground: &Ground, ours: &Subject) -> Result<Vec<Figure>> {
    let load = |jobs| Load { jobs, every: 86_400, body: Duration::ZERO };
    let (one, many) = (fleet(ground, ours, load(1))?, fleet(ground, ours, load(10_000))?);
    sleep(SETTLE);
    let pid = |fleet: &Fleet| fleet.pids().first().copied().unwrap_or_default();
    let sleeps = process::sleeps_of(pid(&many), THREAD);
    sleep(Duration::from_secs(60));
    let more = process::resident_mib(pid(&many)) - process::resident_mib(pid(&one));
    Ok(vec![
        Figure::number("10,000 registered jobs: memory beyond that of one, goal 16 MiB", more, "MiB"),
        Figure::number(
            "10,000 registered jobs: wake-ups in a minute",
            process::sleeps_of(pid(&many), THREAD) - sleeps,
            "",
        ),
    ])
}

/// More jobs a second than one process can run, and what the server could.
fn sustained(ground: &Ground, ours: &Subject, spans: Spans) -> Result<Vec<Figure>> {
    let fleet = fleet(ground, ours, Load { jobs: 10_000, every: 1, body: Duration::ZERO })?;
    sleep(Duration::from_secs(10));
    let ended = || fleet.lines().iter().filter(|line| line.what == What::Ended).count();
    let (before, from) = (ended(), wall_time());
    sleep(Duration::from_secs(spans.pick(10, 20, 30)));
    let (after, span) = (ended(), (wall_time() - from).as_secs_f64());
    drop(fleet);
    let runs = (after - before) as f64 / span;
    let ours_alone = Figure::number("trivial runs in one process, goal 5,000 a second", runs, "a second");
    let row = "the same statements by pgbench, on one connection";
    let limit = match pgbench::runs_a_second(ground, ours, Duration::from_secs(spans.pick(5, 10, 30))) {
        Ok(limit) => limit,
        Err(error) => return Ok(vec![ours_alone, Figure::no(row, format!("{error:#}"))]),
    };
    let limit_alone = Figure::number(row, limit, "a second");
    Ok(vec![ours_alone, limit_alone, Figure::number("share of it that hourhand reaches", 100.0 * runs / limit, "%")])
}

/// The scheduler's thread, with 1,000 jobs a minute.
fn thread(ground: &Ground, ours: &Subject, spans: Spans) -> Result<Vec<Figure>> {
    let fleet = fleet(ground, ours, Load { jobs: 1000, every: 60, body: Duration::ZERO })?;
    let from = Duration::from_secs((wall_time().as_secs() + 20).next_multiple_of(60)) - Duration::from_secs(5);
    sleep(from.saturating_sub(wall_time()));
    let pid = fleet.pids().first().copied().unwrap_or_default();
    let (minutes, busy) = (spans.pick(1, 2, 3), process::cpu_of(pid, THREAD));
    sleep(Duration::from_secs(60 * minutes));
    let busy = (process::cpu_of(pid, THREAD) - busy).as_secs_f64() / (60 * minutes) as f64;
    let ran = fleet.begun().iter().filter(|line| occurrence(line, 60) >= from).count();
    let row = format!("1,000 jobs a minute: CPU of the scheduler's thread, goal 0.1 % ({ran} runs)");
    Ok(vec![Figure::number(row, busy * 100.0, "%")])
}
