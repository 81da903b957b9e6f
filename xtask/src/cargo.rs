//! Calling cargo, and finding what it has built.

use crate::foreground;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A directory with the binaries of the order service, for a user who has no cargo: nothing is built then.
pub(crate) const BINARIES_VARIABLE: &str = "HOURHAND_BIN_DIR";

/// What the demo starts, besides PostgreSQL.
pub(crate) const BINARIES: [&str; 2] = ["order-sync", "order-feed"];

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The cargo that called us, to be run in the root of the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments).current_dir(root());
    cargo
}

/// Whether cargo has that subcommand.
pub(crate) fn has(subcommand: &str) -> bool {
    let said = cargo(&[subcommand, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    said.is_ok_and(|status| status.success())
}

/// The directory that holds [`BINARIES`]: the one named by `HOURHAND_BIN_DIR`, or else they are built.
pub(crate) fn binaries() -> Result<PathBuf> {
    if let Some(directory) = std::env::var_os(BINARIES_VARIABLE) {
        return Ok(PathBuf::from(directory));
    }
    foreground::run(&mut cargo(&["build", "--package", "order-sync", "--bins"]))
        .context("building the order service")?;
    let own = own_path()?;
    own.parent().map(Path::to_path_buf).context("this program lies in no directory")
}

/// Where this program lies: in cargo's target directory, wherever that is, unless it was copied.
///
/// Cargo may build it anew while it runs, and then the system says that it was deleted; the new one is as good.
pub(crate) fn own_path() -> Result<PathBuf> {
    let path = std::env::current_exe().context("the system does not say where this program lies")?;
    let name = path.to_string_lossy().trim_end_matches(" (deleted)").to_owned();
    Ok(PathBuf::from(name))
}
