//! A command under `exec`, with a database of its own, in a directory of its own.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use hourhand_testkit::{Database, Signal};
use rustix::process::{Pid, kill_process};
use tokio_postgres::Client;

use crate::command::{Said, hourhand, run};

/// What a test has.
pub struct Scene {
    database: Database,
    pub eye: Client,
    directory: tempfile::TempDir,
}

impl Scene {
    /// With hourhand's schema in the database.
    pub async fn new() -> Scene {
        let scene = Scene::unmigrated().await;
        hourhand::migrate(&scene.database.url(), "hourhand").await.unwrap();
        scene
    }

    pub async fn unmigrated() -> Scene {
        let database = Database::create().await;
        let eye = database.connect().await;
        Scene { database, eye, directory: tempfile::tempdir().unwrap() }
    }

    pub fn url(&self) -> String {
        self.database.url()
    }

    /// `hourhand exec` with these options for this shell script, not yet run.
    pub fn exec(&self, options: &[&str], script: &str) -> Command {
        let mut command = hourhand(["exec"]);
        command.args(options).args(["--", "sh", "-c", script]);
        command.env("HOURHAND_DATABASE_URL", self.url()).current_dir(self.directory.path());
        command
    }

    /// Runs it to its end.
    pub fn say(&self, options: &[&str], script: &str) -> Said {
        tokio::task::block_in_place(|| run(&mut self.exec(options, script)))
    }

    /// Starts it, and waits until its script has written the file `ready`.
    pub fn start(&self, options: &[&str], script: &str) -> Started {
        let child = self.exec(options, script).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let started = Started(child);
        wait_until("the script is ready", Duration::from_secs(10), || self.path("ready").exists());
        started
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The processes whose ids the script has written to the file `pids`.
    pub fn pids(&self) -> Vec<i32> {
        self.read("pids").lines().map(|line| line.parse().unwrap()).collect()
    }

    /// One text, by a query.
    pub async fn text(&self, query: &str) -> String {
        let row = self.eye.query_typed_opt(query, &[]).await.unwrap_or_else(|error| panic!("{query}: {error:?}"));
        row.and_then(|row| row.get::<_, Option<String>>(0)).unwrap_or_default()
    }
}

/// An `exec` under way; ended with the test.
pub struct Started(pub Child);

impl Started {
    pub fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for its end.
    pub fn wait(&mut self, within: Duration) -> ExitStatus {
        let mut status = None;
        wait_until("exec ends", within, || {
            status = self.0.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether a process lives: one that has ended and waits to be reaped does not.
pub fn lives(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits until none of these processes lives, and says how long that took.
pub fn gone(pids: &[i32], within: Duration) -> Duration {
    assert!(!pids.is_empty(), "nobody wrote an id");
    let began = Instant::now();
    wait_until(&format!("{pids:?} are gone"), within, || !pids.iter().any(|pid| lives(*pid)));
    began.elapsed()
}

/// Waits for a condition.
pub fn wait_until(what: &str, within: Duration, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < within, "{what}: not within {within:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A script of two processes: the command itself, and a grandchild in a session of its own. Neither ends by itself, or by SIGTERM.
pub const DEAF_FAMILY: &str = "trap '' TERM; echo $$ >> pids; \
    setsid sh -c 'trap \"\" TERM; setsid sh -c \"trap : HUP; echo \\$\\$ >> pids; touch ready; while :; do sleep 1; done\" & exit' & \
    while :; do sleep 1; done";
