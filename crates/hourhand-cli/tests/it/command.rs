//! The built binary, run with nothing of this process's environment that would change what it says.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use serde_json::Value;

/// The binary with some words, not yet run.
pub fn hourhand<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hourhand"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("PG") || text.starts_with("HOURHAND_") || text == "DATABASE_URL" || text == "RUST_LOG" {
            command.env_remove(name);
        }
    }
    command.env("TZ", "UTC").stdin(Stdio::null()).args(words);
    command
}

/// What it said, and how it ended.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Runs it to its end.
pub fn run(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs it with some words.
pub fn say(words: &[&str]) -> Said {
    run(&mut hourhand(words))
}

impl Said {
    /// It ended well; the one JSON value that it said, and nothing else.
    pub fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        assert_eq!(self.out.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// It ended well.
    pub fn done(&self) {
        assert_eq!(self.code, 0, "{self:?}");
    }

    /// It refused with this status, said so on standard error only, and named this.
    pub fn refused(&self, code: i32, naming: &str) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        assert!(self.err.contains(naming), "{naming:?} in {self:?}");
    }
}
