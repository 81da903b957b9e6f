//! What a command writes is on its run's page while it runs.

use hourhand_testkit::eventually;

use super::{SOON, World};

#[tokio::test]
async fn the_page_of_a_run_shows_what_its_command_has_written_so_far() {
    let world = World::new().await;
    let more = world.home.path().join("more");
    // It ends once the file is there.
    let script =
        "echo first; printf '\\033[31mred\\033[0m <b>\\n' >&2; until test -e more; do sleep 0.05; done; echo last";
    world.configure(&format!(
        "[job.sync]\nschedule = \"every 1s\"\noverlap = \"skip\"\ncommand = [\"sh\", \"-c\", {script:?}]\n"
    ));
    let up = world.up();
    world.until("select epoch from hourhand.job where epoch > 0 union all select 0 order by 1 desc limit 1", 1).await;
    let epoch = world.number("select epoch from hourhand.job").await;
    let path = format!("/output?job=sync&epoch={epoch}");
    let written = eventually(SOON, async || match up.get(&path).await {
        (200, text) if text.contains("first") && text.contains("red") => Ok(text),
        (status, text) => Err(format!("{status}: {text}\n{}", up.log())),
    })
    .await;
    assert!(written.contains("red <b>") && !written.contains('\u{1b}') && !written.contains("last"), "{written}");
    let page = up.answers(&format!("/run?job=sync&epoch={epoch}"), 200).await;
    assert!(page.contains("Output so far") && page.contains("first") && page.contains("red &#60;b&#62;"), "{page}");
    std::fs::write(&more, "").unwrap();
    let (outcome, _, output) = world.first_end("sync").await;
    assert!(outcome == "succeeded" && output.trim_end().ends_with("last"), "{outcome}: {output}");
    eventually(SOON, async || match up.get(&path).await.0 {
        204 => Ok(()),
        status => Err(format!("{status}: kept after its end")),
    })
    .await;
    let page = up.answers(&format!("/run?job=sync&epoch={epoch}"), 200).await;
    assert!(page.contains("last\n</pre>") && !page.contains("Output so far"), "{page}");
}
