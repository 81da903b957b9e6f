//! In a container, as its first process; under a service manager.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use hourhand_testkit::Signal;
use rustix::process::{Pid, kill_process};

use crate::command::{hourhand, run};
use crate::scene::{Scene, Started, wait_until};

/// The same command as the first process of a process namespace.
fn first(command: &Command) -> Command {
    let mut first = Command::new("unshare");
    // Alive no longer than the test: kill-child ends the namespace with unshare.
    first.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]);
    first.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => first.env(name, value),
            None => first.env_remove(name),
        };
    }
    command.get_current_dir().map(|directory| first.current_dir(directory));
    first
}

/// This machine allows no process namespace.
fn not_allowed() -> bool {
    let tried = first(&Command::new("true")).stderr(Stdio::null()).status();
    let refused = !tried.is_ok_and(|status| status.success());
    if refused {
        eprintln!("skipped: this machine allows no namespaces of our own");
    }
    refused
}

/// The ids of a process's children, as seen from here.
fn children(pid: i32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

fn state(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_process_reaps_orphans_passes_signals_on_and_ends_as_the_command_ends() {
    if not_allowed() {
        return;
    }
    let scene = Scene::new().await;
    let script = "trap 'exit 21' TERM; touch ready; while :; do sleep 0.1; done";
    let child = first(&scene.exec(&["inside"], script)).spawn().unwrap();
    let unshare = i32::try_from(child.id()).unwrap();
    let mut started = Started(child);
    wait_until("the script is ready", Duration::from_secs(15), || scene.path("ready").exists());
    let first = children(unshare)[0];
    // What `docker exec` leaves: an orphan of the namespace that is nobody's child but the first process's.
    let orphan = Command::new("nsenter")
        .args(["--target", &first.to_string(), "--user", "--pid", "sh", "-c", "sleep 0.5 & exit"])
        .status()
        .unwrap();
    assert!(orphan.success());
    wait_until("the orphan has come", Duration::from_secs(5), || children(first).len() == 2);
    wait_until("the orphan is reaped", Duration::from_secs(5), || children(first).len() == 1);
    assert!(children(first).iter().all(|pid| state(*pid) != Some('Z')));
    kill_process(Pid::from_raw(first).unwrap(), Signal::TERM).unwrap();
    assert_eq!(started.wait(Duration::from_secs(10)).code(), Some(21));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said_with_its_status_by_the_first_process_too() {
    if not_allowed() {
        return;
    }
    let said = tokio::task::block_in_place(|| run(&mut first(&hourhand(["exec", "x", "--", "true"]))));
    said.refused(2, "no database");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_manager_hears_that_it_is_ready_lives_and_stops_and_a_command_does_not_hear_of_it() {
    let scene = Scene::new().await;
    let (socket, file) = (scene.path("notify"), scene.path("hourhand.toml"));
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
    let look = format!("echo \"[$NOTIFY_SOCKET]\" > {}", scene.path("seen").display());
    fs::write(&file, format!("[job.look]\nschedule = \"* * * * * *\"\ncommand = [\"sh\", \"-c\", {look:?}]\n"))
        .unwrap();
    let mut up = hourhand(["up", "-c", file.to_str().unwrap()]);
    up.env("HOURHAND_DATABASE_URL", scene.url()).env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "300000");
    let mut up = Started(up.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    let hear = |wanted: &str| {
        let mut piece = [0; 1024];
        for _ in 0..100 {
            let length = manager.recv(&mut piece).unwrap_or_else(|error| panic!("{wanted}: {error}"));
            if String::from_utf8_lossy(&piece[..length]).lines().any(|line| line == wanted) {
                return;
            }
        }
        panic!("{wanted} was not said");
    };
    tokio::task::block_in_place(|| {
        hear("READY=1");
        hear("WATCHDOG=1");
        hear("WATCHDOG=1");
        wait_until("the command has run", Duration::from_secs(15), || scene.read("seen") == "[]\n");
        up.signal(Signal::HUP);
        hear("RELOADING=1");
        hear("READY=1");
        up.signal(Signal::TERM);
        hear("STOPPING=1");
        assert!(up.wait(Duration::from_secs(15)).success());
    });
}
