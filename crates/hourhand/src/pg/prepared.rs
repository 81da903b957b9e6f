//! Every statement, prepared against the migrated schema: a column that is gone, or a type that does not fit, is found here.

use hourhand_testkit::Database;
use tokio_postgres::types::Type;

use super::migrate::migrate;
use super::operator::OperatorStatements;
use super::pages::PageStatements;
use super::sql::{self, Schema, Statements};

#[tokio::test]
async fn every_statement_prepares_against_the_migrated_schema() {
    let database = Database::create().await;
    let client = database.connect().await;
    let schema = Schema::parse("odd_name_1").expect("a plain name");
    migrate(&client, &schema).await.expect("migrated");
    let statements = Statements::of(&schema);
    let all = [
        &statements.register,
        &statements.stand_up,
        &statements.look,
        &statements.settle,
        &statements.settle_lost,
        &statements.pass_over,
        &statements.late,
        &statements.known,
        &statements.take_over,
        &statements.prune,
        &statements.pause,
        &statements.resume,
        &statements.cancel,
        &statements.request,
        &statements.close_request,
        &statements.try_grouped,
        &statements.start,
        &statements.start_alone,
        &statements.ping,
        &Statements::of_locks_alone(&schema).ping,
        &statements.end,
        &statements.end_alone,
        &statements.unblock,
        &statements.take_leases,
        &statements.renew_leases,
        &statements.release_leases,
        &statements.reconcile_leases,
    ];
    let fixed = [
        sql::OPEN,
        sql::READ_BACK,
        sql::END_FORMER,
        sql::IDENTITY,
        sql::UNMARK,
        sql::MAINTAIN,
        sql::TRY_LOCKS,
        sql::TRY_WATCHES,
        sql::UNLOCK,
        sql::UNLOCK_WATCHES,
        sql::OWNED,
    ];
    let operator = OperatorStatements::of(&schema);
    let pages = PageStatements::of(&schema);
    for statement in all.into_iter().map(String::as_str).chain(fixed).chain(operator.all()).chain(pages.all()) {
        assert!(!statement.contains("{schema}"), "{statement}");
        let prepared = client.batch_execute(&format!("prepare one as {statement}; deallocate one")).await;
        prepared.unwrap_or_else(|error| panic!("{error:?}\n{statement}"));
    }
    // Only the alone forms wait for a row.
    assert!(statements.start.contains("skip locked") && !statements.start_alone.contains("skip locked"));
    assert!(statements.end.contains("skip locked") && !statements.end_alone.contains("skip locked"));
}

#[tokio::test]
async fn what_a_look_shows_of_a_job_its_status_shows_too() {
    let database = Database::create().await;
    let client = database.connect().await;
    let schema = Schema::parse("hourhand").expect("a plain name");
    migrate(&client, &schema).await.expect("migrated");
    let job = "insert into hourhand.job (name, key, handled_until, covered_until) values ('j', 1, now(), now())";
    client.batch_execute(job).await.expect("a job");
    let statement = OperatorStatements::of(&schema).status;
    let rows = client.query_typed(&statement, &[(&"j", Type::TEXT)]).await.expect("its status");
    let facts = super::row::facts(&rows[0]).expect("every column that a look has");
    assert_eq!((facts.epoch, facts.running), (0, false));
}

#[test]
fn a_schema_is_a_plain_name() {
    for good in ["hourhand", "_x", "app_2"] {
        assert!(Schema::parse(good).is_ok(), "{good}");
    }
    for bad in ["", "Hour", "1x", "pg_x", "a-b", "a\"b", "a.b", "ü", &"x".repeat(41)] {
        assert!(Schema::parse(bad).is_err(), "{bad}");
    }
}
