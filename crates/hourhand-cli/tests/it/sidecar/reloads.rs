//! A changed file, at SIGHUP.

use hourhand_testkit::Signal;

use super::World;
use super::service::{Answer, Service};

fn job(name: &str, url: &str) -> String {
    format!("[job.{name}]\nschedule = \"every 1s\"\nhttp = {{ url = \"{url}/{name}\" }}\n")
}

/// Waits for a call on this path that comes after now.
async fn called(service: &Service, path: &str) {
    let before = service.calls().len();
    hourhand_testkit::eventually(super::SOON, async || {
        let calls = service.calls();
        let seen = calls.iter().skip(before).any(|call| call.uri.path() == path);
        if seen { Ok(()) } else { Err(format!("no call of {path} among {}", calls.len() - before)) }
    })
    .await;
}

#[tokio::test]
async fn jobs_come_change_and_go_with_the_file() {
    let (world, service) = (World::new().await, Service::that(Answer::Status(200, String::new())).await);
    world.configure(&format!("{}{}", job("stays", &service.url), job("goes", &service.url)));
    let mut up = world.up();
    called(&service, "/stays").await;
    called(&service, "/goes").await;

    let changed = job("stays", &service.url).replace("/stays", "/changed");
    world.configure(&format!("{changed}{}", job("comes", &service.url)));
    up.process.signal(Signal::HUP);
    up.says("the configuration is taken up", 1).await;
    called(&service, "/comes").await;
    called(&service, "/changed").await;
    // From here on nothing calls what is gone: a run that was under way has ended before its job came anew.
    let before = service.calls().len();
    called(&service, "/comes").await;
    called(&service, "/comes").await;
    let paths: Vec<String> = service.calls()[before..].iter().map(|call| call.uri.path().to_owned()).collect();
    assert!(paths.iter().all(|path| path == "/comes" || path == "/changed"), "{paths:?}");
}

#[tokio::test]
async fn a_bad_file_is_refused_and_what_ran_goes_on() {
    let (world, service) = (World::new().await, Service::that(Answer::Status(200, String::new())).await);
    world.configure(&job("sync", &service.url));
    let mut up = world.up();
    called(&service, "/sync").await;
    world.configure(&format!("{}timout = \"1m\"\n[job.other]\nschedule = \"@hourli\"\n", job("sync", &service.url)));
    up.process.signal(Signal::HUP);
    up.says("the changed configuration is refused, what ran goes on", 1).await;
    let log = up.log();
    for said in ["there is no key \"timout\" here", "@hourli", "there is nothing to run"] {
        assert!(log.contains(said), "{said} in {log}");
    }
    called(&service, "/sync").await;
    called(&service, "/sync").await;
}

#[tokio::test]
async fn what_holds_for_the_whole_process_is_taken_up_by_another_scheduler() {
    let (world, service) = (World::new().await, Service::that(Answer::Status(200, String::new())).await);
    world.configure(&job("sync", &service.url));
    let mut up = world.up();
    called(&service, "/sync").await;
    world.configure(&format!("runs_max = 3\n{}", job("other", &service.url)));
    up.process.signal(Signal::HUP);
    up.says("the configuration is taken up", 1).await;
    called(&service, "/other").await;
    assert_eq!(up.get("/healthz").await.0, 200);
}

#[tokio::test]
async fn a_run_of_a_changed_job_goes_on_to_its_end_and_the_next_is_the_changed_one() {
    let world = World::new().await;
    let job = |words: &str, seconds: u32| {
        format!(
            "[job.slow]\nschedule = \"every 1s\"\n\
             command = [\"sh\", \"-c\", \"echo {words} begun; sleep {seconds}; echo {words} done\"]\n"
        )
    };
    world.configure(&job("old", 4));
    let mut up = world.up();
    up.says("old begun", 1).await;
    world.configure(&job("new", 0));
    up.process.signal(Signal::HUP);
    up.says("a run of it goes on to its end", 1).await;
    up.says("new done", 1).await;
    let log = up.log();
    assert!(log.find("old done").unwrap() < log.find("new begun").unwrap(), "{log}");
    assert_eq!(log.matches("old begun").count(), 1, "{log}");
    assert_eq!(world.number("select count(*) from hourhand.history where outcome = 'lost'").await, 0);
}

#[tokio::test]
async fn the_dashboard_follows_the_file_to_another_database() {
    let (world, other, service) =
        (World::new().await, World::new().await, Service::that(Answer::Status(200, String::new())).await);
    world.configure(&job("here", &service.url));
    let mut up = world.up();
    called(&service, "/here").await;
    let named = async |up: &super::Up| up.get("/api/status").await.1;
    let jobs = named(&up).await;
    assert!(jobs.contains("\"here\""), "{jobs}");
    world.write(&format!("database_url = {:?}\nttl = \"5s\"\n{}", other.database.url(), job("there", &service.url)));
    up.process.signal(Signal::HUP);
    called(&service, "/there").await;
    up.says("dashboard, /healthz", 2).await;
    let jobs = named(&up).await;
    assert!(jobs.contains("\"there\"") && !jobs.contains("\"here\""), "{jobs}");
}

#[tokio::test]
async fn a_job_changes_its_name_with_the_file_and_changes_it_back() {
    let (world, service) = (World::new().await, Service::that(Answer::Status(200, String::new())).await);
    let named = |name: &str, before: &str| format!("{}renamed_from = \"{before}\"\n", job(name, &service.url));
    world.configure(&job("sync", &service.url));
    let mut up = world.up();
    called(&service, "/sync").await;
    for (times, (name, before)) in [("pull", "sync"), ("sync", "pull")].into_iter().enumerate() {
        world.configure(&named(name, before));
        up.process.signal(Signal::HUP);
        up.says("the configuration is taken up", times + 1).await;
        called(&service, &format!("/{name}")).await;
    }
    assert!(!up.log().contains("could not"), "{}", up.log());
}
