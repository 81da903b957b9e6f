//! Service files: named bundles of settings, as in `service=orders` or `PGSERVICE=orders`.
//!
//! ```text
//! [orders]
//! host=db.example.com
//! dbname=orders
//! ```
//!
//! Looked for in the user's file first (`servicefile`, `PGSERVICEFILE` or `~/.pg_service.conf`), then in the system's
//! `pg_service.conf`. What a service says counts less than the connection string and more than the environment.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::error::{ConninfoError, Place, Problem};
use super::parameter;
use super::settings::Settings;
use super::text::unknown;

/// Fills in what the service says, if one is named.
pub(super) fn apply(settings: &mut Settings, environment: &Environment) -> Result<(), ConninfoError> {
    let in_text = settings.text("service").map(|service| (service.to_owned(), settings.place("service")));
    let named = match in_text {
        Some(named) => Some(named),
        None => environment.variable("PGSERVICE")?.map(|service| (service.to_owned(), Place::Variable("PGSERVICE"))),
    };
    let Some((service, place)) = named else { return Ok(()) };
    let (named_file, files) = files(settings, environment)?;
    for path in &files {
        match fs::read_to_string(path) {
            Ok(content) => {
                if read(&content, path, &service, settings)? {
                    return Ok(());
                }
            }
            // Only a file that somebody asked for has to be there.
            Err(error) if error.kind() == io::ErrorKind::NotFound && named_file.as_ref() != Some(path) => {}
            Err(error) => return Err(ConninfoError::new(place, Problem::File { path: path.clone(), error })),
        }
    }
    Err(ConninfoError::new(place, Problem::NoService(files)))
}

/// The file that was asked for, if one was, and all the files to look into, in order.
fn files(settings: &Settings, environment: &Environment) -> Result<(Option<PathBuf>, Vec<PathBuf>), ConninfoError> {
    let named = match settings.path("servicefile") {
        Some(path) => Some(path),
        None => environment.variable("PGSERVICEFILE")?.map(PathBuf::from),
    };
    let of_user = named.clone().or_else(|| environment.at_home(".pg_service.conf"));
    let of_system = match environment.variable("PGSYSCONFDIR")? {
        Some(directory) => vec![PathBuf::from(directory)],
        None => environment.configuration_directories.clone(),
    };
    let of_system = of_system.into_iter().map(|directory| directory.join("pg_service.conf"));
    Ok((named, of_user.into_iter().chain(of_system).collect()))
}

/// Fills in what the file says of the service; `false` if it does not define it.
fn read(content: &str, path: &Path, service: &str, settings: &mut Settings) -> Result<bool, ConninfoError> {
    let mut found = false;
    for (at, line) in content.lines().enumerate() {
        let line = line.trim_matches(|letter: char| letter.is_ascii_whitespace());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            if found {
                break;
            }
            found = header.strip_prefix(service).is_some_and(|rest| rest.starts_with(']'));
        } else if found {
            let place = Place::ServiceFile(path.to_owned(), at + 1);
            let Some((name, value)) = line.split_once('=') else {
                return Err(ConninfoError::new(place, Problem::ServiceSyntax));
            };
            match parameter::find(name) {
                Some(parameter) if parameter.name.starts_with("service") => {
                    return Err(ConninfoError::new(place, Problem::NestedService));
                }
                Some(parameter) => settings.fill(parameter, value, place),
                None => return Err(ConninfoError::new(place, unknown(name))),
            }
        }
    }
    Ok(found)
}
