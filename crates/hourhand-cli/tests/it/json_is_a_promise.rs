//! Golden: every field that a script may read, of the commands that need no database.

use serde_json::json;

use crate::command::say;

#[test]
fn key() {
    let wanted = json!([
        {"name": "order-sync", "key": 2882680683948311330_i64, "classid": 671176399, "objid": 396264226},
        {"name": "정산-작업", "key": 4851401940522162344_i64, "classid": 1129555036, "objid": 1870059688},
    ]);
    assert_eq!(say(&["key", "order-sync", "정산-작업", "--json"]).json(), wanted);
    let other = say(&["--json", "--namespace", "staging", "key", "order-sync"]).json();
    assert_ne!(other[0]["key"], wanted[0]["key"]);
}

#[test]
fn next() {
    let said =
        say(&["next", "30 2 * * *", "--time-zone", "europe/berlin", "--from", "2026-12-01", "-n", "2", "--json"]);
    let wanted = json!({
        "schedule": "30 2 * * *",
        "time_zone": "Europe/Berlin",
        "description": "at 02:30 every day",
        "next": ["2026-12-01T01:30:00.000000Z", "2026-12-02T01:30:00.000000Z"],
        "notes": [],
    });
    assert_eq!(said.json(), wanted);
}

#[test]
fn next_of_what_has_no_occurrences_is_empty() {
    let said = say(&["next", "continuous", "--json"]).json();
    assert_eq!(said["next"], json!([]));
    assert_eq!(said["description"], "always running, on one node");
}

#[test]
fn migrate_printed() {
    let said = say(&["migrate", "--print", "--json"]).json();
    let fields: Vec<&String> = said.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["schema", "sql"]);
    assert_eq!(said["schema"], json!("hourhand"));
    assert_eq!(said["sql"].as_str().unwrap(), say(&["migrate", "--print"]).out);
}

#[test]
fn people_are_told_the_zone_the_distance_and_the_notes() {
    let said = say(&["next", "*/40 * * * *", "--time-zone", "Asia/Seoul", "-n", "1"]);
    assert!(said.out.starts_with("at minutes 0 and 40 of every hour in Asia/Seoul\n  "), "{said:?}");
    assert!(said.out.contains(" KST  in "), "{said:?}");
    assert!(said.out.contains("note: minute: `*/40` begins anew at 0"), "{said:?}");
    let interval = say(&["next", "every 90s", "-n", "0"]);
    assert_eq!(interval.out, "every 90 seconds\n");
}
