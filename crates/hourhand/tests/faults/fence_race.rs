//! P2 from two languages: of two transactions that race with a new run exactly the right one commits, and a run begun by SQL under
//! the job's key excludes the nodes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hourhand_testkit::eventually;
use tokio_postgres::Client;

use crate::report;
use crate::scene::node;
use crate::world::{JOB, Journal, World, daily, yearly};

const ROUNDS: i32 = 1000;
const FAULT: &str = "two fenced transactions race with a new run, 1,000 rounds";

/// A job that no node runs, with a table of effects.
async fn registered() -> World {
    let world = World::new().await;
    let idle = Journal::default().job_of("0", yearly(), Duration::ZERO);
    node(world.database.url(), "0").job(idle).start().await.unwrap().shutdown().await;
    world.eye.batch_execute("create table effect (claimed bigint, current bigint)").await.unwrap();
    world
}

/// A session that holds the job's key: every `hourhand.begin` on it is a new run.
async fn key_holder(world: &World) -> Client {
    let client = world.database.connect().await;
    let row = client.query_typed_one("select pg_try_advisory_lock(hourhand.key('order-sync'))", &[]).await.unwrap();
    assert!(row.get::<_, bool>(0));
    client
}

async fn begin(holder: &Client) -> i64 {
    holder.query_typed_one("select epoch from hourhand.begin('order-sync')", &[]).await.unwrap().get(0)
}

/// Writes under an epoch, works for some milliseconds, fences, and writes which epoch is current once the fence has let it pass.
/// True: it committed.
async fn write(client: &Client, epoch: i64, works_ms: f64) -> bool {
    let text = format!(
        "begin; insert into effect values ({epoch}); select pg_sleep({works_ms} / 1000); select hourhand.fence('{JOB}', {epoch}); \
         update effect set current = (select epoch from hourhand.job where name = '{JOB}') where claimed = {epoch}; commit"
    );
    match client.batch_execute(&text).await {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.code().map(|code| code.code()), Some("HH001"), "{error:?}");
            client.batch_execute("rollback").await.unwrap();
            false
        }
    }
}

/// How many rows were committed under an epoch that was not the current one then.
async fn wrong(world: &World) -> i64 {
    world.number("select count(*) from effect where claimed is distinct from current").await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_transactions_that_race_with_a_new_run_exactly_the_right_one_commits() {
    let world = registered().await;
    let holder = key_holder(&world).await;
    let (older, newer) = (world.database.connect().await, world.database.connect().await);
    let mut epoch = begin(&holder).await;
    let (mut before, mut refused) = (0, 0);
    for round in 0..ROUNDS {
        // The start comes before, at, or after the older run's fence.
        let start = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let epoch = begin(&holder).await;
            (epoch, write(&newer, epoch, 0.0).await)
        };
        let works_ms = f64::from(round % 20) * 0.2;
        let (committed, (next, new_committed)) = tokio::join!(write(&older, epoch, works_ms), start);
        assert!(new_committed, "the current run was refused in round {round}");
        if committed {
            before += 1
        } else {
            refused += 1
        }
        epoch = next;
    }
    let wrong = wrong(&world).await;
    let found =
        format!("{wrong} wrong (the older one committed before the start {before} times, refused {refused} times)");
    report::measured(&format!("{FAULT}, from Rust"), "0 wrong", found);
    assert_eq!(wrong, 0, "a superseded run has committed");
    assert!(before > 0 && refused > 0, "that was no race: {before} before, {refused} refused");
}

/// The interpreter with psycopg at hand, or why there is none.
fn python() -> Result<Command, String> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("psycopg");
    if !place.is_dir() {
        install(&place)?;
    }
    let mut python = Command::new("python3");
    python.env("PYTHONPATH", place).arg(script());
    Ok(python)
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/fence_race.py")
}

/// Unpacked beside its place and then renamed: what is there is whole, whoever installs at the same time.
fn install(place: &Path) -> Result<(), String> {
    std::fs::create_dir_all(env!("CARGO_TARGET_TMPDIR")).map_err(|error| error.to_string())?;
    let unpacked = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).map_err(|error| error.to_string())?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "--target"]);
    let done = pip.arg(unpacked.path().join("psycopg")).arg("psycopg[binary]").output();
    let done = done.map_err(|error| format!("python3 can't be run: {error}"))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(format!("pip brings no psycopg: {}", said.lines().last().unwrap_or_default()));
    }
    // Somebody else may have been quicker.
    let renamed = std::fs::rename(unpacked.path().join("psycopg"), place);
    if place.is_dir() { Ok(()) } else { renamed.map_err(|error| error.to_string()) }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_from_psycopg() {
    let fault = format!("{FAULT}, from psycopg");
    let mut python = match python() {
        Ok(python) => python,
        Err(reason) => return report::skipped(&fault, reason),
    };
    let world = registered().await;
    python.args(["race", &world.database.url(), &ROUNDS.to_string()]);
    let done = tokio::task::spawn_blocking(move || python.output()).await.unwrap().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let wrong = wrong(&world).await;
    report::measured(&fault, "0 wrong", format!("{wrong} wrong ({})", String::from_utf8_lossy(&done.stdout).trim()));
    assert_eq!(wrong, 0, "a superseded run has committed");
}

/// A Python process that runs the job under its key; told by a line what to do, and gone when dropped.
struct Runner(Child);

impl Runner {
    async fn start(mut python: Command, world: &World) -> Runner {
        python.args(["run", &world.database.url()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let runner = Runner(python.spawn().unwrap());
        let running = "select count(*) from hourhand.job where node = 'sql' and epoch > ended_epoch";
        world.until(Duration::from_secs(20), running, 1).await;
        runner
    }

    fn tell(mut self, what: &str) {
        use std::io::Write;
        writeln!(self.0.stdin.take().unwrap(), "{what}").unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_begun_by_psycopg_under_the_key_excludes_the_nodes_and_is_completed_or_lost() {
    let fault = "a run by psycopg under pg_try_advisory_lock(hourhand.key(…)): nodes meanwhile";
    let world = World::new().await;
    world.registered_yesterday().await;
    let (mut outcomes, mut beside) = (Vec::new(), 0);
    for what in ["complete", "die"] {
        let python = match python() {
            Ok(python) => python,
            Err(reason) => return report::skipped(fault, reason),
        };
        world.age("1 day").await;
        let journal = Journal::default();
        let runner = Runner::start(python, &world).await;
        let node =
            node(world.database.url(), "a").job(journal.job_of("a", daily(), Duration::ZERO)).start().await.unwrap();
        eventually(Duration::from_secs(10), async || match node.trigger(JOB).await.unwrap() {
            hourhand::Triggered::AlreadyRunning { node, .. } if node.as_deref() == Some("sql") => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
        beside += journal.entries().len();
        tokio::task::block_in_place(|| runner.tell(what));
        journal.run(1, Duration::from_secs(10)).await;
        node.shutdown().await;
        let outcome = "select outcome from hourhand.history where node = 'sql' order by id desc limit 1";
        outcomes.push(world.text(outcome).await.unwrap());
    }
    report::measured(fault, "0 runs", format!("{beside} runs"));
    let ends = "a run by psycopg, ended by hourhand.complete, and by dying: recorded as";
    report::measured(ends, "succeeded, lost", outcomes.join(", "));
    assert_eq!((beside, outcomes.join(", ").as_str()), (0, "succeeded, lost"));
}
