//! What takes long is said, once a run.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hourhand::Triggered;
use hourhand_testkit::eventually;

use crate::world::{JOB, Journal, World, yearly};

/// Everything that was logged, in a process of its own.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn begin() -> Log {
        let log = Log::default();
        let writer = log.clone();
        let format = tracing_subscriber::fmt().with_env_filter("hourhand=debug").with_ansi(false);
        format.with_writer(move || writer.clone()).init();
        log
    }

    fn lines(&self, of: &str) -> Vec<String> {
        let log = self.0.lock().unwrap();
        String::from_utf8_lossy(&log).lines().filter(|line| line.contains(of)).map(str::to_owned).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_takes_longer_than_it_should_is_warned_about_once() {
    let log = Log::begin();
    let world = World::new().await;
    let job = Journal::default().job_of("a", yearly(), Duration::from_millis(1500));
    let node = world.node("a").job(job.warn_after(Duration::from_millis(300))).start().await.unwrap();
    for run in 1..=2 {
        let Triggered::Started { epoch, .. } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
        let mine = format!("epoch={epoch}");
        let warnings = || {
            let lines = log.lines("the run takes longer than");
            lines.into_iter().filter(|line| line.contains(&mine)).collect::<Vec<_>>()
        };
        eventually(Duration::from_secs(5), async || match warnings().as_slice() {
            [one] if one.contains("WARN") && one.contains(JOB) => Ok(()),
            said => Err(format!("{said:?}")),
        })
        .await;
        assert!(log.lines("run ended").len() < run, "said while it runs");
        // A ping a second passes, and its end.
        world.until(Duration::from_secs(5), "select count(*) from hourhand.history", run as i64).await;
        assert_eq!(warnings().len(), 1, "{:?}", warnings());
    }
    node.shutdown().await;
}
