//! A Django service as its guide builds it: gunicorn with two workers, two sidecars, an outside order service.
//!
//! Django, gunicorn and psycopg come from PyPI into an environment that is kept between runs. The outside service is
//! this process: it answers when the test lets it, so a run is in mid-air exactly as long as the test wants.

mod outside;
mod project;

use std::process::Command;

use hourhand_testkit::{Leash, Leashed, Signal, eventually};
use rustix::process::{Pid, kill_process};

use crate::sidecar::{SOON, Up, World};
use outside::Outside;
use project::Project;

/// Runs of the project's own notes that were under way at the same time.
const OVERLAPS: &str = "select count(*) from orders_sync a join orders_sync b \
    on b.epoch > a.epoch and b.started_at < a.ended_at";

/// Occurrences that more than one run has covered.
const TWICE: &str = "select count(*) from (select scheduled_for from orders_sync \
    where scheduled_for is not null and ended_at is not null group by scheduled_for having count(*) > 1) twice";

/// Spans that no run has covered, between those that were.
const GAPS: &str = "select count(*) from (select since, lag(until) over (order by epoch) as before from orders_sync \
    where ended_at is not null) spans where since > before";

struct Shop {
    world: World,
    outside: Outside,
    project: Project,
}

impl Shop {
    /// Its tables are made, nothing runs yet; `None`, and said why, where Django is not to be had.
    async fn new() -> Option<Shop> {
        let project = match tokio::task::block_in_place(Project::ready) {
            Ok(project) => project,
            Err(why) => {
                eprintln!("skipped, because {why}");
                return None;
            }
        };
        let (world, outside) = (World::new().await, Outside::open().await);
        let shop = Shop { world, outside, project };
        let mut migrate = shop.command(project::python());
        migrate.args(["manage.py", "migrate", "--run-syncdb"]);
        let made = tokio::task::block_in_place(|| migrate.output()).unwrap();
        assert!(made.status.success(), "{made:?}");
        Some(shop)
    }

    /// In the project's directory, with what its settings ask for.
    fn command(&self, mut command: Command) -> Command {
        command.current_dir(self.project.directory()).env("PATH", project::path());
        command.env("DATABASE_URL", self.world.database.url()).env("ORDERS_URL", &self.outside.url);
        command.env("SECRET_KEY", "of a test").env("NO_PROXY", "127.0.0.1").env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// Two of them, with the job.
    async fn sidecars(&self) -> [Up; 2] {
        let sidecars = ["one", "two"].map(|name| {
            let command = crate::command::hourhand(["up", "--listen", "127.0.0.1:0", "--color", "never"]);
            let log = self.world.home.path().join(name);
            Up { process: Leash::new(log).spawn(&self.command(command)).unwrap() }
        });
        for sidecar in &sidecars {
            sidecar.says("up jobs=1", 1).await;
        }
        sidecars
    }

    /// With two workers; where it listens.
    async fn gunicorn(&self) -> (Leashed, String) {
        let mut command = project::python();
        command.args(["-m", "gunicorn", "shop.wsgi", "--workers", "2", "--bind", "127.0.0.1:0"]);
        let log = self.world.home.path().join("gunicorn");
        let process = Leash::new(log).spawn(&self.command(command)).unwrap();
        let address = eventually(SOON, async || {
            let log = std::fs::read_to_string(process.log()).unwrap_or_default();
            let address = log.split("Listening at: http://").nth(1).and_then(|rest| rest.split(' ').next());
            let workers = log.matches("Booting worker with pid").count();
            address.filter(|_| workers == 2).map(str::to_owned).ok_or(log)
        })
        .await;
        (process, address)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_sync_at_a_time_from_two_sidecars_and_two_gunicorn_workers_and_each_occurrence_once() {
    let Some(shop) = Shop::new().await else { return };
    let (_gunicorn, address) = shop.gunicorn().await;
    let _sidecars = shop.sidecars().await;
    shop.world.until("select count(*) from orders_sync where ended_at is not null", 1).await;

    // The outside answers nobody: whoever asks for a run meanwhile is told that one is under way.
    shop.outside.close();
    shop.outside.keeps_somebody_waiting().await;
    for _ in 0..4 {
        let (status, said) = outside::request("POST", &address, "/sync/").await;
        assert_eq!((status, said.contains("already running")), (409, true), "{said}");
    }
    assert_eq!(shop.world.number("select count(*) from orders_sync where ended_at is null").await, 1);
    shop.outside.reopen();

    // By hand again and again, until some have been done between those of the schedule.
    let mut done = 0;
    eventually(SOON, async || {
        let pair =
            tokio::join!(outside::request("POST", &address, "/sync/"), outside::request("POST", &address, "/sync/"),);
        for (status, said) in [pair.0, pair.1] {
            assert!([200, 409].contains(&status), "{status}: {said}");
            done += usize::from(status == 200);
        }
        let scheduled = "select count(*) from orders_sync where ended_at is not null and scheduled_for is not null";
        let scheduled = shop.world.number(scheduled).await;
        if done >= 2 && scheduled >= 3 { Ok(()) } else { Err(format!("{done} by hand, {scheduled} by schedule")) }
    })
    .await;

    let manual = "select count(*) from hourhand.history where trigger = 'manual' and outcome = 'succeeded'";
    assert!(shop.world.number(manual).await >= 2);
    for nothing in [OVERLAPS, TWICE, GAPS] {
        assert_eq!(shop.world.number(nothing).await, 0, "{nothing}");
    }
    assert_eq!(shop.outside.most_at_once(), 1);
    let (status, said) = outside::request("GET", &address, "/").await;
    assert_eq!(status, 200, "{said}");
    assert!(!said.contains("\"orders\": 0"), "{said}");
}

/// Stopped in mid-air; killed when the test ends, however it ends.
struct Frozen(Pid);

impl Frozen {
    fn new(pid: Pid) -> Frozen {
        kill_process(pid, Signal::STOP).unwrap();
        Frozen(pid)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        // It may have ended.
        let _ = kill_process(self.0, Signal::KILL);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_superseded_run_wrote_in_transaction_atomic_does_not_commit() {
    let Some(shop) = Shop::new().await else { return };
    shop.outside.close();
    let mut sidecars = shop.sidecars().await;
    shop.outside.keeps_somebody_waiting().await;
    let stale = shop.world.number("select epoch from orders_sync").await;
    let command = shop.world.number("select pid::bigint from orders_sync").await;
    let command = Pid::from_raw(i32::try_from(command).unwrap()).unwrap();

    // Its guardian would end it with its sidecar. Frozen, it can't: the fence alone is left.
    let guardian = project::parent(command);
    let holder = project::parent(guardian).as_raw_nonzero().get().unsigned_abs();
    let (_guardian, stale_command) = (Frozen::new(guardian), Frozen::new(command));
    let holder = sidecars.iter_mut().find(|sidecar| sidecar.process.pid() == holder).expect("the command's sidecar");
    holder.process.signal(Signal::KILL);
    let taken_over = "select count(*) from hourhand.history where outcome = 'lost'";
    shop.world.until(taken_over, 1).await;
    shop.outside.reopen();
    // Of the same occurrence, or of one that has come due meanwhile and stands for both.
    let successor = format!("select count(*) from orders_sync b where b.epoch > {stale} and b.ended_at is not null");
    shop.world.until(&successor, 1).await;

    kill_process(stale_command.0, Signal::CONT).unwrap();
    let refused = format!("select count(*) from orders_sync where epoch = {stale} and note like 'HH001: %'");
    shop.world.until(&refused, 1).await;
    for nothing in [
        format!("select count(*) from orders_order where epoch = {stale}"),
        format!("select count(*) from orders_sync where epoch = {stale} and ended_at is not null"),
    ] {
        assert_eq!(shop.world.number(&nothing).await, 0, "{nothing}");
    }
    let kept = format!("select count(*) from orders_order where epoch > {stale}");
    assert!(shop.world.number(&kept).await > 0);
}
