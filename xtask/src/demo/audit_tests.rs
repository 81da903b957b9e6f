//! The checks of the demo, held against what they have to find: a check that can't fail is none.

use super::book::{Audit, Book};
use hourhand_testkit::Database;
use std::time::{Duration, SystemTime};

const TABLES: &str = include_str!("../../../examples/order-sync/migrations/0001_create_orders.sql");
const HOURHAND: &str = include_str!("../../../crates/hourhand/src/pg/sql/migrations/0001_create_protocol.sql");

/// A book, and the database that has to live as long.
fn book() -> (Book, Database) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let database = runtime.block_on(Database::create());
    let mut client = super::place::connect(&database.url()).unwrap();
    client.batch_execute(TABLES).unwrap();
    let hourhand = HOURHAND.replace("{schema}", "hourhand");
    client.batch_execute(&format!("create schema hourhand; {hourhand}")).unwrap();
    (Book::open(&database.url()).unwrap(), database)
}

/// A run of the occurrence at second `occurrence`, from one second to another.
fn run(book: &mut Book, epoch: i64, occurrence: Option<i32>, (from, to): (i32, i32), outcome: &str) {
    let trigger = if occurrence.is_some() { "schedule" } else { "manual" };
    let statement = "insert into hourhand.history
        (job, epoch, trigger, scheduled_for, started_at, ended_at, outcome, takeover, node, window_until)
        values ('j', $1, $2, to_timestamp($3::int), to_timestamp($4::int), to_timestamp($5::int), $6, 0, 'n', now())";
    book.0.execute(statement, &[&epoch, &trigger, &occurrence, &from, &to, &outcome]).unwrap();
}

fn at(second: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(second)
}

fn audit(book: &mut Book) -> Audit {
    book.audit(&[], &[]).unwrap()
}

#[test]
fn runs_one_after_the_other_do_not_overlap_and_runs_at_once_do() {
    let (mut book, _database) = book();
    run(&mut book, 1, Some(10), (10, 12), "succeeded");
    run(&mut book, 2, None, (12, 14), "succeeded");
    run(&mut book, 3, Some(15), (15, 16), "failed");
    let fine = audit(&mut book);
    assert_eq!((fine.overlaps, fine.repeated, fine.occurrences, fine.manual_runs), (0, 0, 2, 1));
    run(&mut book, 4, Some(20), (13, 17), "succeeded");
    assert_eq!(audit(&mut book).overlaps, 2);
}

#[test]
fn a_lost_run_is_over_when_its_process_was_killed_not_when_somebody_wrote_it_down() {
    let (mut book, _database) = book();
    run(&mut book, 1, Some(10), (10, 20), "lost");
    run(&mut book, 2, Some(10), (13, 15), "succeeded");
    assert_eq!(audit(&mut book).overlaps, 1);
    let known = book.audit(&[(1, at(12))], &[]).unwrap();
    assert_eq!((known.overlaps, known.repeated, known.lost_runs), (0, 0, 1));
    assert_eq!(book.audit(&[(1, at(14))], &[]).unwrap().overlaps, 1, "killed after the other had begun");
}

#[test]
fn an_occurrence_is_repeated_if_it_is_run_again_after_its_success_however_that_ends() {
    let (mut book, _database) = book();
    run(&mut book, 1, Some(10), (10, 11), "failed");
    run(&mut book, 2, Some(10), (12, 13), "succeeded");
    assert_eq!(audit(&mut book).repeated, 0);
    run(&mut book, 3, Some(10), (14, 15), "failed");
    assert_eq!(audit(&mut book).repeated, 1);
}

#[test]
fn catch_ups_are_those_that_were_seen_and_those_that_say_so() {
    let (mut book, _database) = book();
    run(&mut book, 1, Some(10), (10, 11), "succeeded");
    run(&mut book, 2, Some(15), (15, 16), "succeeded");
    book.0.execute("update hourhand.history set trigger = 'catch_up' where epoch = 2", &[]).unwrap();
    assert_eq!(book.audit(&[], &[1]).unwrap().catch_ups, 2);
}

#[test]
fn a_run_is_told_the_occurrences_that_its_own_start_passed_over() {
    let (mut book, _database) = book();
    run(&mut book, 1, Some(10), (10, 11), "succeeded");
    run(&mut book, 2, Some(30), (31, 33), "succeeded");
    run(&mut book, 3, Some(35), (35, 36), "succeeded");
    let skip = "insert into hourhand.history (job, scheduled_for, ended_at, outcome, reason, count)
        values ('j', to_timestamp(25), to_timestamp(31.001), 'skipped', 'coalesced', 3)";
    book.0.execute(skip, &[]).unwrap();
    let missed: Vec<i64> = book.runs_after(0).unwrap().iter().map(|run| run.missed).collect();
    assert_eq!(missed, [0, 3, 0]);
}

const ORDER: &str = "insert into orders (outside_id, customer, status, placed_at, updated_at, ship_name, ship_address,
    ship_city, ship_country, items, total_cents) values
    ('7', 'C', 'paid', to_timestamp(10), to_timestamp(20.5), 'N', 'A', 'T', 'L', 3, 1050)";

/// The same, as the feed tells it.
const TOLD: &str = r#"{"id":"7","customer":"C","status":"paid","placed_at":"1970-01-01T00:00:10Z",
    "updated_at":"1970-01-01T00:00:20.500000Z","ship_name":"N","ship_address":"A","ship_city":"T","ship_country":"L",
    "items":3,"total_cents":1050}"#;

#[test]
fn an_order_is_no_difference_unless_a_field_of_it_differs_or_it_is_missing_on_one_side() {
    let (mut book, _database) = book();
    let differing = |book: &mut Book, truth: &str| book.differing_rows(&format!("[{truth}]")).unwrap();
    assert_eq!(differing(&mut book, TOLD), 1, "missing here");
    book.0.execute(ORDER, &[]).unwrap();
    assert_eq!(differing(&mut book, TOLD), 0);
    assert_eq!(differing(&mut book, ""), 1, "missing there");
    for (field, other) in [
        (r#""C""#, r#""D""#),
        ("paid", "shipped"),
        (":10Z", ":11Z"),
        ("20.500000", "20.500001"),
        (r#""N""#, r#""N ""#),
        (r#""A""#, r#""a""#),
        (r#""T""#, r#""""#),
        (r#""L""#, "null"),
        (":3,", ":4,"),
        ("1050", "1051"),
        (r#""id":"7""#, r#""id":"8""#),
    ] {
        let told = TOLD.replace(field, other);
        assert_ne!(told, TOLD);
        assert!(differing(&mut book, &told) > 0, "not seen: {told}");
    }
    let more = TOLD.replace("\"items\"", "\"colour\":\"red\",\"items\"");
    assert_eq!(differing(&mut book, &more), 1, "a field that nobody reads");
}

#[test]
fn an_update_is_lost_if_the_stored_instant_goes_back_and_an_order_counts_once() {
    let (mut book, _database) = book();
    book.0.execute(ORDER, &[]).unwrap();
    let mut update = |second: i32| {
        book.0.execute("update orders set updated_at = to_timestamp($1::int)", &[&second]).unwrap();
        audit(&mut book).lost_updates
    };
    assert_eq!([update(30), update(30), update(29), update(40), update(39)], [0, 0, 1, 1, 1]);
}
