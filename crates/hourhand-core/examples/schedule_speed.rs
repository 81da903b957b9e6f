//! How long an answer of a schedule takes: `cargo run --release -p hourhand-core --example schedule_speed`.
//!
//! Prints one line per expression; the aim is under 10 µs for common ones and 50 µs for rare ones. Nothing is
//! asserted, because a busy machine would fail it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use hourhand_core::schedule::Schedule;
use jiff::{SignedDuration, Timestamp};

/// Expressions that many people write.
const COMMON: [&str; 10] = [
    "@hourly",
    "@daily",
    "* * * * *",
    "*/5 * * * *",
    "30 2 * * *",
    "0 9 * * 1-5",
    "0 0 1 * *",
    "15,45 8-18 * * MON-FRI",
    "*/10 * * * * *",
    "every 90s",
];

/// Expressions that are seldom due, or seldom written.
const RARE: [&str; 9] = [
    "0 0 29 2 *",
    "@yearly",
    "0 0 31 12 *",
    "0 0 * * 5#5",
    "0 0 LW * *",
    "0 0 15W 6 *",
    "0 0 13 * 5",
    "* * 29 2 *",
    "0 0 29 2 */7",
];

/// Asked from this many instants, spread over four years.
const INSTANTS: i32 = 2_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for zone in ["UTC", "America/New_York"] {
        println!("\n{zone:<26} {:>9} {:>9} {:>9} {:>9}  (mean; worst)", "next", "", "previous", "");
        for (kind, texts) in [("common", COMMON.as_slice()), ("rare", RARE.as_slice())] {
            for text in texts {
                let schedule = Schedule::parse(text, zone)?;
                let (next, next_worst) = measure(|at| schedule.next_after(at))?;
                let (previous, previous_worst) = measure(|at| schedule.previous_at_or_before(at))?;
                println!(
                    "{kind:<7} {text:<18} {next:>9.1?} {next_worst:>9.1?} {previous:>9.1?} {previous_worst:>9.1?}"
                );
            }
        }
    }
    let begun = Instant::now();
    let minutes = Schedule::parse("* * * * *", "America/New_York")?;
    let counted = minutes.count_between("2026-01-01T00:00:00Z".parse()?, "2126-01-01T00:00:00Z".parse()?);
    println!("\n{counted} occurrences of a century counted in {:.1?}", begun.elapsed());
    let begun = Instant::now();
    let refused = Schedule::parse("0 0 30 2 *", "UTC").is_err();
    println!("0 0 30 2 * refused ({refused}) in {:.1?}", begun.elapsed());
    Ok(())
}

/// The mean time of an answer, and the mean from the instant that takes longest.
fn measure(answer: impl Fn(Timestamp) -> Option<Timestamp>) -> Result<(Duration, Duration), jiff::Error> {
    let from: Timestamp = "2024-03-01T11:59:31.5Z".parse()?;
    let (mut total, mut worst) = (Duration::ZERO, Duration::ZERO);
    for instant in 0..INSTANTS {
        let at = from + SignedDuration::from_mins(1_051) * instant;
        // The best of three, so that "worst" is the expression's and not the machine's.
        let best = (0..3).map(|_| {
            let begun = Instant::now();
            black_box(answer(black_box(at)));
            begun.elapsed()
        });
        let best = best.min().unwrap_or_default();
        total += best;
        worst = worst.max(best);
    }
    Ok((total / INSTANTS.unsigned_abs(), worst))
}
