//! The only room that writes to standard output: JSON for programs, tables for people.
//!
//! With `--json` exactly one JSON value goes there (one a line for streams) and nothing else; whatever is said to people besides
//! goes to standard error. Names, errors and outputs of jobs are strangers' text: [`hourhand_core::plain`] keeps what could steer a terminal out.

mod json;
pub(crate) mod table;
pub(crate) mod when;

use std::fmt::Display;
use std::io::{IsTerminal as _, Write as _};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::globals::Globals;
pub(crate) use crate::output::table::{Cell, Table};

/// Quiet words: headings, what matters less.
pub(crate) const FAINT: anstyle::Style = anstyle::Style::new().dimmed();
/// All is well.
pub(crate) const GOOD: anstyle::Style = anstyle::AnsiColor::Green.on_default();
/// Worth a look.
pub(crate) const ODD: anstyle::Style = anstyle::AnsiColor::Yellow.on_default();
/// Wrong.
pub(crate) const BAD: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();
/// What the eye shall find first.
pub(crate) const STRONG: anstyle::Style = anstyle::Style::new().bold();

/// How a command speaks.
pub(crate) struct Output {
    json: bool,
    quiet: u8,
}

impl Output {
    pub(crate) fn new(globals: &Globals) -> Output {
        Output { json: globals.json, quiet: globals.quiet }
    }

    /// Whether a program listens.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// One JSON value, on a line.
    pub(crate) fn json<T: Serialize + ?Sized>(&self, value: &T) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        json::write(&mut out, value)?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// A line for people. May bear styles, which are left out where no terminal is.
    pub(crate) fn line(&self, text: impl Display) -> std::io::Result<()> {
        let mut out = anstream::stdout().lock();
        writeln!(out, "{text}")?;
        out.flush()
    }

    /// A table for people, as wide as the terminal at most.
    pub(crate) fn table(&self, table: &Table) -> std::io::Result<()> {
        let mut out = anstream::stdout().lock();
        write!(out, "{}", table.lay_out(width()))?;
        out.flush()
    }

    /// The JSON value if a program listens, else what is for people.
    pub(crate) fn either<T: Serialize + ?Sized>(
        &self,
        value: &T,
        people: impl FnOnce(&Output) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        if self.json { self.json(value) } else { people(self) }
    }

    /// A remark to people, on standard error; `-q` leaves it out.
    pub(crate) fn remark(&self, text: impl Display) {
        if self.quiet == 0 {
            anstream::eprintln!("{text}");
        }
    }

    /// Whether a person watches a screen, which can be wiped.
    pub(crate) fn is_screen(&self) -> bool {
        !self.json && std::io::stdout().is_terminal()
    }

    /// Whether anybody still reads what is written: who only now and then has something to write would not notice otherwise.
    pub(crate) fn is_read(&self) -> bool {
        let stdout = std::io::stdout();
        let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
        let gone = PollFlags::ERR | PollFlags::HUP;
        match poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(1..) => !watched[0].revents().intersects(gone),
            Ok(_) | Err(_) => true,
        }
    }

    /// Wipes the screen and begins at its top.
    pub(crate) fn clear(&self) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(b"\x1b[H\x1b[2J")
    }

    /// A question to whoever sits there, on standard error; the answer is typed after it.
    pub(crate) fn ask(&self, question: impl Display) {
        anstream::eprint!("{question}");
    }
}

/// How wide a line may be: the terminal's width, COLUMNS, or no limit where nobody sees it.
fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return usize::MAX;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col));
    size.filter(|columns| *columns > 0).or(columns).unwrap_or(usize::MAX)
}
