//! The user as whom a server runs: PostgreSQL refuses to run as root.

use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A user of this machine, to run a process as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    name: String,
    uid: u32,
    gid: u32,
}

impl Account {
    /// The account that servers have to run as: `None` means as ourselves, as we are not root.
    ///
    /// Root hands them to `postgres`, or where there is none to `nobody`.
    ///
    /// # Errors
    ///
    /// If we are root and the machine knows neither.
    pub fn for_servers() -> Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let account = Self::named("postgres").or_else(|| Self::named("nobody"));
        account.map(Some).context("PostgreSQL does not run as root, and /etc/passwd has neither postgres nor nobody")
    }

    /// The account of that name in `/etc/passwd`.
    pub fn named(name: &str) -> Option<Self> {
        Self::parse(&fs::read_to_string("/etc/passwd").ok()?, name)
    }

    fn parse(passwd: &str, name: &str) -> Option<Self> {
        let mut fields = passwd.lines().map(|line| line.split(':')).find_map(|mut fields| {
            let found = fields.next() == Some(name);
            found.then_some(fields)
        })?;
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(Self { name: name.to_owned(), uid, gid })
    }

    /// Its name, such as `postgres`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes the command run as this account, without any other group of ours.
    pub fn apply<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.uid(self.uid).gid(self.gid)
    }

    /// Gives it a file or directory of ours.
    ///
    /// # Errors
    ///
    /// If we may not, which means that we are not root.
    pub fn give(&self, path: &Path) -> Result<()> {
        chown(path, Some(self.uid), Some(self.gid))
            .with_context(|| format!("could not give {} to user {}", path.display(), self.name))
    }
}

/// A new directory that belongs to that account (`None`: to us), closed to others, removed when dropped.
///
/// # Errors
///
/// If there is no place for it that the account may enter.
pub fn private_directory(account: Option<&Account>) -> Result<TempDir> {
    let ground = ground(account)?;
    let directory = tempfile::Builder::new().prefix("hourhand-").tempdir_in(&ground);
    let directory = directory.with_context(|| format!("could not make a directory in {}", ground.display()))?;
    if let Some(account) = account {
        account.give(directory.path())?;
    }
    Ok(directory)
}

/// Where to make it: in the usual place for temporary files, or else in a common one.
///
/// Root's may lie in a home of mode 0700, which stops anybody else at the door. And it must be short: the path of a
/// Unix socket ends at about a hundred bytes.
fn ground(account: Option<&Account>) -> Result<PathBuf> {
    const LENGTH_MAX: usize = 64;
    let candidates = [std::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    let fits =
        |path: &PathBuf| path.as_os_str().len() <= LENGTH_MAX && (account.is_none() || is_open_to_all(path.as_path()));
    let found = candidates.iter().find(|path| fits(path));
    found.cloned().with_context(|| format!("none of {candidates:?} is a short path that the server's user may enter"))
}

/// Whether anybody may go to this directory: each one on the way lets others through.
fn is_open_to_all(path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    path.ancestors().all(|directory| fs::metadata(directory).is_ok_and(|found| found.mode() & 0o001 != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str =
        "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin\n";

    #[test]
    fn an_account_is_read_from_passwd() {
        let nobody = Account { name: "nobody".to_owned(), uid: 65534, gid: 65533 };
        assert_eq!(Account::parse(PASSWD, "nobody"), Some(nobody));
        assert_eq!(Account::parse(PASSWD, "postgres"), None);
    }

    #[test]
    fn a_directory_behind_a_closed_one_is_not_open_to_all() {
        use std::os::unix::fs::PermissionsExt;
        let closed = tempfile::tempdir().unwrap();
        let inner = closed.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(is_open_to_all(&inner));
        fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert!(!is_open_to_all(&inner));
    }
}
