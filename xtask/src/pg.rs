//! `cargo xtask pg`: a private server to try things on.

use crate::arguments::Arguments;
use crate::foreground;
use anyhow::{Context, Result, ensure};
use hourhand_testkit::{Installation, SUPPORTED, Server};

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let major = arguments.take_value("--major")?;
    let settings = arguments.take_values("--set")?;
    arguments.finish()?;
    let majors = match major {
        Some(major) => {
            let major = major.parse().ok().filter(|major| SUPPORTED.contains(major));
            let major = major.with_context(|| format!("--major wants a number from {} on", SUPPORTED.start()))?;
            major..=major
        }
        None => SUPPORTED,
    };
    // From here on Ctrl-C is ours to answer.
    foreground::signal_received();
    eprintln!("looking for PostgreSQL here; where there is none it is fetched, which takes a minute the first time");
    let installation = Installation::find_or_fetch(majors)?;
    let mut builder = Server::builder(&installation);
    for setting in &settings {
        let (name, value) = setting.split_once('=').context("--set wants NAME=VALUE")?;
        builder = builder.setting(name, value);
    }
    let mut server = builder.start()?;
    eprintln!("PostgreSQL {} runs in {}; Ctrl-C ends and removes it", installation.version(), server.home().display());
    println!("{}", server.url());
    foreground::wait_until(|| server.pid().is_none());
    ensure!(foreground::signal_received() != 0, "the server has ended; its log:\n{}", server.log());
    Ok(())
}
