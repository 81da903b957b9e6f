//! `hourhand exec`: the exit statuses that scripts rely on, and what is on record afterwards.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use hourhand_testkit::Signal;

use crate::command::run;
use crate::scene::{Scene, wait_until};

const HISTORY: &str = "select string_agg(trigger || ' ' || outcome || coalesce(' ' || error, ''), '; ' order by id) from hourhand.history";

#[tokio::test(flavor = "multi_thread")]
async fn the_exit_status_is_the_commands_own_and_the_run_is_on_record_with_its_output() {
    let scene = Scene::new().await;
    let said = scene.say(&["report"], "echo all is well; echo but for this >&2");
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "all is well\n", "but for this\n"));
    let output = scene.text("select output from hourhand.history").await;
    assert!(output.contains("all is well") && output.contains("but for this"), "{output:?}");
    assert_eq!(scene.say(&["report"], "echo gone wrong; exit 3").code, 3);
    assert_eq!(scene.say(&["report"], "kill -KILL $$").code, 128 + 9);
    let told = "manual succeeded; manual failed exit status 3; its output ends with: gone wrong; manual failed killed by signal 9 (SIGKILL)";
    assert_eq!(scene.text(HISTORY).await, told);
    assert_eq!(scene.text("select count(*)::text from hourhand.definition").await, "0", "exec registers no schedule");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_not_there_is_127_and_one_that_may_not_be_executed_is_126_and_both_are_named() {
    let scene = Scene::new().await;
    for (program, code, word) in
        [("nonesuch", 127, "no such command in PATH"), ("/etc/passwd", 126, "may not be executed")]
    {
        let mut command = crate::command::hourhand(["exec", "report", "--", program]);
        let said = run(command.env("HOURHAND_DATABASE_URL", scene.url()));
        said.refused(code, word);
        assert!(said.err.contains(program), "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_out_is_124_and_the_command_is_asked_first() {
    let scene = Scene::new().await;
    let began = Instant::now();
    let said = scene.say(&["report", "--timeout", "1s"], "trap 'echo asked; exit 0' TERM; sleep 60 & wait");
    assert_eq!((said.code, said.out.as_str()), (124, "asked\n"), "{said:?}");
    assert!(said.err.contains("timed out"), "{said:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(scene.text(HISTORY).await, "manual timed_out");
    let deaf =
        scene.say(&["report", "--timeout", "500ms", "--stop-grace", "1s"], "trap '' TERM; while :; do sleep 1; done");
    assert_eq!(deaf.code, 124, "{deaf:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_finds_the_lock_taken_runs_nothing_and_says_so_or_waits_for_it() {
    let scene = Scene::new().await;
    let mut first = scene.start(&["report"], "touch ready; until test -e go; do sleep 0.1; done");
    for history in [&[][..], &["--no-history"]] {
        let said = scene.say(&[&["report"], history].concat(), "echo never");
        assert_eq!((said.code, said.out.as_str()), (0, ""), "{said:?}");
        assert!(said.err.contains("runs already"), "{said:?}");
        assert_eq!(scene.say(&[&["report", "--conflict-exit-code", "17"], history].concat(), "echo never").code, 17);
    }
    assert_eq!(scene.say(&["another"], "exit 4").code, 4, "another name is another lock");
    let waiting = scene.exec(&["report", "--wait", "20s"], "echo at last").stdout(Stdio::piped()).spawn().unwrap();
    fs::write(scene.path("go"), "").unwrap();
    let waited = tokio::task::block_in_place(|| waiting.wait_with_output()).unwrap();
    assert_eq!(String::from_utf8(waited.stdout).unwrap(), "at last\n");
    assert!(first.wait(Duration::from_secs(5)).success());
}

#[tokio::test(flavor = "multi_thread")]
async fn if_due_runs_an_occurrence_until_it_has_succeeded_and_then_no_more() {
    let scene = Scene::new().await;
    let due = ["sync", "--if-due", "0 0 1 1 *"];
    assert_eq!(scene.say(&due, "exit 5").code, 5);
    assert_eq!(scene.say(&due, "exit 6").code, 6, "a run that failed leaves it due");
    assert_eq!(scene.say(&due, "echo done").out, "done\n");
    let said = scene.say(&due, "echo never");
    assert_eq!((said.code, said.out.as_str()), (0, ""), "{said:?}");
    assert!(said.err.contains("not due"), "{said:?}");
    let runs = "select string_agg(trigger || ' ' || outcome, '; ' order by id) from hourhand.history where scheduled_for is not null";
    assert_eq!(scene.text(runs).await, "catch_up failed; retry failed; retry succeeded");
    assert_eq!(scene.text("select count(*)::text from hourhand.history").await, "3", "nobody was promised older ones");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_nodes_schedule_of_the_same_name_stays_as_it_is() {
    use hourhand::{Failure, Job, Schedule, Scheduler};
    let scene = Scene::new().await;
    let job = Job::new("sync", Schedule::cron("0 0 1 1 *"), async |_| Ok::<_, Failure>(()));
    Scheduler::builder(scene.url()).job(job).start().await.unwrap().shutdown().await;
    let definition = "select body::text || registered_at::text from hourhand.definition";
    let before = scene.text(definition).await;
    // The second of the job's first registration is nobody's.
    wait_until("the next second is due", Duration::from_secs(5), || {
        scene.say(&["sync", "--if-due", "* * * * * *"], "echo due").out == "due\n"
    });
    assert_eq!(scene.say(&["sync"], "exit 3").code, 3);
    assert_eq!(scene.text(definition).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_schema_it_is_2_and_says_the_ways_out_which_work() {
    let scene = Scene::unmigrated().await;
    scene.say(&["report"], "echo never").refused(2, "hourhand migrate");
    let alone = scene.say(&["report", "--no-history"], "echo alone; echo \"epoch $HOURHAND_EPOCH\"");
    assert_eq!((alone.code, alone.out.as_str()), (0, "alone\nepoch \n"), "{alone:?}");
    assert_eq!(scene.text("select count(*)::text from pg_namespace where nspname = 'hourhand'").await, "0");
    assert_eq!(scene.say(&["report", "--migrate"], "exit 9").code, 9);
    assert_eq!(scene.text(HISTORY).await, "manual failed exit status 9");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_together_is_2_and_a_database_that_is_away_is_69() {
    let scene = Scene::new().await;
    scene.say(&["report", "--if-due", "@hourly", "--no-history"], "true").refused(2, "--no-history");
    scene.say(&["report", "--if-due", "99 * * * *"], "true").refused(2, "--if-due");
    scene.say(&["report", "--ttl", "2s"], "true").refused(2, "ttl");
    let mut away = scene.exec(&["report"], "true");
    run(away.env("HOURHAND_DATABASE_URL", "postgres://nobody@127.0.0.1:1/none")).refused(69, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn standard_input_and_large_outputs_pass_through_as_they_are() {
    let scene = Scene::new().await;
    let mut piped = scene.exec(&["copy"], "cat; echo end >&2");
    let mut child = piped.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect();
    let (mut input, given) = (child.stdin.take().unwrap(), bytes.clone());
    let writing = std::thread::spawn(move || input.write_all(&given));
    let output = tokio::task::block_in_place(|| child.wait_with_output()).unwrap();
    writing.join().unwrap().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout.len(), bytes.len());
    assert!(output.stdout == bytes, "every byte in its place");
    let kept = scene.text("select length(output)::text from hourhand.history").await;
    assert!(kept.parse::<usize>().unwrap() <= 64 * 1024, "{kept}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_learns_that_nobody_reads_it_as_it_would_alone() {
    let scene = Scene::new().await;
    let mut endless = scene.exec(&["yes"], "exec yes");
    let mut child = endless.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut status = None;
    wait_until("yes ends", Duration::from_secs(10), || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(128 + 13), "killed by SIGPIPE");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runs_facts_are_in_the_environment_and_the_database_only_if_its_user_put_it_there() {
    let scene = Scene::new().await;
    let script = "env | grep -E '^(HOURHAND_|TRACEPARENT|DATABASE_URL)' | sort";
    let mut exec = scene.exec(&["sync", "--if-due", "@yearly"], script);
    exec.env("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    let url = scene.path("url");
    fs::write(&url, scene.url()).unwrap();
    exec.env_remove("HOURHAND_DATABASE_URL").arg("ignored");
    let mut words: Vec<std::ffi::OsString> = exec.get_args().map(std::ffi::OsStr::to_owned).collect();
    words.insert(0, format!("--database=file:{}", url.display()).into());
    let said =
        run(crate::command::hourhand(words)
            .env("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
    said.done();
    let value =
        |name: &str| said.out.lines().find_map(|line| line.strip_prefix(&format!("{name}="))).map(str::to_owned);
    assert_eq!(value("HOURHAND_JOB").as_deref(), Some("sync"));
    assert_eq!(value("HOURHAND_ATTEMPT").as_deref(), Some("1"));
    assert_eq!(value("HOURHAND_TRIGGER").as_deref(), Some("catch_up"));
    assert!(value("HOURHAND_SCHEDULED_FOR").unwrap().ends_with("-01-01T00:00:00.000000Z"), "{said:?}");
    assert_eq!(value("HOURHAND_EPOCH").unwrap(), scene.text("select epoch::text from hourhand.job").await);
    let from = "select to_char(window_from at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') from hourhand.job";
    assert_eq!(value("HOURHAND_WINDOW_FROM").unwrap(), scene.text(from).await);
    assert!(value("HOURHAND_WINDOW_UNTIL").is_some() && value("TRACEPARENT").is_some(), "{said:?}");
    assert!(!said.out.contains("postgres"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_are_passed_on_and_a_command_that_ends_well_on_sigterm_has_not_done_its_work() {
    let scene = Scene::new().await;
    let script = "trap 'echo one >> heard' USR1; trap 'echo term >> heard; exit 0' TERM; touch ready; while :; do sleep 0.1; done";
    let mut exec = scene.start(&["sync", "--if-due", "@yearly"], script);
    exec.signal(Signal::USR1);
    wait_until("the first signal is heard", Duration::from_secs(5), || scene.read("heard") == "one\n");
    exec.signal(Signal::TERM);
    assert_eq!(exec.wait(Duration::from_secs(5)).code(), Some(0), "the status is the command's own");
    assert_eq!(scene.read("heard"), "one\nterm\n");
    assert_eq!(scene.text("select outcome from hourhand.history").await, "failed");
    fs::remove_file(scene.path("ready")).unwrap();
    let mut plain = scene.start(&["sync"], "touch ready; exec sleep 60");
    plain.signal(Signal::TERM);
    assert_eq!(plain.wait(Duration::from_secs(5)).code(), Some(128 + 15));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_from_elsewhere_stops_the_command() {
    let scene = Scene::new().await;
    let mut exec = scene.start(&["report"], "touch ready; exec sleep 60");
    let mut cancel = crate::command::hourhand(["cancel", "report"]);
    tokio::task::block_in_place(|| run(cancel.env("HOURHAND_DATABASE_URL", scene.url()))).done();
    assert_eq!(exec.wait(Duration::from_secs(10)).code(), Some(128 + 15));
    assert_eq!(scene.text("select outcome from hourhand.history").await, "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_job_is_not_run_and_neither_is_one_in_whose_way_a_lease_stands() {
    let scene = Scene::new().await;
    assert_eq!(scene.say(&["report", "--exclusion", "lease"], "echo leased").out, "leased\n");
    let mut holder =
        scene.start(&["report", "--exclusion", "lease"], "touch ready; until test -e go; do sleep 0.1; done");
    assert_eq!(scene.say(&["report", "--conflict-exit-code", "17"], "echo never").code, 17);
    fs::write(scene.path("go"), "").unwrap();
    assert!(holder.wait(Duration::from_secs(10)).success());
    let mut pause = crate::command::hourhand(["pause", "report"]);
    tokio::task::block_in_place(|| run(pause.env("HOURHAND_DATABASE_URL", scene.url()))).done();
    let said = scene.say(&["report"], "echo never");
    assert_eq!((said.code, said.out.as_str()), (0, ""), "{said:?}");
    assert!(said.err.contains("paused"), "{said:?}");
}
