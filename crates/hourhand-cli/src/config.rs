//! The configuration file of the sidecar, `hourhand.toml`.
//!
//! Read whole, and whatever is wrong is said at once, each with its place in the file and what would be right. What it takes from
//! the environment and from files is part of it: a changed file is read anew at SIGHUP, and compared with what runs.

mod job;
mod program;
mod section;
mod source;
mod text;
mod top;
mod work;

use std::cell::RefCell;
use std::path::Path;

use toml::de::DeTable;

pub(crate) use job::JobConfig;
pub(crate) use text::Secret;
pub(crate) use top::{Top, address};
pub(crate) use work::{CommandWork, Endpoint, Hooks, Work};

use section::{Reader, Section};
use source::{Complaint, Source};

/// Everything the file says.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) top: Top,
    /// By name.
    pub(crate) jobs: Vec<JobConfig>,
    source: Source,
}

/// Everything that is wrong with a file, ready to be printed.
#[derive(Debug)]
pub(crate) struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.trim_end())
    }
}

impl Config {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// All that is wrong with it.
    pub(crate) fn load(path: &Path) -> Result<Config, Refused> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| Refused(format!("{}: could not be read: {error}", path.display())))?;
        let source = Source { path: path.to_owned(), text };
        Config::read(source, &|name| std::env::var(name).ok())
    }

    fn read(source: Source, variable: &dyn Fn(&str) -> Option<String>) -> Result<Config, Refused> {
        let reader = Reader { source: &source, variable, complaints: RefCell::default() };
        let (table, errors) = DeTable::parse_recoverable(&source.text);
        let is_torn = note_syntax(&reader, &errors);
        let (top, jobs) = if is_torn { (Top::default(), Vec::new()) } else { everything(&reader, table.get_ref()) };
        let complaints = reader.complaints.take();
        if !complaints.is_empty() {
            return Err(Refused(format!("{} is refused\n{}", source.path.display(), source.tell(&complaints))));
        }
        Ok(Config { top, jobs, source })
    }

    /// What the library still found wrong when it was to start, a line each, shown at the keys of the whole file that it is about.
    pub(crate) fn refuse(&self, what: &str, key_of: impl Fn(&str) -> &'static str) -> Refused {
        let table = DeTable::parse(&self.source.text).ok();
        let place = |line: &str| {
            let (key, _) = table.as_ref()?.get_ref().get_key_value(key_of(line))?;
            Some(key.span())
        };
        let (mut complaints, mut others) = (Vec::new(), String::new());
        for line in what.lines() {
            match place(line) {
                Some(at) => complaints.push(Complaint::new(at, line, None)),
                None => others = format!("{others}{line}\n"),
            }
        }
        Refused(format!("{}{others}", self.source.tell(&complaints)))
    }
}

/// Notes what is no TOML. True: the rest of the file can't be made sense of.
fn note_syntax(reader: &Reader<'_>, errors: &[toml::de::Error]) -> bool {
    let text = &reader.source.text;
    let mut errors: Vec<(usize, &str)> =
        errors.iter().map(|error| (error.span().unwrap_or(0..0).start, error.message())).collect();
    errors.sort_unstable();
    let (mut is_torn, mut second_table) = (false, None);
    for (at, message) in errors {
        // Never with the place's text, which may be a password without quotes.
        let complain = |what: &str, right: Option<&str>| reader.complain(at..at, what, right.map(str::to_owned));
        let line_start = text[..at].rfind('\n').map_or(0, |before| before + 1);
        match message.split_once(", expected ") {
            // The keys of a table that is there twice are read as the first one's.
            None if message == "duplicate key" && second_table.is_some_and(|from| !text[from..at].contains("\n[")) => {}
            None if message == "duplicate key" && text[line_start..].starts_with('[') => {
                second_table = Some(at);
                complain("a second table of this name", Some("one table; two jobs need two names"));
            }
            None if message == "duplicate key" => complain("this key stands here a second time", None),
            Some(("string values must be quoted", _)) => complain("a text stands in quotes", Some("key = \"text\"")),
            Some((what, right)) => {
                is_torn = true;
                complain(what, Some(right));
            }
            None => {
                is_torn = true;
                complain(message, None);
            }
        }
    }
    is_torn
}

fn everything(reader: &Reader<'_>, table: &DeTable<'_>) -> (Top, Vec<JobConfig>) {
    let section = Section::new(reader, String::new(), 0..0, table);
    let top = top::read(&section);
    let jobs = section.table("job", "tables: [job.NAME], one a job").map(|all| jobs(reader, &all, &top));
    if section.entry("job").is_none() {
        section.complain(0..0, "there are no jobs", Some("a table for each: [job.NAME]"));
    }
    section.finish();
    (top, jobs.unwrap_or_default())
}

fn jobs(reader: &Reader<'_>, all: &Section<'_>, top: &Top) -> Vec<JobConfig> {
    let mut jobs: Vec<JobConfig> = Vec::new();
    for (name, value) in all.named() {
        let title = format!("job {:?}: ", name.get_ref());
        match value.get_ref().as_table() {
            Some(table) => {
                let section = Section::new(reader, title, name.span(), table);
                jobs.extend(job::read(name.get_ref(), section, top));
            }
            None => all.complain(name.span(), format_args!("{title}not a table"), Some("[job.NAME], its keys below")),
        }
    }
    renamed_twice(reader, all);
    jobs.sort_by(|one, another| one.name.cmp(&another.name));
    jobs
}

/// Former names that are somebody else's: of all tables, whatever else is wrong with them.
fn renamed_twice(reader: &Reader<'_>, all: &Section<'_>) {
    let named = all.named();
    let former = |value: &toml::Spanned<toml::de::DeValue<'_>>| {
        let before = value.get_ref().as_table()?.get("renamed_from")?;
        Some((before.get_ref().as_str()?.to_owned(), before.span()))
    };
    let formers: Vec<_> = named.iter().map(|(_, value)| former(value)).collect();
    let names: Vec<(&str, Option<&str>)> = named
        .iter()
        .zip(&formers)
        .map(|((name, _), former)| (name.get_ref().as_str(), former.as_ref().map(|(before, _)| before.as_str())))
        .collect();
    for (place, why) in hourhand::Job::renamed_twice(&names) {
        let at = formers[place].as_ref().map_or(0..0, |(_, at)| at.clone());
        reader.complain(at, format!("job {:?}: {why}", names[place].0), None);
    }
}

#[cfg(test)]
mod tests;
