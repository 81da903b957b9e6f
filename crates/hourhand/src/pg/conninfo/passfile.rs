//! Password files: lines of `host:port:database:user:password`, usually `~/.pgpass`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Where passwords may stand that were not given otherwise.
///
/// It is read at each connection, so that a changed password counts without a restart.
#[derive(Debug, Clone)]
pub(super) struct Passfile {
    pub(super) path: PathBuf,
}

/// What a password file says of one server.
pub(super) enum Lookup {
    Found(String),
    /// The file is there and has no line that fits.
    NoLine,
    /// There is no such file.
    NoFile,
    /// The file counts as not there, for a reason that people should hear of.
    Ignored(&'static str),
}

/// What a line of the file has to fit.
pub(super) struct Wanted<'a> {
    /// The host as it was written, `localhost` for the usual socket directory.
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) dbname: &'a str,
    pub(super) user: &'a str,
}

impl Passfile {
    /// Looks for the first line that fits.
    ///
    /// As in libpq a file that others may read is ignored, and a missing one is no error.
    pub(super) fn look_up(&self, wanted: &Wanted<'_>) -> Lookup {
        match self.readable() {
            Err(lookup) => lookup,
            Ok(content) => {
                let lines = content.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
                let mut lines = lines.map(|line| line.trim_end_matches('\r')).filter(|line| !line.starts_with('#'));
                lines.find_map(|line| fit(line, wanted)).map_or(Lookup::NoLine, Lookup::Found)
            }
        }
    }

    fn readable(&self) -> Result<Vec<u8>, Lookup> {
        let Ok(metadata) = fs::metadata(&self.path) else { return Err(Lookup::NoFile) };
        if !metadata.is_file() {
            return Err(Lookup::Ignored("it is no plain file"));
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(Lookup::Ignored("others may read it (its mode has to be 0600 or less)"));
        }
        fs::read(&self.path).map_err(|_| Lookup::Ignored("it cannot be read"))
    }
}

/// The password of a line, if its first four fields fit.
fn fit(line: &str, wanted: &Wanted<'_>) -> Option<String> {
    let port = wanted.port.to_string();
    let mut rest = line;
    for word in [wanted.host, &port, wanted.dbname, wanted.user] {
        rest = match rest.strip_prefix("*:") {
            Some(rest) => rest,
            None => {
                let (field, behind) = read_field(rest);
                if field != word {
                    return None;
                }
                behind?
            }
        };
    }
    Some(read_field(rest).0).filter(|password| !password.is_empty())
}

/// A field up to the next `:`, with `\:` and `\\` resolved, and what stands behind the `:`.
fn read_field(text: &str) -> (String, Option<&str>) {
    let mut field = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            ':' => return (field, Some(&text[at + 1..])),
            '\\' => field.push(letters.next().map_or('\\', |(_, letter)| letter)),
            letter => field.push(letter),
        }
    }
    (field, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(line: &str) -> Option<String> {
        fit(line, &Wanted { host: "h:1", port: 5432, dbname: "db", user: "me" })
    }

    #[test]
    fn a_line_fits_by_equal_fields_and_stars() {
        assert_eq!(password(r"h\:1:5432:db:me:secret").as_deref(), Some("secret"));
        assert_eq!(password("*:*:*:*:secret").as_deref(), Some("secret"));
        assert_eq!(password("*:5432:*:me:secret").as_deref(), Some("secret"));
        assert_eq!(password("*:5433:*:me:secret"), None);
        assert_eq!(password("*x:*:*:*:secret"), None);
        assert_eq!(password("*:*:*:me"), None);
        assert_eq!(password(""), None);
    }

    #[test]
    fn a_password_may_have_colons_and_backslashes() {
        assert_eq!(password(r"*:*:*:*:a\:b\\c:ignored").as_deref(), Some(r"a:b\c"));
        assert_eq!(password(r"*:*:*:*:end\").as_deref(), Some(r"end\"));
    }
}
