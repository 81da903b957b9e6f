//! P11: consecutive successes leave no gap, a failed run moves nothing, `advance` is a checkpoint.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hourhand::{Failure, Job, Schedule, Window};
use hourhand_testkit::eventually;
use jiff::{SignedDuration, ToSpan};

use crate::world::{JOB, Journal, World};

#[tokio::test(flavor = "multi_thread")]
async fn windows_of_successes_join_failures_are_spanned_and_the_lookback_reaches_back() {
    let world = World::new().await;
    let windows: Arc<Mutex<Vec<Window>>> = Arc::default();
    let seen = windows.clone();
    let job = Job::new(JOB, Schedule::every(Duration::from_secs(1)), move |run| {
        let seen = seen.clone();
        async move {
            let mut seen = seen.lock().unwrap();
            seen.push(run.window());
            // The second and third run fail.
            if matches!(seen.len(), 2 | 3) { Err(Failure::transient("the service is down")) } else { Ok(()) }
        }
    });
    let job = job.lookback(10.minutes()).initial_window(1.hours());
    let node = world.node("a").job(job).start().await.unwrap();
    let windows = eventually(Duration::from_secs(10), async || {
        let windows = windows.lock().unwrap().clone();
        if windows.len() >= 5 { Ok(windows) } else { Err(format!("{} runs", windows.len())) }
    })
    .await;
    node.shutdown().await;
    let lookback = SignedDuration::from_mins(10);
    let first = windows[0].until.duration_since(windows[0].from);
    assert!((first - SignedDuration::from_mins(70)).abs() < SignedDuration::from_secs(5), "first window: {first:?}");
    assert_eq!(windows[1].from, windows[0].until - lookback, "joined to the success before");
    assert_eq!(windows[2].from, windows[1].from, "a failure moves nothing");
    assert_eq!(windows[3].from, windows[1].from, "two failures move nothing");
    assert_eq!(windows[4].from, windows[3].until - lookback, "joined to the success that spanned them");
    assert!(windows.iter().all(|window| window.from <= window.until));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_moves_the_next_window_even_if_the_run_fails_but_never_past_its_own_end_or_back() {
    let world = World::new().await;
    let pool = sqlx::PgPool::connect(&world.database.url()).await.unwrap();
    let windows: Arc<Mutex<Vec<Window>>> = Arc::default();
    let (seen, at) = (windows.clone(), Arc::new(AtomicUsize::new(0)));
    let job = Job::new(JOB, Schedule::every(Duration::from_secs(1)), move |run| {
        let (seen, pool, at) = (seen.clone(), pool.clone(), at.clone());
        async move {
            let window = run.window();
            seen.lock().unwrap().push(window);
            let middle = window.from + window.until.duration_since(window.from) / 2;
            let target = match at.fetch_add(1, Ordering::SeqCst) {
                0 => middle,
                1 => window.from - SignedDuration::from_hours(1),
                2 => window.until + SignedDuration::from_hours(1),
                _ => return Ok(()),
            };
            let mut transaction = pool.begin().await?;
            run.advance(&mut transaction, target).await?;
            transaction.commit().await?;
            Err(Failure::transient("and then the service is down"))
        }
    });
    let node = world.node("a").job(job.initial_window(1.hours())).start().await.unwrap();
    let windows = eventually(Duration::from_secs(10), async || {
        let windows = windows.lock().unwrap().clone();
        if windows.len() >= 4 { Ok(windows) } else { Err(format!("{} runs", windows.len())) }
    })
    .await;
    node.shutdown().await;
    let micros = |instant: jiff::Timestamp| instant.as_microsecond();
    let middle = windows[0].from + windows[0].until.duration_since(windows[0].from) / 2;
    assert_eq!(micros(windows[1].from), micros(middle), "the checkpoint counts although the run failed");
    assert_eq!(windows[2].from, windows[1].from, "a checkpoint before the window moves nothing back");
    assert_eq!(windows[3].from, windows[2].until, "a checkpoint beyond the window is held at its end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manual_run_covers_and_moves_the_window_like_any_other() {
    let world = World::new().await;
    let journal = Journal::default();
    let job = journal.job_of("a", Schedule::cron("0 0 1 1 *"), Duration::ZERO).initial_window(1.hours());
    let node = world.node("a").job(job).start().await.unwrap();
    node.trigger(JOB).await.unwrap();
    let first = journal.run(1, Duration::from_secs(2)).await.run.window();
    eventually(Duration::from_secs(3), async || {
        node.trigger(JOB).await.unwrap();
        if journal.entries().len() > 1 { Ok(()) } else { Err("one run") }
    })
    .await;
    let second = journal.run(2, Duration::from_secs(2)).await.run.window();
    assert_eq!(second.from, first.until);
    node.shutdown().await;
}
