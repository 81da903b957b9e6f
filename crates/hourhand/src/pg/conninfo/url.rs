//! Reads `postgresql://user:password@host:port,host:port/dbname?name=value&name=value`.
//!
//! This is no general parser of URLs but libpq's: the user name and the password end at the first `@`, if it stands
//! before the first `/`; hosts are a list; every part is percent-decoded by itself.
//!
//! **Unencoded secrets.** A password with a bare `/` or `@` in it moves everything that follows: `u:pa/ss@h/db` reads
//! as host `u`, port `pa`, database `ss@h/db`, and `u:p@ss@h` as host `ss@h`. libpq goes on with that and shows pieces
//! of the password as host or database. Here an `@` that still stands unencoded in the host or in the path is an error,
//! and so is, with the same words, any error in a URL with such an `@` further behind. The error shows nothing of it.

use std::borrow::Cow;

use super::error::{ConninfoError, Place, Problem};
use super::parameter;
use super::settings::Settings;
use super::text;

/// How a connection URL begins.
pub(super) const PREFIXES: [&str; 2] = ["postgresql://", "postgres://"];

/// Reads what stands behind the scheme.
pub(super) fn read(url: &str) -> Result<Settings, ConninfoError> {
    let (credentials, rest) = split_credentials(url);
    let stray_at = rest.contains('@');
    let outcome = read_parts(credentials, rest);
    if stray_at && outcome.is_err() {
        return Err(ConninfoError::part("user name or password", Problem::StrayAt));
    }
    outcome
}

/// The part before the first `@`, unless a `/` comes first, and what stands behind it.
fn split_credentials(url: &str) -> (Option<&str>, &str) {
    match url.find(['@', '/']) {
        Some(at) if url[at..].starts_with('@') => (Some(&url[..at]), &url[at + 1..]),
        _ => (None, url),
    }
}

fn read_parts(credentials: Option<&str>, rest: &str) -> Result<Settings, ConninfoError> {
    let mut settings = Settings::default();
    if let Some(credentials) = credentials {
        let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
        set(&mut settings, "user", "user name", user)?;
        set(&mut settings, "password", "password", password)?;
    }
    let (hosts, ports, rest) = read_hosts(rest)?;
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, query),
        None => (rest, ""),
    };
    if [&*hosts, &*ports, path].iter().any(|part| part.contains('@')) {
        return Err(ConninfoError::part("host", Problem::StrayAt));
    }
    set(&mut settings, "host", "host", &hosts)?;
    set(&mut settings, "port", "port", &ports)?;
    set(&mut settings, "dbname", "path", path.strip_prefix('/').unwrap_or(path))?;
    read_query(query, &mut settings)?;
    Ok(settings)
}

/// Sets what a part says; an empty part says nothing.
fn set(settings: &mut Settings, name: &'static str, part: &'static str, encoded: &str) -> Result<(), ConninfoError> {
    if let Some(parameter) = parameter::find(name).filter(|_| !encoded.is_empty()) {
        let value = decode(encoded).map_err(|problem| ConninfoError::part(part, problem))?;
        settings.set(parameter, value.into_owned(), Place::Part(part));
    }
    Ok(())
}

/// The lists of hosts and of ports, separated by commas and still encoded, and what stands behind them.
fn read_hosts(mut rest: &str) -> Result<(String, String, &str), ConninfoError> {
    let (mut hosts, mut ports) = (String::new(), String::new());
    loop {
        let host;
        (host, rest) = match rest.strip_prefix('[') {
            Some(rest) => read_bracketed(rest)?,
            None => split_before(rest, &[':', '/', '?', ',']),
        };
        hosts.push_str(host);
        if let Some(behind) = rest.strip_prefix(':') {
            let port;
            (port, rest) = split_before(behind, &['/', '?', ',']);
            ports.push_str(port);
        }
        let Some(behind) = rest.strip_prefix(',') else { return Ok((hosts, ports, rest)) };
        hosts.push(',');
        ports.push(',');
        rest = behind;
    }
}

/// An IPv6 address, whose opening bracket has been read.
fn read_bracketed(rest: &str) -> Result<(&str, &str), ConninfoError> {
    let wrong = |problem| Err(ConninfoError::part("host", problem));
    match rest.split_once(']') {
        None => wrong(Problem::UnclosedBracket),
        Some(("", _)) => wrong(Problem::EmptyBracket),
        Some((_, behind)) if !behind.is_empty() && !behind.starts_with([':', '/', '?', ',']) => {
            wrong(Problem::AfterBracket)
        }
        Some(parts) => Ok(parts),
    }
}

fn split_before<'a>(text: &'a str, ends: &[char]) -> (&'a str, &'a str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

/// Reads `name=value&name=value`. A name may appear here that was set before: the later word counts.
fn read_query(query: &str, settings: &mut Settings) -> Result<(), ConninfoError> {
    const PART: &str = "query";
    const ENCODE: &str = "inside a value & is written %26";
    let query = query.strip_suffix('&').unwrap_or(query);
    for (at, pair) in query.split('&').enumerate().filter(|_| !query.is_empty()) {
        let nth = at + 1;
        let (name, value) = pair.split_once('=').ok_or(ConninfoError::part(PART, Problem::NoEquals { nth }))?;
        if value.contains('=') {
            return Err(ConninfoError::part(PART, Problem::SecondEquals { nth }));
        }
        let decoded = decode(name).and_then(|name| Ok((name, decode(value)?)));
        let (name, value) = decoded.map_err(|problem| ConninfoError::part(PART, problem))?;
        // As libpq does for those who come from JDBC.
        let (name, value) =
            if name == "ssl" && value == "true" { (Cow::from("sslmode"), Cow::from("require")) } else { (name, value) };
        let parameter = parameter::find(&name).ok_or_else(|| {
            let in_doubt = query.contains("password=");
            let problem = if in_doubt { text::behind_password(&name, ENCODE) } else { text::unknown(&name) };
            ConninfoError::part(PART, problem)
        })?;
        settings.set(parameter, value.into_owned(), Place::Part(PART));
    }
    Ok(())
}

/// Percent-decodes one part. A `+` is a plus.
fn decode(encoded: &str) -> Result<Cow<'_, str>, Problem> {
    if !encoded.contains('%') {
        return Ok(Cow::from(encoded));
    }
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes().iter();
    while let Some(byte) = rest.next() {
        let byte = if *byte == b'%' {
            let mut digit = || char::from(*rest.next()?).to_digit(16);
            let (high, low) = digit().zip(digit()).ok_or(Problem::PercentEncoding)?;
            u8::try_from(high * 16 + low).map_err(|_| Problem::PercentEncoding)?
        } else {
            *byte
        };
        if byte == 0 {
            return Err(Problem::Zero);
        }
        bytes.push(byte);
    }
    String::from_utf8(bytes).map(Cow::from).map_err(|_| Problem::NotUtf8)
}
