//! What surrounds a connection string: variables, the home directory, the user's name, the usual places.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::{ConninfoError, Place, Problem};

/// Where servers of the usual packages put their socket; libpq has one of them compiled in, we look which is there.
const SOCKET_DIRECTORIES: [&str; 3] = ["/var/run/postgresql", "/run/postgresql", "/tmp"];

/// Where the usual packages look for `pg_service.conf` when `PGSYSCONFDIR` says nothing.
const CONFIGURATION_DIRECTORIES: [&str; 3] = ["/etc/postgresql-common", "/etc/sysconfig/pgsql", "/etc"];

/// Everything besides the text that decides where a connection goes, as libpq would find it.
///
/// It is passed in, so that a test says all of it and touches neither this process's variables nor its home. It may
/// hold a password (`PGPASSWORD`): there is no `Debug`.
#[derive(Clone)]
pub(crate) struct Environment {
    variables: BTreeMap<String, OsString>,
    pub(super) home: Option<PathBuf>,
    pub(super) user: Option<String>,
    pub(super) socket_directory: PathBuf,
    pub(super) configuration_directories: Vec<PathBuf>,
}

impl Environment {
    /// The environment of this process, read now.
    pub(crate) fn of_process() -> Environment {
        let variables: BTreeMap<String, OsString> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| name.starts_with("PG"))
            .collect();
        let socket_directory = SOCKET_DIRECTORIES.iter().map(Path::new).find(|directory| directory.is_dir());
        Environment {
            variables,
            home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            user: whoami::username().ok().filter(|user| !user.is_empty()),
            socket_directory: socket_directory.unwrap_or(Path::new("/tmp")).to_owned(),
            configuration_directories: CONFIGURATION_DIRECTORIES.iter().map(PathBuf::from).collect(),
        }
    }

    /// What the variable says, if it is set; an empty one says nothing.
    ///
    /// # Errors
    ///
    /// If it is not UTF-8: passing over a password in silence would be worse.
    pub(super) fn variable(&self, name: &'static str) -> Result<Option<&str>, ConninfoError> {
        match self.variables.get(name) {
            None => Ok(None),
            Some(value) => match value.to_str() {
                Some(value) => Ok(Some(value).filter(|value| !value.is_empty())),
                None => Err(ConninfoError::new(Place::Variable(name), Problem::NotUtf8)),
            },
        }
    }

    /// A file in the user's home, if there is a home.
    pub(super) fn at_home(&self, path: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(path))
    }
}

#[cfg(test)]
impl Environment {
    /// An environment that says no more than the given variables, for the user `tester`.
    pub(crate) fn of(variables: &[(&str, &str)]) -> Environment {
        Environment {
            variables: variables.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect(),
            home: None,
            user: Some(String::from("tester")),
            socket_directory: PathBuf::from("/nowhere/postgresql"),
            configuration_directories: Vec::new(),
        }
    }

    /// The same with a home directory.
    pub(crate) fn with_home(mut self, home: &Path) -> Environment {
        self.home = Some(home.to_owned());
        self
    }
}
