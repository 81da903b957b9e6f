//! What a job runs, and what is told of its ends: a command, or a call.
//!
//! A command is a list of words and never a line: no shell stands between the file and the program, unless it is asked for by name,
//! so nothing that was put in from the environment is taken for more than a word.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::header::{CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::{Method, Uri};
use toml::Spanned;

use super::program;
use super::section::{Entry, Section};
use super::text::Secret;

/// What a job runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Work {
    /// A program of this machine.
    Command(CommandWork),
    /// A request to a service.
    Http(Endpoint),
}

/// A program, and how it is run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CommandWork {
    pub(crate) argv: Vec<String>,
    pub(crate) env: Vec<(String, Secret)>,
    pub(crate) dir: Option<PathBuf>,
    pub(crate) stop_grace: Duration,
    pub(crate) output_bytes_max: usize,
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Endpoint {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Option<Secret>,
}

/// A URL. Its path may be a secret (addresses to ping are), so only scheme and host are ever shown.
#[derive(Clone, PartialEq)]
pub(crate) struct Url(Uri);

/// What is done about the ends of a job's runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Hooks {
    pub(crate) on_success: Option<Work>,
    pub(crate) on_failure: Option<Work>,
    pub(crate) on_recovery: Option<Work>,
    pub(crate) on_late: Option<Work>,
}

const COMMAND: &str =
    "a list of words: [\"python\", \"manage.py\", \"sync\"], or [\"sh\", \"-c\", \"…\"] for a shell's line";
const HTTP: &str = "a table: { url = \"http://127.0.0.1:8000/internal/sync\" }";
const HOOK: &str = "{ url = \"https://…\" } or { command = [\"…\"] }";
const STOP_GRACE: Duration = Duration::from_secs(10);
const OUTPUT_BYTES_MAX: u32 = 64 * 1024;

/// What the job runs; exactly one of `command` and `http`.
pub(super) fn read(section: &Section<'_>) -> Option<Work> {
    let (command, http) = (section.entry("command"), section.entry("http"));
    match (command, http) {
        (Some(_), Some(http)) => {
            let right = "one of them; two jobs for two things to do";
            section.complain(http.key_at, "there is a command and an http call", Some(right));
            None
        }
        (None, None) => {
            section.complain(
                section.at.clone(),
                "there is nothing to run",
                Some("command = […] or http = { url = \"…\" }"),
            );
            None
        }
        (Some(command), None) => command_of(section, &command).map(Work::Command),
        (None, Some(http)) => {
            for name in ["env", "dir", "output_bytes_max"] {
                if let Some(entry) = section.entry(name) {
                    section.complain(entry.key_at, format_args!("{name}: only a command has one"), None);
                }
            }
            let table = section.table_of(&http, HTTP)?;
            let endpoint = endpoint(&table);
            table.finish();
            endpoint.map(Work::Http)
        }
    }
}

pub(super) fn hooks(section: &Section<'_>) -> Hooks {
    Hooks {
        on_success: hook(section, "on_success"),
        on_failure: hook(section, "on_failure"),
        on_recovery: hook(section, "on_recovery"),
        on_late: hook(section, "on_late"),
    }
}

fn hook(section: &Section<'_>, name: &'static str) -> Option<Work> {
    let entry = section.entry(name)?;
    let table = section.table_of(&entry, HOOK)?;
    let work = match (table.entry("command"), table.entry("url")) {
        (Some(command), None) => command_of(&table, &command).map(Work::Command),
        (None, Some(_)) => endpoint(&table).map(Work::Http),
        (Some(_), Some(_)) | (None, None) => {
            table.complain(entry.key_at, "exactly one of url and command is needed", Some(HOOK));
            // Whatever else stands there is not to be complained about.
            return None;
        }
    };
    table.finish();
    work
}

fn command_of<'a>(section: &Section<'a>, command: &Entry<'a>) -> Option<CommandWork> {
    let argv = section.texts_of(command, COMMAND);
    let env = section.pairs("env", "a table: { DJANGO_SETTINGS_MODULE = \"shop.settings\" }");
    let dir = section.text("dir").map(|dir| PathBuf::from(dir.into_inner()));
    if let Some(dir) = dir.as_ref().filter(|dir| !dir.is_dir()) {
        let what = format_args!("dir: {} is not a directory", dir.display());
        section.complain(section.place("dir"), what, Some("a directory that is there when the sidecar starts"));
    }
    let output_bytes_max = section.number("output_bytes_max", 1..=OUTPUT_BYTES_MAX).unwrap_or(OUTPUT_BYTES_MAX);
    let stop_grace = section.length("stop_grace").and_then(|grace| Duration::try_from(grace).ok());
    for (name, _) in &env {
        let ours = name.get_ref().starts_with("HOURHAND_");
        if ours || name.get_ref().is_empty() || name.get_ref().contains(['=', '\0']) {
            let why = if ours { "is set by hourhand" } else { "is not the name of a variable" };
            section.complain(name.span(), format_args!("env: {:?} {why}", name.get_ref()), None);
        }
    }
    let argv = argv?;
    let is_runnable = argv.first().is_some_and(|program| !program.is_empty());
    if !is_runnable || argv.iter().any(|word| word.contains('\0')) {
        section.complain(command.key_at.clone(), "command: there is no program to run", Some(COMMAND));
        return None;
    }
    let own_path = env.iter().find(|(name, _)| name.get_ref() == "PATH").map(|(_, value)| value.reveal().to_owned());
    let path = own_path.or_else(|| (section.reader.variable)("PATH"));
    let there = dir.as_deref().is_none_or(Path::is_dir);
    if let Some(why) = program::missing(&argv[0], dir.as_deref(), path.as_deref()).filter(|_| there) {
        let right = "a program that is there when the sidecar starts; without `/` it is looked for in PATH";
        section.complain(command.key_at.clone(), format_args!("command: {why}"), Some(right));
    }
    Some(CommandWork {
        argv,
        env: env.into_iter().map(|(name, value)| (name.into_inner(), value)).collect(),
        dir,
        stop_grace: stop_grace.unwrap_or(STOP_GRACE),
        output_bytes_max: output_bytes_max as usize,
    })
}

fn endpoint(section: &Section<'_>) -> Option<Endpoint> {
    let (method, headers, body) = (method(section), headers(section), section.secret("body"));
    let url = match (section.entry("url"), section.secret("url")) {
        (None, _) => {
            section.complain(section.at.clone(), "there is no url", Some(HTTP));
            None
        }
        (Some(_), None) => None,
        (Some(entry), Some(text)) => {
            let complain = |why: &str| {
                let right = "http:// or https://, a host, and a path: \"https://service.example/path\"";
                section.complain(entry.key_at, format_args!("url: {why}"), Some(right));
            };
            Url::parse(text.reveal()).map_err(complain).ok()
        }
    };
    Some(Endpoint { method: method?, url: url?, headers: headers?, body })
}

fn method(section: &Section<'_>) -> Option<Method> {
    let known = [Method::POST, Method::GET, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD];
    let Some(entry) = section.entry("method") else { return Some(Method::POST) };
    let text = section.text("method")?;
    let found = known.into_iter().find(|method| method.as_str() == text.get_ref());
    if found.is_none() {
        let right = "POST (as without the key), GET, PUT, PATCH, DELETE or HEAD";
        section.complain(entry.value.span(), format_args!("method: there is no {:?}", text.get_ref()), Some(right));
    }
    found
}

fn headers(section: &Section<'_>) -> Option<Vec<(HeaderName, HeaderValue)>> {
    let pairs = section.pairs("headers", "a table: { authorization = \"Bearer ${TOKEN}\" }");
    let headers: Vec<_> = pairs.iter().map(|(name, value)| header(section, name, value)).collect();
    headers.into_iter().collect()
}

fn header(section: &Section<'_>, name: &Spanned<String>, value: &Secret) -> Option<(HeaderName, HeaderValue)> {
    let complain = |why: &str| section.complain(name.span(), format_args!("headers: {:?} {why}", name.get_ref()), None);
    let parsed =
        HeaderName::from_bytes(name.get_ref().as_bytes()).map_err(|_| complain("is not the name of a header")).ok()?;
    if [CONTENT_LENGTH, TRANSFER_ENCODING, HOST].contains(&parsed) || parsed.as_str().starts_with("hourhand-") {
        complain("is set by hourhand");
        return None;
    }
    let mut value = HeaderValue::from_str(value.reveal())
        .map_err(|_| complain("has a value with signs that no header may have"))
        .ok()?;
    value.set_sensitive(true);
    Some((parsed, value))
}

impl Url {
    /// Reads one.
    ///
    /// # Errors
    ///
    /// What is wrong with it, without a piece of it.
    fn parse(text: &str) -> Result<Url, &'static str> {
        let uri: Uri = text.trim().parse().map_err(|_| "this is not a URL")?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err("this is not a URL of http or https");
        }
        match uri.authority() {
            None => Err("there is no host"),
            Some(authority) if authority.host().is_empty() => Err("there is no host"),
            Some(authority) if authority.as_str().contains('@') => {
                Err("names and passwords in a URL are not sent: headers = { authorization = \"…\" }")
            }
            Some(_) => Ok(Url(uri)),
        }
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.0
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let authority = self.0.authority().map_or("", |authority| authority.as_str());
        write!(f, "{}://{authority}", self.0.scheme_str().unwrap_or("http"))
    }
}

impl std::fmt::Debug for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}/…")
    }
}
