//! Waiting for a condition instead of sleeping and hoping.

use std::fmt::Display;
use std::panic::Location;
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(15);

/// Asks again and again until the answer is `Ok`, and returns what it holds.
///
/// `Err` says what was seen instead. The question is asked at least once, then about every 15 ms, each answer being
/// awaited however long it takes: `within` bounds when the last question is asked.
///
/// # Panics
///
/// When `within` has passed, with what was seen last, at the place of the caller.
#[track_caller]
pub fn eventually<T, E: Display>(
    within: Duration,
    mut ask: impl AsyncFnMut() -> Result<T, E>,
) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        let begun = Instant::now();
        loop {
            match ask().await {
                Ok(answer) => return answer,
                Err(seen) if begun.elapsed() >= within => {
                    panic!("{caller}: not so within {within:?}; last seen: {seen}")
                }
                Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_answers_as_soon_as_the_condition_holds() {
        let mut asked = 0;
        let answer = eventually(Duration::from_secs(60), async || {
            asked += 1;
            if asked < 3 { Err("not yet") } else { Ok(asked) }
        });
        assert_eq!(answer.await, 3);
    }

    #[tokio::test]
    #[should_panic(expected = "last seen: 7 rows")]
    async fn it_says_what_it_saw_last_when_time_is_up() {
        eventually(Duration::ZERO, async || Err::<(), _>("7 rows")).await;
    }
}
