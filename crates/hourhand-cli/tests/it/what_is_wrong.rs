//! doctor: findings as a script and as a person sees them; that each finding is found and cured is tried in the library.

use serde_json::json;

use crate::command::say;
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_in_the_wrong_hands_is_an_error_until_its_remedy_is_followed() {
    let world = World::new().await;
    world.node().await.shutdown().await;
    let well = world.say(&["doctor", "--json"]).await;
    let findings: serde_json::Value = serde_json::from_str(&well.out).unwrap();
    assert_eq!((well.code, &findings["ok"]), (0, &json!(true)), "{well:?}");

    let stranger = world.database.connect().await;
    let take = "set application_name = 'a pool'; select pg_try_advisory_lock(hourhand.key('order-sync'))";
    stranger.batch_execute(take).await.unwrap();
    let ill = world.say(&["doctor", "--json"]).await;
    let said: serde_json::Value = serde_json::from_str(&ill.out).unwrap();
    assert_eq!((ill.code, &said["ok"]), (1, &json!(false)), "{ill:?}");
    let found = &said["findings"][0];
    let fields: Vec<&String> = found.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["id", "job", "message", "remedy", "severity", "sql", "why"]);
    assert_eq!((&found["id"], &found["severity"]), (&json!("foreign_holder"), &json!("error")));
    let told = world.say(&["doctor"]).await;
    assert_eq!(told.code, 1);
    assert!(told.out.starts_with("error    the lock of order-sync is held by session"), "{told:?}");
    assert!(told.out.lines().last().unwrap().starts_with("1 error, "), "{told:?}");

    let remedy = found["sql"][0].as_str().unwrap();
    world.eye.batch_execute(remedy).await.unwrap();
    let free = "select not exists (select from pg_locks l join pg_database d on d.oid = l.database
        where l.locktype = 'advisory' and d.datname = current_database())";
    world.until(free).await;
    assert_eq!(world.say(&["doctor"]).await.code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn fix_says_what_it_did_before_what_is_left() {
    let world = World::new().await;
    let said = world.json(&["doctor", "--fix"]).await;
    assert_eq!((&said["ok"], &said["fixed"]), (&json!(true), &json!([])));
    let told = world.say(&["doctor", "--fix"]).await.out;
    assert!(told.starts_with("nothing to fix that is safe to fix\n"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_the_schema_is_a_finding_and_one_that_is_away_is_69() {
    let database = hourhand_testkit::Database::create().await;
    let said = say(&["doctor", "--database", &database.url()]);
    assert!(said.code == 1 && said.out.contains("hourhand migrate"), "{said:?}");
    say(&["doctor", "--database", "postgres://ann@127.0.0.1:1/app?connect_timeout=2"]).refused(69, "127.0.0.1:1");
}
