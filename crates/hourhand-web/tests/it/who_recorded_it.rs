//! By whose word a run ended stands in its history, and its page says that.

use std::time::Duration;

use hourhand_testkit::eventually;

use crate::site::{JOB, Site, quick_job};

async fn story(site: &Site, epoch: i64) -> String {
    let page = site.get(&format!("/run?job=order-sync&epoch={epoch}")).await.text;
    page.split("<p class=\"lead\">").nth(1).and_then(|rest| rest.split("</p>").next()).unwrap_or(&page).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn its_own_node_the_run_itself_and_whoever_found_it_lost() {
    let site = Site::new().await;
    site.registered(JOB).await;

    // Two runs of a client in another language: the first one says itself that it has succeeded, the second dies.
    let client = site.database.connect().await;
    client.batch_execute("select pg_advisory_lock(hourhand.key('order-sync'))").await.unwrap();
    let begin = "select epoch from hourhand.begin('order-sync')";
    let completed: i64 = client.query_typed_one(begin, &[]).await.unwrap().get(0);
    client.batch_execute(&format!("begin; select hourhand.complete('order-sync', {completed}); commit")).await.unwrap();
    let died: i64 = client.query_typed_one(begin, &[]).await.unwrap().get(0);
    drop(client);
    eventually(Duration::from_secs(5), async || {
        let held = "select count(*) from pg_locks where locktype = 'advisory' and granted \
                    and database = (select oid from pg_database where datname = current_database())";
        match site.number(held).await {
            0 => Ok(()),
            held => Err(held),
        }
    })
    .await;
    let unrecorded = story(&site, died).await;
    assert!(unrecorded.starts_with("Its session is gone and no end is recorded"), "{unrecorded}");

    let node = site.node("web-2").job(quick_job(JOB)).start().await.unwrap();
    node.trigger(JOB).await.unwrap();
    let own = eventually(Duration::from_secs(8), async || {
        let own = "select coalesce(max(epoch), 0) from hourhand.history where node = 'web-2'";
        match site.number(own).await {
            0 => Err("it has not ended"),
            epoch => Ok(epoch),
        }
    })
    .await;
    node.shutdown().await;
    assert_eq!(story(&site, own).await, "Recorded by web-2.");
    assert_eq!(story(&site, completed).await, "Recorded by the run itself, in its own transaction.");
    let lost = story(&site, died).await;
    assert!(lost.starts_with("It ended without a word: recorded by web-2, which found its lock free."), "{lost}");

    // A session of its own lost, and put on record by the very node; and one of before this was kept.
    let more = "insert into hourhand.history (job, epoch, outcome, node, recorded_by) values \
                ('order-sync', 1, 'lost', 'web-3', 'web-3'), ('order-sync', 2, 'lost', 'web-3', null)";
    site.eye.batch_execute(more).await.unwrap();
    assert!(story(&site, 1).await.contains("recorded by web-3 itself, when that had a session again"));
    assert!(story(&site, 2).await.contains("by whom it was recorded is not known"));
}
