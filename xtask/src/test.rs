//! `cargo xtask test`: the whole suite, the promises on a newer PostgreSQL, and the demo as somebody else.
//!
//! Every leg starts a private server and names it to the tests by `HOURHAND_TEST_DATABASE_URL`; tests that break servers
//! start their own from `HOURHAND_TEST_BIN`. The workspace is always built as a whole: a package of it alone would be
//! built with fewer features, and most of its dependencies once more.

use crate::arguments::Arguments;
use crate::cargo::{BINARIES, BINARIES_VARIABLE, binaries, cargo, has, own_path};
use crate::foreground;
use crate::legs::{Done, Legs};
use anyhow::{Context, Result, ensure};
use hourhand_testkit::{Account, BIN_VARIABLE, Installation, Server, URL_VARIABLE, private_directory};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const WHOLE: [&str; 2] = ["--workspace", "--all-features"];

/// The test binary of the promises: the library's, or (cargo can't tell) that of each crate that has one of that name.
const PROMISES: [[&str; 2]; 2] = [["--filterset", "package(hourhand) and binary(it)"], ["--test", "it"]];

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let mut only = arguments.take_values("--only")?;
    let filter = arguments.rest();
    if only.is_empty() {
        let all: &[&str] = if filter.is_empty() { &["suite", "newer", "demo"] } else { &["suite"] };
        only = all.iter().map(|leg| (*leg).to_owned()).collect();
    }
    let known = |leg: &String| ["suite", "newer", "demo"].contains(&leg.as_str());
    ensure!(only.iter().all(known), "--only wants suite, newer or demo, not {only:?}");
    let wanted = |leg: &str| only.iter().any(|wanted| wanted == leg);

    let mut legs = Legs::default();
    if wanted("suite") {
        legs.leg("suite", || suite(&filter));
    }
    if wanted("newer") {
        legs.leg("newer", || newer(&filter));
    }
    if wanted("demo") {
        legs.leg("demo as another user", demo);
    }
    legs.finish()
}

fn suite(filter: &[OsString]) -> Result<Done> {
    on_server(&Installation::for_tests()?, "the whole suite", |server| {
        let tested = foreground::run(tell(runner(&[]).args(filter), server));
        // nextest leaves the examples in the documentation to cargo.
        let left = filter.is_empty() && has("nextest");
        let documented =
            if left { foreground::run(tell(cargo(&["test", "--doc"]).args(WHOLE), server)) } else { Ok(()) };
        tested.and(documented)
    })
}

fn newer(filter: &[OsString]) -> Result<Done> {
    let usual = Installation::for_tests()?;
    match usual.newer() {
        Ok(newer) => on_server(&newer, "the promises", |server| {
            foreground::run(tell(runner(&PROMISES[usize::from(!has("nextest"))]).args(filter), server))
        }),
        Err(error) => {
            Ok(Done::Skipped(format!("nothing newer than PostgreSQL {} is to be had: {error:#}", usual.major())))
        }
    }
}

fn runner(arguments: &[&str]) -> Command {
    let mut runner = if has("nextest") { cargo(&["nextest", "run"]) } else { cargo(&["test"]) };
    runner.args(WHOLE).arg("--no-fail-fast").args(arguments);
    runner
}

/// Makes the tests that this command runs know the server.
fn tell<'a>(command: &'a mut Command, server: &Server) -> &'a mut Command {
    command.env(URL_VARIABLE, server.url()).env(BIN_VARIABLE, server.installation().bin())
}

fn on_server(installation: &Installation, what: &str, work: impl FnOnce(&Server) -> Result<()>) -> Result<Done> {
    eprintln!("── {what} on PostgreSQL {} of {}", installation.version(), installation.bin().display());
    let server = Server::shared(installation)?;
    let done = work(&server);
    if done.is_err() {
        let kept = own_path()?.with_file_name(format!("test-server-{}.log", installation.major()));
        fs::write(&kept, server.log())?;
        eprintln!("── the server's log is in {}", kept.display());
    }
    done.map(|()| Done::Passed)
}

/// The demo as a user of the other kind: what runs for root must run for everybody, and the other way round.
fn demo() -> Result<Done> {
    if rustix::process::geteuid().is_root() { demo_as_nobody() } else { demo_as_root() }
}

/// Nobody can read a workspace in root's home, so the programs go where nobody can.
fn demo_as_nobody() -> Result<Done> {
    let Some(nobody) = Account::named("nobody") else {
        return Ok(Done::Skipped("this machine has no user nobody".to_owned()));
    };
    let built = binaries()?;
    let stage = private_directory(Some(&nobody))?;
    for name in BINARIES {
        fs::copy(built.join(name), stage.path().join(name)).with_context(|| format!("could not copy {name}"))?;
    }
    let program = stage.path().join("xtask");
    fs::copy(own_path()?, &program).context("could not copy this program")?;
    eprintln!("── the demo as {} in {}", nobody.name(), stage.path().display());
    let mut demo = Command::new(program);
    demo.args(["demo", "--once"]).env(BINARIES_VARIABLE, stage.path()).current_dir(stage.path());
    demo.env("HOME", stage.path()).env("TMPDIR", stage.path()).env_remove("XDG_CACHE_HOME");
    foreground::run(nobody.apply(&mut demo)).map(|()| Done::Passed)
}

fn demo_as_root() -> Result<Done> {
    let sudo = ["--non-interactive", "true"];
    let may = Command::new("sudo").args(sudo).stdin(Stdio::null()).stderr(Stdio::null()).status();
    if !may.is_ok_and(|status| status.success()) {
        return Ok(Done::Skipped("sudo is missing, or asks for a password".to_owned()));
    }
    let built = binaries()?;
    eprintln!("── the demo as root");
    let setting = format!("{BINARIES_VARIABLE}={}", built.display());
    let mut demo = Command::new("sudo");
    demo.args(["--non-interactive", "env", &setting]).arg(own_path()?).args(["demo", "--once"]);
    foreground::run(demo.current_dir(Path::new("/"))).map(|()| Done::Passed)
}
