//! `migrate`: makes the schema, or prints what makes it, with grants that suffice for a role that only runs jobs.

use std::time::Duration;

use hourhand::{Failure, Job, Schedule, Scheduler};
use hourhand_testkit::{Database, eventually};
use serde_json::json;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls};

use crate::command::{hourhand as command, run, say};

#[tokio::test(flavor = "multi_thread")]
async fn it_makes_the_schema_and_says_so_and_again_finds_it_made() {
    let database = Database::create().await;
    let url = database.url();
    let other = |more: &[&str]| run(command(["migrate", "--schema", "other_1", "--database", &url]).args(more));
    assert_eq!(other(&["--json"]).json(), json!({"schema": "other_1", "from": 0, "to": 1}));
    assert_eq!(other(&["--json"]).json(), json!({"schema": "other_1", "from": 1, "to": 1}));
    assert_eq!(other(&[]).out, "schema other_1 is there already, version 1: nothing to do\n");
    let first = run(&mut command(["migrate", "--schema", "other_2", "--database", &url]));
    assert_eq!(first.out, "made schema other_2, version 1\n");
    let rows = database.connect().await.query_typed("select version from other_1.migration", &[]).await.unwrap();
    assert!(!rows.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_prints_makes_the_same_schema_as_what_it_does() {
    let (made, printed) = (Database::create().await, Database::create().await);
    assert_eq!(say(&["migrate", "--database", &made.url()]).code, 0);
    printed.connect().await.batch_execute(&say(&["migrate", "--print"]).out).await.unwrap();
    // Columns, functions and indexes, each with what it is made of.
    let everything = "
        select format('%s.%s %s %s', c.relname, a.attname, a.atttypid::regtype, a.attnotnull) as one
        from pg_attribute a join pg_class c on c.oid = a.attrelid
        where c.relnamespace = 'hourhand'::regnamespace and a.attnum > 0
        union all select pg_get_functiondef(p.oid) from pg_proc p where p.pronamespace = 'hourhand'::regnamespace
        union all select indexdef from pg_indexes where schemaname = 'hourhand'
        union all select format('version %s %s', version, name) from hourhand.migration
        order by 1";
    let (made, printed) = (made.connect().await, printed.connect().await);
    let shown = async |client: &tokio_postgres::Client| -> Vec<String> {
        client.query_typed(everything, &[]).await.unwrap().iter().map(|row| row.get("one")).collect()
    };
    let (made, printed) = (shown(&made).await, shown(&printed).await);
    assert!(made.len() > 50, "{made:?}");
    assert_eq!(made, printed);
}

#[tokio::test(flavor = "multi_thread")]
async fn later_than_the_newest_version_nothing_is_left_to_print() {
    let database = Database::create().await;
    assert_eq!(say(&["migrate", "--database", &database.url()]).code, 0);
    let client = database.connect().await;
    let newest = client.query_typed_one("select max(version) from hourhand.migration", &[]).await.unwrap();
    let newest: i32 = newest.get(0);
    let said = say(&["migrate", "--print", "--after", &newest.to_string()]);
    assert!(!said.out.contains("create "), "{}", said.out);
    client.batch_execute(&said.out).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_printed_grants_suffice_to_run_jobs_and_for_nothing_else() {
    let database = Database::create().await;
    let eye = database.connect().await;
    let (role, url) = runner(&database, &eye).await;
    let books = format!("create table book (epoch bigint); grant insert on book to \"{role}\"");
    eye.batch_execute(&books).await.unwrap();

    // A life with everything in it: a failure, a fenced write, a success in the user's transaction, a cancel, a pause.
    let (failing, fencing, endless) = (failing(), fencing(&url), endless());
    let builder = Scheduler::builder(&url).several_in_one_process().prune_interval(Duration::from_millis(100));
    let node = builder.job(failing).job(fencing).job(endless).start().await.unwrap();
    for job in ["failing", "fencing", "endless"] {
        node.trigger(job).await.unwrap();
    }
    let outcomes =
        "select string_agg(distinct job || ' ' || outcome, ', ' order by job || ' ' || outcome) from hourhand.history";
    until(&eye, outcomes, "failing failed, fencing succeeded").await;
    eventually(Duration::from_secs(5), async || match node.cancel("endless", None, Some("ann")).await {
        Ok(Some(_)) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    until(&eye, outcomes, "endless cancelled, failing failed, fencing succeeded").await;
    node.pause("fencing", None, Some("a look"), Some("ann")).await.unwrap();
    assert!(node.resume("fencing", true, Some("ann")).await.unwrap());
    assert_eq!(node.status().await.unwrap().len(), 3);
    until(&eye, "select count(*)::text from book", "1").await;
    let health = node.health().await;
    assert!(health.ok(), "{health:?}");
    node.shutdown().await;

    // Nothing of the schema is its own to change.
    let client = connect(&url).await;
    for forbidden in [
        "create table hourhand.mine ()",
        "alter table hourhand.job add mine int",
        "drop function hourhand.fence(text, bigint)",
        "update hourhand.migration set version = 0",
        "delete from hourhand.job",
        "update hourhand.audit set actor = 'somebody else'",
        "truncate hourhand.history",
        "create schema mine",
    ] {
        let refused = client.batch_execute(forbidden).await.expect_err(forbidden);
        let code = refused.code().map(|code| code.code().to_owned());
        assert_eq!(code.as_deref(), Some("42501"), "{forbidden}: {refused:?}");
    }
    drop(client);
    eye.batch_execute(&format!("drop owned by \"{role}\" cascade; drop role \"{role}\"")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_is_there_is_granted_to_a_role_as_what_is_printed_grants_it() {
    let database = Database::create().await;
    let eye = database.connect().await;
    let url = database.url();
    let grant = |role: &str| run(&mut command(["migrate", "--json", "--grant-to", role, "--database", &url]));
    grant("nobody of that name").refused(2, "there is no role \"nobody of that name\"");
    let (made, printed) = (format!("made-{}", database.name()), format!("printed-{}", database.name()));
    eye.batch_execute(&format!("create role \"{made}\"; create role \"{printed}\"")).await.unwrap();
    for _ in 0..2 {
        assert_eq!(grant(&made).json(), json!({"schema": "hourhand", "from": 1, "to": 1, "granted_to": made}));
    }
    eye.batch_execute(&say(&["migrate", "--print", "--after", "1", "--grant-to", &printed]).out).await.unwrap();
    let rights = "select string_agg(c.relname || ' ' || a.privilege_type, ', ' order by c.relname, a.privilege_type)
        from pg_class c, aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee
        where c.relnamespace = 'hourhand'::regnamespace and r.rolname = $1";
    let mut both = Vec::new();
    for role in [&made, &printed] {
        let row = eye.query_typed_one(rights, &[(role, Type::TEXT)]).await.unwrap();
        both.push(row.get::<_, Option<String>>(0).unwrap());
    }
    assert!(both[0] == both[1] && both[0].contains("history INSERT"), "{both:?}");
    let end = format!("drop owned by \"{made}\", \"{printed}\" cascade; drop role \"{made}\", \"{printed}\"");
    eye.batch_execute(&end).await.unwrap();
}

/// A role that has what `migrate --print --grant-to` gives and no more, and its URL.
async fn runner(database: &Database, eye: &Client) -> (String, String) {
    let role = format!("run-{}", database.name());
    eye.batch_execute(&format!("create role \"{role}\" login password 'secret-of-the-role'")).await.unwrap();
    eye.batch_execute(&say(&["migrate", "--print", "--grant-to", &role]).out).await.unwrap();
    let url = database.url();
    let host = url.split_once('@').unwrap().1;
    (role.clone(), format!("postgres://{role}:secret-of-the-role@{host}"))
}

fn failing() -> Job {
    Job::new("failing", yearly(), |_| async { Err::<(), _>(Failure::transient("not today")) })
}

fn fencing(url: &str) -> Job {
    let url = url.to_owned();
    Job::new("fencing", yearly(), move |run| {
        let url = url.clone();
        async move {
            let mut client = connect(&url).await;
            let work = client.transaction().await?;
            work.execute_typed("insert into book values ($1)", &[(&run.epoch(), Type::INT8)]).await?;
            run.complete_and_commit(work).await?;
            Ok::<_, Failure>(())
        }
    })
}

fn endless() -> Job {
    Job::new("endless", yearly(), |run| async move {
        run.cancelled().await;
        Err::<(), _>(Failure::transient("told to stop"))
    })
}

/// Nothing comes due during a test.
fn yearly() -> Schedule {
    Schedule::cron("0 0 1 1 *")
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn until(eye: &Client, query: &str, wanted: &str) {
    eventually(Duration::from_secs(10), async || {
        let row = eye.query_typed_one(query, &[]).await.unwrap();
        let found: Option<String> = row.get(0);
        if found.as_deref() == Some(wanted) { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
}
