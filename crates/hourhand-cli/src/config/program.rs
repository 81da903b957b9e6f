//! Whether the program of a command is there: said when the file is read, not at 02:30 when it is due.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Why a program could not be started; none: it could. `dir` is where the command runs, `path` its variable PATH, if that is known.
pub(super) fn missing(program: &str, dir: Option<&Path>, path: Option<&str>) -> Option<String> {
    if program.contains('/') {
        let place = dir.map_or_else(|| PathBuf::from(program), |dir| dir.join(program));
        return match (place.is_file(), is_executable(&place)) {
            (true, true) => None,
            (true, false) => Some(format!("{} may not be executed", place.display())),
            (false, _) => Some(format!("there is no file {}", place.display())),
        };
    }
    let path = path?;
    let found = std::env::split_paths(path).any(|place| {
        let place = place.join(program);
        place.is_file() && is_executable(&place)
    });
    (!found).then(|| format!("there is no program {program} in PATH ({path})"))
}

fn is_executable(path: &Path) -> bool {
    access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_where_it_would_be_started() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        std::fs::write(at("plain"), "").unwrap();
        std::os::unix::fs::symlink("/bin/sh", at("shell")).unwrap();
        let path = home.path().to_str();
        assert_eq!(missing("shell", None, path), None);
        assert!(missing("plain", None, path).is_some_and(|why| why.starts_with("there is no program plain in PATH (")));
        assert_eq!(missing("anything", None, None), None, "nobody knows");
        assert_eq!(missing("./shell", Some(home.path()), None), None);
        assert!(missing("./plain", Some(home.path()), None).is_some_and(|why| why.ends_with("may not be executed")));
        assert!(missing("bin/none", Some(home.path()), None).is_some_and(|why| why.contains("there is no file")));
    }
}
