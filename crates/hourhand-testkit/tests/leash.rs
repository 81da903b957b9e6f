//! Nothing outlives its owner, however that one ends.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use hourhand_testkit::{Installation, Leash, Leashed, Server, Signal};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(20);
const ROLE: &str = "HOURHAND_TESTKIT_OWNS";

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {SOON:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// A process that owns something, says what, and lives until it is killed.
struct Owner {
    process: Child,
    said: Vec<String>,
}

impl Owner {
    fn of(what: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "an_owner_to_be_killed", "--ignored", "--nocapture"])
            .env(ROLE, what)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = lines.map_while(Result::ok).find(|line| line.contains("owns ")).expect("an owner says what it owns");
        let said = line.split_once("owns ").unwrap().1.split(' ').map(str::to_owned).collect();
        Self { process, said }
    }

    fn kill(mut self) -> Vec<String> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.said
    }
}

#[test]
#[ignore = "a process that other tests start, to kill it"]
fn an_owner_to_be_killed() {
    let owned: Box<dyn std::any::Any> = match std::env::var(ROLE).as_deref() {
        Ok(frozen_or_not @ ("server" | "frozen server")) => {
            let mut server = Server::start(&Installation::for_tests().unwrap()).unwrap();
            println!("owns {} {} {}", server.pid().unwrap(), server.port(), server.home().display());
            if frozen_or_not == "frozen server" {
                server.freeze();
            }
            Box::new(server)
        }
        Ok("sleep") => {
            let sleeping = sleeping("60");
            println!("owns {}", sleeping.pid());
            Box::new(sleeping)
        }
        _ => return,
    };
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
    drop(owned);
}

fn sleeping(seconds: &str) -> Leashed {
    Leash::new("/dev/null").spawn(Command::new("sleep").arg(seconds)).unwrap()
}

#[test]
fn a_server_ends_and_its_directory_goes_when_its_owner_is_killed() {
    for what in ["server", "frozen server"] {
        let said = Owner::of(what).kill();
        let (pid, port, home) = (said[0].parse().unwrap(), said[1].parse().unwrap(), Path::new(&said[2]).to_owned());
        wait_until("the postmaster ends", || !is_alive(pid));
        wait_until("nothing listens", || TcpStream::connect(("127.0.0.1", port)).is_err());
        wait_until("its directory is removed", || !home.exists());
    }
}

#[test]
fn a_program_ends_when_its_owner_is_killed() {
    let pid = Owner::of("sleep").kill()[0].parse().unwrap();
    wait_until("sleep ends", || !is_alive(pid));
}

#[test]
fn a_program_ends_when_it_is_dropped() {
    let program = sleeping("60");
    let pid = program.pid();
    assert!(is_alive(pid));
    drop(program);
    assert!(!is_alive(pid));
}

#[test]
fn the_end_of_a_program_is_noticed_with_its_exit_code() {
    let mut program = Leash::new("/dev/null").spawn(Command::new("sh").args(["-c", "exit 7"])).unwrap();
    assert_eq!(program.wait(SOON).unwrap().unwrap().code(), Some(7));
    assert!(!program.is_running());
}

#[test]
fn what_a_program_says_is_in_its_log_and_its_environment_is_as_told() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let mut command = Command::new("sh");
    command.args(["-c", "echo $WORD; pwd; echo aside >&2; cat"]).env("WORD", "two words").current_dir("/");
    Leash::new(&log).spawn(&command).unwrap().wait(SOON).unwrap().expect("an empty standard input");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "two words\n/\naside\n");
}

#[test]
fn a_program_that_ignores_the_polite_signal_is_killed() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' TERM; echo ready; sleep 60 & wait; sleep 60"]);
    let mut program = Leash::new(&log).spawn(&command).unwrap();
    wait_until("it is ready", || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("ready")));
    let error = program.stop(Signal::TERM, Duration::from_millis(50)).unwrap_err().to_string();
    assert!(error.contains("was killed"), "{error}");
    assert!(!is_alive(program.pid()));
}

#[test]
fn a_program_that_is_not_there_is_told_by_its_end_and_its_log() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let mut program = Leash::new(&log).spawn(&Command::new("/no/such/program")).unwrap();
    assert_eq!(program.wait(SOON).unwrap().unwrap().code(), Some(127));
    assert!(std::fs::read_to_string(&log).unwrap().contains("/no/such/program"));
}
