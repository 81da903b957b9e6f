//! How long the next instant of a schedule takes to find.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use hourhand::Schedule;
use jiff::{SignedDuration, Timestamp};

use crate::figure::Figure;

/// What is asked of each: starts spread over four years, in steps that fall on no boundary.
const STARTS: u32 = 2000;
const STEP: SignedDuration = SignedDuration::from_secs(63_113);

/// Each with its goal: microseconds.
const COMMON: f64 = 10.0;
const RARE: f64 = 50.0;

const SCHEDULES: [(&str, &str, f64); 10] = [
    ("every 90s", "UTC", COMMON),
    ("* * * * * *", "UTC", COMMON),
    ("*/5 * * * *", "UTC", COMMON),
    ("@hourly", "UTC", COMMON),
    ("@daily", "Europe/Berlin", COMMON),
    ("30 2 * * *", "America/New_York", COMMON),
    ("0 9 * * MON-FRI", "Europe/Berlin", COMMON),
    ("0 0 1 * *", "UTC", RARE),
    ("0 12 1 1 *", "Australia/Lord_Howe", RARE),
    ("0 0 29 2 *", "UTC", RARE),
];

/// Mean and slowest of each schedule.
///
/// # Errors
///
/// If a schedule has no next instant, or one is not found within its goal on average.
pub(crate) fn run() -> Result<Vec<Figure>> {
    let (mut figures, mut slow) = (Vec::new(), Vec::new());
    for (text, zone, goal) in SCHEDULES {
        let schedule = Schedule::parse(text, zone).with_context(|| format!("{text} in {zone}"))?;
        let times = times(&schedule)?;
        let mean = times.iter().sum::<f64>() / f64::from(STARTS);
        let row = format!("`{text}` {zone}, goal {goal:.0} µs");
        figures.push(Figure::number(row, mean, "µs").with_raw(&times));
        if mean > goal {
            slow.push(format!("{text} in {zone}: {mean:.1} µs instead of {goal:.0} µs"));
        }
    }
    ensure!(slow.is_empty(), "too slow: {}", slow.join("; "));
    Ok(figures)
}

/// The time of each start, the best of three: what else the machine does is not meant.
fn times(schedule: &Schedule) -> Result<Vec<f64>> {
    let mut at = Timestamp::from_second(1_700_000_007)?;
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            let begun = Instant::now();
            let next = black_box(schedule.next_after(black_box(at)));
            best = best.min(begun.elapsed().as_secs_f64() * 1e6);
            next.context("a schedule has no next instant")?;
        }
        times.push(best);
        at += STEP;
    }
    Ok(times)
}
