//! Every finding of `examine` is planted for real, seen, and gone once its remedy is followed, to the letter where it is SQL.
//! Findings about the server itself are in `doctor_of_servers`.

use std::time::Duration;

use hourhand::{Asked, Failure, Finding, Forgetting, Job, Operator, OperatorBuilder, Severity, Triggered};
use hourhand_testkit::eventually;
use jiff::SignedDuration;
use tokio_postgres::{Client, NoTls};

use crate::world::{JOB, Journal, World, daily, yearly};

pub fn operator(world: &World) -> OperatorBuilder {
    Operator::builder(world.database.url())
}

/// The findings of one kind.
pub async fn found(operator: &Operator, id: &str) -> Vec<Finding> {
    let mut findings = operator.examine().await.unwrap();
    for finding in &findings {
        let Finding { id, message, why, remedy, .. } = finding;
        assert!(!message.is_empty() && !why.is_empty() && !remedy.is_empty(), "{finding:?}");
        assert!(!message.ends_with('.') && !why.ends_with('.'), "{id}: {message} {why}");
    }
    findings.retain(|finding| finding.id == id);
    findings
}

/// The one finding of a kind.
pub async fn one(operator: &Operator, id: &str) -> Finding {
    let mut findings = found(operator, id).await;
    assert_eq!(findings.len(), 1, "{id}: {findings:?}");
    findings.remove(0)
}

/// Does what a finding says, as it is printed, and waits until the finding is gone.
pub async fn follow(operator: &Operator, finding: &Finding, client: &Client) {
    assert!(!finding.sql.is_empty(), "{finding:?}");
    for statement in &finding.sql {
        client.batch_execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }
    gone(operator, finding.id).await;
}

pub async fn gone(operator: &Operator, id: &str) {
    eventually(Duration::from_secs(10), async || {
        let found = found(operator, id).await;
        if found.is_empty() { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
}

async fn connect(url: &str) -> Client {
    let (client, driving) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(driving);
    client
}

/// A role of this test alone, dropped with all that it owns when the test ends well.
struct Role<'a> {
    world: &'a World,
    name: String,
}

impl Role<'_> {
    async fn new<'a>(world: &'a World, label: &str, more: &str) -> Role<'a> {
        let name = format!("doctor_{label}_{}", std::process::id());
        world.eye.batch_execute(&format!("create role \"{name}\" login password 'x' {more}")).await.unwrap();
        Role { world, name }
    }

    fn url(&self) -> String {
        format!("postgres://{}:x@{}", self.name, self.world.database.url().split_once('@').unwrap().1)
    }

    async fn drop(self) {
        let name = self.name;
        let end = format!(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = '{name}'; \
             drop owned by \"{name}\"; drop role \"{name}\""
        );
        self.world.eye.batch_execute(&end).await.unwrap();
    }
}

async fn registered(world: &World) {
    let job = Journal::default().job_of("0", daily(), Duration::ZERO);
    world.node("0").job(job).start().await.unwrap().shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_fleet_has_no_error_and_no_warning() {
    let world = World::new().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.endless_job("a", daily())).start().await.unwrap();
    let Triggered::Started { .. } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    let findings = operator(&world).connect().await.unwrap().examine().await.unwrap();
    let bad: Vec<_> = findings.iter().filter(|finding| finding.severity != Severity::Info).collect();
    assert!(bad.is_empty(), "{bad:?}");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_is_missing_is_found_and_made() {
    let world = World::unmigrated().await;
    let operator = operator(&world).connect().await.unwrap();
    let finding = one(&operator, "schema_version").await;
    assert!(finding.severity == Severity::Error && finding.remedy.contains("hourhand migrate"), "{finding:?}");
    hourhand::migrate(&world.database.url(), "hourhand").await.unwrap();
    gone(&operator, "schema_version").await;
    world
        .eye
        .batch_execute("insert into hourhand.migration (version, name) values (999, 'of_the_future')")
        .await
        .unwrap();
    assert_eq!(one(&operator, "schema_version").await.severity, Severity::Info);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_without_rights_is_told_which_and_the_grants_suffice_to_run_jobs() {
    let world = World::new().await;
    let role = Role::new(&world, "weak", "").await;
    let operator = Operator::builder(role.url()).connect().await.unwrap();
    let finding = one(&operator, "privileges").await;
    assert!(finding.message.contains("usage on schema hourhand"), "{}", finding.message);
    follow(&operator, &finding, &world.eye).await;
    world.eye.batch_execute(&format!("revoke insert on hourhand.history from {}", role.name)).await.unwrap();
    let finding = one(&operator, "privileges").await;
    assert!(finding.message.ends_with("lacks insert on history"), "{}", finding.message);
    follow(&operator, &finding, &world.eye).await;
    let journal = Journal::default();
    let builder =
        hourhand::Scheduler::builder(role.url()).node("weak").ttl(Duration::from_secs(5)).several_in_one_process();
    let node = builder.job(journal.job_of("weak", daily(), Duration::ZERO)).start().await.unwrap();
    let Triggered::Started { .. } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    world.until(Duration::from_secs(5), "select count(*) from hourhand.history where outcome = 'succeeded'", 1).await;
    node.shutdown().await;
    drop(operator);
    role.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_would_hurt_are_told_with_where_they_are_set() {
    let world = World::new().await;
    let (role, database) = (Role::new(&world, "set", "superuser").await, world.database.name().to_owned());
    let operator = Operator::builder(role.url()).connect().await.unwrap();
    let name = &role.name;
    let cases = [
        (format!("alter role {name} set statement_timeout = '30s'"), "statement_timeout = 30000ms, set for role"),
        (
            format!("alter database \"{database}\" set idle_session_timeout = '1min'"),
            "idle_session_timeout = 60000ms, set for database",
        ),
        (
            format!("alter role {name} in database \"{database}\" set synchronous_commit = off"),
            "synchronous_commit = off, set for role",
        ),
        (
            format!("alter role {name} set default_transaction_isolation = serializable"),
            "default_transaction_isolation = serializable",
        ),
        (format!("alter role {name} set default_transaction_read_only = on"), "default_transaction_read_only = on"),
        (format!("alter role {name} set lock_timeout = '1s'"), "lock_timeout = 1000ms"),
        (
            format!("alter role {name} set idle_in_transaction_session_timeout = '60s'"),
            "idle_in_transaction_session_timeout",
        ),
    ];
    for (plant, message) in &cases {
        world.eye.batch_execute(plant).await.unwrap();
        // What a session begins with is decided when it begins.
        let fresh = Operator::builder(role.url()).connect().await.unwrap();
        let finding = one(&fresh, "time_outs").await;
        assert!(
            finding.message.starts_with(message) && finding.message.ends_with("overridden by hourhand"),
            "{finding:?}"
        );
        for statement in &finding.sql {
            world.eye.batch_execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
        }
        let fresh = Operator::builder(role.url()).connect().await.unwrap();
        gone(&fresh, "time_outs").await;
    }
    drop(operator);
    role.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_off_is_told_with_its_direction() {
    let world = World::new().await;
    for (seconds, told) in [(90, "90.0 s ahead of the server's"), (-90, "90.0 s behind the server's")] {
        let off = operator(&world).clock_ahead(SignedDuration::from_secs(seconds)).connect().await.unwrap();
        let finding = one(&off, "clock_offset").await;
        assert!(finding.message.ends_with(told) || finding.message.contains("89.9"), "{}", finding.message);
    }
    gone(&operator(&world).connect().await.unwrap(), "clock_offset").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_is_short_of_connections_gets_more() {
    let world = World::new().await;
    let role = Role::new(&world, "crowded", "connection limit 4").await;
    let operator = Operator::builder(role.url()).connect().await.unwrap();
    let finding = one(&operator, "connections").await;
    assert!(finding.message.contains("1 of 4 connections are taken"), "{}", finding.message);
    let (_one, _two, _three) = (connect(&role.url()).await, connect(&role.url()).await, connect(&role.url()).await);
    assert_eq!(one(&operator, "connections").await.severity, Severity::Error);
    assert!(one(&operator, "session").await.message.contains("53300"));
    follow(&operator, &finding, &world.eye).await;
    gone(&operator, "session").await;
    drop(operator);
    role.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_url_that_leads_nowhere_is_told() {
    let world = World::new().await;
    let nowhere = operator(&world).session_url("postgres://127.0.0.1:1/x?user=x").connect().await.unwrap();
    let finding = one(&nowhere, "session").await;
    assert_eq!(finding.severity, Severity::Error);
    gone(&operator(&world).session_url(world.database.url()).connect().await.unwrap(), "session").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_leaked_into_somebodys_pool_is_found_and_freed() {
    let world = World::new().await;
    registered(&world).await;
    let operator = operator(&world).connect().await.unwrap();
    gone(&operator, "foreign_holder").await;
    let pool = world.database.connect().await;
    let leak = "set application_name = 'gunicorn'; select pg_try_advisory_lock(hourhand.key('order-sync'))";
    pool.batch_execute(leak).await.unwrap();
    let finding = one(&operator, "foreign_holder").await;
    assert_eq!((finding.severity, finding.job.as_deref()), (Severity::Error, Some(JOB)));
    assert!(finding.message.contains("(gunicorn)"), "{}", finding.message);
    follow(&operator, &finding, &world.eye).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_ours_that_holds_a_lock_and_runs_nothing_is_found_and_ended() {
    let world = World::new().await;
    registered(&world).await;
    let operator = operator(&world).connect().await.unwrap();
    let lazy = world.database.connect().await;
    let key = "set application_name = 'hourhand/60 lazy'; select pg_try_advisory_lock(hourhand.key('order-sync')), \
               pg_try_advisory_lock(hourhand.key('order-sync'))";
    lazy.batch_execute(key).await.unwrap();
    let finding = one(&operator, "idle_holder").await;
    assert_eq!(finding.job.as_deref(), Some(JOB));
    follow(&operator, &finding, &world.eye).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_holder_is_found_and_ended_by_hand_or_by_fix() {
    let world = World::new().await;
    registered(&world).await;
    let operator = operator(&world).connect().await.unwrap();
    let freeze = "set application_name = 'hourhand/1 frozen'; select pg_try_advisory_lock(hourhand.key('order-sync'))";
    let frozen = world.database.connect().await;
    frozen.batch_execute(freeze).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1400)).await;
    let finding = one(&operator, "silent_holder").await;
    assert!(finding.message.contains("hourhand/1 frozen"), "{}", finding.message);
    follow(&operator, &finding, &world.eye).await;
    assert!(operator.fix().await.unwrap().is_empty(), "nothing is left to fix");
    let frozen = world.database.connect().await;
    frozen.batch_execute(freeze).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1400)).await;
    let fixed = operator.fix().await.unwrap();
    assert!(fixed.len() == 1 && fixed[0].message.contains("hourhand/1 frozen"), "{fixed:?}");
    gone(&operator, "silent_holder").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overdue_job_is_found_until_a_process_that_has_it_runs() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let operator = operator(&world).connect().await.unwrap();
    let finding = one(&operator, "overdue").await;
    assert_eq!((finding.severity, finding.job.as_deref()), (Severity::Error, Some(JOB)));
    let job = Journal::default().job_of("a", daily(), Duration::ZERO);
    let node = world.node("a").job(job).start().await.unwrap();
    gone(&operator, "overdue").await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphaned_job_is_found_until_it_is_forgotten() {
    let world = World::new().await;
    registered(&world).await;
    world.age("3 days").await;
    let aged = "update hourhand.definition set registered_at = registered_at - interval '3 days'";
    world.eye.batch_execute(aged).await.unwrap();
    let operator = operator(&world).connect().await.unwrap();
    let finding = one(&operator, "orphaned").await;
    assert!(finding.remedy.ends_with("hourhand forget order-sync"), "{}", finding.remedy);
    assert_eq!(operator.forget(JOB).await.unwrap(), Forgetting::Forgotten);
    gone(&operator, "orphaned").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_has_never_run_is_found_until_it_has() {
    let world = World::new().await;
    let job = || Journal::default().job_of("a", daily(), Duration::ZERO);
    let node = world.node("a").job(job()).start().await.unwrap();
    let aged = "update hourhand.definition set registered_at = registered_at - interval '3 days'";
    world.eye.batch_execute(aged).await.unwrap();
    let operator = operator(&world).connect().await.unwrap();
    operator.pause(JOB, None, None).await.unwrap();
    let finding = one(&operator, "never_run").await;
    assert!(
        finding.why == "it is paused"
            && finding.remedy.ends_with("hourhand resume order-sync, then hourhand trigger order-sync")
    );
    operator.resume(JOB, false).await.unwrap();
    assert_eq!(found(&operator, "never_run").await.len(), 1);
    let Triggered::Started { .. } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    gone(&operator, "never_run").await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn history_that_nobody_prunes_is_found_and_pruned_by_hand_or_by_fix() {
    let world = World::new().await;
    registered(&world).await;
    let operator = operator(&world).connect().await.unwrap();
    let plant = "insert into hourhand.history (job, epoch, outcome, ended_at) \
                 select 'order-sync', n, 'failed', now() - interval '30 days' + n * interval '1 minute' from generate_series(1, 500) n";
    world.eye.batch_execute(plant).await.unwrap();
    let finding = one(&operator, "history").await;
    assert!(finding.message.contains("past its retention of 14 days"), "{}", finding.message);
    follow(&operator, &finding, &world.eye).await;
    assert_eq!(world.number("select count(*) from hourhand.history").await, 1, "the newest run stays");
    world.eye.batch_execute(&plant.replace(", n,", ", n + 1000,")).await.unwrap();
    let act = "insert into hourhand.audit (at, action, job) values (now() - interval '15 days', 'pause', 'order-sync'), \
               (now() - interval '13 days', 'resume', 'order-sync')";
    world.eye.batch_execute(act).await.unwrap();
    let fixed = operator.fix().await.unwrap();
    assert_eq!(
        fixed.iter().map(|fixed| fixed.message.as_str()).collect::<Vec<_>>(),
        ["removed 500 rows past their retention"]
    );
    gone(&operator, "history").await;
    let acts = operator.audit(&hourhand::AuditQuery::default()).await.unwrap();
    assert_eq!(
        acts.iter().map(|act| act.action.as_str()).collect::<Vec<_>>(),
        ["resume"],
        "acts are kept as long as history"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_see_little_says_what_it_could_not_see_and_the_grant() {
    let world = World::new().await;
    registered(&world).await;
    let role = Role::new(&world, "blind", "").await;
    let operator = Operator::builder(role.url()).connect().await.unwrap();
    assert_eq!(one(&operator, "not_visible").await.severity, Severity::Info);
    follow(&operator, &one(&operator, "privileges").await, &world.eye).await;
    let pool = world.database.connect().await;
    pool.batch_execute("select pg_try_advisory_lock(hourhand.key('order-sync'))").await.unwrap();
    let finding = one(&operator, "not_visible").await;
    assert!(finding.severity == Severity::Warning && finding.message.contains("1 with advisory locks"), "{finding:?}");
    assert!(found(&operator, "foreign_holder").await.is_empty(), "what is not seen is not claimed");
    follow(&operator, &finding, &world.eye).await;
    assert_eq!(found(&operator, "foreign_holder").await.len(), 1, "what it may see now, it finds");
    drop(operator);
    role.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_not_end_a_holder_is_told_the_grant() {
    let world = World::new().await;
    let (role, other) = (Role::new(&world, "meek", "").await, Role::new(&world, "other", "").await);
    let operator = Operator::builder(role.url()).connect().await.unwrap();
    assert!(found(&operator, "not_ours_to_end").await.is_empty());
    let node = connect(&other.url()).await;
    node.batch_execute("set application_name = 'hourhand/15 elsewhere'").await.unwrap();
    let finding = one(&operator, "not_ours_to_end").await;
    assert_eq!(finding.severity, Severity::Warning);
    follow(&operator, &finding, &world.eye).await;
    drop((operator, node));
    role.drop().await;
    other.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_only_ever_failed_is_found_until_it_succeeds() {
    let world = World::new().await;
    let operator = operator(&world).connect().await.unwrap();
    let fails = Job::new(JOB, yearly(), async |_| Err::<(), _>(Failure::transient("no such table")));
    let node = world.node("a").job(fails).start().await.unwrap();
    gone(&operator, "failing").await;
    let Triggered::Started { .. } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    world.until(Duration::from_secs(5), "select count(*) from hourhand.history where outcome = 'failed'", 1).await;
    let finding = one(&operator, "failing").await;
    assert_eq!((finding.severity, finding.job.as_deref()), (Severity::Warning, Some(JOB)));
    assert_eq!(finding.message, "job order-sync has never succeeded: its only run failed");
    assert!(finding.remedy.contains("hourhand history order-sync -n 1"), "{}", finding.remedy);
    assert!(operator.history(&hourhand::HistoryQuery::default()).await.unwrap()[0].error.is_some(), "what it says");
    node.shutdown().await;
    // Mended.
    let node = world.node("a").job(Journal::default().job_of("a", yearly(), Duration::ZERO)).start().await.unwrap();
    let Triggered::Started { .. } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    gone(&operator, "failing").await;
    node.shutdown().await;
    // A process that died says nothing about the work, unless it dies every time.
    let lost = |deaths: u32| {
        format!("update hourhand.job set last_success_at = null, last_outcome = 'lost', deaths = {deaths}")
    };
    world.eye.batch_execute(&lost(1)).await.unwrap();
    assert!(found(&operator, "failing").await.is_empty());
    world.eye.batch_execute(&lost(3)).await.unwrap();
    assert_eq!(one(&operator, "failing").await.message, "job order-sync has never succeeded: the last 3 in a row lost");
    world.eye.batch_execute("update hourhand.job set last_success_at = now(), deaths = 0").await.unwrap();
    // It has succeeded before: twice is a mishap, three times is not.
    let failed = |times: u32| format!("update hourhand.job set failures = {times}, last_outcome = 'timed_out'");
    world.eye.batch_execute(&failed(2)).await.unwrap();
    assert!(found(&operator, "failing").await.is_empty());
    world.eye.batch_execute(&failed(3)).await.unwrap();
    let message = one(&operator, "failing").await.message;
    assert!(
        message.contains("has not succeeded since ") && message.ends_with("the last 3 in a row timed_out"),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_somebody_waits_for_in_vain_is_found_until_a_process_takes_it_or_it_is_taken_back() {
    let world = World::new().await;
    registered(&world).await;
    let operator = operator(&world).actor("ann@desk").connect().await.unwrap();
    let asked = async || {
        let Asked::Requested { .. } = operator.trigger(JOB, None).await.unwrap() else { panic!("not requested") };
        assert!(found(&operator, "unanswered_request").await.is_empty(), "a moment is nothing");
        let aged = "update hourhand.request set asked_at = asked_at - interval '1 minute'";
        world.eye.batch_execute(aged).await.unwrap();
        one(&operator, "unanswered_request").await
    };
    let finding = asked().await;
    assert_eq!((finding.severity, finding.job.as_deref()), (Severity::Warning, Some(JOB)));
    assert!(finding.message.starts_with("a run of job order-sync, asked for by ann@desk 6"), "{}", finding.message);
    operator.cancel(JOB, None).await.unwrap();
    gone(&operator, "unanswered_request").await;
    asked().await;
    let job = Journal::default().job_of("a", daily(), Duration::ZERO);
    let node = world.node("a").job(job).resident(true).start().await.unwrap();
    gone(&operator, "unanswered_request").await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_run_is_found_until_it_is_on_record_by_hand_or_by_fix() {
    let world = World::new().await;
    registered(&world).await;
    let operator = operator(&world).connect().await.unwrap();
    for by_hand in [true, false] {
        let holder = connect(&world.database.url()).await;
        let begin = format!("select pg_advisory_lock(hourhand.key('{JOB}')); select hourhand.begin('{JOB}')");
        holder.batch_execute(&begin).await.unwrap();
        assert!(found(&operator, "lost").await.is_empty(), "it is at work");
        drop(holder);
        eventually(Duration::from_secs(5), async || match found(&operator, "lost").await.len() {
            1 => Ok(()),
            found => Err(format!("{found} found")),
        })
        .await;
        let finding = one(&operator, "lost").await;
        assert!(finding.severity == Severity::Warning && finding.job.as_deref() == Some(JOB), "{finding:?}");
        if by_hand {
            follow(&operator, &finding, &world.eye).await;
        } else {
            let fixed = operator.fix().await.unwrap();
            assert!(fixed.iter().any(|fixed| fixed.id == "lost"), "{fixed:?}");
        }
        gone(&operator, "lost").await;
    }
    assert_eq!(world.outcomes().await, ["lost", "lost"]);
}
